//! Errors as the Agent Protocol tells them: `{code, message, metadata}`.
//!
//! The one table of statuses of this face. The codes are listed in `docs/api.md`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::domain::error::{Error, Fault};
use crate::http;

/// How this face shows an error.
pub struct Shape;

impl http::Shape for Shape {
    fn status(error: &Error) -> StatusCode {
        match error.fault {
            Fault::Malformed => StatusCode::BAD_REQUEST,
            Fault::Unauthenticated => StatusCode::UNAUTHORIZED,
            Fault::Forbidden => StatusCode::FORBIDDEN,
            Fault::NotFound => StatusCode::NOT_FOUND,
            Fault::Conflict | Fault::Busy | Fault::Fenced => StatusCode::CONFLICT,
            Fault::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Fault::Limited => StatusCode::TOO_MANY_REQUESTS,
            Fault::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Fault::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn body(error: &Error) -> Value {
        let metadata = match &error.field {
            Some(field) => json!({"field": field}),
            None => json!({}),
        };
        json!({"code": error.code, "message": error.public(), "metadata": metadata})
    }
}

#[cfg(test)]
mod tests;
