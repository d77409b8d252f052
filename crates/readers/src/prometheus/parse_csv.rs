//! A CSV of a time and series, as Grafana exports it: each other column is a series, named as a query selects it. Knows no evidence.

use std::path::Path;

use super::labels::Labels;
use super::parse::{Points, Read, Take};
use crate::LoadError;
use crate::latency::parse_request;
use crate::lines::{self, Line};
use crate::time::IsoTimes;

/// Columns that are read; a panel has fewer.
const COLUMNS_MAX: usize = 1_024;

/// Values of all columns that are kept, 64 MB.
const CELLS_MAX: usize = 1 << 22;

/// Longest heading that is looked at, in bytes.
const HEADING_MAX_BYTES: usize = 60_000;

const NOT_NAMED: &str = "a CSV whose columns are named by no metric; in Grafana set the query's Legend to Verbose and its expression to the metric itself (node_cpu_seconds_total{...}, not rate() of it), then export again";

/// Whether a file that begins with `head` has such a heading and a row.
pub(super) fn is_table(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let heading = if is_separator(first) { lines.next().unwrap_or_default() } else { first };
    let Some(columns) = Columns::of(heading) else { return false };
    let is_row = |line: &[u8]| columns.time_ns(line, &mut IsoTimes::default()).is_some();
    columns.is_by_grafana && lines.next().is_some_and(is_row)
}

/// `sep=,` stands above the heading of what is meant for a spreadsheet.
fn is_separator(line: &[u8]) -> bool {
    trimmed(line).starts_with(b"sep=")
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii()
}

/// The heading.
struct Columns {
    delimiter: u8,
    labels: Vec<Option<Labels>>,
    is_by_grafana: bool,
}

impl Columns {
    /// Reads a heading whose first column is `Time`.
    fn of(line: &[u8]) -> Option<Columns> {
        let line = trimmed(line);
        (line.len() <= HEADING_MAX_BYTES).then_some(())?;
        let quoted = line.starts_with(b"\"Time\"");
        let delimiter = *line.get(if quoted { 6 } else { 4 })?;
        let is_time = quoted || line.starts_with(b"Time");
        (is_time && matches!(delimiter, b',' | b';' | b'\t')).then_some(())?;
        let names = fields(line, delimiter).skip(1).take(COLUMNS_MAX);
        let labels: Vec<Option<Labels>> = names.map(|name| Labels::of_selector(&name)).collect();
        // Other programs have a column of that name as well: theirs is not quoted, and others have no labels.
        let is_by_grafana = quoted || labels.iter().flatten().any(Labels::are_several);
        Some(Columns { delimiter, labels, is_by_grafana })
    }

    fn time_ns(&self, line: &[u8], times: &mut IsoTimes) -> Option<i64> {
        let first = fields(line, self.delimiter).next()?;
        parse_request::time_ns(first.trim().as_bytes(), None, times)
    }
}

/// Gives each column to `take`.
pub(super) fn read(file: &Path, take: &mut Take<'_>) -> Result<Read, LoadError> {
    let mut table = Table::default();
    table.read.cut = lines::read(file, &mut |line| table.line(line))?;
    Ok(table.finish(take))
}

#[derive(Default)]
struct Table {
    columns: Option<Columns>,
    points: Vec<Points>,
    cells: usize,
    times: IsoTimes,
    read: Read,
}

impl Table {
    fn line(&mut self, line: Line<'_>) {
        let Line::Whole(line) = line else {
            self.read.left_out += 1;
            return;
        };
        match &self.columns {
            None if is_separator(line) || line.is_empty() => {}
            None => {
                let columns =
                    Columns::of(line).unwrap_or(Columns { delimiter: b',', labels: Vec::new(), is_by_grafana: false });
                self.points.resize_with(columns.labels.len(), Points::default);
                self.columns = Some(columns);
            }
            Some(columns) => match columns.time_ns(line, &mut self.times) {
                Some(time_ns) => {
                    self.read.is_local |= has_no_zone(line);
                    self.row(line, time_ns);
                }
                None => self.read.left_out += i64::from(!line.is_empty()),
            },
        }
    }

