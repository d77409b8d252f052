//! `fathom record`: a live JVM and the machine around it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fathom_collectors::recorder::{self, End, Plan, Recorded, Watcher};
use fathom_collectors::{Refusal, Target, allocator, collectors, policy};
use fathom_evidence::mask;
use fathom_report::recorded::{self, RecordedPart};
use fathom_report::{json, units};

use super::Answer;
pub(crate) use super::record_args::Args;
use crate::exit::complain;
use crate::finish;
use crate::output::is_a_folders_name;
use crate::progress::Progress;
use crate::system::owner::Place;
use crate::terminal::Terminal;

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let known = |name: &&String| !collectors().iter().any(|collector| collector.name() == name.as_str());
    if let Some(unknown) = args.only.iter().chain(&args.without).find(known) {
        bail!("no collector is called {unknown}; there are {}", names());
    }
    args.output.as_deref().map_or(Ok(()), is_a_folders_name)?;
    if args.all {
        return super::record_all::run(args);
    }
    args.parent.map_or(Ok(()), super::record_all::end_with)?;
    if args.keep_secrets {
        mask::keep_thread_names();
    }
    let target = args.choice.one()?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(default_name(&target, terminal)));
    let place = Place::make(&output)?;
    place.enter()?;
    // The first Ctrl-C or SIGTERM ends the recording, the second one the program; what was written until then is
    // readable.
    let interrupted = fathom_labs::stop_on_signals().context("cannot listen for Ctrl-C")?;
    let mut shown = Shown { progress: Progress::start(), duration: args.duration };
    let plan = plan(args);
    if !args.json && ["jfr", "async_profiler"].iter().any(|name| plan.wants_name(name)) {
        // On stderr, before anything is done. A closed stderr does not prevent the recording.
        complain(&policy::plan(&target, plan.policy(), &plan.order.glance));
    }
    allocator::share_among_threads();
    let recorded = recorder::record(&target, collectors(), &plan, &interrupted, &mut shown);
    let recorded = recorded.inspect_err(|_| place.remove_if_empty()).with_context(|| output.display().to_string())?;
    drop(plan);
    allocator::give_back();
    shown.progress.says(&format!("finishing {}", output.display()));
    let answer = sum_up(&output, &target, recorded, args.keep_secrets);
    place.give_to_caller()?;
    drop(shown);
    let answer = answer?;
    Ok(Answer::done(match args.json {
        true => json::pretty(&answer),
        false => recorded::text(&answer, &terminal.text(false)),
    }))
}

fn names() -> String {
    collectors().iter().map(|collector| collector.name()).collect::<Vec<_>>().join(", ")
}

/// The recording is made where this process is.
fn plan(args: &Args) -> Plan {
    let ns = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    let mut plan = Plan::new(PathBuf::from("."));
    plan.order.policy = args.policy.policy();
    plan.order.page_fault_ns = ns(args.page_fault);
    plan.order.blocked_ns = ns(args.blocked);
    plan.order.run_queue_ns = ns(args.run_queue);
    plan.order.system_call_ns = ns(args.system_call);
    plan.order.max_bytes = args.max_size;
    plan.order.guard = std::env::current_exe().ok();
    Plan { duration: args.duration, only: args.only.clone(), without: args.without.clone(), ..plan }
}

/// Name of the program, pid and time, of characters that no shell minds.
pub(super) fn default_name(target: &Target, terminal: &Terminal) -> String {
    let program = super::target::program_name(target);
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let program: String = program.chars().take(40).map(plain).collect();
    let time = super::now_for_name(terminal);
    format!("{}-{}-{time}.{}", program.trim_start_matches(['.', '-']), target.pid, fathom_store::EXTENSION)
}

fn sum_up(output: &Path, target: &Target, recorded: Recorded, keep_secrets: bool) -> Result<recorded::Recorded> {
    let finished = finish::finish(Path::new("."), keep_secrets)?;
    let observed = recorded.observed_ns.max(1) as f64;
    let parts = recorded.parts.into_iter().map(|part| RecordedPart {
        name: part.name.to_owned(),
        rows: part.rows,
        cpu_ratio: part.cpu_ns as f64 / observed,
        refused: part.refused.as_ref().map(|refusal| refusal.why.clone()),
        grant: part.refused.map(|refusal| refusal.grant).filter(|grant| !grant.is_empty()),
    });
    let end = (recorded.end != End::Duration).then(|| recorded.end.says().to_owned());
    Ok(recorded::Recorded::new(
        output,
        target.pid,
        recorded.observed_ns,
        recorded.started_in_ns,
        end,
        parts.collect(),
        &finished,
    ))
}

/// Shows a recording's progress.
struct Shown {
    progress: Progress,
    duration: Option<Duration>,
}

impl Watcher for Shown {
    fn started(&mut self, name: &'static str, refused: Option<&Refusal>) {
        let what = if refused.is_some() { "cannot see" } else { "sees" };
        self.progress.says(&format!("{what} {name}"));
    }

    fn passes(&mut self, elapsed: Duration, bytes: u64) {
        let of = self.duration.map_or_else(String::new, |all| format!(" of {} s", all.as_secs()));
        let size = units::amount(bytes as f64, "bytes");
        self.progress.says(&format!("recording: {} s{of}, {size}; Ctrl-C ends it", elapsed.as_secs()));
    }

    fn ending(&mut self, end: End) {
        self.progress.says(&format!("ending: {}", end.says()));
    }
}
