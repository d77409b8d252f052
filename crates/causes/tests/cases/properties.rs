//! What holds in any world: less evidence never reverses an answer, and irrelevant changes have no effect.
//!
//! Each property is one test over all worlds. Known violations are in [`BROKEN`], one `property: cause/world` per line. A
//! property that holds again must not be there. `FATHOM_BLESS=1` rewrites the list (it should only become shorter),
//! `FATHOM_PENDING=1` shows what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fathom_causes::explanation::{Explanation, Verdict};
use fathom_causes::{ExplainOptions, cause, explain, general_cause, investigate};
use fathom_evidence::Recording;
use fathom_evidence::kinds::span;
use libtest_mimic::{Failed, Trial};

use crate::recorders::{BEGIN_NS, record, record_baseline};
use crate::told::{self, SHARE_SLACK, acquitted, agree, contains_both, same, weaker};
use crate::transform;
use crate::world::World;

/// Beside this file.
const BROKEN: &str = "tests/cases/BROKEN";

/// One world as some recorders saw it, and what was made of it.
pub(crate) struct Scene {
    /// `cause/world`
    world: String,
    recorders: Vec<String>,
    /// What each recorder recorded, and all of it.
    parts: Vec<Recording>,
    recording: Recording,
    baseline: Option<Recording>,
    slow: Option<(i64, i64)>,
    /// What of the JVM decides whether two worlds could be one.
    jvm: String,
    age_ns: i64,
    answer: Explanation,
    /// What three of the properties find, which all ask what is said of less.
    of_less: OnceLock<OfLess>,
}

/// What is wrong with the answers when something was not recorded.
#[derive(Default)]
struct OfLess {
    sources: Vec<String>,
    collectors: Vec<String>,
    /// Answers of both kinds that rule a cause out.
    acquitted: Vec<String>,
}

impl Scene {
    fn of_less(&self) -> &OfLess {
        self.of_less.get_or_init(|| {
            let mut found = OfLess::default();
            for (source, less) in self.without_sources() {
                self.compare(source, &less, &mut found.sources, &mut found.acquitted);
            }
            for (name, less) in self.without_collectors() {
                self.compare(name, &less, &mut found.collectors, &mut found.acquitted);
            }
            found
        })
    }

    fn compare(&self, name: &str, less: &Recording, weaker: &mut Vec<String>, acquitted: &mut Vec<String>) {
        let answer = self.explain(less, 0);
        weaker.extend(told::weaker(&self.answer, &answer).into_iter().map(|failure| format!("no {name}: {failure}")));
        acquitted
            .extend(told::acquitted(&self.answer, &answer).into_iter().map(|failure| format!("no {name}: {failure}")));
    }

    /// Each source gone in turn.
    fn without_sources(&self) -> impl Iterator<Item = (&str, Recording)> {
        let recorders = self.recorders.iter().filter(|_| self.recorders.len() > 1);
        recorders.map(|source| {
            let mut less = Recording::default();
            let others = self.recorders.iter().zip(&self.parts).filter(|(other, _)| *other != source);
            others.for_each(|(_, part)| less.absorb(part.clone()));
            (source.as_str(), less)
        })
    }

    /// Each collector and each kind of event gone in turn.
    fn without_collectors(&self) -> impl Iterator<Item = (&str, Recording)> {
        transform::GROUPS.iter().filter_map(|group| Some((group.name, transform::without(&self.recording, group)?)))
    }

    fn explain(&self, recording: &Recording, shift_ns: i64) -> Explanation {
        let slow = self.slow.map(|(from, to)| (from + shift_ns, to + shift_ns));
        explain(recording, &ExplainOptions { slow, baseline: self.baseline.as_ref() })
    }

    /// What is said when the service was another one, on the good day as well.
    fn explain_changed(&self, change: impl Fn(&Recording) -> Recording) -> Explanation {
        let baseline = self.baseline.as_ref().map(&change);
        explain(&change(&self.recording), &ExplainOptions { slow: self.slow, baseline: baseline.as_ref() })
    }
}

/// Every world by every set of recorders that it speaks of.
fn scenes(worlds: &[(String, World)]) -> Vec<Scene> {
    let of_world = |(name, world): &(String, World)| {
        let recorders = world.views.iter().flat_map(|view| view.recorders.clone());
        recorders.map(|recorders| scene(name, world, recorders)).collect::<Vec<_>>()
    };
    worlds.iter().flat_map(of_world).collect()
}

