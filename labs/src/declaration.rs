//! What a lab is: the contents of `lab.json`, checked when the tests run, and the sources beside it.

mod expectation;
mod surroundings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::error::LabError;
pub use expectation::{Dose, Expectation, Found};
pub(crate) use surroundings::{Companion, Content, Executable, Libraries, Native, Needs, SlowDisk, Stage};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// A lab as the build found it.
pub(crate) struct Embedded {
    declaration: &'static str,
    /// Whether it is in the folder of a cause, not among the programs that prove none.
    of_cause: bool,
    sources: &'static [Source],
}

/// A source file in Java or C.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// A program with one fault, with its sick and fixed variants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// The id of the cause that it proves; a program that proves none has an id of its own.
    pub id: String,
    /// One line.
    pub title: String,
    /// What the program does and what will be seen, in a few sentences.
    pub shows: String,
    /// The lab whose sources this one uses, if it has none of its own.
    #[serde(default)]
    program_of: Option<String>,
    /// The Java class with `main`.
    pub(crate) main: String,
    /// Threads that answer requests.
    pub(crate) handlers: u32,
    /// Whether clients in another process use a port of the program.
    #[serde(default)]
    pub(crate) has_port: bool,
    /// The phases of a run, in this order, the same for all variants.
    pub phases: Vec<Phase>,
    /// Arguments of the program that all variants share.
    #[serde(default)]
    pub(crate) args: BTreeMap<String, String>,
    /// JVM flags that all variants share.
    #[serde(default)]
    pub(crate) jvm: Vec<String>,
    /// A program with arguments that prepares something and executes the JVM, whose command follows as arguments.
    #[serde(default)]
    pub(crate) started_by: Vec<String>,
    /// Code in C that the program or its companions need.
    #[serde(default)]
    pub(crate) native: Vec<Native>,
    /// Java libraries that variants use, by names that the lab gives them.
    #[serde(default)]
    pub(crate) libraries: BTreeMap<String, Libraries>,
    /// What the machine must have in addition to what the other declarations imply.
    #[serde(default)]
    pub(crate) needs: Needs,
    /// What is prepared before the program starts, and undone after it.
    #[serde(default)]
    pub(crate) stage: Stage,
    /// Processes that run beside the program.
    #[serde(default)]
    pub(crate) companions: Vec<Companion>,
    /// The same program with and without the fault.
    pub variants: Vec<Variant>,
    /// Whether it proves the cause that it is named after.
    #[serde(skip)]
    pub of_cause: bool,
    #[serde(skip)]
    pub(crate) sources: &'static [Source],
}

/// A stretch of the run with one rate of arrival.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// As it appears in `dose.json` and in the program.
    pub name: String,
    /// What the phase is for.
    pub role: PhaseRole,
    /// How long it lasts at scale 1.
    pub seconds: f64,
    /// Requests that arrive per second, on average.
    pub requests_per_second: f64,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseRole {
    /// The JVM compiles and the program fills its caches; latencies are meaningless.
    WarmUp,
    /// Healthy in every variant.
    Baseline,
    /// The trigger of the fault is present, in the fixed variant too.
    Exposed,
}

/// One way to run the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// `sick`, `fixed`, or one of them with a qualifier.
    pub name: String,
    /// What is special about it.
    pub says: String,
    /// Where it can be run.
    #[serde(default)]
    pub jdk: JdkRange,
    /// JVM flags in addition to the lab's.
    #[serde(default)]
    pub(crate) jvm: Vec<String>,
    /// Arguments in addition to the lab's.
    #[serde(default)]
    pub(crate) args: BTreeMap<String, String>,
    /// Environment of the program.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The Java libraries that it uses.
    #[serde(default)]
    pub(crate) libraries: Option<String>,
    /// Flags of the C compiler in addition to those of each piece of native code.
    #[serde(default)]
    native_flags: Vec<String>,
    /// Instead of the lab's.
    #[serde(default)]
    stage: Option<Stage>,
    /// Instead of the lab's.
    #[serde(default)]
    companions: Option<Vec<Companion>>,
    /// The rights with which it is recorded from outside.
    #[serde(default)]
    pub recorded: Rights,
    /// The verdict that a recording of it must get.
    pub expects: Expectation,
    /// The verdict without data from the kernel, if it differs: a cause that only the kernel can show is then not
    /// named, and no other cause is.
    #[serde(default)]
    without_root: Option<Expectation>,
}

