//! Makes `testdata/labs`: short runs of the labs, compressed, each with a page that says how it was made.
//!
//! `cargo run --release -p fathom-labs --example make_testdata` makes all of them again (about twenty-five minutes, on an
//! otherwise idle machine); folder names as arguments, for example `lock_contention-sick-jdk17`, make only those.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom_labs::{
    Arrivals, JdkWish, JfrSettings, LabError, Lengths, Recorder, RunOptions, RunOutput, TextProgress, lab,
    stop_on_signals,
};
use flate2::Compression;
use flate2::write::GzEncoder;

/// One recording: lab, variant, JDK, settings, and how much of the lab's usual time it takes.
struct Wanted(&'static str, &'static str, u32, JfrSettings, f64);

use JfrSettings::{Default, Fathom, Profile};

#[rustfmt::skip]
const WANTED: &[Wanted] = &[
    Wanted("code_cache_churn", "sick", 17, Fathom, 0.6),
    Wanted("code_cache_churn", "sick", 25, Fathom, 0.6),
    Wanted("code_cache_churn", "fixed", 17, Fathom, 0.6),
    Wanted("code_cache_churn", "fixed", 25, Fathom, 0.6),
    Wanted("code_cache_churn", "sick", 25, Profile, 0.6),
    Wanted("code_cache_churn", "sick", 25, Default, 0.6),
    Wanted("full_gc_old_generation_full", "sick", 17, Fathom, 0.8),
    Wanted("full_gc_old_generation_full", "sick", 25, Fathom, 0.8),
    Wanted("full_gc_old_generation_full", "fixed", 17, Fathom, 0.6),
    Wanted("full_gc_old_generation_full", "fixed_small_young", 25, Fathom, 0.6),
    Wanted("long_time_to_safepoint", "sick", 17, Fathom, 1.0),
    Wanted("long_time_to_safepoint", "fixed", 17, Fathom, 0.6),
    Wanted("long_time_to_safepoint", "sick_g1", 25, Fathom, 1.0),
    Wanted("long_time_to_safepoint", "fixed_g1", 25, Fathom, 0.6),
    Wanted("lock_contention", "sick", 17, Fathom, 0.6),
    Wanted("lock_contention", "fixed", 17, Fathom, 0.6),
    Wanted("lock_contention", "sick_reentrant_lock", 25, Fathom, 0.6),
    Wanted("lock_contention", "fixed_reentrant_lock", 25, Fathom, 0.6),
    Wanted("allocation_pressure", "sick", 17, Fathom, 0.6),
    Wanted("allocation_pressure", "sick", 25, Fathom, 0.6),
    Wanted("allocation_pressure", "fixed", 25, Fathom, 0.6),
    Wanted("explicit_gc", "sick", 17, Fathom, 0.6),
    Wanted("explicit_gc", "fixed", 25, Fathom, 0.6),
    Wanted("slow_downstream", "sick", 25, Fathom, 0.6),
    Wanted("slow_downstream", "fixed", 17, Fathom, 0.6),
    Wanted("more_traffic", "sick", 17, Fathom, 0.6),
    Wanted("more_traffic", "fixed", 25, Fathom, 0.6),
    Wanted("jit_warm_up", "sick", 25, Fathom, 0.8),
    Wanted("jit_warm_up", "fixed", 17, Fathom, 0.8),
    Wanted("deoptimization_storm", "sick", 17, Fathom, 0.6),
    Wanted("deoptimization_storm", "fixed", 25, Fathom, 0.6),
    Wanted("code_cache_full", "sick", 17, Fathom, 0.6),
    Wanted("code_cache_full", "fixed", 17, Fathom, 0.6),
    Wanted("code_cache_full", "sick", 25, Fathom, 0.6),
    Wanted("healthy_server", "healthy", 17, Fathom, 0.6),
    Wanted("healthy_server", "healthy", 25, Fathom, 0.6),
    Wanted("healthy_server", "healthy", 25, Profile, 0.6),
    Wanted("healthy_server", "healthy", 25, Default, 0.6),
];

