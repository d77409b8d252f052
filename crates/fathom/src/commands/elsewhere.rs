//! Placeholders for the commands that only Linux has: they are in the help, accept anything, and refuse.

use std::ffi::OsString;

use anyhow::{Result, bail};

use super::Answer;

/// On Linux only
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _any: Vec<OsString>,
}

fn refuse(command: &str) -> Result<Answer> {
    bail!(
        "fathom {command} runs on Linux only: record there, and read the recording here with fathom explain or fathom open"
    )
}

macro_rules! on_linux_only {
    ($($command:ident),+) => {$(
        pub(crate) mod $command {
            pub(crate) use super::Args;

            pub(crate) fn run(_: &Args, _: &crate::terminal::Terminal) -> anyhow::Result<super::Answer> {
                super::refuse(stringify!($command))
            }
        }
    )+};
}

on_linux_only!(doctor, lab, load, minutes, probe, ps, record);

pub(crate) mod guard {
    pub(crate) use super::Args;

    pub(crate) fn run(_: &Args) -> anyhow::Result<super::Answer> {
        super::refuse("guard-profiler")
    }
}

pub(crate) mod watch {
    pub(crate) use super::{Args, Args as TriggerArgs};

    pub(crate) fn run(_: &Args) -> anyhow::Result<super::Answer> {
        super::refuse("watch")
    }

    pub(crate) fn trigger(_: &Args) -> anyhow::Result<super::Answer> {
        super::refuse("trigger")
    }
}
