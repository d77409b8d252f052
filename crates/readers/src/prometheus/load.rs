//! Series to counters of machine and process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};
use rustc_hash::FxHashMap;

use super::labels::Labels;
use super::metrics::Is;
use super::parse::{Point, Read, Take};
use super::pauses::Collected;
use super::sums::Sum;
use super::targets::{Chosen, Survey};
use super::{parse_csv, parse_json};
use crate::rates::{Id, Rates, Which};
use crate::{LoadError, input};

/// The `source` column of everything that comes from Prometheus.
pub(super) const SOURCE: &str = "prometheus";

/// Most names that a loss lists.
const TOLD_MAX: usize = 4;

const SECOND_NS: f64 = 1e9;

/// A file: when its first point is, and what it had besides its series.
type Found<'a> = (i64, &'a Path, Read);

pub(super) fn load(files: &[PathBuf]) -> Result<Recording, LoadError> {
    let mut survey = Survey::default();
    let mut found = files.iter().map(|file| look(file, &mut survey)).collect::<Result<Vec<Found<'_>>, LoadError>>()?;
    // Answers for one range after the other.
    found.sort_by_key(|(first_ns, ..)| *first_ns);
    let chosen = survey.choose();
    if chosen.is_none() {
        let path = files.first().cloned().unwrap_or_default();
        return Err(LoadError::Unusable { path, says: why_nothing(&survey, &chosen, &found) });
    }
    let mut loader = Loader::of(chosen, survey);
    for (_, file, _) in &found {
        read(file, &mut |labels, points| loader.series(labels, points))?;
    }
    let mut recording = loader.finish();
    found.iter().for_each(|(_, file, read)| tell(&mut recording, file, read));
    Ok(recording)
}

/// Gives each series of a file to `take`.
fn read(file: &Path, take: &mut Take<'_>) -> Result<Read, LoadError> {
    let head = input::head(file, crate::SNIFF_BYTES)?;
    match parse_csv::is_table(&head) {
        true => parse_csv::read(file, take),
        false => parse_json::read(file, take),
    }
}

fn look<'a>(file: &'a Path, survey: &mut Survey) -> Result<Found<'a>, LoadError> {
    let mut first_ns = i64::MAX;
    let read = read(file, &mut |labels, points| {
        first_ns = points.first().map_or(first_ns, |point| point.0.min(first_ns));
        survey.see(labels, points);
    })?;
    Ok((first_ns, file, read))
}

fn why_nothing(survey: &Survey, chosen: &Chosen, found: &[Found<'_>]) -> String {
    let refused = found.iter().find_map(|(.., read)| read.refused);
    let several =
        [("processes", &chosen.jvms), ("machines", &chosen.machines)].into_iter().find(|(_, all)| all.len() > 1);
    match (several, refused) {
        (Some((what, all)), _) => several_says(what, all),
        (None, Some(refused)) => refused.to_owned(),
        (None, None) if survey.without_name > 0 => {
            format!("{} series without a metric's name, which functions as rate() take away; ask for the metric itself", survey.without_name)
        }
        (None, None) => {
            "no series of a metric that fathom knows (jvm_*, process_*, http_server_requests_*, node_*); ask for those of one JVM: {instance=\"HOST:PORT\"}, and in Grafana set the Legend to Verbose"
                .to_owned()
        }
    }
}

/// The first of many names.
fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(TOLD_MAX);
    let mut text = names.take(TOLD_MAX).cloned().collect::<Vec<String>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn several_says(what: &str, all: &[String]) -> String {
    format!(
        "series of {} {what} ({}), and nothing says which one is meant; ask for one: {{{}}}",
        all.len(),
        some_of(all.iter()),
        all[0]
    )
}

fn tell(recording: &mut Recording, file: &Path, read: &Read) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if let Some(says) = &read.cut {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{name}: {says}"));
    }
    if let Some(says) = read.refused {
        recording.add_loss(SOURCE, loss::REFUSED, 0, &format!("{name}: {says}"));
    }
    if read.left_out > 0 {
        let says =
            format!("{name}: {} values are no numbers at a time, or beyond what is kept of a series", read.left_out);
        recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, read.left_out, &says);
    }
    if read.is_local {
        let says = format!("{name} has local time without a zone, which was taken as UTC; --clock-offset corrects it");
        recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
    }
}

struct Loader {
    recording: Recording,
    rates: Rates,
    chosen: Chosen,
    survey: Survey,
    /// Up to when each series was read: answers may overlap.
    read_to: FxHashMap<Labels, i64>,
    /// Which series each number is of: two libraries may have the same one.
    series_of: FxHashMap<Id, Labels>,
    /// Numbers that are the sum of several series.
    sums: BTreeMap<(&'static str, String), Sum>,
    /// CPUs that there are series of.
    cpus: BTreeSet<u32>,
    pauses: Collected,
    began_anew: i64,
}

/// What a series rose by: from when to when, and the amount.
type Rise = ((i64, i64), f64);

impl Loader {
    fn of(chosen: Chosen, survey: Survey) -> Loader {
        let (recording, rates, read_to, series_of, sums, cpus, pauses) = Default::default();
        Loader { recording, rates, chosen, survey, read_to, series_of, sums, cpus, pauses, began_anew: 0 }
    }

