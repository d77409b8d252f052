//! Which files are of the same JVM. This is decided from what they say of themselves; for files that say nothing, from
//! their folder and the time that they cover.
//!
//! A wrong "same" mixes two JVMs into one account, and nothing shows it; a wrong "different" shows two accounts instead
//! of one. So files are put together only for a reason.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{span, subject};

use super::collections::{AGREES, collections, share_of_same};

/// Two sources that measure a JVM's start differ by less: one takes the first instruction of the
/// JVM, the other the end of its initialisation.
const START_TOLERANCE_NS: i64 = 10_000_000_000;
/// Logs of the collector, which know no process id, all take their wall clock less their uptime, cut to milliseconds: that
/// much may come from a clock that was put right meanwhile.
const LOGS_START_TOLERANCE_NS: i64 = 100_000_000;
const MILLISECOND_NS: i64 = 1_000_000;

/// What a source says of the JVM that it is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Traits {
    pub(super) pid: Option<i64>,
    pub(super) started_at_ns: Option<i64>,
    /// First and last instant.
    pub(super) range_ns: Option<(i64, i64)>,
    /// Number of the folder that it is in.
    pub(super) folder: usize,
    /// It is about the service as its callers see it, or about the machine, and not about a JVM.
    pub(super) only_requests: bool,
    /// Main class and host, as numbers that are equal when the texts are.
    pub(super) marks: [Option<u64>; 2],
    /// Whether the JVM's own recorder or log tells, and not a profiler beside it: the two read a JVM's start differently.
    pub(super) is_by_jvm: bool,
    /// Beginnings of collections, in order.
    pub(super) collections_ns: Vec<i64>,
}

/// A JVM: process ids are used again, and every container has a process 1, so that the start
/// belongs to it, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pid: i64,
    started_at_ms: i64,
}

impl Identity {
    pub(super) fn started_at_ns(self) -> i64 {
        self.started_at_ms.saturating_mul(MILLISECOND_NS)
    }
}

impl Traits {
    /// Reads them from what a source gave.
    pub(crate) fn of(recording: &Recording) -> Traits {
        let number = |key| recording.fact(subject::JVM, key)?.parse().ok();
        Traits {
            pid: number("pid"),
            started_at_ns: number("started_at_ns"),
            // If a log has no times, its range belongs to no JVM.
            range_ns: recording.time_range_ns().filter(|_| recording.fact(subject::GC, "times") != Some("none")),
            folder: 0,
            only_requests: only_requests(recording),
            marks: marks(recording),
            is_by_jvm: has_facts(recording, subject::GC),
            collections_ns: collections(recording).iter().map(|pause| pause.0).collect(),
        }
    }

    /// Whether both say fully which JVM they are of, and it is the same: the same process with the same start, or with one
    /// that another recorder read up to seconds away while their contents agree.
    pub(super) fn is_of_same_jvm(&self, other: &Traits) -> bool {
        let Some((own, others)) = self.identity().zip(other.identity()) else { return false };
        let is_near = both(self.started_at_ns, other.started_at_ns)
            .is_some_and(|(a, b)| a.abs_diff(b) <= START_TOLERANCE_NS.unsigned_abs());
        let may_be = own.pid == others.pid && is_near && self.overlaps(other) && !self.contradicts(other);
        own == others || (may_be && self.contents_agree(other))
    }

    /// Whether something that does not change in the life of a JVM is different.
    fn contradicts(&self, other: &Traits) -> bool {
        self.marks
            .iter()
            .zip(&other.marks)
            .any(|(own, others)| own.zip(*others).is_some_and(|(own, others)| own != others))
    }

    /// Replicas of a service are all process 1 of their container and start within seconds: collections at the same
    /// instants tell a JVM from its replica. Where only one of two recorders knows any, a profiler beside the JVM's own
    /// recorder is of the same process; two of the same kind would have read the same start.
    fn contents_agree(&self, other: &Traits) -> bool {
        let same = share_of_same(&self.collections_ns, &other.collections_ns);
        same.map_or(self.is_by_jvm != other.is_by_jvm, |share| share >= AGREES)
    }

    /// Which JVM it is, if the source says it fully.
    pub(crate) fn identity(&self) -> Option<Identity> {
        Some(Identity { pid: self.pid?, started_at_ms: self.started_at_ns?.div_euclid(MILLISECOND_NS) })
    }

    pub(crate) fn is_identified(&self) -> bool {
        self.identity().is_some()
    }

    /// Whether both saw some of the same time.
    pub(crate) fn overlaps(&self, other: &Traits) -> bool {
        match (self.range_ns, other.range_ns) {
            (Some((from, to)), Some((other_from, other_to))) => from <= other_to && other_from <= to,
            _ => false,
        }
    }

