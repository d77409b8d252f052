//! Compiles a lab's Java code with the compiler of the JDK that runs it or, if that is only a runtime, of another one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::declaration::{SHARED_SOURCES, Source, Variant};
use crate::error::LabError;
use crate::jdk::Jdk;
use crate::process::{End, Program};

const LIMIT: Duration = Duration::from_secs(120);

/// Writes the sources of a variant into `folder` and compiles them there. Shared sources are compiled only if used:
/// some need a newer JDK than labs that do not use them.
pub(crate) fn compile(
    sources: impl Iterator<Item = &'static Source>,
    variant: &Variant,
    compiler: &Jdk,
    folder: &Path,
    classes: &OsStr,
    stop: &AtomicBool,
) -> Result<(), LabError> {
    let is_java = |source: &&Source| source.name.ends_with(".java");
    write(SHARED_SOURCES.iter().filter(is_java), &folder.join("fathomlab"))?;
    let complaints = folder.join("javac.log");
    let mut javac = Command::new(compiler.javac());
    javac.args(release(compiler, variant)).arg("-Xstdout").arg(&complaints).arg("-d").arg(folder);
    javac.arg("-classpath").arg(classes).arg("-sourcepath").arg(folder).stderr(Stdio::null());
    javac.args(write(sources.filter(is_java), folder)?);
    let program = Program::start(javac).map_err(LabError::io("cannot start", compiler.javac()))?;
    match program.run(LIMIT, stop, |_| Ok(())).map_err(LabError::io("cannot follow", compiler.javac()))? {
        End::Exit(status) if status.success() => Ok(()),
        End::Exit(_) => {
            let output = String::from_utf8_lossy(&fs::read(&complaints).unwrap_or_default()).into_owned();
            Err(LabError::Compile { compiler: compiler.javac(), output })
        }
        End::Stopped => Err(LabError::Stopped),
        End::Overdue => Err(LabError::Overdue { seconds: LIMIT.as_secs() }),
    }
}

/// The oldest release that the variant supports; JDK 8 compiles for no other and does not have the option.
fn release(compiler: &Jdk, variant: &Variant) -> Vec<String> {
    let release = variant.jdk.min.to_string();
    if compiler.major == 8 { Vec::new() } else { vec!["--release".to_owned(), release] }
}

fn write<'a>(sources: impl Iterator<Item = &'a Source>, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    fs::create_dir_all(folder).map_err(LabError::io("cannot make the folder", folder))?;
    let write = |source: &Source| {
        let path = folder.join(source.name);
        fs::write(&path, source.text).map_err(LabError::io("cannot write", &path)).map(|()| path)
    };
    sources.map(write).collect()
}
