//! What part of a recording a question is about: time, threads, event.

use std::ops::Range;

use crate::index::samples::Event;
use crate::index::threads::ThreadSet;
use crate::loaded::Loaded;
use crate::query::{Query, time_ns};
use crate::refused::Refused;

/// More ranges of numbers than this are not read.
const RANGES_MAX: usize = 10_000;

/// A stretch of time, in ns since the origin; half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Stretch {
    /// `from` and `to`; what was accounted for without them.
    pub(crate) fn of(page: &Loaded, query: &Query) -> Result<Stretch, Refused> {
        let from = query.time_ns("from", page.axis.from)?;
        let to = query.time_ns("to", page.axis.to)?;
        if from < to {
            Ok(Stretch { from, to })
        } else {
            Err(Refused::parameter("to", &to.to_string(), "a time after `from`"))
        }
    }

    /// From text such as `1000..2000`.
    pub(crate) fn parse(name: &'static str, text: &str) -> Result<Stretch, Refused> {
        let wrong = || Refused::parameter(name, text, "FROM..TO in nanoseconds since the origin");
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let (from, to) = (time_ns(name, from)?, time_ns(name, to)?);
        if from < to { Ok(Stretch { from, to }) } else { Err(wrong()) }
    }

    /// Its length in ns.
    pub(crate) fn length(self) -> f64 {
        self.to as f64 - self.from as f64
    }

    /// The part of it that the recording covers.
    pub(crate) fn covered(self, page: &Loaded) -> Stretch {
        let (first, last) = page.axis.extent;
        let from = self.from.clamp(first, last);
        Stretch { from, to: self.to.clamp(from, last) }
    }
}

/// The threads of a question: `all`, or numbers and ranges of them such as `0-5,9`. `None` is all.
pub(crate) fn threads(page: &Loaded, query: &Query) -> Result<Option<ThreadSet>, Refused> {
    let count = page.threads.len();
    let Some(ranges) = numbers(query, "threads", count)? else { return Ok(None) };
    let mut set = ThreadSet::none_of(count);
    ranges.into_iter().flatten().for_each(|number| set.insert(number));
    Ok(Some(set))
}

/// Numbers below `count`, and ranges of them such as `0-5,9`; `None` for `all` and without the parameter.
pub(crate) fn numbers(query: &Query, name: &'static str, count: usize) -> Result<Option<Vec<Range<usize>>>, Refused> {
    let Some(list) = query.list(name) else { return Ok(None) };
    let range = |item: &str| {
        let wrong = || Refused::parameter(name, item, "`all`, or numbers and ranges such as 0-5,9");
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        Ok(number(first)?..count.min(number(last)?.saturating_add(1)))
    };
    list.into_iter().take(RANGES_MAX).map(range).collect::<Result<_, Refused>>().map(Some)
}

/// A node of the flame graph; its root without the parameter.
pub(crate) fn node(page: &Loaded, query: &Query, name: &'static str) -> Result<usize, Refused> {
    query.count(name, 0, page.tree.len().saturating_sub(1), "the number of a node of the flame graph")
}

/// The event of a question; the first one of the recording without it.
pub(crate) fn event<'p>(page: &'p Loaded, query: &Query) -> Result<Option<&'p Event>, Refused> {
    match query.text("event") {
        None => Ok(page.events.first()),
        Some(word) => {
            let found = page.events.iter().find(|event| event.word == word);
            found.map(Some).ok_or_else(|| Refused::not_there("event", word))
        }
    }
}
