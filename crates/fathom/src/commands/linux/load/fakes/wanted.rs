//! Which fakes are wanted: as a file describes them, or one for each service that a recording has calls of.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fathom_evidence::Recording;
use fathom_evidence::detail;
use fathom_evidence::kinds::span;
use serde::{Deserialize, Serialize};

use crate::finish;

/// The engine gets so many parts of a distribution: the slowest call of a thousand keeps its own time.
const PARTS: usize = 1000;

/// Longer answers than this of what was recorded are made this long.
const BODY_MAX_BYTES: u64 = 1_000_000;

/// A fake as the engine reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::commands::linux::load) struct Fake {
    pub(super) listen: String,
    /// Where requests go; empty: the engine answers them as HTTP with `body`.
    pub(super) upstream: String,
    body: String,
    /// Quantiles of the time until the answer, at equal distances; empty: as long as the upstream takes.
    times_ns: Vec<i64>,
    /// 0 is not limited.
    kb_per_second: u64,
}

impl Fake {
    /// A quantile of the time until the answer, as the engine draws it: between two of the given ones in proportion.
    pub(super) fn quantile_ns(&self, part: f64) -> Option<i64> {
        let place = part * self.times_ns.len().checked_sub(1)? as f64;
        let (from, to) = (self.times_ns[place.floor() as usize] as f64, self.times_ns[place.ceil() as usize] as f64);
        Some((from + (to - from) * place.fract()) as i64)
    }
}

/// A file of fakes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fake: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    listen: String,
    #[serde(default)]
    upstream: String,
    #[serde(default)]
    body: String,
    latency_ms: Option<f64>,
    #[serde(default)]
    jitter_ms: f64,
    #[serde(default)]
    bandwidth_kb_s: u64,
    /// Answers take as long as those of this peer took there.
    recording: Option<PathBuf>,
    peer: Option<String>,
}

/// Reads a file of fakes or a recording.
pub(in crate::commands::linux::load) fn read(path: &Path) -> Result<Vec<Fake>> {
    let name = || path.display().to_string();
    let fakes = match fathom_store::is_recording(path) {
        true => of_recording(&finish::open(path)?),
        false => of_file(&fs::read_to_string(path).with_context(name)?, path.parent().unwrap_or(Path::new(""))),
    };
    fakes.with_context(name)
}

fn of_file(text: &str, folder: &Path) -> Result<Vec<Fake>> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        anyhow::anyhow!("line {line}: {}", error.message().replace('\n', " "))
    })?;
    if file.fake.is_empty() {
        bail!("has no [[fake]]");
    }
    let mut read = BTreeMap::new();
    file.fake.into_iter().map(|row| of_row(row, folder, &mut read)).collect()
}

/// `read` has the calls of the recordings that fakes before this one named.
fn of_row(row: Row, folder: &Path, read: &mut BTreeMap<PathBuf, ByPeer>) -> Result<Fake> {
    let times_ns = match (row.latency_ms, &row.recording, &row.peer) {
        (None, Some(recording), Some(peer)) => {
            let by_peer: &ByPeer = match read.entry(folder.join(recording)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let opened = finish::open(place.key()).with_context(|| place.key().display().to_string())?;
                    place.insert(by_peer(&opened))
                }
            };
            calls_of(by_peer, peer)?.times_ns()
        }
        (latency_ms, None, None) => around(latency_ms.unwrap_or(0.0), row.jitter_ms).with_context(|| {
            format!("{}: latency_ms and jitter_ms are at least 0, and jitter_ms at most latency_ms", row.listen)
        })?,
        _ => bail!("{}: give latency_ms, or recording and peer", row.listen),
    };
    let (listen, upstream) = (row.listen, row.upstream);
    Ok(Fake { listen, upstream, body: row.body, times_ns, kb_per_second: row.bandwidth_kb_s })
}

