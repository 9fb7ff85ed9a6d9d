//! A node: what runs in a task, and how it is run.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::ports::BoxFuture;
use crate::domain::state::State;
use crate::engine::cx::Cx;
use crate::engine::graph::Graph;
use crate::engine::halt::Halt;
use crate::engine::retry::Retry;
use crate::engine::write::Command;

/// What runs in a task. Closures are nodes; see [`Builder::node`](crate::engine::Builder::node).
pub trait Node: Send + Sync + 'static {
    fn run(&self, state: State, cx: Cx) -> BoxFuture<'static, Result<Command, Halt>>;
}

impl<F, Fut, C> Node for F
where
    F: Fn(State, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<C, Halt>> + Send + 'static,
    C: Into<Command>,
{
    fn run(&self, state: State, cx: Cx) -> BoxFuture<'static, Result<Command, Halt>> {
        let running = self(state, cx);
        Box::pin(async move { running.await.map(Into::into) })
    }
}

/// A node with how it is run.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) node: Arc<dyn Node>,
    pub(crate) retry: Option<Retry>,
    pub(crate) time_limit: Option<Duration>,
    /// Where its commands may go, as far as it is declared.
    pub(crate) goes_to: Vec<Arc<str>>,
    /// The graph that it runs, for drawings.
    pub(crate) graph: Option<Arc<Graph>>,
}

impl Spec {
    pub(crate) fn new(node: impl Node) -> Self {
        Self {
            node: Arc::new(node),
            retry: None,
            time_limit: None,
            goes_to: Vec::new(),
            graph: None,
        }
    }
}
