//! `fathom doctor`: what this machine lets Fathom see.

use anyhow::Result;
use fathom_collectors::host::{Ability, abilities};
use fathom_collectors::{Collector, Lesser, Policy, Target, Tier, collectors, policy};
use fathom_report::doctor::{self, CollectorLine, Doctor, HostLine};
use fathom_report::json;

use super::Answer;
use crate::terminal::Terminal;

/// Show what fathom can see on this machine, which evidence would be missing, and how to grant it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    choice: super::target::Choice,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom doctor                the JVM of this machine (of several the one that has run longest)
  fathom doctor --pid 4242     what a recording of this JVM would see
  sudo fathom doctor           what it would see with more rights

It tries what each collector needs and changes nothing. Paste the output into a ticket.";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let target = args.choice.any()?;
    let looked_at = match &target {
        Some(target) => target.clone(),
        None => Target::of(std::process::id())?,
    };
    let lines: Vec<CollectorLine> =
        collectors().iter().map(|collector| collector_line(*collector, &looked_at, target.is_some())).collect();
    let host = abilities().into_iter().map(|Ability { name, value, means }| HostLine {
        name: name.to_owned(),
        value,
        means: means.to_owned(),
    });
    let plan = target.as_ref().map(|target| HostLine {
        name: "what a recording does to the JVM".to_owned(),
        value: policy::plan(target, Policy::default(), &policy::Glance::default()),
        means: "--jfr and --agent (always, auto, never) of fathom record change it".to_owned(),
    });
    let host = host.chain(plan);
    let causes = fathom_causes::catalog().iter().map(|cause| (cause.id, cause.collectors));
    let doctor = Doctor::new(target.map(|target| target.pid), tier(&lines), host.collect(), lines, causes);
    Ok(Answer::done(match args.json {
        true => json::pretty(&doctor),
        false => doctor::text(&doctor, &terminal.text(false)),
    }))
}

fn collector_line(collector: &dyn Collector, target: &Target, is_jvm: bool) -> CollectorLine {
    let refusal = collector.check(target).err();
    let (name, sees) = (collector.name().to_owned(), collector.sees().to_owned());
    if refusal.is_none()
        && let Some(Lesser { tier, sees, refusal }) = collector.lesser(target)
    {
        let grant = Some(refusal.grant).filter(|grant| !grant.is_empty());
        return CollectorLine { name, sees, tier: tier_name(tier), refused: None, lesser: Some(refusal.why), grant };
    }
    // Without a JVM what a collector misses in this very process tells nothing.
    let (refused, grant) = match (refusal, is_jvm) {
        (None, _) => (None, None),
        (Some(_), false) if collector.tier() == Tier::Process => {
            (Some("needs a JVM, and none runs here".to_owned()), Some("start one, or name one with --pid".to_owned()))
        }
        (Some(refusal), _) => (Some(refusal.why), Some(refusal.grant).filter(|grant| !grant.is_empty())),
    };
    CollectorLine { name, sees, tier: tier_name(collector.tier()), refused, lesser: None, grant }
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Process => "process",
        Tier::Perf => "perf",
        Tier::Bpf => "bpf",
    }
}

/// The highest tier of which anything can observe.
fn tier(lines: &[CollectorLine]) -> &'static str {
    let can = |tier: &str| lines.iter().any(|line| line.tier == tier && line.refused.is_none());
    ["bpf", "perf"].into_iter().find(|tier| can(tier)).unwrap_or("process")
}