    fn row(&mut self, line: &[u8], time_ns: i64) {
        let Some(columns) = &self.columns else { return };
        for (at, field) in fields(line, columns.delimiter).skip(1).enumerate().take(self.points.len()) {
            // A series has no value where others have one.
            if columns.labels[at].is_none() || field.is_empty() || field == "null" {
                continue;
            }
            let text = if columns.delimiter == b',' { field } else { field.replace(',', ".") };
            let value = text.trim().parse().ok().filter(|_| self.cells < CELLS_MAX);
            self.cells += 1;
            self.points[at].add(time_ns, value);
        }
    }

    fn finish(mut self, take: &mut Take<'_>) -> Read {
        let labels = self.columns.map(|columns| columns.labels).unwrap_or_default();
        self.read.refused = labels.iter().all(Option::is_none).then_some(NOT_NAMED);
        for (labels, points) in labels.iter().zip(&mut self.points) {
            labels.iter().for_each(|labels| points.give(labels, &mut self.read, take));
        }
        self.read
    }
}

/// Whether a row begins with date and time, and nothing says where.
fn has_no_zone(line: &[u8]) -> bool {
    let time = line.split(|byte| matches!(byte, b',' | b';' | b'\t')).next().unwrap_or_default();
    let time = time.strip_prefix(b"\"").unwrap_or(time);
    time.get(4) == Some(&b'-')
        && !time.get(10..).unwrap_or_default().iter().any(|byte| matches!(byte, b'Z' | b'+' | b'-'))
}

/// The fields of a line. Within quotes two quotes are one.
fn fields(line: &[u8], delimiter: u8) -> impl Iterator<Item = String> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let mut text = rest?;
        let mut field = Vec::new();
        if let Some(quoted) = text.strip_prefix(b"\"") {
            let mut at = 0;
            while let Some(byte) = quoted.get(at) {
                let is_double = *byte == b'"' && quoted.get(at + 1) == Some(&b'"');
                if *byte == b'"' && !is_double {
                    break;
                }
                field.push(*byte);
                at += if is_double { 2 } else { 1 };
            }
            text = quoted.get(at + 1..).unwrap_or_default();
        }
        let end = memchr::memchr(delimiter, text);
        field.extend_from_slice(&text[..end.unwrap_or(text.len())]);
        rest = end.map(|end| &text[end + 1..]);
        Some(String::from_utf8_lossy(&field).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TABLE: &str = "\"Time\",\"node_cpu_seconds_total{cpu=\"\"0\"\", mode=\"\"idle\"\"}\",\"p 99\"\n2026-11-20 06:30:00,1.5,3\n2026-11-20 06:30:15,2.5e1,\n\nx,1,1\n";

    #[test]
    fn columns_are_series() {
        for (text, is_local) in [
            (TABLE.to_owned(), true),
            (format!("sep=,\r\n{}", TABLE.replace('\n', "\r\n")), true),
            (
                TABLE.replace("2026-11-20 06:30:00", "1795156200000").replace("2026-11-20 06:30:15", "1795156215000"),
                false,
            ),
            (TABLE.replace(",1.5,3", ";1,5;3").replace(",2.5e1,", ";2,5e1;").replace("\",\"", "\";\""), true),
        ] {
            assert!(is_table(text.as_bytes()), "{text}");
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let mut found = Vec::new();
            let take: &mut Take<'_> =
                &mut |labels, points| found.push((labels.get("cpu").map(str::to_owned), points.to_vec()));
            let read = read(file.path(), take).unwrap();
            let points = vec![(1_795_156_200_000_000_000, 1.5), (1_795_156_215_000_000_000, 25.0)];
            assert_eq!(found, [(Some("0".to_owned()), points)], "{text}");
            assert_eq!((read.left_out, read.is_local), (1, is_local), "{text}");
        }
    }

    #[test]
    fn other_tables_are_not_taken() {
        for text in
            ["", "Time,x\n1795156200,1\n", "time,latency_ms\n1,2\n", "\"Time\",\"a\"\nx,1\n", "Timestamp OC OU\n"]
        {
            assert!(!is_table(text.as_bytes()), "{text}");
        }
    }
}
