//! From a path to a response.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{Html, IntoResponse, Response};

use super::files;
use super::guard::{self, Guard};
use crate::model::overview;
use crate::query::Query;
use crate::refused::Refused;
use crate::serve::{Shelf, answer};
use crate::single_file::MARKER;

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
        return Html(made.unwrap_or_else(|_| files::page().to_owned())).into_response();
    }
    match files::served(path) {
        Some((bytes, content_type)) => ([(header::CONTENT_TYPE, content_type)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}

/// The page. If the recording that it will ask for is known, its overview stands in the page, so that the first picture
/// takes no further request.
fn page(shelf: &Shelf) -> String {
    let (Some((head, tail)), Some(loaded)) = (files::page().split_once(MARKER), shelf.only()) else {
        return files::page().to_owned();
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