    /// Whether something says that it is the same JVM, and nothing speaks against it.
    fn agrees(&self, other: &Traits) -> bool {
        self.signs(other)[..2].contains(&Some(true)) && !self.differs(other)
    }

    /// Whether something says that it is another JVM.
    fn differs(&self, other: &Traits) -> bool {
        self.signs(other).contains(&Some(false))
    }

    /// Whether process id, start and collections are the same, as far as both know them. Equal collections alone are no
    /// sign: timers of two JVMs may go alike.
    fn signs(&self, other: &Traits) -> [Option<bool>; 3] {
        let are_logs = self.pid.is_none() && other.pid.is_none();
        let tolerance_ns = if are_logs { LOGS_START_TOLERANCE_NS } else { START_TOLERANCE_NS };
        let starts = both(self.started_at_ns, other.started_at_ns);
        let same = share_of_same(&self.collections_ns, &other.collections_ns);
        [
            both(self.pid, other.pid).map(|(a, b)| a == b),
            starts.map(|(a, b)| a.abs_diff(b) <= tolerance_ns.unsigned_abs()),
            same.map(|share| share >= AGREES),
        ]
    }
}

fn both(a: Option<i64>, b: Option<i64>) -> Option<(i64, i64)> {
    Some((a?, b?))
}

/// What does not change in the life of a JVM.
fn marks(recording: &Recording) -> [Option<u64>; 2] {
    let hash = |text: &str| BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
    let main = recording.fact(subject::JVM, "java_arguments").and_then(|arguments| arguments.split(' ').next());
    let host = recording.fact(subject::ENVIRONMENT, "HOSTNAME");
    [main, host].map(|text| text.filter(|text| !text.is_empty()).map(hash))
}

fn has_facts(recording: &Recording, about: &str) -> bool {
    recording.strings.find(about).is_some_and(|about| recording.facts.subject.contains(&about))
}

/// Sources that tell what a whole machine does, series of which only labels say whose they are, messages that name no JVM, and captures of packets.
const OF_THE_MACHINE: &[&str] =
    &["vmstat", "sysstat", "prometheus", "blktrace", "app_log", "pcap", "latency", "proc_files"];

fn only_requests(recording: &Recording) -> bool {
    let of_machine: Vec<_> = OF_THE_MACHINE.iter().filter_map(|source| recording.strings.find(source)).collect();
    let request = recording.strings.find(span::REQUEST);
    let of_a_jvm = recording.strings.find(subject::JVM);
    recording.samples.time_ns.is_empty()
        && recording.counters.source.iter().all(|source| of_machine.contains(source))
        && recording.spans.rows().all(|span| Some(span.kind) == request || of_machine.contains(&span.source))
        && !recording.facts.subject.iter().any(|about| Some(*about) == of_a_jvm)
}

