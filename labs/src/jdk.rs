//! Finds the JDKs of this machine and picks the one for a variant.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::declaration::{Lab, Variant, names};
use crate::error::LabError;
use crate::needs;

/// Where distributions put their JDKs.
const SYSTEM_FOLDER: &str = "/usr/lib/jvm";

/// An installed JDK, or a runtime of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// The folder that holds `bin`.
    pub home: PathBuf,
    /// The version that the JDK reports, for example 17.0.15.
    pub version: String,
    /// The feature release, for example 17.
    pub major: u32,
}

/// Which JDK the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JdkWish {
    /// Any of this feature release.
    Major(u32),
    /// The one in this folder.
    Home(PathBuf),
}

impl JdkWish {
    /// A number is a feature release, anything else a folder.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Home(PathBuf::from(text)), Self::Major)
    }
}

impl Jdk {
    /// The JDK in this folder, if there is one. It may lack the compiler.
    #[must_use]
    pub fn at(home: &Path) -> Option<Self> {
        let version = version_of(&fs::read_to_string(home.join("release")).ok()?)?;
        let major = major_of(&version)?;
        home.join("bin/java").is_file().then(|| Self { home: home.to_owned(), version, major })
    }

    /// All JDKs of this machine that are complete: the one of `JAVA_HOME` first, then the system's by name, then the one in `PATH`.
    #[must_use]
    pub fn installed() -> Vec<Self> {
        let mut homes: Vec<PathBuf> = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
        let mut system: Vec<PathBuf> =
            fs::read_dir(SYSTEM_FOLDER).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        system.sort();
        homes.extend(system);
        homes.extend(home_in_path());
        let mut found: Vec<Self> = Vec::new();
        for home in homes.iter().filter_map(|home| home.canonicalize().ok()) {
            if !found.iter().any(|jdk| jdk.home == home) {
                found.extend(Self::at(&home).filter(Self::has_compiler));
            }
        }
        found
    }

    /// The command of its JVM, or of a program that prepares something and then executes the JVM.
    pub(crate) fn command(&self, started_by: &[String]) -> Command {
        let Some((name, arguments)) = started_by.split_first() else { return Command::new(self.java()) };
        let mut command = Command::new(needs::program(name).unwrap_or_else(|| name.into()));
        command.args(arguments).arg(self.java());
        command
    }

    pub(crate) fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    pub(crate) fn javac(&self) -> PathBuf {
        self.home.join("bin/javac")
    }

    fn has_compiler(&self) -> bool {
        self.javac().is_file()
    }
}

/// The JDK that the `javac` found through `PATH` belongs to.
fn home_in_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let javac = env::split_paths(&path).map(|folder| folder.join("javac")).find(|javac| javac.is_file())?;
    Some(javac.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

/// The value of `JAVA_VERSION` in a JDK's `release` file.
fn version_of(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// 17 of 17.0.15, 8 of 1.8.0_412, 26 of 26-ea.
fn major_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        major => Some(major),
    }
}

/// The JDK to run this variant with: the wished one, or the first that fits.
pub(crate) fn choose(lab: &Lab, variant: &Variant, wish: Option<&JdkWish>, found: &[Jdk]) -> Result<Jdk, LabError> {
    if let Some(JdkWish::Home(home)) = wish {
        let jdk = Jdk::at(home).ok_or_else(|| LabError::NotAJdk { path: home.clone() })?;
        return if variant.jdk.contains(jdk.major) { Ok(jdk) } else { Err(none_fits(lab, variant, None, &[jdk])) };
    }
    let wished = |jdk: &&Jdk| match wish {
        Some(JdkWish::Major(major)) => jdk.major == *major,
        _ => true,
    };
    let fits = found.iter().filter(wished).find(|jdk| variant.jdk.contains(jdk.major));
    fits.cloned().ok_or_else(|| none_fits(lab, variant, wish, found))
}

