//! Any bytes as latencies of requests, and the bytes after the first line with that line as the pattern for lines:
//! reading must end, and not panic.

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::load(bytes, &["latency"], None);
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (pattern, lines) = bytes.split_at(end);
    // A pattern without a name for the latency is refused, and that check costs as much as a hundred lines.
    if let Ok(pattern) = std::str::from_utf8(pattern)
        && pattern.contains("latency_")
    {
        fathom_fuzz::load(lines.get(1..).unwrap_or_default(), &["latency"], Some(pattern));
    }
}
