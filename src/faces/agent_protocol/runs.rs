//! Runs: started, waited for, streamed, listed, cancelled.
//!
//! Each handler serves two paths, `/runs…` and `/threads/{thread_id}/runs…`; [`Scope`] and
//! [`RunRef`] read what the second one adds.

use axum::extract::State;
use axum::http::header::CONTENT_LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::Shape;
use super::frames::{Cursor, RunFrames};
use super::join::Join;
use super::scope::{RunRef, Scope};
use super::wire::{
    CancelQuery, ErrorResponse, Run, RunCreate, RunListQuery, RunSearchRequest, RunStream,
    RunWaitResponse, StreamMode,
};
use crate::app::{App, Caller, Follow, From, RunFilter};
use crate::domain::ids::ThreadId;
use crate::domain::page::Page;
use crate::http::{Body, Idempotent, Ids, MaybeBody, Params, Problem, sse, waiting};

/// Start a run
///
/// Answers at once; the run goes on in the background. With an `Idempotency-Key` header, sending
/// the same request again answers the run that the first one started.
#[utoipa::path(post, path = "/runs", tag = "Background Runs",
    params(("Idempotency-Key" = Option<String>, Header, nullable = false, description = "Counts a request that is sent twice once")),
    request_body(content = RunStream),
    responses(
        (status = 200, description = "The run", body = Run),
        (status = 404, description = "There is no such thread or agent", body = ErrorResponse),
        (status = 409, description = "The thread is not in the state that this needs", body = ErrorResponse),
    ))]
pub(super) async fn create_run(
    State(app): State<App>,
    who: Caller,
    Scope(thread): Scope,
    Idempotent { body, key }: Idempotent<RunCreate>,
) -> Result<Body<Run>, Problem> {
    let mut start = body.start(thread)?;
    start.idempotency = key;
    Ok(Body(Run::created(app.run_start(&who, start).await?)))
}

/// Start a run and stream it
#[utoipa::path(post, path = "/runs/stream", tag = "Runs",
    request_body(content = RunStream),
    responses(
        (status = 200, description = "What the run does, as server-sent events", body = String, content_type = "text/event-stream"),
        (status = 404, description = "There is no such thread or agent", body = ErrorResponse),
        (status = 409, description = "The thread is not in the state that this needs", body = ErrorResponse),
    ))]
pub(super) async fn create_and_stream_run(
    State(app): State<App>,
    who: Caller,
    Scope(thread): Scope,
    Body(body): Body<RunCreate>,
) -> Result<Response, Problem> {
    let follow = app.run_start_and_follow(&who, body.start(thread)?).await?;
    let frames = RunFrames::new(&follow, None, None);
    Ok(stream(follow, frames))
}

/// Start a run and wait for it
///
/// While it takes its time, white space keeps the connection alive.
#[utoipa::path(post, path = "/runs/wait", tag = "Runs",
    request_body(content = RunCreate),
    responses(
        (status = 200, description = "The run when it is over, with what it left", body = RunWaitResponse),
        (status = 404, description = "There is no such thread or agent", body = ErrorResponse),
        (status = 409, description = "The thread is not in the state that this needs", body = ErrorResponse),
    ))]
pub(super) async fn create_and_wait_run(
    State(app): State<App>,
    who: Caller,
    Scope(thread): Scope,
    Body(body): Body<RunCreate>,
) -> Result<Response, Problem> {
    let start = body.start(thread)?;
    waiting::<Shape, _>(async move {
        app.run_start_and_wait(&who, start).await.map(RunWaitResponse::from)
    })
    .await
}

/// List runs
///
/// Those that were created last come first.
#[utoipa::path(post, path = "/runs/search", tag = "Background Runs",
    request_body(content = RunSearchRequest),
    responses(
        (status = 200, description = "The runs", body = Vec<Run>),
        (status = 404, description = "Not used: a search that finds nothing is empty", body = ErrorResponse),
    ))]
pub(super) async fn search_runs(
    State(app): State<App>,
    who: Caller,
    MaybeBody(search): MaybeBody<RunSearchRequest>,
) -> Result<Body<Vec<Run>>, Problem> {
    let page = search.page()?;
    let filter = search.filter(|agent| app.agent(agent).ok().map(|agent| agent.id.clone()))?;
    let found = app.run_search(&who, &filter, page).await?;
    Ok(Body(found.into_iter().map(Into::into).collect()))
}

