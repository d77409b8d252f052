//! Lines of a thread dump. Knows no evidence.

use crate::cursor::{Cursor, trim};
use crate::lines;
use crate::thread_dump::dump::{How, Place};
use crate::thread_dump::parse_thread::{self, ThreadLine};
use crate::time::IsoTimes;

/// How a dump as the JVM prints it begins.
const BEGIN: &[u8] = b"Full thread dump ";

/// The key of a dump as JSON; it stands at the very beginning.
const JSON_KEY: &[u8] = b"\"threadDump\"";
const JSON_KEY_WITHIN_BYTES: usize = 64;

/// The form of a file of dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As the JVM prints it, alone or in a log.
    Printed,
    /// `Thread.dump_to_file`.
    File,
    /// `Thread.dump_to_file -format=json`.
    Json,
}

impl Form {
    /// The form of a file that begins with `head`.
    pub(super) fn of(head: &[u8]) -> Option<Form> {
        let near = &head[..head.len().min(JSON_KEY_WITHIN_BYTES)];
        if head.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(near, JSON_KEY).is_some() {
            return Some(Form::Json);
        }
        if is_file_head(head) {
            return Some(Form::File);
        }
        let mut lines = lines::of_head(head);
        lines.any(|line| line.starts_with(BEGIN)).then_some(Form::Printed)
    }
}

/// Process id, time and version, each on a line, and then the first thread.
fn is_file_head(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.is_empty());
    let pid = lines.next().is_some_and(|line| line.iter().all(u8::is_ascii_digit));
    let time = lines.next().is_some_and(|line| iso(line).is_some());
    pid && time && lines.nth(1).is_some_and(|line| file_thread(line).is_some())
}

/// A line that is nothing but a time.
pub(super) fn iso(line: &[u8]) -> Option<i64> {
    let mut cursor = Cursor(trim(line));
    let time_ns = IsoTimes::default().read(&mut cursor)?;
    cursor.is_done().then_some(time_ns)
}

/// `#22 "name" virtual RUNNABLE 2026-11-27T16:00:00Z`, as the file form has threads: number, name, and whether it is virtual.
pub(super) fn file_thread(line: &[u8]) -> Option<(i64, &[u8], bool)> {
    let mut cursor = Cursor(line);
    cursor.expect(b"#")?;
    let id = i64::try_from(cursor.integer()?).ok()?;
    cursor.expect(b" \"")?;
    let end = memchr::memrchr(b'"', cursor.0)?;
    let (name, rest) = (&cursor.0[..end], &cursor.0[end + 1..]);
    Some((id, name, rest.starts_with(b" virtual")))
}

/// What a line of a printed dump is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// `22637:`, as `jcmd` says of which process it speaks.
    Pid(i64),
    /// `2026-11-27 15:57:39`.
    Time(i64),
    /// Name and version of the JVM.
    Begin(&'a [u8]),
    Thread(ThreadLine<'a>),
    State(&'a [u8]),
    Frame(Place),
    /// How, on what, and of which class.
    Waits(How, Option<u64>, &'a [u8]),
    Owns(u64),
    /// The last line of the dump itself.
    End,
    /// The list of threads in a deadlock follows.
    Deadlock,
    /// One of those.
    Deadlocked(&'a [u8]),
    /// What follows is of a virtual thread that the thread before carries.
    Mounted(i64),
    Other,
}

/// Reads a line.
pub(super) fn line(text: &[u8]) -> Line<'_> {
    let content = trim(text);
    match content.first() {
        Some(b'"') => named(content),
        Some(b'a') if content.starts_with(b"at ") => frame(&content[3..]).map_or(Line::Other, Line::Frame),
        Some(b'-') => relation(content).unwrap_or(Line::Other),
        Some(b'j') => content.strip_prefix(b"java.lang.Thread.State: ").map_or(Line::Other, Line::State),
        Some(b'0'..=b'9') => of_time(content),
        Some(b'F') => of_words(content),
        Some(b'J') if content.starts_with(b"JNI global ref") => Line::End,
        Some(b'M') => mounted(content).map_or(Line::Other, Line::Mounted),
        _ => Line::Other,
    }
}

fn named(content: &[u8]) -> Line<'_> {
    if let Some(name) = content[1..].strip_suffix(b"\":") {
        return Line::Deadlocked(name);
    }
    parse_thread::thread(content).map_or(Line::Other, Line::Thread)
}

fn mounted(content: &[u8]) -> Option<i64> {
    let mut cursor = Cursor(content.strip_prefix(b"Mounted virtual thread #")?);
    i64::try_from(cursor.integer()?).ok()
}

fn of_time(content: &[u8]) -> Line<'_> {
    if let Some(time_ns) = iso(content) {
        return Line::Time(time_ns);
    }
    let pid = content.strip_suffix(b":").filter(|digits| digits.iter().all(u8::is_ascii_digit));
    let pid = pid.and_then(|digits| i64::try_from(Cursor(digits).integer()?).ok());
    pid.map_or(Line::Other, Line::Pid)
}

fn of_words(content: &[u8]) -> Line<'_> {
    if let Some(version) = content.strip_prefix(BEGIN) {
        return Line::Begin(version.strip_suffix(b":").unwrap_or(version));
    }
    let is_deadlock = content.starts_with(b"Found ") && memchr::memmem::find(content, b"Java-level deadlock").is_some();
    if is_deadlock { Line::Deadlock } else { Line::Other }
}

