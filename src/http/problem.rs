//! How an error leaves: neutral where it happens, in a face's shape where it meets the wire.
//!
//! Extractors and handlers answer a [`Problem`]. It travels in the response's extensions to the
//! one layer of its face ([`shaped`]) that logs it and renders it. No status table lives here.

use std::any::Any;
use std::error::Error as StdError;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde_json::Value;

use crate::domain::error::{Error, Fault};

/// What a caller who should come back is told to wait, in seconds.
const COME_BACK: HeaderValue = HeaderValue::from_static("1");

/// An error on its way out.
#[derive(Debug)]
pub struct Problem {
    error: Error,
    /// Set where HTTP itself says what the status is, whatever the protocol.
    status: Option<StatusCode>,
}

impl Problem {
    /// A refusal that HTTP has a status of its own for.
    pub(super) fn fixed(status: StatusCode, code: &'static str, public: impl Into<String>) -> Self {
        Self { error: Error::new(Fault::Invalid, code, public), status: Some(status) }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self { error, status: None }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// How a protocol tells errors.
pub trait Shape: Send + Sync + 'static {
    /// The protocol's one table of statuses.
    fn status(error: &Error) -> StatusCode;

    /// The body that goes with it.
    fn body(error: &Error) -> Value;
}

/// Makes `router` answer all errors in the shape `S`: its handlers', those of routes and methods
/// that it does not have, and panics.
pub fn shaped<S: Shape, T: Clone + Send + Sync + 'static>(router: Router<T>) -> Router<T> {
    router.fallback(no_route).method_not_allowed_fallback(no_method).layer(from_fn(render::<S>))
}

async fn no_route(method: Method, uri: Uri) -> Problem {
    let public = format!("there is no route {method} {}", uri.path());
    Problem::fixed(StatusCode::NOT_FOUND, "route_not_found", public)
}

async fn no_method(method: Method, uri: Uri) -> Problem {
    let public = format!("{} does not take {method}", uri.path());
    Problem::fixed(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", public)
}

async fn render<S: Shape>(request: Request, next: Next) -> Response {
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|panic| panicked(&*panic).into_response());
    let Some(problem) = response.extensions_mut().remove::<Arc<Problem>>() else {
        return response;
    };
    let status = problem.status.unwrap_or_else(|| S::status(&problem.error));
    log(status, &problem.error);
    // What the router already said, such as `Allow`, stays.
    *response.status_mut() = status;
    *response.body_mut() = S::body(&problem.error).to_string().into();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        headers.insert(RETRY_AFTER, COME_BACK);
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn panicked(panic: &(dyn Any + Send)) -> Problem {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let said = said.unwrap_or("no message").to_owned();
    Error::internal("something went wrong here").caused_by(format!("panic: {said}")).into()
}

/// The one place where a request's failure is logged.
pub(super) fn log(status: StatusCode, error: &Error) {
    if status.is_server_error() {
        let cause = causes(error);
        tracing::error!(error.code, error.cause = cause, "{error}");
    } else {
        tracing::debug!(error.code, error.field = error.field, "{error}");
    }
}

/// The sources of an error, outermost first, on one line.
fn causes(error: &Error) -> String {
    let mut next = error.source();
    let chain = std::iter::from_fn(|| {
        let cause = next?;
        next = cause.source();
        Some(cause.to_string())
    });
    chain.collect::<Vec<_>>().join(": ")
}