/// Indexes of the sources of each JVM, in the order of the first source.
pub(crate) fn group(sources: &[Traits]) -> Vec<Vec<usize>> {
    let mut groups = identified(sources);
    for index in indexes(sources, |source| !source.only_requests && !source.is_identified()) {
        let jvm = jvm_of(&sources[index], &groups, sources);
        join(index, jvm, &mut groups);
    }
    let requests = indexes(sources, |source| source.only_requests);
    // Found for all before any joins: requests do not make a JVM, and do not lengthen its time.
    let jvms: Vec<Option<usize>> =
        requests.iter().map(|index| beside(&sources[*index], &groups, sources, |_| true)).collect();
    for (index, jvm) in requests.into_iter().zip(jvms) {
        join(index, jvm, &mut groups);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    groups
}

fn join(index: usize, group: Option<usize>, groups: &mut Vec<Vec<usize>>) {
    match group {
        Some(group) => groups[group].push(index),
        None => groups.push(vec![index]),
    }
}

fn indexes(sources: &[Traits], choose: impl Fn(&Traits) -> bool) -> Vec<usize> {
    (0..sources.len()).filter(|index| choose(&sources[*index])).collect()
}

fn identified(sources: &[Traits]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in indexes(sources, Traits::is_identified) {
        let is_same = |group: &Vec<usize>| group.iter().any(|member| sources[*member].is_of_same_jvm(&sources[index]));
        let same: Vec<usize> = matching(&groups, is_same);
        // One file may show that two others are of one JVM.
        let mut joined: Vec<usize> = same.iter().rev().flat_map(|group| groups.remove(*group)).collect();
        joined.push(index);
        groups.push(joined);
    }
    groups
}

/// The JVM that a source without full identity belongs to, if it ran meanwhile: the only one that
/// agrees with it, or for a source that says nothing of itself the one beside it.
fn jvm_of(source: &Traits, groups: &[Vec<usize>], sources: &[Traits]) -> Option<usize> {
    let agrees = |group: &Vec<usize>| {
        let mut members = group.iter().map(|index| &sources[*index]);
        members.clone().any(|member| member.agrees(source) && member.overlaps(source))
            && !members.any(|member| member.differs(source))
    };
    let agreeing = matching(groups, agrees);
    match agreeing[..] {
        [one] => Some(one),
        [] if source.pid.is_none() && source.started_at_ns.is_none() => {
            beside(source, groups, sources, Traits::is_identified)
        }
        _ => None,
    }
}

/// The only JVM in the folder of `source`, or the only one at all, if it ran meanwhile.
fn beside(
    source: &Traits,
    groups: &[Vec<usize>],
    sources: &[Traits],
    is_known: impl Fn(&Traits) -> bool,
) -> Option<usize> {
    let any = |group: &Vec<usize>, holds: &dyn Fn(&Traits) -> bool| group.iter().any(|index| holds(&sources[*index]));
    let near = matching(groups, |group| any(group, &|member| is_known(member) && member.folder == source.folder));
    let only = match near[..] {
        [one] => one,
        [] if groups.len() == 1 && any(&groups[0], &is_known) => 0,
        _ => return None,
    };
    any(&groups[only], &|member| member.overlaps(source)).then_some(only)
}

/// Indexes of the groups that hold.
fn matching(groups: &[Vec<usize>], holds: impl Fn(&Vec<usize>) -> bool) -> Vec<usize> {
    (0..groups.len()).filter(|index| holds(&groups[*index])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source from a drawing: `-` is time that it covers, one character is a minute. Then what it
    /// is: `p` process id, `s` start in seconds, `f` folder, `m` main class, `jvm` for the JVM's own recorder, `g` collections
    /// in seconds, `requests`.
    fn source(drawing: &str) -> Traits {
        let (time, words) = drawing.split_at(10);
        let at = |index: usize| index as i64 * 60_000_000_000;
        let mut traits = Traits {
            range_ns: time.find('-').zip(time.rfind('-')).map(|(from, to)| (at(from), at(to + 1))),
            ..Traits::default()
        };
        for word in words.split_whitespace() {
            match word.split_at(1) {
                ("p", pid) => traits.pid = Some(pid.parse().unwrap()),
                ("f", folder) => traits.folder = folder.parse().unwrap(),
                ("m", main) => traits.marks[0] = Some(main.parse().unwrap()),
                ("j", "vm") => traits.is_by_jvm = true,
                ("g", list) => {
                    traits.collections_ns = list.split(',').map(|s| (s.parse::<f64>().unwrap() * 1e9) as i64).collect();
                }
                ("s", start) => traits.started_at_ns = Some((start.parse::<f64>().unwrap() * 1e9) as i64),
                _ => traits.only_requests = true,
            }
        }
        traits
    }

    fn check(drawings: &[&str], expected: &[&[usize]]) {
        let sources: Vec<Traits> = drawings.iter().map(|drawing| source(drawing)).collect();
        assert_eq!(group(&sources), expected, "{drawings:?}");
    }

    #[test]
    fn files_of_one_jvm() {
        check(&[], &[]);
        check(&["----       p7 s100"], &[&[0]]);
        check(&["----       p7 s100", "    ----   p7 s100"], &[&[0, 1]]);
        // Two recorders of one kind read the same start; two replicas are process 1 each and start at nearly the same time.
        check(&["----       p1 s100", "----       p1 s100.4"], &[&[0], &[1]]);
        check(&["----       p1 s100 jvm", "----       p1 s100.4 jvm"], &[&[0], &[1]]);
        // A profiler beside the JVM's recorder.
        check(&["----       p7 s100 jvm", "----       p7 s100.4"], &[&[0, 1]]);
        check(&["----       p7 s100 jvm", "----       p7 s103", "----       p7 s103"], &[&[0, 1, 2]]);
        check(&["----       p7 s100 jvm", "----       p7 s130"], &[&[0], &[1]]);
        check(&["----       p7 s100 jvm", "      ---- p7 s100.4"], &[&[0], &[1]]);
        check(&["----       p7 s100 jvm m1", "----       p7 s100.4 m1"], &[&[0, 1]]);
        check(&["----       p7 s100 jvm m1", "----       p7 s100.4 m2"], &[&[0], &[1]]);
        // Collections decide.
        check(&["----       p1 s100 jvm g1,2,3.5,9", "----       p1 s101 jvm g1.01,2.01,3.5,9"], &[&[0, 1]]);
        check(&["----       p1 s100 jvm g1,2,3.5,5,6,9", "----       p1 s101 g1.3,2.6,3.9,5.5,7,8"], &[&[0], &[1]]);
        check(&["----       p1 s100", "----       p1 s200"], &[&[0], &[1]]);
        check(&["----       p1 s100", "----       p2 s100", "  ----     p1 s100"], &[&[0, 2], &[1]]);
    }

    #[test]
    fn logs_that_know_less() {
        // A log that knows nothing of its JVM joins the only one that ran meanwhile.
        check(&["----       p7 s100", "--         "], &[&[0, 1]]);
        check(&["----       p7 s100", "      --   "], &[&[0], &[1]]);
        check(&["----       p7 s100", "----       p8 s100", "--         "], &[&[0], &[1], &[2]]);
        check(&["--         ", "----       p7 s100"], &[&[0, 1]]);
        // One that knows the start or the process id joins the JVM that agrees, among any number.
        check(&["----       p7 s100", "----       p8 s200", "--         s200.3"], &[&[0], &[1, 2]]);
        check(&["----       p7 s100", "----       p8 s200", "--         p7"], &[&[0, 2], &[1]]);
        check(&["----       p7 s100", "--         s300"], &[&[0], &[1]]);
        check(&["----       p7 s100", "--         p8"], &[&[0], &[1]]);
        check(&["----       p7 s100", "--         p7 s300"], &[&[0], &[1]]);
        // Two JVMs that agree equally well: no guess.
        check(&["----       p1 s100", "----       p1 s100.5", "--         s100.2"], &[&[0], &[1], &[2]]);
        // Logs among themselves: put together only if they know the same start.
        check(&["----       ", "----       "], &[&[0], &[1]]);
        check(&["----       s100", " ---       s100"], &[&[0, 1]]);
        check(&["----       s100", " ---       s100.05"], &[&[0, 1]]);
        // Replicas start within seconds of each other, and their logs measure the start alike.
        check(&["----       s100", "----       s103"], &[&[0], &[1]]);
        check(&["----       p1 s100 jvm g1,2,3.5,9", "----       s104 g1.3,2.6,3.9,5.5"], &[&[0], &[1]]);
        check(&["----       p1 s100 jvm g1,2,3.5,9", "----       s101 g1.01,2.01,3.5,5.5"], &[&[0, 1]]);
        // Beside a recording without collections only one of them can be its JVM's.
        check(&["----       p1 s100", "----       s100.3", "----       s104"], &[&[0, 1], &[2]]);
    }

    #[test]
    fn latencies() {
        check(&["----       p7 s100", "----       requests"], &[&[0, 1]]);
        check(&["----       requests", "----       p7 s100"], &[&[0, 1]]);
        check(&["----       requests", "----       "], &[&[0, 1]]);
        check(&["----       p7 s100", "      ---- requests"], &[&[0], &[1]]);
        check(&["----       p7 s100", "----       p8 s100", "----       requests"], &[&[0], &[1], &[2]]);
        check(&["----       requests", "----       requests"], &[&[0], &[1]]);
        check(&["----       p7 s100", "--         requests", "  --       requests"], &[&[0, 1, 2]]);
        check(&["----       p7 s100", "           requests"], &[&[0], &[1]]);
    }

    #[test]
    fn counts_of_the_machine_make_no_jvm() {
        let mut recording = Recording::default();
        recording.add_counter(5, "tasks_count", "runnable", 1.0, "vmstat");
        recording.add_span(5, 1, 0, span::CALL, "10.0.0.9:5432", "", "pcap");
        assert!(Traits::of(&recording).only_requests);
        recording.add_counter(5, "heap_used_bytes", "", 1.0, "jstat");
        assert!(!Traits::of(&recording).only_requests);
    }

    #[test]
    fn folders() {
        // Two hosts, each with its folder.
        let hosts = ["----       p7 s100 f1", "----       p8 s100 f2"];
        check(&[hosts[0], hosts[1], "----       requests f2", "----       f1"], &[&[0, 3], &[1, 2]]);
        check(&[hosts[0], hosts[1], "      --   requests f2", "      --   f1"], &[&[0], &[1], &[2], &[3]]);
        check(&[hosts[0], hosts[1], "----       requests f3"], &[&[0], &[1], &[2]]);
        // A folder with two JVMs does not tell which.
        check(&[hosts[0], "----       p9 s100 f1", "----       requests f1"], &[&[0], &[1], &[2]]);
        // What a log says of itself counts for more than where it is.
        check(&[hosts[0], "----       p8 s900 f2", "----       s900 f1"], &[&[0], &[1, 2]]);
    }
}
