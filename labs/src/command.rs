//! The command of the program, without what surrounds it.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::RunOutput;
use crate::error::LabError;
use crate::needs;

/// The JVM, or what becomes it.
pub(crate) fn java(output: &RunOutput, classes: &OsStr, started_by: &[String]) -> Result<Command, LabError> {
    let stderr = File::create(&output.stderr).map_err(LabError::io("cannot write", &output.stderr))?;
    let mut command = becoming(&output.jdk.java(), started_by);
    // The user's environment could change the JVM (JAVA_TOOL_OPTIONS), and stock settings would record it, secrets and all.
    command.args(&output.command).current_dir(&output.folder).stderr(stderr);
    command.env_clear().env("CLASSPATH", classes).env("FATHOM_LAB_RUNNER", std::process::id().to_string());
    Ok(command)
}

fn becoming(java: &Path, started_by: &[String]) -> Command {
    let Some((name, arguments)) = started_by.split_first() else { return Command::new(java) };
    let mut command = Command::new(needs::program(name).unwrap_or_else(|| name.into()));
    command.args(arguments).arg(java);
    command
}
