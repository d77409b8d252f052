//! `fathom completions` for shells, and the pages of the manual that packages bring.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap_complete::Shell;

use super::Answer;

/// Print completions of fathom's commands and options for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", required_unless_present = "manual")]
    shell: Option<Shell>,

    /// Write the pages of the manual into a folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "shell")]
    manual: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  fathom completions bash > ~/.local/share/bash-completion/completions/fathom
  fathom completions zsh > ~/.zfunc/_fathom
  fathom completions --manual ~/.local/share/man/man1          then: man fathom-record";

/// `program` is the command line as a whole.
pub(crate) fn run(args: &Args, program: clap::Command) -> Result<Answer> {
    match (&args.manual, args.shell) {
        (Some(folder), _) => manual(folder, program),
        (None, Some(shell)) => Ok(completions(shell, program)),
        (None, None) => Ok(Answer::done(String::new())),
    }
}

fn completions(shell: Shell, mut program: clap::Command) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "fathom", &mut script);
    Answer::done(String::from_utf8_lossy(&script).into_owned())
}

/// One page for the program and for each of its commands.
fn manual(folder: &Path, program: clap::Command) -> Result<Answer> {
    let told = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(told)?;
    clap_mangen::generate_to(program, folder).with_context(told)?;
    Ok(Answer::done(String::new()))
}
