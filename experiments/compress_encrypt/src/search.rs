//! Reads a block whose table is hidden: guesses code by code what each stands for, and keeps the guesses that explain the bits best.
//!
//! A guess (`Path`) is what was read up to some bit, with the codes that this implies. Paths that have read equally many bits are compared: each is
//! as likely as its text, by the model of such documents, and the lengths of its codes.
//! What is known of the text is not guessed, only how its codes look.

use std::f64::consts::LN_2;
use std::ops::Range;

use crate::bits::{code_window, number};
use crate::codes::Codes;
use crate::deflate::{DISTANCES, END_OF_BLOCK, LITERALS, Token, distance_of, length_of};
use crate::history::{History, Place};
use crate::model::{Context, Model};

/// What the reader begins with.
pub struct Task<'a> {
    pub sealed: &'a [u8],
    /// What the text begins with, as far as it is known.
    pub known: &'a [u8],
    pub model: &'a Model,
    /// How many paths are kept for each bit while the codes are being found.
    pub paths: usize,
}

/// After so many bits of a body most of its codes were met, and the paths differ in rare ones only.
const WIDE_BITS: usize = 4_000;
const PATHS_THEN: usize = 300;
/// Logarithms of how likely known text is a literal, or one of the 29 symbols of a match. Which distance it has, the text says.
const LITERAL_OF_KNOWN: f64 = -LN_2;
const MATCH_OF_KNOWN: f64 = -LN_2 - 3.4;
/// No token has more bits: a length with its extra bits, or a distance with its own.
const LONGEST_STEP: usize = 15 + 13 + 1;

#[derive(Clone)]
struct Path {
    score: f64,
    place: Place,
    context: Context,
    literals: Codes,
    distances: Codes,
    /// A match whose distance comes next.
    length: Option<u16>,
}

/// One way to go on from a path.
struct Step {
    from: usize,
    score: f64,
    symbol: u16,
    bits: u8,
    is_new: bool,
}

/// The plaintext that explains the bits of a body best, or what was read of it when none could be read to its end.
pub fn plaintext(task: &Task<'_>, body: usize) -> Vec<u8> {
    let mut search = Search::new(task, body);
    (body..8 * task.sealed.len()).for_each(|at| search.go_on_from(at, body));
    search.best.map(|path| search.history.text(path.place)).unwrap_or_default()
}

/// Where a body begins that can hold the known text, in bits; `tables` are the possible ends of a hidden table.
pub fn bodies(task: &Task<'_>, tables: Range<usize>) -> Vec<usize> {
    tables.filter(|body| Search::new(task, *body).reads_known(*body)).collect()
}

struct Search<'a> {
    task: &'a Task<'a>,
    history: History,
    /// Paths by the bit that they have come to, in a ring.
    ahead: Vec<Vec<Path>>,
    /// The one that came to the end, else the best of those that came furthest.
    best: Option<Path>,
}

