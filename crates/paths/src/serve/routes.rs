//! What can be asked. `openapi.json` describes it, and `tests/api.rs` compares the two.

use crate::answer::Advisor;
use crate::entry::{Entry, Report};
use crate::store::{Question, Store, StoreError};
use serde::{Deserialize, Serialize};
use slowpath_http::Failure;
use slowpath_http::axum::extract::rejection::{JsonRejection, QueryRejection};
use slowpath_http::axum::extract::{DefaultBodyLimit, Query, State};
use slowpath_http::axum::http::StatusCode;
use slowpath_http::axum::http::header::CONTENT_TYPE;
use slowpath_http::axum::response::{IntoResponse, Response};
use slowpath_http::axum::routing::{get, post};
use slowpath_http::axum::{Json, Router};
use slowpath_tune::advice::Known;
use slowpath_tune::now;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The longest body of a request: some 300 values.
pub const MOST_BODY: usize = 64 << 10;
/// Addresses of a host in a question.
const MOST_ADDRESSES: usize = 16;
/// Paths, or values, of an answer.
const MOST_LISTED: usize = 1000;

/// What all requests share.
struct Shared {
    reader: Mutex<Store>,
    writer: Mutex<Store>,
    advisor: Mutex<Advisor>,
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

/// All routes.
pub fn router(reader: Store, writer: Store, known: Known) -> Router {
    let (reader, writer) = (Mutex::new(reader), Mutex::new(writer));
    let advisor = Mutex::new(Advisor::new(known));
    let shared = Arc::new(Shared { reader, writer, advisor });
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
        .with_state(shared)
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
