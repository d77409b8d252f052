//! The arrival time of each request, for load tests that replay them.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::latency::parse_arrivals::{Format, Row, sendable};
use crate::lines::{self, Line};
use crate::{LoadError, SNIFF_BYTES, input};

/// How many lines may come before the first that shows the format.
const LINES_TO_RECOGNISE: usize = 20;

/// How many different requests are kept; more are more than a test can be about, and cost memory.
const MAX_REQUESTS: usize = 10_000_000;

const SAYS: &str = "no requests found: expected an access log, or CSV with a heading such as time,method,path or \
                    method,path,weight";

/// Requests with their times, their weights, or both.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Arrivals {
    /// Each different request (`GET /path?query`), and the sum of its weights.
    pub requests: Vec<(String, f64)>,
    /// When which of them arrived, in the order of the file. None where the file has no times.
    pub arrived: Vec<Arrived>,
    /// Lines that are no request which can be sent.
    pub left_out: u64,
    /// What is missing of a file that could not be read to its end.
    pub cut: Option<String>,
}

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// The time in the file, in ns since the Unix epoch.
    pub time_ns: i64,
    /// How long before it the request began: some logs have the time of the end.
    pub before_ns: i64,
    /// Which of the requests.
    pub request: u32,
}

/// Reads the arrivals of an access log or a CSV.
pub fn arrivals(file: &Path) -> Result<Arrivals, LoadError> {
    let unusable = || LoadError::Unusable { path: file.to_owned(), says: SAYS.to_owned() };
    let head = input::head(file, SNIFF_BYTES)?;
    let first: Vec<&[u8]> = lines::of_head(&head).take(LINES_TO_RECOGNISE).collect();
    let mut format = Format::of(&first).ok_or_else(unusable)?;
    let mut gathered = Gathered::default();
    let cut = lines::read(file, &mut |line| match line {
        Line::Whole(text) if text.trim_ascii().is_empty() || format.is_heading(text) => {}
        Line::Whole(text) => gathered.add(format.row(text)),
        Line::Overlong(_) => gathered.add(None),
    })?;
    match gathered.arrivals.requests.is_empty() {
        true => Err(unusable()),
        false => Ok(Arrivals { cut, ..gathered.arrivals }),
    }
}

/// `GET /path` if it is one that can be sent.
pub fn as_request(text: &str) -> Option<String> {
    let (method, target) = text.split_once(' ')?;
    sendable(method.as_bytes(), target.as_bytes())
}

#[derive(Default)]
struct Gathered {
    arrivals: Arrivals,
    known: FxHashMap<String, u32>,
}

impl Gathered {
    fn add(&mut self, row: Option<Row>) {
        match row.and_then(|row| Some((self.index(row.request)?, row.time_ns, row.weight))) {
            None => self.arrivals.left_out += 1,
            Some((request, time, weight)) => {
                self.arrivals.requests[request as usize].1 += weight;
                let arrived = time.map(|(time_ns, before_ns)| Arrived { time_ns, before_ns, request });
                self.arrivals.arrived.extend(arrived);
            }
        }
    }

    fn index(&mut self, request: String) -> Option<u32> {
        if let Some(index) = self.known.get(&request) {
            return Some(*index);
        }
        let requests = &mut self.arrivals.requests;
        let index = u32::try_from(requests.len()).ok().filter(|_| requests.len() < MAX_REQUESTS)?;
        requests.push((request.clone(), 0.0));
        self.known.insert(request, index);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arrivals, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        std::fs::write(&file, text).unwrap();
        arrivals(&file)
    }

    #[test]
    fn equal_requests_are_one() {
        let line = |second: u32, path: &str| {
            format!("h - - [20/Nov/2026:06:30:0{second} +0000] \"GET {path} HTTP/1.1\" 200 1\n")
        };
        let text = [line(1, "/a"), line(0, "/b"), "\noops\n".to_owned(), line(1, "/a")].concat();
        let found = read(&text).unwrap();
        assert_eq!(found.requests, [("GET /a".to_owned(), 2.0), ("GET /b".to_owned(), 1.0)]);
        let seconds: Vec<_> = found.arrived.iter().map(|one| (one.time_ns / 1_000_000_000 % 10, one.request)).collect();
        assert_eq!((seconds, found.left_out), (vec![(1, 0), (0, 1), (1, 0)], 1));
    }

    #[test]
    fn weights_without_times() {
        let found = read("path,weight\n/a,3\n/b,1\n/a,2\n").unwrap();
        assert_eq!(found.requests, [("GET /a".to_owned(), 5.0), ("GET /b".to_owned(), 1.0)]);
        assert_eq!(found.arrived, []);
        for bad in ["a,b\n1,2\n", "path,weight\n:8080,1\n", "x\n"] {
            assert!(matches!(read(bad), Err(LoadError::Unusable { .. })), "{bad}");
        }
    }
}
