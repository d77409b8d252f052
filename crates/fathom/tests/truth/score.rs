//! What is true of a recording, and what is wrong with an answer.

use std::collections::{BTreeMap, BTreeSet};

use fathom_causes::explanation::{Explanation, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::told::says_all_clear;

/// With less of the lost time than this, a cause is mentioned but not accused. (Harm that is no lost time has no limit.)
const ACCUSED_FROM: f64 = 0.03;

/// What is known of a recording.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    /// The causes of which one has to come first; empty when no cause may be accused.
    pub(crate) first: Vec<String>,
    /// Others that may be accused.
    pub(crate) also: BTreeSet<String>,
    /// Those that must not be acquitted.
    pub(crate) guilty: BTreeSet<String>,
    /// Whether requests suffered, so that an answer must not say that nothing was slow.
    pub(crate) suffered: bool,
    /// When it was slow, if that is known; times of which nothing is known are in `open`.
    pub(crate) slow: Option<Vec<(i64, i64)>>,
    pub(crate) open: Vec<(i64, i64)>,
    /// Shares by cause, if the dose is known.
    pub(crate) shares: Vec<(String, f64, f64)>,
}

/// What of an answer is judged, as its JSON says it.
#[derive(Debug)]
pub(crate) struct Answer {
    is_all_clear: bool,
    slow: Vec<(i64, i64)>,
    causes: Vec<Said>,
}

#[derive(Debug)]
struct Said {
    id: String,
    verdict: Verdict,
    share: f64,
}

impl From<&Explanation> for Answer {
    fn from(explanation: &Explanation) -> Answer {
        Answer::from(&serde_json::to_value(explanation).expect("an answer is JSON"))
    }
}

impl From<&Value> for Answer {
    fn from(json: &Value) -> Answer {
        let rows = |field: &str| json[field].as_array().map_or(&[][..], Vec::as_slice).iter();
        let time = |slow: &Value, field: &str| slow[field].as_i64().unwrap_or(0);
        let cause = |cause: &Value| Said {
            id: cause["id"].as_str().unwrap_or_default().to_owned(),
            verdict: verdict(cause["verdict"].as_str().unwrap_or_default()),
            share: cause["share"].as_f64().unwrap_or(0.0),
        };
        Answer {
            is_all_clear: says_all_clear(json),
            slow: rows("slow").map(|slow| (time(slow, "from_ns"), time(slow, "to_ns"))).collect(),
            causes: rows("causes").map(cause).collect(),
        }
    }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "shown" => Verdict::Shown,
        "likely" => Verdict::Likely,
        "possible" => Verdict::Possible,
        "ruled_out" => Verdict::RuledOut,
        _ => Verdict::NotEnough,
    }
}

/// One answer judged.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Labs, worlds, or the folder that was given.
    pub(crate) set: String,
    pub(crate) name: String,
    /// Sources, joined by `+`.
    pub(crate) mix: String,
    score: Score,
    wrongs: Vec<String>,
}