    fn series(&mut self, labels: &Labels, points: &[Point]) {
        if labels.name().is_none_or(|name| self.survey.is_left_out(name)) {
            return;
        }
        let Some((is, instants)) = self.chosen.of(labels) else { return };
        let mut points = instants.scraped(points);
        let read_to = self.read_to.get(labels).copied().unwrap_or(i64::MIN);
        points.retain(|(time_ns, _)| *time_ns >= read_to);
        let Some((last_ns, _)) = points.last().copied() else { return };
        self.read_to.insert(labels.clone(), last_ns);
        match is {
            Is::Now(name, instance, factor) => {
                let Some(id) = self.id_of(labels, name, &instance) else { return };
                // A rise begins at the last point that was read, and that point is not new.
                let new = points.iter().filter(|(at, _)| *at > read_to);
                new.for_each(|(at, value)| self.rates.now(&mut self.recording, id, *at, value * factor));
            }
            grows => self.rises(&points).into_iter().for_each(|rise| self.rise(labels, &grows, rise)),
        }
    }

    /// What a number that only grows rose by, but for the times in which it began anew.
    fn rises(&mut self, points: &[Point]) -> Vec<Rise> {
        let rises = points.windows(2).map(|pair| ((pair[0].0, pair[1].0), pair[1].1 - pair[0].1));
        let (up, down): (Vec<Rise>, Vec<Rise>) = rises.partition(|(_, amount)| *amount >= 0.0);
        self.began_anew += down.len() as i64;
        up
    }

    fn rise(&mut self, labels: &Labels, is: &Is, (interval, amount): Rise) {
        match is {
            Is::Grows(name, instance, factor) => {
                let Some(id) = self.id_of(labels, name, instance) else { return };
                self.rates.add_to(&mut self.recording, id, interval, amount * factor);
            }
            Is::Part(name, instance, factor) => self.part(name, instance, interval, amount * factor),
            Is::Cpu(cpu, mode) => {
                self.cpus.insert(*cpu);
                let Some(id) = self.id_of(labels, counter::ONE_CPU_NS, &format!("cpu{cpu} {mode}")) else { return };
                self.rates.add_to(&mut self.recording, id, interval, amount * SECOND_NS);
                self.part(counter::MACHINE_CPU_NS, mode, interval, amount * SECOND_NS);
            }
            Is::PauseTime(kind) => self.pauses.add(kind.clone(), false, interval, amount),
            Is::PauseCount(kind) => self.pauses.add(kind.clone(), true, interval, amount),
            Is::Now(..) => {}
        }
    }

    fn part(&mut self, name: &'static str, instance: &str, interval: (i64, i64), amount: f64) {
        self.sums.entry((name, instance.to_owned())).or_default().add(interval, amount);
    }

    fn id(&mut self, name: &str, instance: &str) -> Id {
        self.rates.id(&mut self.recording, SOURCE, Which { name, instance, tid: 0 })
    }

    /// The same for a series, unless another one is that number.
    fn id_of(&mut self, labels: &Labels, name: &str, instance: &str) -> Option<Id> {
        let id = self.id(name, instance);
        let series = self.series_of.entry(id).or_insert_with(|| labels.clone());
        (series == labels).then_some(id)
    }

    fn finish(mut self) -> Recording {
        let has_all_cpus = self.cpus.iter().copied().eq(0..self.cpus.len() as u32);
        let mut left_out = self.pauses.left_out();
        for ((name, instance), sum) in std::mem::take(&mut self.sums) {
            left_out += sum.left_out;
            if name != counter::MACHINE_CPU_NS || has_all_cpus {
                let id = self.id(name, &instance);
                sum.rises().for_each(|(interval, amount)| self.rates.add_to(&mut self.recording, id, interval, amount));
            }
        }
        self.pauses.finish(&mut self.recording, &mut self.rates, SOURCE);
        self.rates.finish(&mut self.recording, SOURCE);
        tell_unread(&mut self.recording, &self.survey, &self.chosen);
        if left_out > 0 {
            let says = "the answers have more instants than are kept in memory; ask for less time";
            self.recording.add_loss(SOURCE, loss::LIMIT, left_out, says);
        }
        if self.began_anew > 0 {
            let says =
                format!("{} times a counter began anew, and what it had counted since is not known", self.began_anew);
            self.recording.add_loss(SOURCE, loss::EVENTS_LOST, self.began_anew, &says);
        }
        self.recording
    }
}

/// Tells what was not read of the answers.
fn tell_unread(recording: &mut Recording, survey: &Survey, chosen: &Chosen) {
    for (what, all) in [("processes", &chosen.jvms), ("machines", &chosen.machines)] {
        if all.len() > 1 {
            let says = several_says(what, all);
            recording.add_loss(SOURCE, loss::REFUSED, all.len() as i64, &says);
        }
    }
    let (unknown, falling) = (some_of(survey.unknown.iter()), some_of(survey.falling.iter()));
    for (count, says) in [
        (survey.unknown.len() as i64, format!("metrics that fathom does not know: {unknown}")),
        (
            survey.falling.len() as i64,
            format!("these fall and are no counters, as after rate(): {falling}; ask for the metric itself"),
        ),
        (survey.without_name, "series without a metric's name, as after rate(); ask for the metric itself".to_owned()),
    ] {
        if count > 0 {
            recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, count, &says);
        }
    }
}
