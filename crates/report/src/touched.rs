//! What the first touch of memory costs on this machine, for a person and as JSON.

use fathom_causes::format;
use serde::Serialize;

use crate::TextOptions;
use crate::sheet::{Sheet, Tone, styled};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// Pages of 4 KiB in 1 GiB.
const PAGES_PER_GIB: f64 = 262_144.0;

/// Column of what a way took.
const HANG: usize = 24;

/// From this on, more faults than another way took are no accident.
const MORE_FAULTS: f64 = 1.5;

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Touched {
    /// Version of the JSON.
    pub schema: u32,
    /// How much memory was touched each time.
    pub bytes: u64,
    /// How often each way was tried.
    pub rounds: usize,
    /// The ways, with small pages and with huge ones.
    pub ways: Vec<Way>,
    /// What that means, in a sentence.
    pub says: String,
}

/// One way to touch each page, and what it took: medians of the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// What was done to each page.
    pub name: &'static str,
    /// Who does it so.
    pub meaning: &'static str,
    /// Whether the memory was advised to be in huge pages.
    pub huge: bool,
    /// CPU time of the thread for each 4 KiB, in ns.
    pub ns_per_4_kib: f64,
    /// Page faults for each MiB.
    pub faults_per_mib: f64,
    /// The part of the memory that was in huge pages afterwards; none where the kernel does not show it.
    pub in_huge_pages: Option<f64>,
    /// Why it could not be tried; the figures are 0 then.
    pub refused: Option<String>,
}

impl Touched {
    /// Puts the answer together.
    pub fn new(bytes: u64, rounds: usize, ways: Vec<Way>) -> Touched {
        let says = says(&ways);
        Touched { schema: SCHEMA, bytes, rounds, ways, says }
    }
}

fn says(ways: &[Way]) -> String {
    let tried: Vec<&Way> = ways.iter().filter(|way| way.refused.is_none()).collect();
    let of = |huge: bool| tried.iter().filter(move |way| way.huge == huge);
    let Some(cheapest) = of(false).min_by(|a, b| a.ns_per_4_kib.total_cmp(&b.ns_per_4_kib)) else {
        return String::new();
    };
    let mut says = format!(
        "to touch 1 GiB of small pages takes one thread {} of CPU ({})",
        format::time(cheapest.ns_per_4_kib * PAGES_PER_GIB),
        cheapest.name
    );
    match of(true).max_by(|a, b| a.in_huge_pages.unwrap_or(0.0).total_cmp(&b.in_huge_pages.unwrap_or(0.0))) {
        Some(way) if way.in_huge_pages.unwrap_or(0.0) > 0.0 => {
            let least = of(true).map(|way| way.ns_per_4_kib).fold(f64::INFINITY, f64::min);
            says += &format!(", of huge pages {}", format::time(least * PAGES_PER_GIB));
        }
        // Where the kernel does not show it, there may be some.
        Some(way) if way.in_huge_pages.is_none() => {}
        _ => says += "; this process gets no huge pages here",
    }
    for way in tried.iter().filter(|way| takes_more_faults(way, &tried)) {
        let pages = if way.huge { "huge" } else { "small" };
        says += &format!("; {} takes more faults than needed ({pages} pages)", way.name);
    }
    says
}

fn takes_more_faults(way: &Way, tried: &[&Way]) -> bool {
    let others = tried.iter().filter(|other| other.huge == way.huge).map(|other| other.faults_per_mib);
    way.faults_per_mib > MORE_FAULTS * others.fold(f64::INFINITY, f64::min)
}

/// The same for a person.
pub fn text(touched: &Touched, options: &TextOptions) -> String {
    let mut sheet = Sheet::new(options.width);
    for huge in [false, true] {
        sheet.paragraph(0, Tone::Strong, if huge { "huge pages (where the kernel gives them)" } else { "small pages" });
        for way in touched.ways.iter().filter(|way| way.huge == huge) {
            sheet.labelled(2, HANG, styled(Tone::Plain, way.name), &figures(way));
            if !huge {
                sheet.paragraph(HANG, Tone::Faint, way.meaning);
            }
        }
        sheet.blank();
    }
    sheet.paragraph(0, Tone::Plain, &touched.says);
    sheet.render(options.color)
}

fn figures(way: &Way) -> String {
    if let Some(refused) = &way.refused {
        return format!("not tried: {refused}");
    }
    let huge = way.in_huge_pages.filter(|_| way.huge);
    let huge = huge.map_or_else(String::new, |part| format!(", {} in huge pages", format::percent(part)));
    format!("{} per 4 KiB, {} faults per MiB{huge}", format::time(way.ns_per_4_kib), format::number(way.faults_per_mib))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn way(name: &'static str, huge: bool, ns_per_4_kib: f64, faults_per_mib: f64) -> Way {
        let in_huge_pages = Some(if huge { 1.0 } else { 0.0 });
        Way { name, meaning: "what a JDK does", huge, ns_per_4_kib, faults_per_mib, in_huge_pages, refused: None }
    }

    #[test]
    fn ways_as_they_are_read() {
        let options = TextOptions { width: 100, color: false, all: false, zone: TimeZone::UTC };
        let refused =
            Way { refused: Some("Invalid argument (os error 22)".to_owned()), ..way("populate", false, 0.0, 0.0) };
        let ways = vec![
            way("write", false, 1_716.0, 256.0),
            way("read, then write", false, 2_741.0, 512.0),
            refused,
            way("write", true, 385.0, 0.5),
        ];
        insta::assert_snapshot!(text(&Touched::new(32 << 20, 9, ways), &options));
    }

    #[test]
    fn only_a_way_that_faults_more_often_is_told() {
        let says = |faults| says(&[way("write", false, 1_000.0, 256.0), way("another", false, 1_000.0, faults)]);
        assert!(!says(257.0).contains("more faults"), "{}", says(257.0));
        assert!(says(512.0).contains("another takes more faults"), "{}", says(512.0));
    }

    #[test]
    fn huge_pages_that_were_not_given_are_told() {
        let none = Way { in_huge_pages: Some(0.0), ..way("write", true, 1_000.0, 256.0) };
        let small = || way("write", false, 1_000.0, 256.0);
        assert!(says(&[small(), none.clone()]).contains("no huge pages"));
        let unknown = Way { in_huge_pages: None, ..none };
        assert!(!says(&[small(), unknown]).contains("huge"));
    }
}