/// Counts of a row; less is better but for the first three.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    /// Answers.
    pub(crate) answers: usize,
    /// Those to recordings in which a cause is to be found.
    pub(crate) sick: usize,
    /// Of these, the right cause came first.
    pub(crate) first_right: usize,
    /// Of these, no cause was accused, and the answer did not say that all was well.
    pub(crate) open: usize,
    /// Of these, another came first.
    pub(crate) first_wrong: usize,
    /// Causes accused that have no part in it, of all answers.
    pub(crate) accused_wrongly: usize,
    /// Causes ruled out that have their part in it.
    pub(crate) acquitted_wrongly: usize,
    /// "Nothing was slow", and it was.
    pub(crate) false_all_clears: usize,
    /// Slow time found where nothing suffered.
    pub(crate) false_alarms: usize,
    /// Answers that change when a source or a kind of event is missing.
    pub(crate) turned: usize,
    /// Sum of what the first cause's share is outside the dose's band, and how many have a band.
    pub(crate) share_error: f64,
    pub(crate) with_dose: usize,
    /// Sum of the part of slow time (told or true) on which answer and truth differ, and how many have a time.
    pub(crate) interval_error: f64,
    pub(crate) with_time: usize,
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.answers += other.answers;
        self.sick += other.sick;
        self.first_right += other.first_right;
        self.open += other.open;
        self.first_wrong += other.first_wrong;
        self.accused_wrongly += other.accused_wrongly;
        self.acquitted_wrongly += other.acquitted_wrongly;
        self.false_all_clears += other.false_all_clears;
        self.false_alarms += other.false_alarms;
        self.turned += other.turned;
        self.share_error += other.share_error;
        self.with_dose += other.with_dose;
        self.interval_error += other.interval_error;
        self.with_time += other.with_time;
    }

    /// What must not grow, by name.
    fn faults(&self) -> [(&'static str, f64); 9] {
        [
            ("not right", (self.sick - self.first_right) as f64),
            ("first wrong", self.first_wrong as f64),
            ("accused wrongly", self.accused_wrongly as f64),
            ("acquitted wrongly", self.acquitted_wrongly as f64),
            ("false all-clears", self.false_all_clears as f64),
            ("false alarms", self.false_alarms as f64),
            ("turned", self.turned as f64),
            ("share error", self.share_error),
            ("interval error", self.interval_error),
        ]
    }
}

fn is_accused(cause: &&Said) -> bool {
    let counts = cause.share >= ACCUSED_FROM || cause.share == 0.0;
    cause.verdict <= Verdict::Likely && counts
}

/// Judges one answer; `turned` are the sentences about answers to less evidence.
pub(crate) fn judge(set: &str, name: &str, mix: &str, truth: &Truth, answer: &Answer, turned: Vec<String>) -> Judged {
    let accused: Vec<&Said> = answer.causes.iter().filter(is_accused).collect();
    let mut score = Score { answers: 1, turned: turned.len(), ..Score::default() };
    let mut wrongs = turned;
    let is_first = |id: &str| truth.first.iter().any(|first| first == id);
    if !truth.first.is_empty() {
        score.sick = 1;
        match accused.first() {
            Some(first) if is_first(&first.id) => score.first_right = 1,
            Some(first) => {
                score.first_wrong = 1;
                wrongs.push(format!("first is {} and not {}", first.id, truth.first.join(" or ")));
            }
            None => score.open = usize::from(!answer.is_all_clear),
        }
    }
    for cause in accused.iter().filter(|cause| !is_first(&cause.id) && !truth.also.contains(&cause.id)) {
        score.accused_wrongly += 1;
        wrongs.push(format!("accuses {} ({:.0} %)", cause.id, cause.share * 100.0));
    }
    if answer.is_all_clear && truth.suffered {
        score.false_all_clears = 1;
        wrongs.push("says that nothing was slow".to_owned());
    } else if !answer.slow.is_empty() {
        let acquitted = |cause: &&Said| cause.verdict == Verdict::RuledOut && truth.guilty.contains(&cause.id);
        for cause in answer.causes.iter().filter(acquitted) {
            score.acquitted_wrongly += 1;
            wrongs.push(format!("acquits {}", cause.id));
        }
    }
    measure(truth, answer, &mut score, &mut wrongs);
    Judged { set: set.to_owned(), name: name.to_owned(), mix: mix.to_owned(), score, wrongs }
}