impl Variant {
    /// The verdict that a recording of it with these rights must get.
    #[must_use]
    pub fn expects_of(&self, rights: Rights) -> &Expectation {
        let without_root = self.without_root.as_ref().filter(|_| rights == Rights::Unprivileged);
        without_root.unwrap_or(&self.expects)
    }
}

/// The JDKs that a variant is made for, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JdkRange {
    /// The oldest.
    pub min: u32,
    /// The newest; none if there is no known upper limit.
    #[serde(default)]
    pub max: Option<u32>,
}

impl Default for JdkRange {
    fn default() -> Self {
        Self { min: 11, max: None }
    }
}

impl JdkRange {
    /// Whether the variant can be run on this feature release.
    #[must_use]
    pub fn contains(self, major: u32) -> bool {
        major >= self.min && self.max.is_none_or(|max| major <= max)
    }

    /// For people: "17 or newer".
    #[must_use]
    pub fn says(self) -> String {
        match self.max {
            None => format!("{} or newer", self.min),
            Some(max) if max == self.min => max.to_string(),
            Some(max) => format!("{} to {max}", self.min),
        }
    }
}

/// The rights with which a run is recorded from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// Those of the runner.
    #[default]
    Own,
    /// Those of the JVM's user, who cannot ask the kernel.
    Unprivileged,
}

impl Lab {
    /// The variant with this name.
    ///
    /// # Errors
    /// [`LabError::UnknownVariant`] names those that exist.
    pub fn variant(&self, name: &str) -> Result<&Variant, LabError> {
        self.variants.iter().find(|variant| variant.name == name).ok_or_else(|| LabError::UnknownVariant {
            lab: self.id.clone(),
            name: name.to_owned(),
            known: names(self.variants.iter()),
        })
    }

    /// The variant that shows the fault; for a lab without a fault, its main variant.
    #[must_use]
    pub fn sick(&self) -> &Variant {
        let sick = self.variants.iter().find(|variant| variant.expects.cause().is_some());
        sick.unwrap_or(&self.variants[0])
    }

    /// The first variant without the fault, if it is not [`Lab::sick`] itself.
    #[must_use]
    pub fn fixed(&self) -> Option<&Variant> {
        let fixed = self.variants.iter().find(|variant| variant.expects.cause().is_none());
        fixed.filter(|fixed| fixed.name != self.sick().name)
    }

    pub(crate) fn stage<'a>(&'a self, variant: &'a Variant) -> &'a Stage {
        variant.stage.as_ref().unwrap_or(&self.stage)
    }

    /// Whether other processes run beside a variant, as a part of it.
    #[must_use]
    pub fn has_companions(&self, variant: &Variant) -> bool {
        !self.companions(variant).is_empty()
    }

    pub(crate) fn companions<'a>(&'a self, variant: &'a Variant) -> &'a [Companion] {
        variant.companions.as_deref().unwrap_or(&self.companions)
    }

    pub(crate) fn libraries(&self, variant: &Variant) -> Option<&Libraries> {
        self.libraries.get(variant.libraries.as_ref()?)
    }

    /// The sources that a variant is compiled from: those that need other libraries are left out.
    pub(crate) fn sources_of(&self, variant: &Variant) -> impl Iterator<Item = &'static Source> {
        let of_libraries =
            |libraries: &&Libraries, source: &Source| libraries.sources.iter().any(|it| it == source.name);
        let own = self.libraries(variant);
        let others: Vec<&Libraries> = self.libraries.values().collect();
        self.sources.iter().filter(move |source| {
            own.is_some_and(|own| of_libraries(&own, source)) || !others.iter().any(|other| of_libraries(other, source))
        })
    }

    /// The flags with which a variant's native code is compiled.
    pub(crate) fn native_flags<'a>(native: &'a Native, variant: &'a Variant) -> impl Iterator<Item = &'a String> {
        native.flags.iter().chain(&variant.native_flags)
    }

    /// The sum of all phases at scale 1; starting and warming up the JVM is not included.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// The sum at scale 1 of the phases in which the sick variant is sick.
    #[must_use]
    pub fn exposed_seconds(&self) -> f64 {
        let exposed = self.phases.iter().filter(|phase| phase.role == PhaseRole::Exposed);
        exposed.map(|phase| phase.seconds).sum()
    }
}

