//! Who calls, from the headers of the request.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::request::Parts;

use super::Problem;
use crate::app::{App, Caller};

/// A browser's WebSocket can send no header of its own choice but this one.
pub(super) const SUBPROTOCOL: &str = "bearer.";

impl<S: Send + Sync> FromRequestParts<S> for Caller
where
    App: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(App::from_ref(state).caller(key(&parts.headers))?)
    }
}

/// The key that a request presents.
pub(super) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text(AUTHORIZATION.as_str())
        .and_then(bearer)
        .or_else(|| text("x-api-key").map(str::trim))
        .or_else(|| text(SEC_WEBSOCKET_PROTOCOL.as_str()).and_then(subprotocol))
        .filter(|key| !key.is_empty())
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

fn subprotocol(offered: &str) -> Option<&str> {
    offered.split(',').find_map(|one| one.trim().strip_prefix(SUBPROTOCOL))
}

#[cfg(test)]
mod tests;