/// The quantiles of equally frequent times around one of them.
fn around(latency_ms: f64, jitter_ms: f64) -> Option<Vec<i64>> {
    let ns = |ms: f64| (ms * 1e6) as i64;
    ((0.0..=latency_ms).contains(&jitter_ms) && latency_ms.is_finite()).then_some(())?;
    let is_given = latency_ms > 0.0;
    Some(if is_given { vec![ns(latency_ms - jitter_ms), ns(latency_ms + jitter_ms)] } else { Vec::new() })
}

/// One fake for each service that was called, at its port on this machine. What it answered is not recorded, only how long that was.
fn of_recording(recording: &Recording) -> Result<Vec<Fake>> {
    let by_peer = by_peer(recording);
    if by_peer.is_empty() {
        bail!("has no calls of other services: record as root, or describe the fakes in a file (docs/load.md)");
    }
    let mut by_port: BTreeMap<&str, &str> = BTreeMap::new();
    for peer in by_peer.keys() {
        let port = peer.rsplit_once(':').map_or("", |(_, port)| port);
        if port.parse::<u16>().is_err() {
            bail!("{peer} has no port of TCP: describe the fakes in a file (docs/load.md)");
        }
        if let Some(other) = by_port.insert(port, peer) {
            bail!("{other} and {peer} have one port: describe the fakes in a file (docs/load.md)");
        }
    }
    let fake = |(port, peer): (&str, &str)| Fake {
        listen: format!("127.0.0.1:{port}"),
        upstream: String::new(),
        body: "x".repeat(by_peer[peer].typical_bytes().min(BODY_MAX_BYTES) as usize),
        times_ns: by_peer[peer].times_ns(),
        kb_per_second: 0,
    };
    Ok(by_port.into_iter().map(fake).collect())
}

fn calls_of<'a>(by_peer: &'a ByPeer, peer: &str) -> Result<&'a Calls> {
    by_peer.get(peer).with_context(|| match by_peer.is_empty() {
        true => format!("no calls of {peer}, nor of another service"),
        false => format!("no calls of {peer}, only of {}", by_peer.keys().cloned().collect::<Vec<_>>().join(", ")),
    })
}

/// The calls of one service: how long it took, how many bytes it answered, how many calls that stands for.
#[derive(Debug, Default)]
struct Calls(Vec<(i64, u64, f64)>);

impl Calls {
    /// Quantiles of how long they took, at equal distances, from the least to the greatest.
    fn times_ns(&self) -> Vec<i64> {
        let mut times: Vec<(i64, f64)> = self.0.iter().map(|(ns, _, count)| (*ns, *count)).collect();
        times.sort_by_key(|(ns, _)| *ns);
        let all: f64 = times.iter().map(|(_, count)| count).sum();
        let mut quantiles = Vec::with_capacity(PARTS + 1);
        let mut up_to = 0.0;
        for (ns, count) in times {
            up_to += count;
            while quantiles.len() <= PARTS && quantiles.len() as f64 * all <= up_to * PARTS as f64 {
                quantiles.push(ns);
            }
        }
        quantiles
    }

    fn typical_bytes(&self) -> u64 {
        let mut bytes: Vec<u64> = self.0.iter().map(|(_, bytes, _)| *bytes).collect();
        bytes.sort_unstable();
        bytes.get(bytes.len() / 2).copied().unwrap_or(0)
    }
}

type ByPeer = BTreeMap<String, Calls>;