/// List a thread's runs
///
/// Those that were created last come first.
#[utoipa::path(get, path = "/threads/{thread_id}/runs", tag = "Background Runs",
    params(("thread_id" = Uuid, Path, description = "The thread"), RunListQuery),
    responses(
        (status = 200, description = "The runs", body = Vec<Run>),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn list_thread_runs(
    State(app): State<App>,
    who: Caller,
    Ids(thread): Ids<ThreadId>,
    Params(RunListQuery { status, limit, offset }): Params<RunListQuery>,
) -> Result<Body<Vec<Run>>, Problem> {
    app.thread_get(&who, thread).await?;
    let filter = RunFilter { thread_id: Some(thread), status, ..RunFilter::default() };
    let found = app.run_search(&who, &filter, Page { limit, offset }).await?;
    Ok(Body(found.into_iter().map(Into::into).collect()))
}

/// Get a run
#[utoipa::path(get, path = "/runs/{run_id}", tag = "Background Runs",
    params(("run_id" = Uuid, Path, description = "The run")),
    responses(
        (status = 200, description = "The run", body = Run),
        (status = 404, description = "There is no such run", body = ErrorResponse),
    ))]
pub(super) async fn get_run(
    State(app): State<App>,
    who: Caller,
    RunRef(id): RunRef,
) -> Result<Body<Run>, Problem> {
    Ok(Body(app.run_get(&who, id).await?.into()))
}

/// Delete a run
///
/// Only one that is over; others are to be cancelled first.
#[utoipa::path(delete, path = "/runs/{run_id}", tag = "Background Runs",
    params(("run_id" = Uuid, Path, description = "The run")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is no such run", body = ErrorResponse),
        (status = 409, description = "It is not over", body = ErrorResponse),
    ))]
pub(super) async fn delete_run(
    State(app): State<App>,
    who: Caller,
    RunRef(id): RunRef,
) -> Result<StatusCode, Problem> {
    app.run_delete(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Wait for a run
///
/// At once if it is over. While it takes its time, white space keeps the connection alive.
#[utoipa::path(get, path = "/runs/{run_id}/wait", tag = "Background Runs",
    params(("run_id" = Uuid, Path, description = "The run")),
    responses(
        (status = 200, description = "The run when it is over, with what it left", body = RunWaitResponse),
        (status = 404, description = "There is no such run", body = ErrorResponse),
    ))]
pub(super) async fn wait_run(
    State(app): State<App>,
    who: Caller,
    RunRef(id): RunRef,
) -> Result<Response, Problem> {
    waiting::<Shape, _>(async move { app.run_wait(&who, id).await.map(RunWaitResponse::from) })
        .await
}

/// Join the stream of a run
///
/// What happens after the call; with `Last-Event-ID` or `after`, what came after that frame first.
#[utoipa::path(get, path = "/runs/{run_id}/stream", tag = "Background Runs",
    params(
        ("run_id" = Uuid, Path, description = "The run"),
        ("stream_mode" = Option<Vec<StreamMode>>, Query, description = "Instead of the run's own modes; may be repeated"),
        ("after" = Option<String>, Query, description = "The id of the last frame that the client has; 0 or -1 for all"),
        ("Last-Event-ID" = Option<String>, Header, nullable = false, description = "The same, as browsers send it"),
    ),
    responses(
        (status = 200, description = "What the run does, as server-sent events", body = String, content_type = "text/event-stream"),
        (status = 404, description = "There is no such run", body = ErrorResponse),
    ))]
pub(super) async fn stream_run(
    State(app): State<App>,
    who: Caller,
    RunRef(id): RunRef,
    Join { after, modes }: Join,
) -> Result<Response, Problem> {
    let follow = app.run_follow(&who, id, after.map_or(From::Now, Cursor::follow)).await?;
    let frames = RunFrames::new(&follow, modes, after);
    Ok(stream(follow, frames))
}

/// Cancel a run
///
/// Of a run that is over, nothing changes.
#[utoipa::path(post, path = "/runs/{run_id}/cancel", tag = "Background Runs",
    params(("run_id" = Uuid, Path, description = "The run"), CancelQuery),
    responses(
        (status = 204, description = "It is or will be cancelled"),
        (status = 404, description = "There is no such run", body = ErrorResponse),
    ))]
pub(super) async fn cancel_run(
    State(app): State<App>,
    who: Caller,
    RunRef(id): RunRef,
    Params(CancelQuery { wait, action }): Params<CancelQuery>,
) -> Result<StatusCode, Problem> {
    app.run_cancel(&who, id, action, wait).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The stream, and in its head which run it is of: that is known before the run begins.
fn stream(follow: Follow, frames: RunFrames) -> Response {
    let location = HeaderValue::try_from(format!("/runs/{}", follow.run.id));
    let mut response = sse(follow, frames);
    if let Ok(location) = location {
        response.headers_mut().insert(CONTENT_LOCATION, location);
    }
    response
}
