//! Lines of logs.

use arrow_array::types::Int64Type;

use super::Answer;
use super::select::Stretch;
use crate::columns::Columns;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 20_000;

/// The time of a line that does not say when it was written: the least whole number that every reader of the answer can hold.
const NO_TIME: i64 = -((1 << 53) - 1);

/// Answers `log`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let limit = query.count("limit", LIMIT, LIMIT_MAX, "a number of rows up to 20000")?;
    let offset = query.count("offset", 0, u32::MAX as usize, "a number of rows")?;
    let wanted = query.text("find").map(str::to_lowercase);
    let logs = &page.recording.logs;
    let is_within = |row: &usize| {
        let time = page.axis.at(logs.time_ns[*row]);
        // A line that does not say when it was written belongs to any time.
        logs.time_ns[*row] == 0 || (time >= stretch.from && time < stretch.to)
    };
    let is_wanted = |row: &usize| {
        wanted.as_ref().is_none_or(|wanted| page.recording.text(logs.text[*row]).to_lowercase().contains(wanted))
    };
    let mut rows: Vec<usize> = (0..logs.time_ns.len()).filter(is_within).filter(is_wanted).collect();
    rows.sort_by_key(|row| logs.time_ns[*row]);
    let total = rows.len();
    let rows: Vec<usize> = rows.into_iter().skip(offset).take(limit).collect();
    Answer::table(table(page, &rows).note("total", total))
}

/// Rows of the table of logs.
pub(crate) fn table(page: &Loaded, rows: &[usize]) -> Columns {
    let logs = &page.recording.logs;
    let text = |id| page.recording.text(id);
    let time = |row: &usize| if logs.time_ns[*row] == 0 { NO_TIME } else { page.axis.at(logs.time_ns[*row]) };
    Columns::default()
        .numbers::<Int64Type>("t", rows.iter().map(time))
        .words("source", rows.iter().map(|row| text(logs.source[*row])))
        .words("level", rows.iter().map(|row| text(logs.level[*row])))
        .words("class", rows.iter().map(|row| text(logs.class[*row])))
        .texts("text", rows.iter().map(|row| text(logs.text[*row])))
}
