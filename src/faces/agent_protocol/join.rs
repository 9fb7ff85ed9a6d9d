//! How a client joins the stream of a run that is there.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::frames::Cursor;
use super::wire::StreamMode;
use crate::domain::error::{Error, Result};
use crate::http::{Problem, Query};

/// Where it comes in, and what it wants to see.
#[derive(Debug)]
pub(super) struct Join {
    /// The last frame that the client has; `None` to see only what is still to come.
    pub(super) after: Option<Cursor>,
    /// Instead of the run's own.
    pub(super) modes: Option<Vec<StreamMode>>,
}

impl<S: Send + Sync> FromRequestParts<S> for Join {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let last = parts.headers.get("last-event-id").map(|id| id.to_str().unwrap_or("?"));
        Ok(Self::read(last, &query)?)
    }
}

impl Join {
    /// The header is what a client sends that lost its connection, so it counts before the query.
    fn read(last_event_id: Option<&str>, query: &Query) -> Result<Self> {
        let last = last_event_id.filter(|id| !id.trim().is_empty());
        let after = match (last, query.text("after")) {
            (Some(id), _) => Some(Cursor::read("Last-Event-ID", id)?),
            (None, Some(id)) => Some(Cursor::read("after", id)?),
            (None, None) => None,
        };
        let modes = query.list("stream_mode");
        let modes = modes.iter().map(|text| modes_of(text)).collect::<Result<Vec<_>>>()?.concat();
        Ok(Self { after, modes: (!modes.is_empty()).then_some(modes) })
    }
}

/// The modes in one value of the query: a name, names with commas between, or a JSON list.
fn modes_of(text: &str) -> Result<Vec<StreamMode>> {
    let names = text.trim().trim_start_matches('[').trim_end_matches(']');
    let names = names.split(',').map(|name| name.trim().trim_matches('"'));
    let mode = |name: &str| {
        StreamMode::parse(name)
            .ok_or_else(|| Error::invalid("stream_mode", format!("there is no stream mode {name}")))
    };
    names.filter(|name| !name.is_empty()).map(mode).collect()
}

#[cfg(test)]
mod tests;
