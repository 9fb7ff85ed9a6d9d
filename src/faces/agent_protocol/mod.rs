//! The Agent Protocol (0.1.6), at the root: agents, threads, runs, long-term memory.
//!
//! Only translates: each handler reads a request, calls one use case and writes its answer.

mod agents;
mod error;
mod frames;
mod items;
mod join;
mod openapi;
mod runs;
mod scope;
pub mod streaming;
mod threads;
pub mod wire;

use axum::routing::{get, post};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use error::Shape;
pub use openapi::openapi;

use crate::app::{App, Finished};

/// The routes, to be given an [`App`].
pub fn router() -> axum::Router<App> {
    let (router, _) = documented().split_for_parts();
    // The same handlers under a thread's path: see `scope`. The document gets them in `openapi`.
    router
        .route("/threads/{thread_id}/runs", post(runs::create_run))
        .route("/threads/{thread_id}/runs/wait", post(runs::create_and_wait_run))
        .route("/threads/{thread_id}/runs/stream", post(runs::create_and_stream_run))
        .route("/threads/{thread_id}/runs/{run_id}", get(runs::get_run).delete(runs::delete_run))
        .route("/threads/{thread_id}/runs/{run_id}/wait", get(runs::wait_run))
        .route("/threads/{thread_id}/runs/{run_id}/stream", get(runs::stream_run))
        .route("/threads/{thread_id}/runs/{run_id}/cancel", post(runs::cancel_run))
}

/// The routes that are documented one by one.
fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(agents::search_agents))
        .routes(routes!(agents::get_agent))
        .routes(routes!(agents::get_agent_schemas))
        .routes(routes!(threads::create_thread))
        .routes(routes!(threads::search_threads))
        .routes(routes!(threads::get_thread, threads::delete_thread, threads::patch_thread))
        .routes(routes!(threads::get_thread_history))
        .routes(routes!(threads::get_thread_state))
        .routes(routes!(threads::copy_thread))
        .routes(routes!(runs::create_run))
        .routes(routes!(runs::create_and_wait_run))
        .routes(routes!(runs::create_and_stream_run))
        .routes(routes!(runs::search_runs))
        .routes(routes!(runs::list_thread_runs))
        .routes(routes!(runs::get_run, runs::delete_run))
        .routes(routes!(runs::wait_run))
        .routes(routes!(runs::stream_run))
        .routes(routes!(runs::cancel_run))
        .routes(routes!(streaming::open_thread_sse_stream, streaming::open_thread_websocket_stream))
        .routes(routes!(streaming::send_thread_streaming_command))
        .routes(routes!(items::put_item, items::delete_item, items::get_item))
        .routes(routes!(items::search_items))
        .routes(routes!(items::list_namespaces))
}

/// What a webhook is sent: the answer to waiting for the run.
pub fn webhook_body(finished: &Finished) -> Value {
    serde_json::to_value(wire::RunWaitResponse::from(finished.clone())).unwrap_or_default()
}