impl Wanted {
    fn folder(&self) -> String {
        let Self(lab, variant, jdk, settings, _) = self;
        let settings = match settings {
            Fathom => "",
            Default => "-default_settings",
            Profile => "-profile_settings",
        };
        format!("{lab}-{variant}-jdk{jdk}{settings}")
    }

    fn make(&self, root: &Path, stop: &Arc<AtomicBool>) -> Result<(), Box<dyn std::error::Error>> {
        let Self(id, variant, jdk, settings, time_scale) = self;
        let scratch = tempfile::tempdir()?;
        let options = RunOptions {
            variant: (*variant).to_owned(),
            jdk: Some(JdkWish::Major(*jdk)),
            out_dir: scratch.path().join("run"),
            lengths: Lengths::Scaled(*time_scale),
            arrivals: Arrivals::Inside,
            recorder: Recorder::Jfr(*settings),
            stop: Arc::clone(stop),
        };
        let output = lab(id)?.run(&options, &mut TextProgress::to_stderr())?;
        let folder = root.join(self.folder());
        fs::create_dir_all(&folder)?;
        for file in [&output.recording, &output.gc_log, &output.latency] {
            compress(file, &folder)?;
        }
        fs::copy(&output.dose, folder.join("dose.json"))?;
        fs::write(folder.join("ABOUT.md"), self.about(&output)?)?;
        Ok(())
    }

    fn about(&self, output: &RunOutput) -> Result<String, LabError> {
        let Self(id, variant, _, settings, time_scale) = self;
        let lab = lab(id)?;
        let variant = lab.variant(variant)?;
        let mut rows = String::new();
        for phase in &output.phases {
            rows += &format!(
                "| {} | {} | {:.2} | {:.2} | {:.2} |\n",
                phase.name, phase.requests, phase.p50_ms, phase.p99_ms, phase.max_ms
            );
        }
        Ok(format!(
            "# {folder}\n\nThe lab `{id}`, variant `{name}` ({says}), at {time_scale} times its usual length, on JDK \
             {jdk}, recorded with {settings:?} JFR settings. What it must be explained as: {expects}.\n\nMade by \
             `cargo run --release -p fathom-labs --example make_testdata {folder}`, which ran `java` with\n\n```\n{command}\n```\n\n\
             `dose.json` says what the program really did, by its own clock. Latency as the clients saw it:\n\n\
             | phase | requests | p50 ms | p99 ms | max ms |\n|---|---|---|---|---|\n{rows}",
            folder = self.folder(),
            name = variant.name,
            says = variant.says,
            jdk = output.jdk.version,
            expects = variant.expects.says(),
            command = output.command.join("\n").replace(&settings_folder(output), ""),
        ))
    }
}

/// Our settings were written to a temporary folder, whose name is noise.
fn settings_folder(output: &RunOutput) -> String {
    let settings = output.command.iter().find_map(|argument| argument.split_once("settings=").map(|(_, rest)| rest));
    let path = settings.and_then(|rest| rest.split_once("fathom.jfc")).map_or("", |(folder, _)| folder);
    if path.is_empty() { "no such text".to_owned() } else { path.to_owned() }
}

fn compress(file: &Path, folder: &Path) -> io::Result<()> {
    let name = file.file_name().ok_or_else(|| io::Error::other("a file without a name"))?;
    let target = folder.join(format!("{}.gz", name.to_string_lossy()));
    let mut gzip = GzEncoder::new(File::create(target)?, Compression::best());
    io::copy(&mut File::open(file)?, &mut gzip)?;
    gzip.finish()?.flush()
}

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/labs");
    let stop = match stop_on_signals() {
        Ok(stop) => stop,
        Err(error) => return failed("signals", &error),
    };
    for wanted in WANTED.iter().filter(|wanted| only.is_empty() || only.contains(&wanted.folder())) {
        eprintln!("--- {}", wanted.folder());
        if let Err(error) = wanted.make(&root, &stop) {
            return failed(&wanted.folder(), &*error);
        }
    }
    ExitCode::SUCCESS
}

fn failed(what: &str, error: &dyn std::error::Error) -> ExitCode {
    eprintln!("{what}: {error}");
    ExitCode::FAILURE
}
