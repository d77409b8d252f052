//! Kinds of requests: method and path, with numbers and ids left out. Knows no evidence.
//!
//! Paths form a tree. What looks like an id is variable from the start. Names of users and products do not look like ids:
//! where many different words occur at one place of a path, the rare ones become variable after everything has been read.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use crate::counts::Id;

/// What stands for a variable word.
const VARIABLE: &[u8] = b"<*>";

/// Steps of a path that are compared; a longer one ends with dots.
const STEPS_MAX: usize = 8;

/// Longest step that is kept, in bytes.
const STEP_MAX_BYTES: usize = 80;

/// With more different words at one place these are names, as in Drain3's bound.
const NAMED_MAX: u32 = 100;

/// Of such a place words are kept that stand in this part of its requests: no more than a hundred can.
const KEPT_PART: f64 = 0.01;

/// Different words at one place that are kept apart until all is read.
const CHILDREN_MAX: u32 = 1_000;

/// Places of a file: some megabytes.
const NODES_MAX: usize = 20_000;

/// Stands for all kinds beyond [`NODES_MAX`].
const OTHERS: Id = 1;

/// A word with a digit in it that is as long as this is no word of a language: a product's key, a hash.
const ID_MIN_BYTES: usize = 8;

/// Words of hexadecimal digits are ids from this length on.
const HEX_MIN_BYTES: usize = 6;

/// No word is as long as this: base64, tokens.
const WORD_MAX_BYTES: usize = 24;

const UUID_BYTES: usize = 36;

/// A place in a path.
#[derive(Debug, Default)]
struct Node {
    parent: Id,
    step: Vec<u8>,
    children: u32,
    /// Requests that end here.
    count: u64,
}

/// The kinds of requests of a file.
#[derive(Debug)]
pub(super) struct Kinds {
    nodes: Vec<Node>,
    /// By parent and step.
    known: FxHashMap<(Id, u64), Id>,
    pub(super) is_full: bool,
}

impl Default for Kinds {
    fn default() -> Kinds {
        let others = Node { step: b"(others)".to_vec(), ..Node::default() };
        Kinds { nodes: vec![Node::default(), others], known: FxHashMap::default(), is_full: false }
    }
}

impl Kinds {
    /// The kind of `GET /path`, or of any other name.
    pub(super) fn of(&mut self, name: &[u8]) -> Id {
        let path = name.iter().position(|byte| matches!(byte, b'?' | b'#')).map_or(name, |at| &name[..at]);
        let mut steps = path.split(|byte| *byte == b'/');
        let mut node = 0;
        for step in steps.by_ref().take(STEPS_MAX) {
            node = self.child(node, folded(step));
        }
        if steps.next().is_some() { self.child(node, "…".into()) } else { node }
    }

    /// Counts a request.
    pub(super) fn count(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(id as usize) {
            node.count += 1;
        }
    }

    fn child(&mut self, parent: Id, step: Vec<u8>) -> Id {
        if parent == OTHERS {
            return OTHERS;
        }
        if let Some(id) = self.known.get(&(parent, hash_of(&step))) {
            return *id;
        }
        let has_room = self.nodes[parent as usize].children < CHILDREN_MAX;
        match has_room || step == VARIABLE {
            true => self.add(parent, step),
            false => self.child(parent, VARIABLE.to_vec()),
        }
    }

    fn add(&mut self, parent: Id, step: Vec<u8>) -> Id {
        if self.nodes.len() >= NODES_MAX {
            self.is_full = true;
            return OTHERS;
        }
        let id = self.nodes.len() as Id;
        self.nodes[parent as usize].children += 1;
        self.known.insert((parent, hash_of(&step)), id);
        self.nodes.push(Node { parent, step, ..Node::default() });
        id
    }

    /// Their names, by number; none where no request is of it. Several may have one name.
    pub(super) fn names(&self) -> Vec<String> {
        let requests = self.requests_below();
        let mut names: Vec<Vec<u8>> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let parent = node.parent as usize;
            let is_one_of_many = at > 1 && self.nodes[parent].children > NAMED_MAX;
            let is_rare = (requests[at] as f64) < KEPT_PART * requests[parent] as f64;
            let step = if is_one_of_many && is_rare { VARIABLE } else { &node.step };
            // Parents have lower numbers.
            let before = names.get(parent).filter(|_| parent > 0);
            names.push(before.map_or_else(|| step.to_vec(), |before| [before, step].join(&b'/')));
        }
        let of_requests =
            names.iter().zip(&self.nodes).map(|(name, node)| if node.count > 0 { &name[..] } else { b"" });
        of_requests.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Requests that end at each place or below it.
    fn requests_below(&self) -> Vec<u64> {
        let mut sums: Vec<u64> = self.nodes.iter().map(|node| node.count).collect();
        for at in (1..self.nodes.len()).rev() {
            sums[self.nodes[at].parent as usize] += sums[at];
        }
        sums
    }
}

fn hash_of(step: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(step);
    hasher.finish()
}

