//! What can be asked. `openapi.json` describes it, and `tests/api.rs` compares the two.

use super::access::{Denied, Does, Peer, decide};
use crate::answer::Advisor;
use crate::entry::{Entry, Report};
use crate::store::{Question, Store, StoreError};
use crate::token::Token;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Extension, Query, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use slowpath_tune::advice::Known;
use slowpath_tune::now;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest body of a request: some 300 values.
pub const MOST_BODY: usize = 64 << 10;
/// How long a request may take, its body included.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Addresses of a host in a question.
const MOST_ADDRESSES: usize = 16;
/// Paths, or values, of an answer.
const MOST_LISTED: usize = 1000;

/// What all requests share.
struct Shared {
    reader: Mutex<Store>,
    writer: Mutex<Store>,
    advisor: Mutex<Advisor>,
    token: Option<Token>,
}

/// Why a request fails.
struct Failure(StatusCode, String);

#[derive(Serialize)]
struct FailureText {
    error: String,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Json(FailureText { error: self.1 })).into_response()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::Entry { .. } | StoreError::TooMany(_) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, error.to_string())
    }
}

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Self {
        Self(StatusCode::BAD_REQUEST, rejection.body_text())
    }
}

impl From<JsonRejection> for Failure {
    fn from(rejection: JsonRejection) -> Self {
        Self(rejection.status(), rejection.body_text())
    }
}

/// All routes.
pub fn router(reader: Store, writer: Store, token: Option<Token>, known: Known) -> Router {
    let (reader, writer) = (Mutex::new(reader), Mutex::new(writer));
    let advisor = Mutex::new(Advisor::new(known));
    let shared = Arc::new(Shared { reader, writer, advisor, token });
    Router::new()
        .route("/v1/answer", get(answer))
        .route("/v1/paths", get(paths))
        .route("/v1/history", get(history))
        .route("/v1/entries", post(record))
        .route("/v1/health", get(health))
        .route("/v1/openapi.json", get(description))
        .fallback(|| async { Failure(StatusCode::NOT_FOUND, "see /v1/openapi.json".to_owned()) })
        .method_not_allowed_fallback(|| async {
            Failure(StatusCode::METHOD_NOT_ALLOWED, "see /v1/openapi.json".to_owned())
        })
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Refuses who may not, and ends what takes too long.
async fn guard(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let does = if matches!(*request.method(), Method::GET | Method::HEAD) { Does::Read } else { Does::Write };
    let headers: &HeaderMap = request.headers();
    let authorization = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    // A host that is no text is no address.
    let host = headers.get(HOST).map(|value| value.to_str().unwrap_or("?"));
    if let Err(denied) = decide(peer, does, shared.token.as_ref(), authorization, host) {
        let (status, why) = match denied {
            Denied::Token => (StatusCode::UNAUTHORIZED, "this needs the server's token"),
            Denied::Closed => (StatusCode::FORBIDDEN, "this needs a token, and the server has none"),
            Denied::Host => (StatusCode::FORBIDDEN, "name the server by its address"),
        };
        return Failure(status, why.to_owned()).into_response();
    }
    let late =
        |_| Failure(StatusCode::REQUEST_TIMEOUT, "the request took too long".to_owned()).into_response();
    tokio::time::timeout(REQUEST_TIME, next.run(request)).await.unwrap_or_else(late)
}

/// What is asked about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    to: Option<String>,
    from: Option<String>,
    streams: Option<u32>,
    limit: Option<usize>,
}

fn addresses(text: Option<&str>, what: &str) -> Result<Vec<IpAddr>, Failure> {
    let bad = |why: String| Failure(StatusCode::BAD_REQUEST, why);
    let Some(text) = text else { return Ok(Vec::new()) };
    if text.split(',').count() > MOST_ADDRESSES {
        return Err(bad(format!("{what} has more than {MOST_ADDRESSES} addresses")));
    }
    let parsed = text.split(',').map(str::parse);
    parsed
        .collect::<Result<_, _>>()
        .map_err(|_| bad(format!("{what} is not an address, or some separated by commas")))
}

