//! Groups messages by what they have in common: Drain (He et al., "Drain: An Online Log Parsing Approach with Fixed
//! Depth Tree", 2017). Knows no evidence.
//!
//! Words with a digit are variable from the start. A message is compared with the templates that have the same number
//! of words and the same first two words: where enough words are equal, the others become variable. A message that was
//! seen before is found by the hash of its words; this holds for most lines of a log.

use std::hash::Hasher;
use std::iter;

use rustc_hash::{FxHashMap, FxHasher};

use crate::app_log::head::Level;
use crate::counts::Id;

/// What stands for a variable word.
const VARIABLE: &[u8] = b"<*>";

/// Words of a message that are compared; a longer one ends with dots.
const WORDS_MAX: usize = 40;

/// Longest word that is kept, in bytes.
const WORD_MAX_BYTES: usize = 80;

/// Part of the words that have to be the same, as in Drain's paper.
const SIMILAR: f64 = 0.4;

/// So many different first words are kept apart, as in Drain3; the others count as variable.
const CHILDREN_MAX: u32 = 100;

/// Templates of a file; what is none of these is one more.
const TEMPLATES_MAX: usize = 4_000;

/// Different messages whose template is remembered.
const SEEN_MAX: usize = 1 << 17;

/// What stands in for all templates beyond [`TEMPLATES_MAX`].
const OTHERS: Id = 0;

/// What messages have in common.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) level: Level,
    pub(super) logger: Vec<u8>,
    words: Vec<Vec<u8>>,
    is_longer: bool,
}

impl Template {
    /// Its words.
    pub(super) fn text(&self) -> String {
        let text = self.words.join(&b' ');
        String::from_utf8_lossy(&text).into_owned() + if self.is_longer { " …" } else { "" }
    }
}

/// The templates of a log.
#[derive(Debug)]
pub(super) struct Templates {
    pub(super) all: Vec<Template>,
    seen: FxHashMap<u64, Id>,
    /// By level, logger, number of words and the first two of them.
    leaves: FxHashMap<u64, Vec<Id>>,
    children: FxHashMap<u64, u32>,
    pub(super) is_full: bool,
}

impl Default for Templates {
    fn default() -> Templates {
        let others =
            Template { level: Level::None, logger: Vec::new(), words: vec![b"(others)".to_vec()], is_longer: false };
        let (seen, leaves, children) = Default::default();
        Templates { all: vec![others], seen, leaves, children, is_full: false }
    }
}

impl Templates {
    /// The template of a message.
    pub(super) fn of(&mut self, level: Level, logger: &[u8], message: &[u8]) -> Id {
        let logger = known_logger(logger);
        let hash = hash_of(level, logger, message);
        if let Some(id) = self.seen.get(&hash) {
            return *id;
        }
        let id = self.find(level, logger, message);
        if self.seen.len() >= SEEN_MAX {
            self.seen.clear();
        }
        self.seen.insert(hash, id);
        id
    }

    fn find(&mut self, level: Level, logger: &[u8], message: &[u8]) -> Id {
        let words: Vec<Vec<u8>> = words(message).take(WORDS_MAX).map(|(word, _)| shown(word)).collect();
        // What cannot become a template any more leaves nothing behind.
        let is_full = self.all.len() > TEMPLATES_MAX;
        let leaf = self.leaf(level, logger, &words, is_full);
        let ids = self.leaves.get(&leaf).map_or(&[][..], Vec::as_slice);
        let similar = |id: &Id| self.all.get(*id as usize).map_or(0.0, |template| similarity(&template.words, &words));
        let best = ids.iter().map(|id| (*id, similar(id))).max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((id, _)) = best.filter(|(_, similar)| *similar >= SIMILAR) {
            generalise(&mut self.all[id as usize].words, &words);
            return id;
        }
        if is_full {
            self.is_full = true;
            return OTHERS;
        }
        let id = self.all.len() as Id;
        self.leaves.entry(leaf).or_default().push(id);
        let is_longer = self::words(message).nth(WORDS_MAX).is_some();
        self.all.push(Template { level, logger: logger.to_vec(), words, is_longer });
        id
    }

    /// Where templates are that may be that of the words.
    fn leaf(&mut self, level: Level, logger: &[u8], words: &[Vec<u8>], is_full: bool) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u8(level as u8);
        hasher.write(logger);
        hasher.write_usize(words.len());
        let mut node = hasher.finish();
        for word in words.iter().take(2) {
            node = self.child(node, word, is_full);
        }
        node
    }

    fn child(&mut self, node: u64, word: &[u8], is_full: bool) -> u64 {
        let of = |word: &[u8]| {
            let mut hasher = FxHasher::default();
            hasher.write_u64(node);
            hasher.write(word);
            hasher.finish()
        };
        let child = of(word);
        if word == VARIABLE || self.children.contains_key(&child) {
            return child;
        }
        if is_full {
            return of(VARIABLE);
        }
        let count = self.children.entry(node).or_default();
        if *count >= CHILDREN_MAX {
            return of(VARIABLE);
        }
        *count += 1;
        self.children.entry(child).or_default();
        child
    }
}

/// A logger as templates have it: a number that is one, and no class, tells nothing apart.
fn known_logger(logger: &[u8]) -> &[u8] {
    let logger = logger.get(..WORD_MAX_BYTES).unwrap_or(logger);
    if is_variable(logger) && !logger.contains(&b'.') { VARIABLE } else { logger }
}

/// The words of a message, and whether each [is variable](is_variable).
fn words(message: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let mut rest = message;
    iter::from_fn(move || next_word(&mut rest))
}

fn is_variable(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
}

/// Of `user=4711`, `user=`.
fn assigned(word: &[u8]) -> &[u8] {
    word.iter().position(|byte| *byte == b'=').map_or(&b""[..], |at| &word[..=at])
}