/// A step of a path with what is variable in it folded; without what stands behind `;` (a session's id).
fn folded(step: &[u8]) -> Vec<u8> {
    let step = step.iter().position(|byte| *byte == b';').map_or(step, |at| &step[..at]);
    let step = step.get(..STEP_MAX_BYTES).unwrap_or(step);
    let (mut folded, mut rest) = (Vec::with_capacity(step.len()), step);
    while let Some(first) = rest.first() {
        let length = word_length(rest);
        let (word, behind) = rest.split_at(length.max(1));
        match word {
            _ if length == 0 => folded.push(*first),
            _ if is_variable(word) => folded.extend(VARIABLE),
            _ => folded.extend(word),
        }
        rest = behind;
    }
    folded
}

/// How long the word is that a text begins with: a UUID, an escaped byte, or letters and digits.
fn word_length(text: &[u8]) -> usize {
    if text.get(..UUID_BYTES).is_some_and(is_uuid) {
        return UUID_BYTES;
    }
    if let [b'%', a, b, ..] = text
        && a.is_ascii_hexdigit()
        && b.is_ascii_hexdigit()
    {
        return 3;
    }
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()
}

fn is_uuid(text: &[u8]) -> bool {
    let is_right = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == UUID_BYTES && text.iter().enumerate().all(is_right)
}

fn is_variable(word: &[u8]) -> bool {
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_version = word.len() <= 4 && matches!(word, [b'v' | b'V', rest @ ..] if rest.len() == digits);
    let is_hex = word.len() >= HEX_MIN_BYTES && word.iter().all(u8::is_ascii_hexdigit);
    let has_id = 2 * digits > word.len() || is_hex || word.len() >= ID_MIN_BYTES;
    (digits > 0 && has_id && !is_version && word[0] != b'%') || word.len() >= WORD_MAX_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_an_id_is_folded() {
        for (name, expected) in [
            ("GET /", "GET /"),
            ("GET /api/v1/users/4711/orders", "GET /api/v1/users/<*>/orders"),
            ("GET /o/550e8400-e29b-41d4-a716-446655440000?x=1", "GET /o/<*>"),
            ("GET /o/order-550e8400-e29b-41d4-a716-446655440000.pdf", "GET /o/order-<*>.pdf"),
            ("GET /static/app.4f3c2b1a.js", "GET /static/app.<*>.js"),
            ("GET /s3/oauth2/mp3", "GET /s3/oauth2/mp3"),
            ("GET /a;jsessionid=1A2B3C/b", "GET /a/b"),
            ("GET /two%20words%2f7", "GET /two%20words%2f<*>"),
            ("GET /day/2026-11-20", "GET /day/<*>-<*>-<*>"),
            ("GET /t/eyJhbGciOiJIUzIJNiJhhhhhh", "GET /t/<*>"),
            ("GET /1/2/3/4/5/6/7/8/9/10", "GET /<*>/<*>/<*>/<*>/<*>/<*>/<*>/…"),
            ("GET http://h/a", "GET http://h/a"),
            ("OPTIONS *", "OPTIONS *"),
            ("-", "-"),
            ("Login page 17", "Login page <*>"),
            ("GET /\u{e4}rger", "GET /\u{e4}rger"),
        ] {
            let mut kinds = Kinds::default();
            let id = kinds.of(name.as_bytes());
            kinds.count(id);
            assert_eq!(kinds.names()[id as usize], expected, "{name}");
        }
    }

    /// A name of letters.
    fn word(mut number: u32) -> String {
        let letter = |number: u32| char::from(b'a' + (number % 26) as u8);
        std::iter::from_fn(|| {
            let found = letter(number);
            number /= 26;
            Some(found)
        })
        .take(4)
        .collect()
    }

    #[test]
    fn many_names_at_one_place_are_folded() {
        let mut kinds = Kinds::default();
        let mut of = |name: &str| {
            let id = kinds.of(name.as_bytes());
            kinds.count(id);
            id
        };
        let users: Vec<Id> = (0..5_000).map(|user| of(&format!("GET /users/{}/cart", word(user)))).collect();
        let admin: Vec<Id> = (0..100).map(|_| of("GET /users/me/cart")).collect();
        let few: Vec<Id> = (0..90).map(|page| of(&format!("GET /help/{}", word(page)))).collect();
        let names = kinds.names();
        assert!(users.iter().all(|id| names[*id as usize] == "GET /users/<*>/cart"));
        // It came after there was no more room for a word of its own.
        assert_eq!(names[admin[0] as usize], "GET /users/<*>/cart");
        assert_eq!(names[few[89] as usize], format!("GET /help/{}", word(89)));
    }

    #[test]
    fn what_comes_often_keeps_its_name_among_many() {
        let mut kinds = Kinds::default();
        for nth in 0..900 {
            for name in [format!("GET /{}", word(nth)), "GET /shop".to_owned()] {
                let id = kinds.of(name.as_bytes());
                kinds.count(id);
            }
        }
        let mut names = kinds.names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, ["", "GET /<*>", "GET /shop"]);
    }

    #[test]
    fn no_more_than_its_bound() {
        let mut kinds = Kinds::default();
        for (a, b) in (0..30).flat_map(|a| (0..900).map(move |b| (a, b))) {
            kinds.of(format!("GET /{}/{}", word(a), word(b)).as_bytes());
        }
        assert_eq!((kinds.nodes.len(), kinds.is_full), (NODES_MAX, true));
        assert_eq!(kinds.of(b"PUT /else"), OTHERS);
    }
}
