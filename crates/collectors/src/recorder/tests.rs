//! Recordings of this very process with collectors made for the tests.

use std::path::Path;

use super::*;
use crate::Observer;

/// Counts its looks.
struct Ticker {
    name: &'static str,
    refuses: bool,
}

struct Ticks {
    clock: Clock,
    looks: i64,
}

impl Collector for Ticker {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sees(&self) -> &'static str {
        "its own looks"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        match self.refuses {
            true => Err(Refusal::new("made to refuse", "")),
            false => Ok(()),
        }
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        self.check(target)?;
        Ok(Box::new(Ticks { clock: order.clock, looks: 0 }))
    }
}

impl Observer for Ticks {
    fn period(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn look(&mut self, found: &mut Recording) {
        self.looks += 1;
        found.add_counter(self.clock.now_ns(), "looks", "", self.looks as f64, "ticker");
    }

    fn finish(self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        found.add_fact(subject::RECORDING, "looks", &self.looks.to_string(), "ticker");
        vec![PathBuf::from("left.behind")]
    }
}

static TICKER: Ticker = Ticker { name: "ticker", refuses: false };
static REFUSER: Ticker = Ticker { name: "refuser", refuses: true };
static BOTH: &[&dyn Collector] = &[&TICKER, &REFUSER];

struct Silent;
impl Watcher for Silent {}

fn record_this(folder: &Path, change: impl FnOnce(&mut Plan)) -> Result<Recorded, RecordError> {
    let mut plan = Plan::new(folder.to_owned());
    plan.duration = Some(Duration::from_millis(120));
    change(&mut plan);
    let target = Target::of(std::process::id()).unwrap();
    record(&target, BOTH, &plan, &AtomicBool::new(false), &mut Silent)
}

#[test]
fn one_refuses_and_the_rest_records() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let recorded = record_this(&path, |_| {}).unwrap();
    assert_eq!(recorded.end, End::Duration);
    let recording = fathom_store::open(&path).unwrap();
    let looks: usize = recording.fact(subject::RECORDING, "looks").unwrap().parse().unwrap();
    assert!(looks >= 1);
    let name = recording.strings.find("looks").unwrap();
    assert_eq!(recording.counters.name.iter().filter(|counter| **counter == name).count(), looks, "nothing lost");
    let says: Vec<&str> = recording.losses.rows().map(|row| recording.text(row.says)).collect();
    assert!(says.contains(&"made to refuse"), "{says:?}");
    assert_eq!(recorded.parts[0].files, [PathBuf::from("left.behind")]);
    assert!(recorded.parts[1].refused.is_some());
}

#[test]
fn ends_and_refusals() {
    let place = tempfile::tempdir().unwrap();
    let budget = record_this(&place.path().join("b.fathom"), |plan| {
        plan.order.max_bytes = 1;
        plan.duration = Some(Duration::from_secs(20));
    });
    assert_eq!(budget.unwrap().end, End::Budget);
    let nothing = record_this(&place.path().join("c.fathom"), |plan| plan.only = vec!["refuser".into()]);
    assert!(matches!(nothing, Err(RecordError::NothingStarted(why)) if why == "made to refuse"));
    let again = record_this(&place.path().join("b.fathom"), |_| {});
    assert!(matches!(again, Err(RecordError::Folder(_))), "a recording is never overwritten");
}

#[test]
fn an_error_ends_the_collectors_before_the_recorder() {
    let place = tempfile::tempdir().unwrap();
    let plan = Plan::new(place.path().join("a.fathom"));
    let target = Target::of(std::process::id()).unwrap();
    let mut session = Session::begin(&target, BOTH, &plan).unwrap();
    let source = std::io::ErrorKind::StaleNetworkFileHandle.into();
    session.failed(RecordError::Io { path: "a.fathom".into(), source });
    assert_eq!(session.parts[0].files, [PathBuf::from("left.behind")], "it could stop what it had begun");
}

#[test]
fn what_somebody_has_watched_before_goes_on_in_the_recording() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    record_this(&path, |plan| {
        let mut rows = Recording::default();
        rows.add_counter(plan.order.clock.now_ns() - 60_000_000_000, "before", "", 7.0, "watch");
        let ticks = Ticks { clock: plan.order.clock, looks: 1_000 };
        plan.hand_over = HandOver::new(rows, vec![("ticker", Box::new(ticks))]);
    })
    .unwrap();
    let recording = fathom_store::open(&path).unwrap();
    let looks: i64 = recording.fact(subject::RECORDING, "looks").unwrap().parse().unwrap();
    assert!(looks > 1_000, "it was not started anew");
    let (from_ns, to_ns) = recording.time_range_ns().unwrap();
    assert!(to_ns - from_ns >= 60_000_000_000);
}

#[test]
fn what_a_hanging_recorder_does_not_take_is_told_and_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, messages) = mpsc::sync_channel(2);
    let stop = Arc::new(Stop::default());
    let (target, order) = (Target::of(std::process::id()).unwrap(), Plan::new(folder.path().to_owned()).order);
    let collector = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || worker::work(&TICKER, None, (&target, &order), &stop, &sender))
    };
    // One waits, which is full with that the collector has started; what comes after is let go.
    thread::sleep(Duration::from_millis(1_800));
    stop.stop();
    let found: Vec<Recording> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Found { found, .. } => Some(*found),
            _ => None,
        })
        .collect();
    collector.join().unwrap();
    let looks: Vec<f64> = found.iter().flat_map(|found| found.counters.rows().map(|row| row.value)).collect();
    let lost: i64 = found.iter().flat_map(|found| found.losses.rows().map(|loss| loss.count)).sum();
    let all = found.last().unwrap().fact(subject::RECORDING, "looks").unwrap();
    assert!(lost > 20, "lost {lost} of {all}");
    assert_eq!((looks.len() as i64 + lost).to_string(), all);
}