fn measure(truth: &Truth, answer: &Answer, score: &mut Score, wrongs: &mut Vec<String>) {
    for (id, low, high) in &truth.shares {
        let share = answer.causes.iter().find(|cause| cause.id == *id).map_or(0.0, |cause| cause.share);
        score.with_dose += 1;
        score.share_error += (low - share).max(share - high).max(0.0);
    }
    let Some(slow) = &truth.slow else { return };
    let open = Times::of(&truth.open);
    let (told, slow) = (Times::of(&answer.slow).less(&open), Times::of(slow).less(&open));
    if truth.suffered {
        let either = told.or(&slow).length_ns();
        let both = told.length_ns() + slow.length_ns() - either;
        score.with_time = 1;
        // Nothing told where nothing is to be told is right.
        score.interval_error = if either == 0 { 0.0 } else { 1.0 - both as f64 / either as f64 };
    } else if told.length_ns() > 0 {
        score.false_alarms = 1;
        wrongs.push(format!("finds {:.1} s slow", told.length_ns() as f64 / 1e9));
    }
}

/// Disjoint stretches of time, in order.
struct Times(Vec<(i64, i64)>);

impl Times {
    fn of(stretches: &[(i64, i64)]) -> Times {
        let mut sorted: Vec<(i64, i64)> = stretches.iter().copied().filter(|(from, to)| from < to).collect();
        sorted.sort_unstable();
        let mut times: Vec<(i64, i64)> = Vec::new();
        for (from, to) in sorted {
            match times.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => times.push((from, to)),
            }
        }
        Times(times)
    }

    fn or(&self, other: &Times) -> Times {
        Times::of(&[self.0.as_slice(), other.0.as_slice()].concat())
    }

    fn less(&self, other: &Times) -> Times {
        let cut = |rest: Vec<(i64, i64)>, (from, to): &(i64, i64)| {
            let parts = rest.into_iter().flat_map(|(begin, end)| [(begin, end.min(*from)), (begin.max(*to), end)]);
            parts.filter(|(begin, end)| begin < end).collect()
        };
        Times(other.0.iter().fold(self.0.clone(), cut))
    }

    fn length_ns(&self) -> i64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }
}

/// All rows, and each single wrong.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Board {
    /// By set and mix; the mix is empty for the sum of a set.
    pub(crate) rows: BTreeMap<String, BTreeMap<String, Score>>,
    /// `set · name · mix: what is wrong`
    pub(crate) wrongs: Vec<String>,
}

impl Board {
    pub(crate) fn of(judged: &[Judged]) -> Board {
        let mut board = Board::default();
        for one in judged {
            let set = board.rows.entry(one.set.clone()).or_default();
            set.entry(String::new()).or_default().add(&one.score);
            set.entry(one.mix.clone()).or_default().add(&one.score);
            let wrong = |what: &String| format!("{} · {} · {}: {what}", one.set, one.name, one.mix);
            board.wrongs.extend(one.wrongs.iter().map(wrong));
        }
        board.wrongs.sort();
        for score in board.rows.values_mut().flat_map(BTreeMap::values_mut) {
            // Enough digits for a comparison, few enough for a file that is reviewed.
            score.share_error = (score.share_error * 100.0).round() / 100.0;
            score.interval_error = (score.interval_error * 100.0).round() / 100.0;
        }
        board
    }

    /// Each count of a set that has grown.
    pub(crate) fn worse_than(&self, before: &Board) -> Vec<String> {
        /// Errors are sums of fractions: less than this is rounding.
        const ROUNDING: f64 = 0.05;
        let mut worse = Vec::new();
        for (set, mixes) in &self.rows {
            // Recordings that are not in the baseline yet cannot be worse than it.
            let Some(old) = before.rows.get(set).and_then(|mixes| mixes.get("")) else { continue };
            for ((name, now), (_, was)) in mixes[""].faults().into_iter().zip(old.faults()) {
                if now > was + ROUNDING {
                    worse.push(format!("{set}: {name} {now} instead of {was}"));
                }
            }
        }
        worse
    }

    pub(crate) fn new_wrongs(&self, before: &Board) -> Vec<String> {
        let old: BTreeSet<&String> = before.wrongs.iter().collect();
        self.wrongs.iter().filter(|wrong| !old.contains(wrong)).cloned().collect()
    }
}
