//! Compiles a lab's C code with the machine's compiler.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::declaration::{Lab, SHARED_SOURCES, Variant};
use crate::error::LabError;
use crate::jdk::Jdk;
use crate::needs;
use crate::process::{End, Program};

const LIMIT: Duration = Duration::from_secs(120);

/// Compiles all native code of a variant into `folder`, which is created if there is any.
pub(crate) fn compile(
    lab: &Lab,
    variant: &Variant,
    jdk: &Jdk,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<(), LabError> {
    if lab.native.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(LabError::io("cannot make the folder", folder))?;
    for source in SHARED_SOURCES.iter().chain(lab.sources).filter(|source| !source.name.ends_with(".java")) {
        let path = folder.join(source.name);
        fs::write(&path, source.text).map_err(LabError::io("cannot write", path))?;
    }
    let compiler = needs::program("cc").unwrap_or_else(|| "cc".into());
    let headers = jdk.home.join("include");
    for native in &lab.native {
        let complaints = folder.join(format!("{}.log", native.output));
        let log = fs::File::create(&complaints).map_err(LabError::io("cannot write", &complaints))?;
        let mut cc = Command::new(&compiler);
        cc.current_dir(folder).arg("-O1").arg("-o").arg(&native.output).args(&native.sources);
        cc.arg("-I").arg(&headers).arg("-I").arg(headers.join("linux"));
        cc.args(Lab::native_flags(native, variant)).stderr(Stdio::from(log));
        let program = Program::start(cc).map_err(LabError::io("cannot start", &compiler))?;
        match program.run(LIMIT, stop, |_| Ok(())).map_err(LabError::io("cannot follow", &compiler))? {
            End::Exit(status) if status.success() => {}
            End::Exit(_) => {
                let output = String::from_utf8_lossy(&fs::read(&complaints).unwrap_or_default()).into_owned();
                return Err(LabError::Compile { compiler, output });
            }
            End::Stopped => return Err(LabError::Stopped),
            End::Overdue => return Err(LabError::Overdue { seconds: LIMIT.as_secs() }),
        }
    }
    Ok(())
}
