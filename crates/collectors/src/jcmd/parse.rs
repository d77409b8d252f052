//! What the JVM answers to diagnostic commands: text to values, no I/O.

/// A flag of the JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flag<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// How it got its value: `default`, `command line`, `ergonomic`. JDK 8 tells only whether it is the default.
    pub(super) origin: Option<&'a str>,
}

/// Reads `VM.flags -all`: `     bool UseG1GC     = true     {product} {ergonomic}`.
pub(super) fn flags(text: &str) -> Vec<Flag<'_>> {
    text.lines().filter_map(flag).collect()
}

fn flag(line: &str) -> Option<Flag<'_>> {
    let (declared, rest) = line.split_once('=')?;
    let (_kind, name) = declared.trim().trim_end_matches(':').trim().split_once(' ')?;
    // The value of a text may hold braces; the last two are the flag's kind and its origin, in JDK 8 the last is its kind.
    let (rest_before, last) = rest.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    let (value, origin) = match is_kind(last) {
        true => (rest_before, (!declared.ends_with(':')).then_some("default")),
        false => (rest_before.trim_end().strip_suffix('}')?.rsplit_once('{')?.0, Some(last.trim())),
    };
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let name = name.trim();
    is_name(name).then_some(Flag { name, value: value.trim(), origin })
}

/// Whether this is what a flag is for, and not where its value came from.
fn is_kind(word: &str) -> bool {
    ["product", "manageable", "diagnostic", "experimental"].iter().any(|kind| word.contains(kind))
}

/// A segment of the code cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// `CodeHeap 'non-nmethods'`; empty for the only one.
    pub(super) name: &'a str,
    pub(super) size_bytes: u64,
    pub(super) used_bytes: u64,
}

/// The code cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CodeCache<'a> {
    pub(super) segments: Vec<Segment<'a>>,
    /// Allocations that failed, over all segments.
    pub(super) full_count: Option<u64>,
}

/// Reads `Compiler.codecache`. Where there are segments the line of the whole repeats their sums.
pub(super) fn code_cache(text: &str) -> CodeCache<'_> {
    let all: Vec<Segment<'_>> = text.lines().filter_map(segment).collect();
    let is_segmented = all.iter().any(|segment| !segment.name.is_empty());
    let segments = all.into_iter().filter(|segment| segment.name.is_empty() != is_segmented).collect();
    let full_count = text.split_once("full_count=").and_then(|(_, rest)| digits(rest));
    CodeCache { segments, full_count }
}

fn segment(line: &str) -> Option<Segment<'_>> {
    let (name, rest) = line.split_once(": size=")?;
    let (_, used) = rest.split_once("Kb")?.1.split_once(" used=")?;
    let bytes = |text: &str| digits(text)?.checked_mul(1_024);
    let name = if name == "CodeCache" { "" } else { name };
    Some(Segment { name, size_bytes: bytes(rest)?, used_bytes: bytes(used)? })
}

/// The number that a text begins with.
fn digits(text: &str) -> Option<u64> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_flags() {
        for (line, expected) in [
            ("[Global flags]", None),
            (
                "     bool UseG1GC      = true        {product} {ergonomic}",
                Some(("UseG1GC", "true", Some("ergonomic"))),
            ),
            ("     intx Limit        = 1        {C2 product} {default}", Some(("Limit", "1", Some("default")))),
            ("    ccstr AOTCache     =             {product} {default}", Some(("AOTCache", "", Some("default")))),
            (
                "    ccstr OnError = kill -9 {a} {b}=c   {product} {command line}",
                Some(("OnError", "kill -9 {a} {b}=c", Some("command line"))),
            ),
            (
                "   size_t MaxHeapSize  := 5   {product} {command line}",
                Some(("MaxHeapSize", "5", Some("command line"))),
            ),
            ("    uintx MaxHeapSize   := 67108864   {product}", Some(("MaxHeapSize", "67108864", None))),
            ("     bool UseG1GC        = false      {lp64_product}", Some(("UseG1GC", "false", Some("default")))),
            ("ccstrlist OnError       =            {product}", Some(("OnError", "", Some("default")))),
            ("ccstrlist OnError       := kill {a}  {product}", Some(("OnError", "kill {a}", None))),
            ("x = y", None),
            ("bool = {} {}", None),
            ("bool a\u{1b}b = 1 {product} {default}", None),
            ("=}{", None),
            ("", None),
        ] {
            let found = flag(line).map(|flag| (flag.name, flag.value, flag.origin));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn code_caches() {
        let whole =
            "CodeCache: size=245760Kb used=2875Kb max_used=2875Kb free=242884Kb\n bounds [0x1, 0x2]\n full_count=3\n";
        let segmented = "CodeHeap 'non-nmethods': size=5692Kb used=1487Kb max_used=1517Kb free=4204Kb\n bounds [0x1]\n\
                         CodeCache: size=245764Kb, used=3623Kb, max_used=3653Kb, free=242139Kb\n\
                         \u{20}total_blobs=1807, nmethods=1350, adapters=361, full_count=0\n";
        for (text, expected, full_count) in [
            (whole, vec![("", 245_760 << 10, 2_875 << 10)], Some(3)),
            (segmented, vec![("CodeHeap 'non-nmethods'", 5_692 << 10, 1_487 << 10)], Some(0)),
            ("", vec![], None),
            ("CodeCache: size=99999999999999999999Kb used=1Kb", vec![], None),
            ("CodeCache: size=18446744073709551615Kb used=1Kb", vec![], None),
            ("CodeCache: size=1Kb full_count=", vec![], None),
        ] {
            let found = code_cache(text);
            let segments: Vec<_> = found.segments.iter().map(|s| (s.name, s.size_bytes, s.used_bytes)).collect();
            assert_eq!((segments, found.full_count), (expected, full_count), "{text}");
        }
    }
}
