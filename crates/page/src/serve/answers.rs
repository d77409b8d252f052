//! From a question in an address to its answer.

use super::shelf::Shelf;
use crate::model::{self, Answer, Others, compare, runs};
use crate::query::Query;
use crate::refused::Refused;

/// The answer to a question as it stands in an address behind `api/`.
pub fn answer(shelf: &Shelf, question: &str, query: &Query) -> Result<Answer, Refused> {
    let parts: Vec<&str> = question.split('/').collect();
    match parts.as_slice() {
        ["recordings"] => Ok(Answer::json(&shelf.list())),
        ["watched"] => Ok(Answer::json(&shelf.watched())),
        ["runs"] => {
            let (series, missing) = shelf.runs();
            Ok(runs::answer(series, missing))
        }
        ["compare"] => {
            let side = |name| number(query.required(name, "the number of a recording")?);
            let (a, b) = (shelf.recording(side("a")?)?, shelf.recording(side("b")?)?);
            Ok(compare::answer(&a, &b))
        }
        ["r", id, question] => model::answer(&*shelf.recording(number(id)?)?, question, query, shelf),
        _ => Err(Refused::not_there("question", question)),
    }
}

fn number(id: &str) -> Result<u32, Refused> {
    id.parse().map_err(|_| Refused::not_there("recording", id))
}
