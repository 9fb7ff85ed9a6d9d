//! What a path under `/threads/{thread_id}/runs` adds to the same path under `/runs`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::app::{App, Caller};
use crate::domain::error::Error;
use crate::domain::ids::{RunId, ThreadId};
use crate::http::{Ids, Problem, optional_id};

/// The thread in the path, if there is one.
pub(super) struct Scope(pub(super) Option<ThreadId>);

/// The run in the path: under a thread's path, one of that thread.
pub(super) struct RunRef(pub(super) RunId);

impl FromRequestParts<App> for Scope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        Ok(Self(optional_id(parts).await?))
    }
}

impl FromRequestParts<App> for RunRef {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Scope(thread) = Scope::from_request_parts(parts, app).await?;
        let Ids(run) = Ids::<RunId>::from_request_parts(parts, app).await?;
        if let Some(thread) = thread {
            let who = Caller::from_request_parts(parts, app).await?;
            if app.run_get(&who, run).await?.thread_id != thread {
                let public = format!("there is no run {run} on thread {thread}");
                return Err(Error::not_found("run_not_found", public).into());
            }
        }
        Ok(Self(run))
    }
}