fn scene(name: &str, world: &World, recorders: Vec<String>) -> Scene {
    let recording = record(world, &recorders);
    let baseline = record_baseline(world, &recorders);
    let slow = world.slow.map(|(from, to)| (BEGIN_NS + from, BEGIN_NS + to));
    let answer = explain(&recording, &ExplainOptions { slow, baseline: baseline.as_ref() });
    let jvm = format!("{:?} {:?}", world.jvm, world.facts);
    let parts = recorders.iter().map(|recorder| record(world, std::slice::from_ref(recorder))).collect();
    let (world, age_ns, of_less) = (name.to_owned(), world.jvm.age_ns, OnceLock::new());
    Scene { world, recorders, parts, recording, baseline, slow, jvm, age_ns, answer, of_less }
}

/// What is wrong with a scene; nothing when the property holds.
type Property = fn(&[Scene], usize) -> Vec<String>;

const PROPERTIES: &[(&str, Property)] = &[
    ("a source less", |scenes, index| scenes[index].of_less().sources.clone()),
    ("a collector less", |scenes, index| scenes[index].of_less().collectors.clone()),
    ("a table less", a_table_less),
    ("nobody is ruled out by less", |scenes, index| scenes[index].of_less().acquitted.clone()),
    ("no cause is ruled out by fewer fields", ruled_out_by_fewer_fields),
    ("a third of a second later", later),
    ("an idle hour before", |scenes, index| idle_hour(&scenes[index], true)),
    ("an idle hour after", |scenes, index| idle_hour(&scenes[index], false)),
    ("idle threads beside", idle_threads),
    ("twice as large", doubled),
    ("two in one", two_in_one),
    ("asked about its middle", asked_about_its_middle),
    ("requests measured at their sockets", measured_at_sockets),
    ("what was lost most has an open cause", has_an_open_cause),
];

/// The properties as tests.
pub(crate) fn trials(worlds: Vec<(String, World)>) -> Vec<Trial> {
    let scenes: Arc<OnceLock<Vec<Scene>>> = Arc::default();
    let worlds = Arc::new(worlds);
    let trial = |(name, property): &(&'static str, Property)| {
        let (name, property, scenes, worlds) = (*name, *property, Arc::clone(&scenes), Arc::clone(&worlds));
        let run = move || check(name, property, scenes.get_or_init(|| self::scenes(&worlds)));
        Trial::test(format!("properties/{}", name.replace(' ', "_")), run)
    };
    PROPERTIES.iter().map(trial).collect()
}

/// Compares those that break a property with those that are known to.
fn check(name: &str, property: Property, scenes: &[Scene]) -> Result<(), Failed> {
    let mut broken: BTreeSet<String> = BTreeSet::new();
    let mut text = String::new();
    for (index, scene) in scenes.iter().enumerate() {
        let failures = property(scenes, index);
        if !failures.is_empty() {
            text += &format!("{} seen by {}\n  {}\n", scene.world, scene.recorders.join(" "), failures.join("\n  "));
            broken.insert(scene.world.clone());
        }
    }
    if std::env::var_os("FATHOM_BLESS").is_some() {
        return write_broken(name, &broken).map_err(Failed::from);
    }
    let list = std::fs::read_to_string(path())?;
    let known: BTreeSet<String> = list.lines().filter_map(|line| of(line, name)).map(str::to_owned).collect();
    let more: Vec<&String> = broken.difference(&known).collect();
    let healed: Vec<&String> = known.difference(&broken).collect();
    let shows = std::env::var_os("FATHOM_PENDING").is_some() && !broken.is_empty();
    match more.is_empty() && healed.is_empty() && !shows {
        true => Ok(()),
        false => Err(format!("{text}\nnew: {more:#?}\nhold now, take them out of BROKEN: {healed:#?}").into()),
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(BROKEN)
}

/// The world of a line about a property.
fn of<'a>(line: &'a str, property: &str) -> Option<&'a str> {
    line.split_once(": ").filter(|(name, _)| *name == property).map(|(_, world)| world)
}

