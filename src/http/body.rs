//! Reading a JSON body, and answering with one.
//!
//! It says what is wrong with the form of a body; what the members mean is for others to judge.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use super::Problem;
use crate::domain::error::{Error, Fault};

/// A JSON body: read into `T`, or answered from it.
pub struct Body<T>(pub T);

/// A JSON body that may be left out: then it is `T`'s default.
pub struct MaybeBody<T>(pub T);

/// How deep a body may be nested; put into the request by [`super::observed`].
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonDepth(pub(super) usize);

impl Default for JsonDepth {
    fn default() -> Self {
        Self(128)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let raw = Raw::read(request, state).await?;
        raw.parse().map(Self)
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let raw = Raw::read(request, state).await?;
        if raw.bytes.is_empty() { Ok(Self(T::default())) } else { raw.parse().map(Self) }
    }
}

impl<T: Serialize> IntoResponse for Body<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => json(bytes),
            Err(why) => Problem::from(Error::internal("cannot write the answer").caused_by(why))
                .into_response(),
        }
    }
}

/// An answer whose JSON is already written.
pub(super) fn json(body: impl Into<axum::body::Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A body as it came.
pub(super) struct Raw {
    pub(super) bytes: Bytes,
    depth: JsonDepth,
}

impl Raw {
    /// Reads the body; refuses one that is too large or says it is something else than JSON.
    pub(super) async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Self, Problem> {
        let depth = request.extensions().get::<JsonDepth>().copied().unwrap_or_default();
        let is_json = says_json(request.headers());
        let bytes = Bytes::from_request(request, state).await.map_err(|refused| {
            if refused.status() == StatusCode::PAYLOAD_TOO_LARGE {
                let public = "the request body is larger than this server takes";
                return Problem::fixed(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", public);
            }
            malformed("the request body broke off").caused_by(refused).into()
        })?;
        if !bytes.is_empty() && !is_json {
            let public = "the request body must be sent as application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::fixed(status, "unsupported_media_type", public));
        }
        Ok(Self { bytes, depth })
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        parse(self.depth, &self.bytes).map_err(Problem::from)
    }
}

/// Reads a JSON object that is not nested deeper than `depth`.
pub(super) fn parse<T: DeserializeOwned>(depth: JsonDepth, bytes: &[u8]) -> Result<T, Error> {
    if deeper_than(depth.0, bytes) {
        return Err(malformed(format!("the JSON is nested more than {} levels deep", depth.0)));
    }
    refuse_list(bytes)?;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|wrong| {
        let path = wrong.path().to_string();
        let why = wrong.into_inner();
        match why.classify() {
            // A wrong type may come before a place where the text is no JSON at all.
            Category::Data => match serde_json::from_slice::<IgnoredAny>(bytes) {
                Ok(_) => wrong_type(&path, &why),
                Err(why) => not_json(&why),
            },
            Category::Syntax | Category::Eof | Category::Io => not_json(&why),
        }
    })?;
    json.end().map_err(|why| not_json(&why))?;
    Ok(value)
}

/// Serde would read a list as the members of an object, in order.
fn refuse_list(bytes: &[u8]) -> Result<(), Error> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(());
    }
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => Err(Error::invalid("body", "the request body must be a JSON object")),
        Err(why) => Err(not_json(&why)),
    }
}

fn not_json(why: &serde_json::Error) -> Error {
    malformed(format!("the request body is not valid JSON: {why}"))
}

fn malformed(public: impl Into<String>) -> Error {
    Error::new(Fault::Malformed, "malformed", public)
}

/// Names the field, a missing one too, and leaves out where in the text it was.
fn wrong_type(path: &str, why: &serde_json::Error) -> Error {
    let said = why.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    let path = if path == "." { "" } else { path };
    let missing = said.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    match (missing, path) {
        (Some(name), "") => Error::invalid(name, format!("{name} is missing")),
        (Some(name), path) => {
            let field = format!("{path}.{name}");
            Error::invalid(&field, format!("{field} is missing"))
        }
        (None, "") => Error::invalid("body", format!("the request body is wrong: {said}")),
        (None, path) => Error::invalid(path, format!("{path} is wrong: {said}")),
    }
}

fn says_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Whether arrays and objects in `text` lie more than `limit` deep in one another. Looks at
/// brackets outside of strings only: whether it is JSON at all is for the parser to say.
fn deeper_than(limit: usize, text: &[u8]) -> bool {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests;
