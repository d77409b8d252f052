//! Names of threads. Programs put what they are at into them: a path, an address, a user, a session. Nothing in such a text says that it is
//! private, so only the beginning of a name that has more than a name in it is kept, without its numbers.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;

use super::MASK;

/// Words of a name that programs give. What has more of them is a sentence.
const WORDS_MAX: usize = 6;
/// The longest names that servers give (a pool, its queue and port) have 60 bytes.
const BYTES_MAX: usize = 100;
/// Letters and digits that take turns so often, in a word of so many bytes, are an id: `3f2a9c1b`, but not `qtp1580893732`.
const ID: (usize, usize) = (8, 4);

/// Where free text begins, in the group `c`. Matches without it only look so: "I/O", and the kernel's own threads (`kworker/0:1`).
static FREE_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    let signs = [
        r"(?-u:\b)I/O(?-u:\b)|^(?:kworker|ksoftirqd|migration|cpuhp|irq|jbd2|xfsaild|rcuo[a-z])/",
        // A path or address.
        "(?P<path>/)",
        // Of an address the part before the sign, too.
        r#"(?P<user>[^\s\[\](){}<>|,;"'=]*@)"#,
        // A number may be the place in a pool (`queue=2`), any other value is a text.
        "=(?P<value>[^0-9#]|$)",
        r#"(?P<quoted>["'`[:cntrl:]])"#,
        r"(?P<uuid>(?-u:\b)[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4})",
    ];
    Regex::new(&signs.join("|")).unwrap_or_else(|_| unreachable!("the signs are constants"))
});

static DIGITS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("#?[0-9]+").unwrap_or_else(|_| unreachable!("the pattern is a constant")));

static ARE_WHOLE: AtomicBool = AtomicBool::new(false);

/// From now on this program leaves names of threads as they are: the user asked for it.
pub fn keep_thread_names() {
    ARE_WHOLE.store(true, Ordering::Relaxed);
}

/// The name, or the beginning of one that goes on with free text.
pub fn thread_name(name: &str) -> Cow<'_, str> {
    // In a file whose secrets were taken out in place blanks stand where they were.
    let name = name.trim_end();
    match free_text(name).filter(|_| !ARE_WHOLE.load(Ordering::Relaxed)) {
        Some(at) => Cow::Owned(format!("{}{MASK}", DIGITS.replace_all(&name[..at], "#"))),
        None => Cow::Borrowed(name),
    }
}

fn free_text(name: &str) -> Option<usize> {
    let sign = FREE_TEXT.captures_iter(name).find_map(|found| {
        let named = ["path", "user", "value", "quoted", "uuid"].into_iter().find_map(|sign| found.name(sign));
        named.map(|sign| sign.start())
    });
    let too_long = (name.len() > BYTES_MAX).then(|| name.floor_char_boundary(BYTES_MAX));
    [sign, id(name), sentence(name), too_long].into_iter().flatten().min()
}

/// Where a word begins that is an id.
fn id(name: &str) -> Option<usize> {
    let turns = |word: &&str| {
        let bytes = word.as_bytes();
        let is_turn = |two: &&[u8]| two[0].is_ascii_digit() != two[1].is_ascii_digit();
        bytes.len() >= ID.0 && bytes.windows(2).filter(is_turn).count() >= ID.1
    };
    let word = name.split(|letter: char| !letter.is_alphanumeric()).find(turns)?;
    Some(word.as_ptr().addr() - name.as_ptr().addr())
}

/// Where a name begins to be a sentence.
fn sentence(name: &str) -> Option<usize> {
    let next = name.split_whitespace().nth(WORDS_MAX)?;
    Some(next.as_ptr().addr() - name.as_ptr().addr())
}