impl Asked {
    fn question(&self) -> Result<Question, Failure> {
        let to = addresses(self.to.as_deref(), "to")?;
        let from = addresses(self.from.as_deref(), "from")?;
        if to.is_empty() {
            return Err(Failure(StatusCode::BAD_REQUEST, "to is missing".to_owned()));
        }
        Ok(Question { to, from, streams: self.streams.unwrap_or(1) })
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(MOST_LISTED).min(MOST_LISTED)
    }
}

type Query_ = Result<Query<Asked>, QueryRejection>;

fn nothing() -> Failure {
    Failure(StatusCode::NOT_FOUND, "nothing is known of this path".to_owned())
}

/// The store for reading. A request that panicked has changed nothing in it.
fn read<T>(shared: &Shared, what: impl FnOnce(&Store) -> Result<T, StoreError>) -> Result<T, Failure> {
    let store = shared.reader.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(what(&store)?)
}

async fn answer(State(shared): State<Arc<Shared>>, query: Query_) -> Result<Response, Failure> {
    let question = query?.question()?;
    let answer = read(&shared, |store| {
        let mut advisor = shared.advisor.lock().unwrap_or_else(PoisonError::into_inner);
        store.answer(&question, &mut advisor, now())
    })?;
    Ok(Json(answer.ok_or_else(nothing)?).into_response())
}

#[derive(Serialize)]
struct ListedPath {
    from: IpAddr,
    to: IpAddr,
}

#[derive(Serialize)]
struct ListedPaths {
    paths: Vec<ListedPath>,
}

async fn paths(State(shared): State<Arc<Shared>>, query: Query_) -> Result<Response, Failure> {
    let Query(asked) = query?;
    let all = match asked.to {
        None => read(&shared, Store::all)?,
        Some(_) => {
            let question = asked.question()?;
            read(&shared, |store| store.pairs(&question))?
        }
    };
    let listed = all.into_iter().take(asked.limit()).map(|pair| ListedPath { from: pair.from, to: pair.to });
    Ok(Json(ListedPaths { paths: listed.collect() }).into_response())
}

#[derive(Serialize)]
struct Values {
    entries: Vec<Entry>,
}

async fn history(State(shared): State<Arc<Shared>>, query: Query_) -> Result<Response, Failure> {
    let Query(asked) = query?;
    let question = asked.question()?;
    let mut entries = Vec::new();
    for pair in read(&shared, |store| store.pairs(&question))? {
        entries.extend(read(&shared, |store| store.entries(pair))?);
        if entries.len() >= asked.limit() {
            break;
        }
    }
    entries.truncate(asked.limit());
    if entries.is_empty() { Err(nothing()) } else { Ok(Json(Values { entries }).into_response()) }
}

#[derive(Serialize)]
struct Recorded {
    kept: usize,
}

async fn record(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<Report>, JsonRejection>,
) -> Result<Response, Failure> {
    let Json(report) = body?;
    // Waits for the disk, and for other writers.
    let kept = tokio::task::spawn_blocking(move || {
        shared.writer.lock().unwrap_or_else(PoisonError::into_inner).record(&report.entries, now())
    });
    let failed = |_| Failure(StatusCode::INTERNAL_SERVER_ERROR, "the store failed".to_owned());
    Ok(Json(Recorded { kept: kept.await.map_err(failed)?? }).into_response())
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

async fn health(State(shared): State<Arc<Shared>>) -> Result<Response, Failure> {
    // A store that cannot be read is not healthy.
    read(&shared, |store| {
        store.pairs(&Question { to: vec![IpAddr::from([127, 0, 0, 1])], ..Question::default() })
    })?;
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }).into_response())
}

async fn description() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("../../openapi.json")).into_response()
}
