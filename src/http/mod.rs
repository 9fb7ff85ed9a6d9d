//! The kit that every face is built from: reading requests, answering, streaming, watching.
//!
//! It knows HTTP and [`crate::app`], and no protocol: an error leaves it as a [`Problem`], and
//! the face whose prefix it is gives it a status and a body ([`Shape`]).

mod body;
mod caller;
mod health;
mod idempotency;
mod ids;
mod middleware;
mod openapi;
mod params;
mod problem;
mod socket;
mod stream;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use body::{Body, MaybeBody};
pub use health::operations;
pub use idempotency::Idempotent;
pub use ids::{Ids, Segment, optional_id};
pub use middleware::observed;
pub use openapi::documentation;
pub use params::{FromQuery, Params, Query};
pub use problem::{Problem, Shape, shaped};
pub use socket::{Gone, Limits, Socket, Upgrade};
pub use stream::{Frames, Out, sse, sse_of};
pub use waiting::waiting;

use crate::domain::clock::{IdGen, System};

/// What the kit is told when the server is put together.
#[derive(Clone)]
pub struct Options {
    /// Larger bodies are refused (413).
    pub body_bytes: usize,
    /// More deeply nested bodies are refused (400).
    pub json_depth: usize,
    /// The web pages that may open web sockets, beside those of the server's own origin.
    pub origins: Arc<[String]>,
    /// How long connections that stay open may do so.
    pub limits: Limits,
    /// Renders the metrics in Prometheus' text format.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Set while the server shuts down: it is no longer ready.
    pub draining: Draining,
    /// Where request ids come from.
    pub ids: Arc<dyn IdGen>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            json_depth: 128,
            origins: Arc::default(),
            limits: Limits::default(),
            metrics: Arc::new(String::new),
            draining: Draining::default(),
            ids: Arc::new(System),
        }
    }
}

/// Whether the server shuts down. Clones share it.
#[derive(Clone, Default, Debug)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