/// A word as a template has it: of `user=4711` the name stays.
fn shown(word: &[u8]) -> Vec<u8> {
    let word = word.get(..WORD_MAX_BYTES).unwrap_or(word);
    if !is_variable(word) {
        return word.to_vec();
    }
    let name = assigned(word);
    if is_variable(name) { VARIABLE.to_vec() } else { [name, VARIABLE].concat() }
}

/// Equal for messages that differ in variable words only.
fn hash_of(level: Level, logger: &[u8], message: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u8(level as u8);
    hasher.write(logger);
    for (word, is_variable) in words(message).take(WORDS_MAX) {
        match is_variable {
            true => {
                hasher.write(assigned(word));
                hasher.write_u8(b'*');
            }
            false => hasher.write(word),
        }
        hasher.write_u8(b' ');
    }
    hasher.finish()
}

/// What a byte is to [`next_word`].
const SPACE: u8 = 1;
const DIGIT: u8 = 2;
static CLASSES: [u8; 256] = {
    let (mut classes, mut byte) = ([0; 256], 0);
    while byte < classes.len() {
        let is = byte as u8;
        classes[byte] = if is.is_ascii_whitespace() { SPACE } else { 0 } | if is.is_ascii_digit() { DIGIT } else { 0 };
        byte += 1;
    }
    classes
};

/// The next of [`words`]: both in one look, as each line is looked at so.
fn next_word<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], bool)> {
    let class = |byte: &u8| CLASSES[usize::from(*byte)];
    let all: &'a [u8] = rest;
    let from = all.iter().position(|byte| class(byte) != SPACE)?;
    let mut seen = 0;
    let word = &all[from..];
    let end = word.iter().position(|byte| {
        seen |= class(byte);
        seen & SPACE != 0
    });
    let end = end.unwrap_or(word.len());
    *rest = &word[end..];
    Some((&word[..end], seen & DIGIT != 0))
}

/// The part of words that are the same. What is variable says nothing; where all is, all fits.
fn similarity(template: &[Vec<u8>], words: &[Vec<u8>]) -> f64 {
    let same = template.iter().zip(words).filter(|(a, b)| a == b && *a != VARIABLE).count();
    let is_all_variable = template.iter().all(|word| word == VARIABLE);
    if is_all_variable { 1.0 } else { same as f64 / template.len().max(1) as f64 }
}

fn generalise(template: &mut [Vec<u8>], words: &[Vec<u8>]) {
    let different = template.iter_mut().zip(words).filter(|(word, other)| word != other);
    different.for_each(|(word, _)| VARIABLE.clone_into(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_one_by_one() {
        for text in ["", " ", "a", " a1  b\tc ", "x=1 22\u{b}33", "  ä 9"] {
            let found: Vec<_> = words(text.as_bytes()).collect();
            let apart = text.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let expected: Vec<_> = apart.map(|word| (word, is_variable(word))).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    fn texts(messages: &[&str]) -> (Vec<Id>, Vec<String>) {
        let mut templates = Templates::default();
        let ids = messages.iter().map(|message| templates.of(Level::Info, b"a.B", message.as_bytes())).collect();
        (ids, templates.all.iter().skip(1).map(Template::text).collect())
    }

    #[test]
    fn what_messages_have_in_common() {
        let (ids, texts) = texts(&[
            "Timeout after 12 ms at host-1",
            "Timeout after 900 ms at host-2",
            "user=bob7 logged in from home",
            "user=eve9 logged in from work",
            "Order accepted by the clerk alice",
            "Order accepted by the clerk bob",
            "Order accepted",
            "",
            "",
        ]);
        assert_eq!(ids, [1, 1, 2, 2, 3, 3, 4, 5, 5]);
        let expected = [
            "Timeout after <*> ms at <*>",
            "user=<*> logged in from <*>",
            "Order accepted by the clerk <*>",
            "Order accepted",
            "",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn levels_and_loggers_are_told_apart() {
        let mut templates = Templates::default();
        let mut of = |level, logger: &str| templates.of(level, logger.as_bytes(), b"x");
        let ids = [of(Level::Info, "a"), of(Level::Warn, "a"), of(Level::Info, "b"), of(Level::Info, "a")];
        assert_eq!(ids, [1, 2, 3, 1]);
        assert_eq!([of(Level::Info, "request-17"), of(Level::Info, "request-18"), of(Level::Info, "a.B2")], [4, 4, 5]);
    }

    /// Names at the beginning of messages must not fill the memory.
    #[test]
    fn names_without_digits_become_variable() {
        let mut templates = Templates::default();
        let names = (0..20_000_u32).map(|number| {
            let letter = |at: u32| char::from(b'a' + (number / 26_u32.pow(at) % 26) as u8);
            format!("{}{}{}{} logged in", letter(0), letter(1), letter(2), letter(3))
        });
        let ids: std::collections::BTreeSet<Id> =
            names.map(|text| templates.of(Level::Info, b"", text.as_bytes())).collect();
        assert_eq!(ids.len() as u32, CHILDREN_MAX + 1);
    }

    #[test]
    fn no_more_than_its_bound() {
        let mut templates = Templates::default();
        for length in 0..=TEMPLATES_MAX {
            let logger = format!("a.Logger{length}");
            templates.of(Level::Info, logger.as_bytes(), b"x");
        }
        assert_eq!((templates.all.len(), templates.is_full), (TEMPLATES_MAX + 1, true));
        assert_eq!(templates.of(Level::Warn, b"", b"y"), OTHERS);
        let long = "word ".repeat(1_000);
        assert!(Templates::default().of(Level::Warn, b"", long.as_bytes()) > 0);
    }
}
