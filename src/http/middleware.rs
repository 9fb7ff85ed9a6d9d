//! What surrounds every request: its id, its span, its metrics, and the limits of its body.

use std::time::Instant;

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};
use tracing::Instrument;

use super::Options;
use super::body::JsonDepth;
use super::socket::Door;
use crate::domain::clock::IdGen;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_ID: usize = 128;

/// Puts the whole server's `router` under observation. The outermost layer.
pub fn observed(router: Router, options: Options) -> Router {
    let depth = JsonDepth(options.json_depth);
    let door = Door {
        origins: options.origins,
        limits: options.limits,
        message_bytes: options.body_bytes,
        depth,
    };
    router
        .layer(Extension(door))
        .layer(Extension(depth))
        .layer(DefaultBodyLimit::max(options.body_bytes))
        .layer(from_fn_with_state(options.ids, observe))
}

async fn observe(
    State(ids): State<std::sync::Arc<dyn IdGen>>,
    request: Request,
    next: Next,
) -> Response {
    let id = request_id(&request, &*ids);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!(
        "request",
        request.id = id.to_str().unwrap_or_default(),
        http.method = %method,
        http.route = route,
    );
    let begun = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = begun.elapsed();
    let status = response.status().as_u16();
    span.in_scope(|| {
        let took_ms = took.as_secs_f64() * 1e3;
        tracing::debug!(http.status = status, http.duration_ms = took_ms, "answered");
    });
    let labels =
        [("method", method.as_str().to_owned()), ("route", route), ("status", status.to_string())];
    metrics::counter!("runloom_http_requests_total", &labels).increment(1);
    metrics::histogram!("runloom_http_request_duration_seconds", &labels).record(took);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// The caller's id for the request if it is short and printable, else a fresh one.
fn request_id(request: &Request, ids: &dyn IdGen) -> HeaderValue {
    let given = request.headers().get(REQUEST_ID);
    let fits = |id: &&HeaderValue| (1..=MAX_ID).contains(&id.len()) && id.to_str().is_ok();
    given.filter(fits).cloned().unwrap_or_else(|| {
        let fresh = ids.uuid().to_string();
        HeaderValue::try_from(fresh).unwrap_or_else(|_| HeaderValue::from_static("none"))
    })
}
