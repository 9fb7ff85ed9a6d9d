//! `/threads`: state over many turns, its history, and changes by the caller.

use axum::extract::State;
use axum::http::StatusCode;

use super::wire::{
    ErrorResponse, HistoryQuery, Thread, ThreadCreate, ThreadPatch, ThreadSearchRequest,
    ThreadState,
};
use crate::app::{App, Caller};
use crate::domain::ids::{CheckpointId, ThreadId};
use crate::http::{Body, Ids, MaybeBody, Params, Problem};

/// Create a thread
#[utoipa::path(post, path = "/threads", tag = "Threads",
    request_body(content = ThreadCreate),
    responses(
        (status = 200, description = "The thread", body = Thread),
        (status = 409, description = "There is a thread of this id", body = ErrorResponse),
    ))]
pub(super) async fn create_thread(
    State(app): State<App>,
    who: Caller,
    MaybeBody(create): MaybeBody<ThreadCreate>,
) -> Result<Body<Thread>, Problem> {
    let (id, if_exists) = (create.id(), create.if_exists());
    let thread = app.thread_create(&who, id, create.metadata(), if_exists).await?;
    Ok(Body(thread.into()))
}

/// List threads
///
/// Those that were changed last come first.
#[utoipa::path(post, path = "/threads/search", tag = "Threads",
    request_body(content = ThreadSearchRequest),
    responses((status = 200, description = "The threads", body = Vec<Thread>)))]
pub(super) async fn search_threads(
    State(app): State<App>,
    who: Caller,
    MaybeBody(search): MaybeBody<ThreadSearchRequest>,
) -> Result<Body<Vec<Thread>>, Problem> {
    let page = search.page()?;
    let found = app.thread_search(&who, &search.filter(), page).await?;
    Ok(Body(found.into_iter().map(Into::into).collect()))
}

/// Get a thread's history
///
/// Its states, newest first.
#[utoipa::path(get, path = "/threads/{thread_id}/history", tag = "Threads",
    params(("thread_id" = Uuid, Path, description = "The thread"), HistoryQuery),
    responses(
        (status = 200, description = "The history", body = Vec<ThreadState>),
        (status = 404, description = "There is no such thread, or no such checkpoint", body = ErrorResponse),
    ))]
pub(super) async fn get_thread_history(
    State(app): State<App>,
    who: Caller,
    Ids(id): Ids<ThreadId>,
    Params(HistoryQuery { limit, before }): Params<HistoryQuery>,
) -> Result<Body<Vec<ThreadState>>, Problem> {
    let history = app.thread_history(&who, id, before, limit).await?;
    Ok(Body(history.into_iter().map(Into::into).collect()))
}

/// Get one entry of a thread's history
#[utoipa::path(get, path = "/threads/{thread_id}/state/{checkpoint_id}", tag = "Threads",
    params(
        ("thread_id" = Uuid, Path, description = "The thread"),
        ("checkpoint_id" = Uuid, Path, description = "The checkpoint"),
    ),
    responses(
        (status = 200, description = "The state as it was", body = ThreadState),
        (status = 404, description = "There is no such thread, or no such checkpoint", body = ErrorResponse),
    ))]
pub(super) async fn get_thread_state(
    State(app): State<App>,
    who: Caller,
    Ids((id, at)): Ids<(ThreadId, CheckpointId)>,
) -> Result<Body<ThreadState>, Problem> {
    Ok(Body(app.thread_state(&who, id, at).await?.into()))
}

/// Copy a thread
///
/// The copy has a fresh id, and the state and history of the original, but none of its runs.
#[utoipa::path(post, path = "/threads/{thread_id}/copy", tag = "Threads",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    responses(
        (status = 200, description = "The copy", body = Thread),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn copy_thread(
    State(app): State<App>,
    who: Caller,
    Ids(id): Ids<ThreadId>,
) -> Result<Body<Thread>, Problem> {
    Ok(Body(app.thread_copy(&who, id).await?.into()))
}

/// Get a thread
#[utoipa::path(get, path = "/threads/{thread_id}", tag = "Threads",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    responses(
        (status = 200, description = "The thread with its state", body = Thread),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn get_thread(
    State(app): State<App>,
    who: Caller,
    Ids(id): Ids<ThreadId>,
) -> Result<Body<Thread>, Problem> {
    Ok(Body(app.thread_get(&who, id).await?.into()))
}

/// Delete a thread
///
/// Its unfinished runs are cancelled first.
#[utoipa::path(delete, path = "/threads/{thread_id}", tag = "Threads",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn delete_thread(
    State(app): State<App>,
    who: Caller,
    Ids(id): Ids<ThreadId>,
) -> Result<StatusCode, Problem> {
    app.thread_delete(&who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Change a thread
///
/// Metadata is merged. Values and messages are combined with what is there, as a new entry of
/// the history.
#[utoipa::path(patch, path = "/threads/{thread_id}", tag = "Threads",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    request_body(content = ThreadPatch),
    responses(
        (status = 200, description = "The thread as it is now", body = Thread),
        (status = 404, description = "There is no such thread, or no such checkpoint", body = ErrorResponse),
        (status = 409, description = "A run is working on its state", body = ErrorResponse),
    ))]
pub(super) async fn patch_thread(
    State(app): State<App>,
    who: Caller,
    Ids(id): Ids<ThreadId>,
    Body(patch): Body<ThreadPatch>,
) -> Result<Body<Thread>, Problem> {
    Ok(Body(app.thread_patch(&who, id, patch.read()).await?.into()))
}