/// `class.method(module@version/File.java:12)`, or the module before the class.
pub(super) fn frame(text: &[u8]) -> Option<Place> {
    let open = memchr::memchr(b'(', text)?;
    let (symbol, place) = (&text[..open], text[open + 1..].strip_suffix(b")")?);
    let (before, symbol) = module_of(symbol);
    let (within, file) = module_of(place);
    let module = if before.is_empty() { within } else { before };
    let line = memchr::memrchr(b':', file).and_then(|at| Cursor(&file[at + 1..]).integer());
    (!symbol.is_empty()).then(|| Place {
        symbol: text_of(symbol),
        module: text_of(module),
        line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
        is_native: file == b"Native Method",
    })
}

/// Splits `java.base@17.0.15/rest`. Classes without a name of their own have an address behind a slash.
fn module_of(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', text) {
        Some(at) if !text[at + 1..].starts_with(b"0x") => {
            let module = text[..at].split(|byte| matches!(byte, b'@' | b'/')).next().unwrap_or_default();
            (module, &text[at + 1..])
        }
        _ => (&[], text),
    }
}

/// What stands below a frame: `- parking to wait for  <0x00000000f04fbcb8> (a java.util.concurrent.Semaphore$NonfairSync)`.
fn relation(content: &[u8]) -> Option<Line<'_>> {
    const WAITS: &[(&[u8], How)] = &[
        (b"- waiting to lock ", How::Enter),
        (b"- waiting to re-lock in wait() ", How::Enter),
        (b"- waiting on ", How::Signal),
        (b"- parking to wait for ", How::Park),
    ];
    for (begins, how) in WAITS {
        if let Some(rest) = content.strip_prefix(*begins) {
            let (address, class) = object(rest);
            return Some(Line::Waits(*how, address, class));
        }
    }
    let rest = content.strip_prefix(b"- locked ").or_else(|| content.strip_prefix(b"- "))?;
    object(rest).0.map(Line::Owns)
}

/// `<0x00000000f04fbcb8> (a java.lang.Object)`, or `<java.lang.Object@32668c75>`.
fn object(text: &[u8]) -> (Option<u64>, &[u8]) {
    let mut cursor = Cursor(text);
    cursor.spaces();
    let inner = if cursor.eat(b"<") { cursor.until(b'>').unwrap_or_default() } else { &[] };
    if let Some((address, class)) = identity(inner) {
        return (Some(address), class);
    }
    cursor.spaces();
    let class = cursor.group().map(|group| group.strip_prefix(b"a ").unwrap_or(group)).unwrap_or_default();
    (parse_thread::number(inner), class)
}

/// `java.lang.Object@32668c75`: the class, and a number that tells the object from others of its class.
pub(super) fn identity(text: &[u8]) -> Option<(u64, &[u8])> {
    let at = memchr::memrchr(b'@', text)?;
    let digits = std::str::from_utf8(&text[at + 1..]).ok()?;
    Some((u64::from_str_radix(digits, 16).ok()?, &text[..at]))
}

pub(super) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_real_dumps() {
        let place = |symbol: &str, module: &str, line, is_native| {
            Line::Frame(Place { symbol: symbol.to_owned(), module: module.to_owned(), line, is_native })
        };
        for (text, expected) in [
            ("22637:", Line::Pid(22637)),
            ("2026-11-27 15:57:39", Line::Time(1_795_795_059_000_000_000)),
            ("Full thread dump OpenJDK 64-Bit Server VM (17):", Line::Begin(b"OpenJDK 64-Bit Server VM (17)")),
            ("   java.lang.Thread.State: TIMED_WAITING (parking)", Line::State(b"TIMED_WAITING (parking)")),
            (
                "\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)",
                place("jdk.internal.misc.Unsafe.park", "java.base", 0, true),
            ),
            (
                "\tat java.base@17/java.lang.Thread.run(Thread.java:840)",
                place("java.lang.Thread.run", "java.base", 840, false),
            ),
            ("\tat app//shop.Cart.add(Cart.java:7)", place("shop.Cart.add", "app", 7, false)),
            ("\tat Shop$$Lambda/0x00007f.run(Unknown Source)", place("Shop$$Lambda/0x00007f.run", "", 0, false)),
            ("\t- waiting to lock <0x10> (a shop.Cart)", Line::Waits(How::Enter, Some(16), b"shop.Cart")),
            (
                "\t- parking to wait for  <0x10> (a java.lang.Object)",
                Line::Waits(How::Park, Some(16), b"java.lang.Object"),
            ),
            ("\t- waiting on <no object reference available>", Line::Waits(How::Signal, None, b"")),
            ("\t- locked <0x10> (a java.lang.Class for shop.Cart)", Line::Owns(16)),
            ("\t- <0x10> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)", Line::Owns(16)),
            ("\t- eliminated <owner is scalar replaced> (a java.lang.Object)", Line::Other),
            ("\t- waiting to lock <shop.Cart@1f>", Line::Waits(How::Enter, Some(31), b"shop.Cart")),
            ("   Mounted virtual thread #32", Line::Mounted(32)),
            ("\t- None", Line::Other),
            ("JNI global refs: 54, weak refs: 3", Line::End),
            ("JNI global references: 54", Line::End),
            ("Found one Java-level deadlock:", Line::Deadlock),
            ("\"worker-1\":", Line::Deadlocked(b"worker-1")),
            ("at the end", Line::Other),
            ("", Line::Other),
        ] {
            assert_eq!(line(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn forms() {
        for (head, expected) in [
            ("{\n  \"threadDump\": {\n", Some(Form::Json)),
            ("1234\n2026-11-27T16:00:00.1Z\n25+36-LTS\n\n#1 \"main\"\n", Some(Form::File)),
            ("INFO starting\n2026-11-27 15:57:39\nFull thread dump OpenJDK\n", Some(Form::Printed)),
            ("a Full thread dump of\n", None),
            ("1234\n2026-11-27T16:00:00.1Z\n", None),
            ("", None),
        ] {
            assert_eq!(Form::of(head.as_bytes()), expected, "{head}");
        }
    }
}
