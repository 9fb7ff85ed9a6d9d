//! A graph's world in memory: for tests, examples, and programs that need no durability.
//!
//! ```
//! # use runloom::engine::{Ended, Graph, START, Update};
//! # use runloom::engine::memory::World;
//! # futures::executor::block_on(async {
//! let graph = Graph::builder("hello")
//!     .node("greet", |_state, _cx| async move { Ok(Update::new().set("greeting", "hello")) })
//!     .edge(START, "greet")
//!     .build()?;
//! let outcome = World::new().start(&graph, Update::new()).await?;
//! assert_eq!(outcome.how, Ended::Done);
//! assert_eq!(outcome.state.values()["greeting"], "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod items;
mod saver;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::clock::{Fixed, IdGen, Ts};
use crate::domain::error::Result;
use crate::domain::event::RunEvent;
use crate::domain::ids::{AgentId, Namespace, Owner, RunId, ThreadId};
use crate::domain::ports::{BoxFuture, Emitter, Timer};
use crate::domain::run::Breakpoints;
use crate::engine::memory::items::Items;
use crate::engine::port::RunContext;
use crate::engine::{Begin, Graph, Outcome, Update, drive};

pub use saver::MemorySaver;

/// One thread's world: its checkpoints, its events, a clock that stands, ids that count.
#[derive(Clone)]
pub struct World {
    pub saver: Arc<MemorySaver>,
    pub events: Arc<Events>,
    pub clock: Arc<Fixed>,
}

impl World {
    pub fn new() -> Self {
        Self {
            saver: Arc::default(),
            events: Arc::default(),
            clock: Arc::new(Fixed::at(Ts(1_700_000_000_000_000))),
        }
    }

    /// The context of another run on the thread, with nothing configured.
    pub fn run(&self) -> RunContext {
        RunContext {
            owner: Owner::default_owner(),
            thread_id: ThreadId(Uuid::nil()),
            run_id: RunId(self.clock.uuid()),
            agent_id: AgentId::new("agent"),
            attempt: 1,
            tags: Vec::new(),
            configurable: Arc::default(),
            client_tools: Arc::default(),
            recursion_limit: 10_000,
            interrupt_before: Breakpoints::None,
            interrupt_after: Breakpoints::None,
            saver: self.saver.clone(),
            emitter: self.events.clone(),
            memory: Arc::new(Items::default()),
            timer: Arc::new(NoWait),
            clock: self.clock.clone(),
            ids: self.clock.clone(),
            stop: CancellationToken::new(),
            drain: CancellationToken::new(),
        }
    }

    /// A run of `graph` with this input, where the thread stands.
    ///
    /// # Errors
    /// None: this world does not fail. How the run ended is in the outcome.
    pub async fn start(&self, graph: &Arc<Graph>, input: Update) -> Result<Outcome> {
        let begin = Begin { at: self.newest(), input: Some(input), ..Begin::default() };
        drive(graph, begin, &self.run()).await
    }

    /// A run of `graph` that goes on where the thread stands. `answers` are all that were given
    /// on the thread so far.
    ///
    /// # Errors
    /// None, as in [`World::start`].
    pub async fn resume(&self, graph: &Arc<Graph>, answers: Answers) -> Result<Outcome> {
        let begin = Begin { at: self.newest(), answers, ..Begin::default() };
        drive(graph, begin, &self.run()).await
    }

    /// The newest checkpoint of the thread.
    pub fn newest(&self) -> Option<Snapshot> {
        self.saver.snapshot(&Namespace::root(), None)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps every event that runs emit.
#[derive(Default)]
pub struct Events(Mutex<Vec<(Namespace, RunEvent)>>);

impl Events {
    /// What was emitted since this was last called.
    pub fn take(&self) -> Vec<(Namespace, RunEvent)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Emitter for Events {
    fn emit<'a>(&'a self, namespace: &'a Namespace, event: RunEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            events.push((namespace.clone(), event));
        })
    }
}

/// Time passes at once.
struct NoWait;

impl Timer for NoWait {
    fn sleep(&self, _span: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}
