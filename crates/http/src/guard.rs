//! Refusals: requests that are not permitted, or take too long.

use crate::access::{Denied, Does, Peer, decide};
use crate::token::Token;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Extension, Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// How long a request may take, its body included.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Why a request fails: its status, and the words in its JSON body, `{"error": "…"}`.
#[derive(Debug)]
pub struct Failure(pub StatusCode, pub String);

#[derive(Serialize)]
struct FailureText {
    error: String,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Json(FailureText { error: self.1 })).into_response()
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

/// The router behind the guard.
pub fn guarded(router: Router, token: Option<Token>) -> Router {
    router.layer(from_fn_with_state(Arc::new(token), guard))
}

/// Refuses what is not permitted, and ends what takes too long.
async fn guard(
    State(token): State<Arc<Option<Token>>>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let does = if matches!(*request.method(), Method::GET | Method::HEAD) { Does::Read } else { Does::Write };
    let headers: &HeaderMap = request.headers();
    let authorization = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    // A host that is no text is no address.
    let host = headers.get(HOST).map(|value| value.to_str().unwrap_or("?"));
    if let Err(denied) = decide(peer, does, token.as_ref().as_ref(), authorization, host) {
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
