//! The thread streaming protocol: watching, steering and rewinding a thread over one connection.
//!
//! Three routes: a stream of server-sent events, a WebSocket, and commands one by one. What goes
//! over the wire is in [`wire`], how the log becomes events in [`frames`], what a client may ask
//! in [`commands`].

pub mod commands;
pub mod error;
pub mod filter;
pub mod frames;
pub mod session;
pub mod sse;
pub mod subscription;
pub mod watching;
pub mod wire;
pub mod ws;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::Value;

use self::commands::On;
use self::filter::Filter;
use self::subscription::{Subscription, event_id};
use self::wire::schema;
use super::wire::ErrorResponse;
use crate::app::{App, Caller};
use crate::domain::error::Error;
use crate::domain::ids::ThreadId;
use crate::http::{Body, Ids, Limits, Problem, Upgrade};

/// Where a client of server-sent events says what it has already.
const LAST_EVENT_ID: &str = "last-event-id";

/// Open a thread's event stream
///
/// Server-sent events of the channels and namespaces that the body names, for as long as the
/// connection is open, across runs. Without `since` it begins with how things stand.
#[utoipa::path(post, path = "/threads/{thread_id}/stream", tag = "Streaming",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    request_body(content = schema::EventStreamRequest),
    responses(
        (status = 200, description = "Events", content_type = "text/event-stream", body = String),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn open_thread_sse_stream(
    State(app): State<App>,
    who: Caller,
    Ids(thread): Ids<ThreadId>,
    limits: Limits,
    headers: HeaderMap,
    Body(request): Body<wire::EventStreamRequest>,
) -> Result<Response, Problem> {
    let (params, since) = request.read();
    let last = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let since = match (since, last.filter(|last| !last.is_empty())) {
        (Some(since), _) => Some(since),
        (None, Some(last)) => Some(event_id("Last-Event-ID", last)?),
        (None, None) => None,
    };
    let subscription = Subscription::new(Filter::read(params)?, since);
    let (from, folds) = (subscription.from(), subscription.filter().folds());
    let watch = app.thread_watch(&who, thread, from, folds).await?;
    Ok(sse::stream(watch, subscription, &limits))
}

/// Open a thread's WebSocket
///
/// Commands go in, replies and events come out.
#[utoipa::path(get, path = "/threads/{thread_id}/stream", tag = "Streaming",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    responses(
        (status = 101, description = "The connection speaks the streaming protocol from here on"),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn open_thread_websocket_stream(
    State(app): State<App>,
    who: Caller,
    Ids(thread): Ids<ThreadId>,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    app.thread_get(&who, thread).await?;
    let on = On { app, who, thread };
    Ok(upgrade.on_open(move |socket| ws::serve(on, socket)))
}

/// Send a command
///
/// The same commands as over the WebSocket, one a request. What is wrong with the command itself
/// is told in the answer, with status 200.
#[utoipa::path(post, path = "/threads/{thread_id}/commands", tag = "Streaming",
    params(("thread_id" = Uuid, Path, description = "The thread")),
    request_body(content = schema::StreamingCommand),
    responses(
        (status = 200, description = "What came of it", body = schema::StreamingCommandResponse),
        (status = 404, description = "There is no such thread", body = ErrorResponse),
    ))]
pub(super) async fn send_thread_streaming_command(
    State(app): State<App>,
    who: Caller,
    Ids(thread): Ids<ThreadId>,
    Body(message): Body<Value>,
) -> Result<Body<wire::Reply>, Problem> {
    let command = wire::Envelope::read(message).map_err(|(_, wrong)| wrong)?;
    match (On { app, who, thread }).answer(command, None).await {
        Ok(reply) => Ok(Body(reply)),
        Err((_, refusal)) if refusal.is_about_the_request() => Err(Error::into(refusal.error)),
        Err((id, refusal)) => Ok(Body(commands::failure(Some(id), &refusal))),
    }
}
