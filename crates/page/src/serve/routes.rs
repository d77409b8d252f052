//! From a path to an answer.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{Html, IntoResponse, Response};

use super::guard::{self, Guard};
use super::shelf::Shelf;
use crate::assets::{self, MARKER};
use crate::model::{self, Answer, Others, compare, overview, runs};
use crate::query::Query;
use crate::refused::Refused;

/// Everything behind the token.
pub(super) fn router(guard: Guard, shelf: Arc<Shelf>) -> Router {
    Router::new().fallback(respond).with_state(shelf).layer(middleware::from_fn_with_state(guard, guard::check))
}

async fn respond(State(shelf): State<Arc<Shelf>>, request: Request) -> Response {
    // The guard has let it pass, so that the first part is the token.
    let path = request.uri().path().trim_start_matches('/');
    let Some((_, path)) = path.split_once('/') else { return to_folder(request.uri().path()) };
    let Some(question) = path.strip_prefix("api/") else { return file(path, shelf).await };
    let (question, query) = (question.to_owned(), Query::parse(request.uri().query().unwrap_or("")));
    // Questions work on all processors; the thread that waits for connections must not.
    let answered = tokio::task::spawn_blocking(move || answer(&shelf, &question, &query)).await;
    match answered {
        Ok(Ok(answer)) => ([(header::CONTENT_TYPE, answer.content_type)], answer.bytes).into_response(),
        Ok(Err(refused)) => (status(&refused), format!("{refused}\n")).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "a mistake in fathom itself; please report it\n").into_response(),
    }
}

/// The page refers to its files relatively, so that its address must end with a slash.
fn to_folder(path: &str) -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("{path}/"))]).into_response()
}

async fn file(path: &str, shelf: Arc<Shelf>) -> Response {
    if path.is_empty() {
        let made = tokio::task::spawn_blocking(move || page(&shelf)).await;
        return Html(made.unwrap_or_else(|_| assets::page().to_owned())).into_response();
    }
    match assets::served(path) {
        Some((bytes, content_type)) => ([(header::CONTENT_TYPE, content_type)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}

/// The page. If the recording that it will ask for is known, its overview stands in the page, so that the first picture
/// takes no further request.
fn page(shelf: &Shelf) -> String {
    let (Some((head, tail)), Some(loaded)) = (assets::page().split_once(MARKER), shelf.only()) else {
        return assets::page().to_owned();
    };
    let overview = String::from_utf8(overview::answer(&loaded).bytes).unwrap_or_default();
    // In JSON this letter stands in texts only; without it nothing ends the element or is taken for markup.
    let data = overview.replace('<', "\\u003c");
    let open = r#"<script type="application/json" id="fathom-overview">"#;
    [head, open, &data, "</script>", tail].concat()
}

fn status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::Parameter { .. } => StatusCode::BAD_REQUEST,
        Refused::NotThere { .. } => StatusCode::NOT_FOUND,
        Refused::Recording(_) => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

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