/// Calls that were answered and whose length is known, by the service.
fn by_peer(recording: &Recording) -> ByPeer {
    let mut by_peer = ByPeer::new();
    for row in recording.spans.rows().filter(|row| recording.text(row.kind) == span::CALL) {
        let detail: detail::Call = detail::from_text(recording.text(row.detail));
        if detail.overlapping == Some(true) || detail.unanswered == Some(true) {
            continue;
        }
        let peer_ns = detail.peer_ns.unwrap_or(row.duration_ns).saturating_sub(detail.unsent_ns.unwrap_or(0)).max(0);
        let count = detail.stands_for.unwrap_or(1).max(1) as f64;
        let of_peer = by_peer.entry(recording.text(row.name).to_owned()).or_default();
        of_peer.0.push((peer_ns, detail.bytes_in.unwrap_or(0), count));
    }
    by_peer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(calls: &[(&str, i64, &str)]) -> Recording {
        let mut recording = Recording::default();
        for (peer, length_ns, detail) in calls {
            recording.add_span(1_795_156_200_000_000_000, *length_ns, 1, span::CALL, peer, detail, "requests");
        }
        recording
    }

    fn said(fakes: Result<Vec<Fake>>) -> String {
        format!("{:#}", fakes.unwrap_err())
    }

    #[test]
    fn fakes_of_a_file() {
        let text = "[[fake]]\nlisten = '127.0.0.1:1'\nupstream = 'db:5432'\nlatency_ms = 20\njitter_ms = 5\nbandwidth_kb_s = 7\n\
                    [[fake]]\nlisten = '127.0.0.1:2'\nbody = 'hello'\n";
        let fakes = of_file(text, Path::new("")).unwrap();
        assert_eq!(fakes[0].times_ns, [15_000_000, 25_000_000]);
        assert_eq!((fakes[0].quantile_ns(0.5), fakes[0].quantile_ns(0.99)), (Some(20_000_000), Some(24_900_000)));
        assert_eq!((&*fakes[0].upstream, fakes[0].kb_per_second), ("db:5432", 7));
        assert_eq!((&*fakes[1].upstream, &*fakes[1].body, fakes[1].quantile_ns(0.5)), ("", "hello", None));
    }

    #[test]
    fn files_that_cannot_be_meant() {
        let with = |more: &str| said(of_file(&format!("[[fake]]\nlisten = 'h:1'\n{more}"), Path::new("")));
        for (more, says) in [
            ("latency = 1", "unknown field `latency`"),
            ("jitter_ms = 1", "h:1: latency_ms and jitter_ms are at least 0"),
            ("latency_ms = -1", "at least 0"),
            ("latency_ms = nan", "at least 0"),
            ("peer = 'a:1'", "give latency_ms, or recording and peer"),
            ("latency_ms = 1\nrecording = 'x'\npeer = 'a:1'", "give latency_ms, or recording and peer"),
            ("recording = '/nowhere'\npeer = 'a:1'", "/nowhere"),
        ] {
            let said = with(more);
            assert!(said.contains(says), "{said}");
        }
        assert!(said(of_file("fake = []", Path::new(""))).contains("no [[fake]]"));
    }

    #[test]
    fn fakes_of_a_recording() {
        let calls = recording(&[
            ("10.0.0.5:8080", 9, r#"{"peer_ns":5,"unsent_ns":1,"bytes_in":300}"#),
            ("10.0.0.5:8080", 9, r#"{"peer_ns":100,"bytes_in":300,"stands_for":3}"#),
            ("10.0.0.5:8080", 1_000, r#"{"unanswered":true}"#),
            ("10.0.0.5:8080", 1_000, r#"{"overlapping":true}"#),
            ("db:5432", 7, ""),
        ]);
        let fakes = of_recording(&calls).unwrap();
        assert_eq!(fakes.iter().map(|fake| &*fake.listen).collect::<Vec<_>>(), ["127.0.0.1:5432", "127.0.0.1:8080"]);
        let times = &fakes[1].times_ns;
        assert_eq!((times.len(), times[0], times[250], times[251], times[PARTS]), (PARTS + 1, 4, 4, 100, 100));
        assert_eq!((fakes[1].body.len(), &fakes[0].times_ns), (300, &vec![7; PARTS + 1]));
    }

    #[test]
    fn recordings_that_need_a_file_of_fakes() {
        assert!(said(of_recording(&recording(&[]))).contains("no calls"));
        assert!(
            said(of_recording(&recording(&[("a:1", 1, ""), ("b:1", 1, "")]))).contains("a:1 and b:1 have one port")
        );
        assert!(said(of_recording(&recording(&[("/run/x.sock", 1, "")]))).contains("no port"));
        let of_a = by_peer(&recording(&[("a:1", 1, "")]));
        assert!(format!("{:#}", calls_of(&of_a, "b:1").unwrap_err()).contains("only of a:1"));
    }
}