/// Variants' names for a message.
pub(crate) fn names<'a>(variants: impl Iterator<Item = &'a Variant>) -> String {
    variants.map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// All labs, sorted by id.
///
/// # Panics
/// When a declaration that was built in does not parse, which a test of this crate rules out.
#[must_use]
pub fn labs() -> &'static [Lab] {
    static PARSED: OnceLock<Vec<Lab>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let mut labs: Vec<Lab> = LABS.iter().map(parse).collect();
        labs.sort_by(|a, b| a.id.cmp(&b.id));
        for i in 0..labs.len() {
            let lender = labs.iter().find(|lab| Some(&lab.id) == labs[i].program_of.as_ref());
            labs[i].sources = lender.map_or(labs[i].sources, |lender| lender.sources);
        }
        labs
    })
}

fn parse(embedded: &Embedded) -> Lab {
    let parsed: Result<Lab, _> = serde_json::from_str(embedded.declaration);
    let mut lab = parsed.unwrap_or_else(|e| panic!("lab.json: {e} in {}", embedded.declaration));
    lab.sources = embedded.sources;
    lab.of_cause = embedded.of_cause;
    lab
}

/// The lab in a folder: while a lab is written, this avoids a build after each change.
///
/// # Errors
/// When a file cannot be read or the declaration is wrong.
pub fn lab_in(folder: &Path) -> Result<&'static Lab, LabError> {
    let declaration = folder.join("lab.json");
    let text = fs::read_to_string(&declaration).map_err(LabError::io("cannot read", &declaration))?;
    let parsed: Result<Lab, _> = serde_json::from_str(&text);
    let mut lab = parsed.map_err(|e| LabError::Report { path: declaration, problem: e.to_string() })?;
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).map_err(LabError::io("cannot read", folder))?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "java" || extension == "c") {
            let text = fs::read_to_string(&path).map_err(LabError::io("cannot read", &path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            sources.push(Source { name: name.leak(), text: text.leak() });
        }
    }
    // Labs live as long as the program; one call of the program reads one lab.
    lab.sources = sources.leak();
    Ok(Box::leak(Box::new(lab)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lab: &Lab) {
        let roles: Vec<PhaseRole> = lab.phases.iter().map(|phase| phase.role).collect();
        assert!(roles.contains(&PhaseRole::Baseline) && roles.contains(&PhaseRole::Exposed), "{}: {roles:?}", lab.id);
        assert!(lab.seconds() <= 60.0, "{} takes {} s", lab.id, lab.seconds());
        let main = format!("{}.java", lab.main);
        assert!(lab.sources.iter().any(|source| source.name == main), "{}: no {main}", lab.id);
        for variant in &lab.variants {
            if let Some(cause) = variant.expects.cause().filter(|_| lab.of_cause) {
                assert_eq!(cause, lab.id, "a lab lives with the cause it proves");
            }
            check_surroundings(lab, variant);
        }
        assert!(lab.variants.iter().any(|variant| variant.expects.cause().is_none()), "{}: no cure", lab.id);
    }

    fn check_surroundings(lab: &Lab, variant: &Variant) {
        let is_phase = |name: &String| lab.phases.iter().any(|phase| phase.name == *name);
        let has_source = |name: &str| SHARED_SOURCES.iter().chain(lab.sources).any(|source| source.name == name);
        let is_native = |name: &String| lab.native.iter().any(|native| native.output == *name);
        for companion in lab.companions(variant) {
            assert!(companion.phases.iter().all(is_phase), "{}: {companion:?}", lab.id);
            let is_there = match &companion.program {
                Executable::Native(name) => is_native(name),
                Executable::Java(class) => has_source(&format!("{class}.java")),
            };
            assert!(is_there, "{}: {companion:?}", lab.id);
        }
        let sources = lab.native.iter().flat_map(|native| &native.sources);
        sources.for_each(|source| assert!(has_source(source), "{}: no {source}", lab.id));
        let Some(disk) = &lab.stage(variant).slow_disk else { return };
        disk.rates_kib_per_s.keys().for_each(|phase| assert!(is_phase(phase), "{}: no phase {phase}", lab.id));
        for content in disk.files.values() {
            assert!(!matches!(content, Content::Native(name) if !is_native(name)), "{}: {content:?}", lab.id);
        }
    }

    #[test]
    fn every_lab_is_complete() {
        assert!(!labs().is_empty());
        labs().iter().for_each(check);
        let mut ids: Vec<&str> = labs().iter().map(|lab| lab.id.as_str()).collect();
        ids.dedup();
        assert_eq!(ids.len(), labs().len(), "two labs with one id");
    }

    #[test]
    fn jdk_ranges() {
        for (min, max, major, inside) in
            [(11, None, 11, true), (11, None, 25, true), (17, Some(19), 20, false), (17, None, 11, false)]
        {
            assert_eq!(JdkRange { min, max }.contains(major), inside, "{min} {max:?} {major}");
        }
    }
}
