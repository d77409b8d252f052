//! Placeholders for the commands that a build without the feature `full` lacks: they are in the help, accept anything,
//! and refuse.

use std::ffi::OsString;

use anyhow::{Result, bail};

use super::Answer;

/// Not in this build
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _any: Vec<OsString>,
}

fn refuse(command: &str) -> Result<Answer> {
    bail!("fathom {command} is not in this build, which make demo made: run make build, and then target/release/fathom")
}

macro_rules! left_out {
    ($($command:ident),+) => {$(
        pub(crate) mod $command {
            pub(crate) use super::Args;

            pub(crate) fn run<T>(_: &Args, _: T) -> anyhow::Result<super::Answer> {
                super::refuse(stringify!($command))
            }
        }
    )+};
}

left_out!(completions, export, minutes);

pub(crate) mod open {
    pub(crate) use super::Args;
    use super::{Answer, Result, refuse};
    use crate::inputs::Question;
    use crate::terminal::Terminal;

    pub(crate) fn run(_: &Args, _: &Terminal) -> Result<Answer> {
        refuse("open")
    }

    pub(crate) fn show(_: &Question, _: &Terminal) -> Result<Answer> {
        refuse("demo --open")
    }
}

pub(crate) mod watch {
    use super::{Answer, Result, refuse};
    pub(crate) use super::{Args, Args as TriggerArgs};

    pub(crate) fn run(_: &Args) -> Result<Answer> {
        refuse("watch")
    }

    pub(crate) fn trigger(_: &Args) -> Result<Answer> {
        refuse("trigger")
    }
}