impl Search<'_> {
    fn new<'a>(task: &'a Task<'a>, body: usize) -> Search<'a> {
        let path = Path {
            score: 0.0,
            place: Place::default(),
            context: Context::default(),
            literals: Codes::default(),
            distances: Codes::default(),
            length: None,
        };
        let ahead = (0..=LONGEST_STEP).map(|_| Vec::new()).collect();
        let mut search = Search { task, history: History::default(), ahead, best: None };
        search.slot(body).push(path);
        search
    }

    fn reads_known(&mut self, body: usize) -> bool {
        for at in body..8 * self.task.sealed.len() {
            self.go_on_from(at, body);
            let read = self.best.as_ref().map_or(0, |path| self.history.length(path.place) as usize);
            if read >= self.task.known.len() || self.ahead.iter().all(Vec::is_empty) {
                return read >= self.task.known.len();
            }
        }
        false
    }

    fn slot(&mut self, at: usize) -> &mut Vec<Path> {
        let slots = self.ahead.len();
        &mut self.ahead[at % slots]
    }

    fn go_on_from(&mut self, at: usize, body: usize) {
        let mut paths = std::mem::take(self.slot(at));
        let kept = if at < body + WIDE_BITS { self.task.paths } else { PATHS_THEN };
        if paths.len() > kept {
            paths.select_nth_unstable_by(kept, |one, other| other.score.total_cmp(&one.score));
            paths.truncate(kept);
        }
        if let Some(best) = paths.iter().max_by(|one, other| one.score.total_cmp(&other.score)) {
            self.best = Some(best.clone());
        }
        let mut steps: Vec<Step> = Vec::new();
        for (from, path) in paths.iter().enumerate() {
            self.steps(at, from, path, &mut steps);
        }
        if steps.len() > 4 * kept {
            steps.select_nth_unstable_by(4 * kept, |one, other| other.score.total_cmp(&one.score));
            steps.truncate(4 * kept);
        }
        for step in steps {
            self.take(at, &paths[step.from], &step);
        }
    }

    fn steps(&self, at: usize, from: usize, path: &Path, steps: &mut Vec<Step>) {
        let window = code_window(self.task.sealed, at);
        let codes = if path.length.is_some() { &path.distances } else { &path.literals };
        let mut add = |symbol, bits, is_new| {
            let score = path.score + self.likely(at, path, symbol, bits, is_new);
            if score > f64::NEG_INFINITY {
                steps.push(Step { from, score, symbol, bits, is_new });
            }
        };
        if let Some(code) = codes.known(window) {
            return add(code.symbol, code.length, false);
        }
        let symbols = if path.length.is_some() { DISTANCES } else { LITERALS } as u16;
        for bits in 1..=15 {
            for symbol in codes.possible(window, bits, symbols).filter(|symbol| !codes.has(*symbol)) {
                add(symbol, bits, true);
            }
        }
    }

    /// The logarithm of how likely a symbol is to come next, and to have a code of this length.
    fn likely(&self, at: usize, path: &Path, next: u16, bits: u8, is_new: bool) -> f64 {
        let (model, after) = (self.task.model, at + usize::from(bits));
        let (chance, of_length) = match path.length {
            Some(length) => (self.likely_distance(after, path, length, next), model.distance_length(next, bits)),
            None => (self.likely_literal(after, path, next), model.literal_length(next, bits)),
        };
        if is_new { chance + of_length } else { chance }
    }

    fn likely_literal(&self, after: usize, path: &Path, next: u16) -> f64 {
        let is_last = after + 8 > 8 * self.task.sealed.len();
        let known = self.task.known.get(self.history.length(path.place) as usize);
        let contradicts = known.is_some_and(|byte| next <= END_OF_BLOCK && next != u16::from(*byte));
        if contradicts || (next == END_OF_BLOCK) != is_last {
            return f64::NEG_INFINITY;
        }
        if known.is_some() {
            return if next <= END_OF_BLOCK { LITERAL_OF_KNOWN } else { MATCH_OF_KNOWN };
        }
        let extra = length_of(next).map_or(0, |(_, extra)| extra);
        f64::from(self.task.model.after(path.context)[usize::from(next)]) - LN_2 * f64::from(extra)
    }

    fn likely_distance(&self, after: usize, path: &Path, length: u16, next: u16) -> f64 {
        let Some((least, extra)) = distance_of(next) else { return f64::NEG_INFINITY };
        let distance = usize::from(least) + number(self.task.sealed, after, extra) as usize;
        let (end, known) = (self.history.length(path.place) as usize, self.task.known);
        let contradicts = (end..known.len().min(end + usize::from(length)))
            .any(|place| place < distance || known[place] != known[place - distance]);
        if distance > end || contradicts {
            return f64::NEG_INFINITY;
        }
        if end < known.len() {
            return 0.0;
        }
        self.task.model.distance(next) - LN_2 * f64::from(extra) + self.fits(path, distance as u32)
    }

    /// How much better than a place taken at random the copied bytes go on with the text.
    fn fits(&self, path: &Path, distance: u32) -> f64 {
        let from = self.history.length(path.place) - distance;
        let bytes = std::array::from_fn(|index| self.history.byte(path.place, from + index as u32 % distance));
        self.task.model.fits(path.context, bytes)
    }

    fn take(&mut self, at: usize, from: &Path, step: &Step) {
        let window = code_window(self.task.sealed, at);
        let mut path = Path { score: step.score, ..from.clone() };
        let after = at + usize::from(step.bits);
        let mut extra = 0;
        if let Some(length) = path.length.take() {
            let Some((least, bits)) = distance_of(step.symbol) else { return };
            extra = bits;
            let distance = least + number(self.task.sealed, after, bits) as u16;
            if step.is_new {
                path.distances = path.distances.with(window, step.bits, step.symbol);
            }
            self.go(&mut path, Token::Match { length, distance });
        } else {
            if step.is_new {
                path.literals = path.literals.with(window, step.bits, step.symbol);
            }
            match length_of(step.symbol) {
                Some((least, bits)) => {
                    extra = bits;
                    path.length = Some(least + number(self.task.sealed, after, bits) as u16);
                }
                None if step.symbol == END_OF_BLOCK => {
                    self.best = Some(path);
                    return;
                }
                None => self.go(&mut path, Token::Literal(step.symbol as u8)),
            }
        }
        self.slot(after + extra as usize).push(path);
    }

    fn go(&mut self, path: &mut Path, token: Token) {
        path.place = self.history.after(path.place, token);
        path.context = self.history.context(path.place);
    }
}