fn write_broken(property: &str, broken: &BTreeSet<String>) -> std::io::Result<()> {
    // The tests run at once, and all write the same file.
    static WRITING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = WRITING.lock();
    let list = std::fs::read_to_string(path()).unwrap_or_default();
    let others = list.lines().filter(|line| of(line, property).is_none()).map(str::to_owned);
    let lines: BTreeSet<String> = others.chain(broken.iter().map(|world| format!("{property}: {world}"))).collect();
    std::fs::write(path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// A finished recording has lost a table, which is reported: what is not in the others may have been in it.
fn a_table_less(scenes: &[Scene], index: usize) -> Vec<String> {
    let scene = &scenes[index];
    let without = |(table, less): (&str, Recording)| {
        let failures = weaker(&scene.answer, &scene.explain(&less, 0));
        failures.into_iter().map(|failure| format!("no {table}: {failure}")).collect::<Vec<_>>()
    };
    transform::without_tables(&scene.recording).into_iter().flat_map(without).collect()
}

/// Each field of rows gone in turn, and events that the JVM's own settings leave out for being short.
fn ruled_out_by_fewer_fields(scenes: &[Scene], index: usize) -> Vec<String> {
    let scene = &scenes[index];
    let fields = transform::without_fields(&scene.recording);
    fields.into_iter().flat_map(|(name, less)| acquitted_without(scene, name, &less)).collect()
}

fn acquitted_without(scene: &Scene, name: &str, less: &Recording) -> Vec<String> {
    let failures = acquitted(&scene.answer, &scene.explain(less, 0));
    failures.into_iter().map(|failure| format!("no {name}: {failure}")).collect()
}

fn later(scenes: &[Scene], index: usize) -> Vec<String> {
    const LATER_NS: i64 = 370_000_000;
    let scene = &scenes[index];
    let moved = transform::shifted(&scene.recording, LATER_NS);
    let baseline = scene.baseline.as_ref().map(|baseline| transform::shifted(baseline, LATER_NS));
    let slow = scene.slow.map(|(from, to)| (from + LATER_NS, to + LATER_NS));
    same(&scene.answer, &explain(&moved, &ExplainOptions { slow, baseline: baseline.as_ref() }), SHARE_SLACK)
}

fn idle_hour(scene: &Scene, before: bool) -> Vec<String> {
    // A JVM that has just started cannot have been idle for an hour.
    const OLD_NS: i64 = 300_000_000_000;
    if before && scene.age_ns < OLD_NS {
        return Vec::new();
    }
    let more = transform::with_idle_hour(&scene.recording, &scene.recorders, before);
    same(&scene.answer, &scene.explain(&more, 0), SHARE_SLACK)
}

fn idle_threads(scenes: &[Scene], index: usize) -> Vec<String> {
    let scene = &scenes[index];
    if !scene.recorders.iter().any(|recorder| recorder == "jfr") {
        return Vec::new();
    }
    let told = scene.explain_changed(|recording| transform::with_idle_threads(recording, 40));
    same(&scene.answer, &told, SHARE_SLACK)
}

fn doubled(scenes: &[Scene], index: usize) -> Vec<String> {
    // Compilers and collectors have no twin, so that their part of the whole becomes smaller.
    const SLACK: f64 = 0.3;
    let scene = &scenes[index];
    same(&scene.answer, &scene.explain_changed(transform::doubled), SLACK)
}

/// With the next world of the same JVM and recorders, of another cause.
fn two_in_one(scenes: &[Scene], index: usize) -> Vec<String> {
    let first = &scenes[index];
    let cause = |scene: &Scene| scene.world.split('/').next().map(str::to_owned);
    let fits = |other: &&Scene| {
        let is_one_jvm = other.jvm == first.jvm && other.recorders == first.recorders;
        is_plain(other) && is_one_jvm && cause(other) != cause(first) && are_alike(&first.recording, &other.recording)
    };
    let second = scenes[index + 1..].iter().find(fits).filter(|_| is_plain(first));
    let both = second
        .and_then(|second| Some((second, transform::glued(&first.recording, &second.recording, &first.recorders)?)));
    let Some((second, both)) = both else { return Vec::new() };
    let failures = contains_both(&first.answer, &second.answer, &first.explain(&both, 0));
    failures.into_iter().map(|failure| format!("with {}: {failure}", second.world)).collect()
}

/// Whether two recordings may be of one service: the same is counted of both, and its quick requests are about as quick. (One that
/// is quicker at another time is slow by that.)
fn are_alike(one: &Recording, other: &Recording) -> bool {
    const ALIKE: f64 = 1.5;
    let counters = |recording: &Recording| -> BTreeSet<String> {
        let about_cpus = |name: &&str| ["cpu_", "thread_", "machine_"].iter().any(|begins| name.starts_with(begins));
        recording.counters.rows().map(|row| recording.text(row.name)).filter(about_cpus).map(str::to_owned).collect()
    };
    let quick_ns = |recording: &Recording| {
        let requests = recording.spans.rows().filter(|row| recording.text(row.kind) == span::REQUEST);
        let mut lengths: Vec<i64> = requests.map(|request| request.duration_ns).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 5).copied().unwrap_or(0) as f64
    };
    let (one_ns, other_ns) = (quick_ns(one), quick_ns(other));
    counters(one) == counters(other) && one_ns.max(other_ns) <= ALIKE * one_ns.min(other_ns)
}

/// Whether a scene says by itself when it was slow, and how it is else: one that is ill from the first to the last second would be
/// compared with the other. Late requests now and then, and code below Java, are looked for only where nothing else is slow.
fn is_plain(scene: &Scene) -> bool {
    const LAST_RESORTS: [&str; 2] = ["rare_requests", "below_java"];
    let is_last_resort = scene.answer.slow.iter().any(|slow| LAST_RESORTS.contains(&slow.signal.as_str()));
    let is_alone = scene.slow.is_none() && scene.baseline.is_none();
    is_alone && !scene.answer.slow.is_empty() && scene.answer.baseline.kind != "none" && !is_last_resort
}

/// Who has no latency file, but saw the requests at their sockets, gets the same answer.
fn measured_at_sockets(scenes: &[Scene], index: usize) -> Vec<String> {
    let scene = &scenes[index];
    let Some(of_file) = scene.recorders.iter().position(|recorder| recorder == "latency") else { return Vec::new() };
    let mut recording = transform::at_sockets(&scene.parts[of_file]);
    let others = scene.parts.iter().enumerate().filter(|(part, _)| *part != of_file);
    others.for_each(|(_, part)| recording.absorb(part.clone()));
    same(&scene.answer, &scene.explain(&recording, 0), SHARE_SLACK)
}

/// A part of the only slow stretch has the same causes as all of it.
fn asked_about_its_middle(scenes: &[Scene], index: usize) -> Vec<String> {
    const LEAST_NS: i64 = 9_000_000_000;
    let scene = &scenes[index];
    let [slow] = scene.answer.slow.as_slice() else { return Vec::new() };
    let (from, third) = (slow.from_ns, (slow.to_ns - slow.from_ns) / 3);
    if 3 * third < LEAST_NS || scene.slow.is_some() {
        return Vec::new();
    }
    let slow = Some((from + third, from + 2 * third));
    let options = ExplainOptions { slow, baseline: scene.baseline.as_ref() };
    agree(&scene.answer, &explain(&scene.recording, &options))
}

/// Where most of the lost time is unexplained and its largest part has a name, some cause of that family stays open.
fn has_an_open_cause(scenes: &[Scene], index: usize) -> Vec<String> {
    const MOST: f64 = 0.5;
    let scene = &scenes[index];
    let options = ExplainOptions { slow: scene.slow, baseline: scene.baseline.as_ref() };
    let Some((analysis, answer)) = investigate(&scene.recording, &options) else { return Vec::new() };
    if answer.slow.is_empty() || answer.unexplained.share < MOST {
        return Vec::new();
    }
    let mut lost_ns: BTreeMap<&str, f64> = BTreeMap::new();
    for excess in &analysis.excess.states {
        *lost_ns.entry(general_cause(excess.state).map_or("", |general| general.id)).or_default() += excess.lost_ns();
    }
    let most = lost_ns.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ns)| *ns > 0.0);
    let Some(general) = most.and_then(|(id, _)| cause(id)) else { return Vec::new() };
    let of_family = |id: &str| cause(id).is_some_and(|cause| cause.family == general.family);
    let is_open = answer.causes.iter().any(|one| of_family(&one.id) && one.verdict != Verdict::RuledOut);
    let share = answer.unexplained.share;
    (!is_open)
        .then(|| format!("{share:.2} unexplained, and all of {:?} ruled out", general.family))
        .into_iter()
        .collect()
}
