//! Why a lab could not be run, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a lab could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// There is no lab with this id.
    #[error("there is no lab {id}; there are: {known}")]
    UnknownLab {
        /// The requested name.
        id: String,
        /// What exists.
        known: String,
    },
    /// The lab has no variant with this name.
    #[error("the lab {lab} has no variant {name}; it has: {known}")]
    UnknownVariant {
        /// The lab.
        lab: String,
        /// The requested name.
        name: String,
        /// What exists.
        known: String,
    },
    /// No suitable JDK is installed.
    #[error(
        "{wanted}, and none was found; found: {found}. {advice}. A JDK is looked for in --jdk, JAVA_HOME, /usr/lib/jvm and PATH"
    )]
    NoJdk {
        /// What the variant or the user wants.
        wanted: String,
        /// The JDKs that are installed.
        found: String,
        /// Which variants those can run.
        advice: String,
    },
    /// The folder given with `--jdk` is not a JDK.
    #[error("{} is not a JDK: it needs bin/java and a file named release", path.display())]
    NotAJdk {
        /// The folder.
        path: PathBuf,
    },
    /// No installed JDK can compile for this runtime.
    #[error("{} has no compiler, and no JDK 9 or newer was found that has one: install one", home.display())]
    NoCompiler {
        /// The runtime.
        home: PathBuf,
    },
    /// The machine lacks what the variant needs.
    #[error("{lab} ({variant}) needs {says}")]
    Missing {
        /// The lab.
        lab: String,
        /// The variant.
        variant: String,
        /// What is missing.
        says: String,
    },
    /// The disk or the limits around the program could not be prepared.
    #[error("the stage could not be prepared: {says}")]
    Stage {
        /// What went wrong.
        says: String,
    },
    /// A signal asked to stop before the program had started.
    #[error("stopped before the lab's program had started")]
    Stopped,
    /// The compiler rejected the program: a defect of the lab.
    #[error("the lab's program does not compile with {compiler}:\n{output}", compiler = compiler.display())]
    Compile {
        /// The compiler that was used.
        compiler: PathBuf,
        /// What it printed.
        output: String,
    },
    /// The program ended too early.
    #[error("the lab's program ended with {status} after {seconds} s: {last_words} (more in {})", log.display())]
    Failed {
        /// How it ended.
        status: String,
        /// When.
        seconds: u64,
        /// The last line on standard error.
        last_words: String,
        /// Where standard error is kept.
        log: PathBuf,
    },
    /// The program did not stop by itself.
    #[error("the lab's program was still running after {seconds} s and was ended")]
    Overdue {
        /// The time limit.
        seconds: u64,
    },
    /// A signal asked to stop.
    #[error("stopped before the lab was over; what was recorded so far is in {}", folder.display())]
    Interrupted {
        /// The output folder.
        folder: PathBuf,
    },
    /// The output folder already holds something.
    #[error("{} is not empty; give a folder that does not exist yet", folder.display())]
    NotEmpty {
        /// The output folder.
        folder: PathBuf,
    },
    /// The external recorder failed.
    #[error("the lab's JVM ran but was not recorded: {says}")]
    NotRecorded {
        /// Why.
        says: String,
    },
    /// The program's own report is damaged.
    #[error("{}: {problem}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An operating system call failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl LabError {
    /// Whether this machine cannot run the variant at all, so that the fault is not the lab's.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::NoJdk { .. } | Self::NoCompiler { .. } | Self::Missing { .. })
    }

    /// For `map_err`: what was attempted with which file.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
