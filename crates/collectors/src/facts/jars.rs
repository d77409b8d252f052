//! Which Java libraries the process has, known by the names of its jars.
//!
//! Names on the command line and of open files; none is opened. Jars inside a jar are not found.

use std::collections::BTreeMap;

use fathom_evidence::jar;
use fathom_evidence::kinds::subject;

use super::sheet::Sheet;
use crate::Target;
use crate::procfs::{self, utf8};

/// More jars than this are not told.
const MAX_JARS: usize = 2_000;

/// Descriptors that are looked at.
const MAX_DESCRIPTORS: usize = 5_000;

/// Options whose next argument is a path of jars.
const PATHS: &[&str] = &["-cp", "-classpath", "--class-path", "-p", "--module-path", "-jar"];

/// Writes them.
pub(super) fn note(target: &Target, sheet: &mut Sheet<'_>) {
    let arguments = procfs::read(target.proc("cmdline")).unwrap_or_default();
    let descriptors = procfs::names(target.proc("fd")).take(MAX_DESCRIPTORS);
    let open = descriptors.filter_map(|descriptor| procfs::link(target.proc("fd").join(descriptor)).ok());
    for (name, version) in named(on_command_line(&arguments).map(str::to_owned).chain(open)) {
        sheet.add(subject::JAR, &name, &version);
    }
}

/// Paths of jars that the command line names.
fn on_command_line(arguments: &[u8]) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = arguments.split(|byte| *byte == 0).filter_map(utf8).collect();
    let named = |word: &str| PATHS.iter().any(|option| option.starts_with("--") && word.starts_with(option));
    let joined = words.iter().filter(|word| named(word)).filter_map(|word| Some(word.split_once('=')?.1));
    let paths: Vec<&str> =
        words.windows(2).filter(|pair| PATHS.contains(&pair[0])).map(|pair| pair[1]).chain(joined).collect();
    paths.into_iter().flat_map(|path| path.split(':'))
}

/// Name and version of each jar.
fn named(paths: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let of = |path: String| jar::name_and_version(&path).map(|(name, version)| (name.to_owned(), version.to_owned()));
    paths.filter_map(of).take(MAX_JARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jars_are_named_with_their_versions() {
        let line = b"java\0-cp\0/a/spring-core-6.2.1.jar:/b/classes:/b/log4j-1.2-api-2.24.0.jar\0--module-path=/m/x-2.jar\0-jar\0app.jar\0";
        let open = ["/opt/netty-all-4.1.118.Final.jar", "/var/log/app.log", "/x/.jar"].map(str::to_owned);
        let found = named(on_command_line(line).map(str::to_owned).chain(open));
        let found: Vec<String> = found.into_iter().map(|(name, version)| format!("{name} {version}")).collect();
        let expected = ["app none", "log4j 1.2-api-2.24.0", "netty-all 4.1.118.Final", "spring-core 6.2.1", "x 2"];
        assert_eq!(found, expected);
    }
}