/// The JDK that compiles a variant for `jdk`: `jdk` itself, or another one that supports the oldest release of the
/// variant as a target.
pub(crate) fn compiler_for(jdk: &Jdk, variant: &Variant, found: &[Jdk]) -> Result<Jdk, LabError> {
    let other = || found.iter().find(|other| other.major > 8 && other.major >= variant.jdk.min);
    let compiler = Some(jdk).filter(|jdk| jdk.has_compiler()).or_else(other);
    compiler.cloned().ok_or_else(|| LabError::NoCompiler { home: jdk.home.clone() })
}

fn none_fits(lab: &Lab, variant: &Variant, wish: Option<&JdkWish>, found: &[Jdk]) -> LabError {
    let list: Vec<String> = found.iter().map(|jdk| format!("{} ({})", jdk.version, jdk.home.display())).collect();
    let runnable = names(lab.variants.iter().filter(|v| found.iter().any(|jdk| v.jdk.contains(jdk.major))));
    let needs = format!("{} ({}) needs a JDK {}", lab.id, variant.name, variant.jdk.says());
    LabError::NoJdk {
        wanted: match wish {
            Some(JdkWish::Major(major)) => format!("{needs} and JDK {major} was asked for"),
            _ => needs,
        },
        found: if list.is_empty() { "none".to_owned() } else { list.join(", ") },
        advice: if runnable.is_empty() {
            "Install one, with its compiler".to_owned()
        } else {
            format!("With what is there these variants run: {runnable}")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::labs;

    #[test]
    fn versions() {
        for (release, expected) in [
            ("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.15\"\n", Some(17)),
            ("JAVA_VERSION=\"1.8.0_412\"", Some(8)),
            ("JAVA_VERSION=\"26-ea\"\r\n", Some(26)),
            ("JAVA_VERSION=\"25\"", Some(25)),
            ("JAVA_VERSION=\"\"", None),
            ("OS_NAME=\"Linux\"", None),
            ("", None),
        ] {
            assert_eq!(version_of(release).and_then(|version| major_of(&version)), expected, "{release:?}");
        }
    }

    fn jdk(major: u32) -> Jdk {
        Jdk { home: PathBuf::from(format!("/jdks/{major}")), version: format!("{major}.0.1"), major }
    }

    #[test]
    fn choice() {
        let lab = crate::lab("code_cache_churn").expect("it is the first lab");
        for (wish, found, expected) in [
            (None, vec![11, 25, 17], "25"),
            (Some("17"), vec![11, 25, 17], "17"),
            (Some("21"), vec![17, 25], "code_cache_churn (sick) needs a JDK 17 or newer and JDK 21 was asked for"),
            (None, vec![11], "Install one, with its compiler"),
            (None, vec![], "found: none"),
            (Some("/nowhere"), vec![17], "/nowhere is not a JDK"),
        ] {
            let found: Vec<Jdk> = found.into_iter().map(jdk).collect();
            let wish = wish.map(JdkWish::parse);
            let answer = match choose(lab, lab.sick(), wish.as_ref(), &found) {
                Ok(jdk) => jdk.major.to_string(),
                Err(error) => error.to_string(),
            };
            assert!(answer.contains(expected), "{wish:?}: {answer}");
        }
        assert!(labs().iter().all(|lab| choose(lab, lab.sick(), None, &[jdk(25)]).is_ok()));
    }

    #[test]
    fn another_one_compiles() {
        let variant = |name: &str| {
            crate::lab("code_cache_full").ok().and_then(|lab| lab.variants.iter().find(|v| v.name == name))
        };
        let (sick, later) = (variant("sick").expect("of all"), variant("sick_jdk21").expect("of JDK 18 and later"));
        let by = |runtime, variant, found: &[u32]| {
            let found: Vec<Jdk> = found.iter().copied().map(jdk).collect();
            compiler_for(&jdk(runtime), variant, &found).map(|jdk| jdk.major).map_err(|error| error.to_string())
        };
        assert_eq!(by(8, sick, &[8, 25]), Ok(25));
        assert_eq!(by(21, later, &[17, 25]), Ok(25), "17 knows no release 18");
        let none = by(8, sick, &[8]).expect_err("JDK 8 compiles for itself only");
        assert!(none.contains("has no compiler"), "{none}");
    }
}
