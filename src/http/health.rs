//! For whoever operates the server: is it alive, is it ready, how does it do.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use super::caller::key;
use super::{Body, Options, Problem};
use crate::app::App;
use crate::domain::error::Error;

/// `/healthz`, `/readyz` and `/metrics`.
pub fn operations(app: App, options: &Options) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(Operated { app, options: options.clone() })
}

#[derive(Clone)]
struct Operated {
    app: App,
    options: Options,
}

/// The process answers.
async fn healthz() -> impl IntoResponse {
    Body(json!({"status": "ok"}))
}

/// The process takes work: the database answers, and nothing is shutting down.
async fn readyz(State(on): State<Operated>) -> Result<impl IntoResponse, Problem> {
    if on.options.draining.has_begun() {
        return Err(Error::unavailable("the server is shutting down").into());
    }
    on.app.ready().await?;
    Ok(Body(json!({"status": "ready"})))
}

/// Everything that is measured. Numbers tell much, so they are for this machine or a key.
async fn metrics(
    State(on): State<Operated>,
    Near(near): Near,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !near {
        on.app.caller_with_key(key(&headers))?;
    }
    let mut response = (on.options.metrics)().into_response();
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    Ok(response)
}

/// Whether the request comes from this machine itself, not through a proxy on it.
struct Near(bool);

impl<S: Send + Sync> FromRequestParts<S> for Near {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let loopback = peer.is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback());
        let proxied = ["forwarded", "x-forwarded-for", "x-real-ip"];
        Ok(Self(loopback && !proxied.iter().any(|name| parts.headers.contains_key(*name))))
    }
}
