//! What may be done to the JVM, as words of a command line.

use clap::ValueEnum;
use fathom_collectors::{Policy, Use};

/// Wishes of whoever records.
#[derive(Debug, clap::Args)]
pub(super) struct Wish {
    /// Whether Flight Recorder is started: auto leaves it out where its first start would be felt (clients are connected, or less
    /// than half of the CPUs are idle; JDK 17 and older: three quarters). What the service records itself is taken but with never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    jfr: When,

    /// Whether async-profiler is loaded: auto leaves it out where no CPU is idle and stacks can be taken from outside (root)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    agent: When,

    /// The same as --agent never
    #[arg(long, hide = true, conflicts_with = "agent")]
    no_agent: bool,

    /// Leave Flight Recorder on afterwards (10 minutes, 64 MB), so that the next recording has the time before it
    #[arg(long)]
    keep_ring: bool,
}

/// When something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    Always,
    Auto,
    Never,
}

impl When {
    fn is(self) -> Use {
        match self {
            When::Always => Use::Always,
            When::Auto => Use::Auto,
            When::Never => Use::Never,
        }
    }

    fn word(self) -> &'static str {
        match self {
            When::Always => "always",
            When::Auto => "auto",
            When::Never => "never",
        }
    }
}

impl Wish {
    pub(super) fn policy(&self) -> Policy {
        Policy { jfr: self.jfr.is(), agent: self.agent().is(), keep_ring: self.keep_ring }
    }

    /// The same as words of a command line.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--jfr={}", self.jfr.word()), format!("--agent={}", self.agent().word())];
        words.extend(self.keep_ring.then(|| "--keep-ring".to_owned()));
        words
    }

    fn agent(&self) -> When {
        if self.no_agent { When::Never } else { self.agent }
    }
}
