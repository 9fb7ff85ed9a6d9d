//! A graph's world in memory: for tests, examples, and programs that need no durability.
//!
//! ```
//! # use runloom::engine::{Begin, END, Ended, Graph, START, Update, drive};
//! # use runloom::engine::memory::World;
//! # futures::executor::block_on(async {
//! let graph = Graph::builder("hello")
//!     .node("greet", |_state, _cx| async move { Ok(Update::new().set("greeting", "hello")) })
//!     .edge(START, "greet")
//!     .build()?;
//! let world = World::new();
//! let begin = Begin { input: Some(Update::new()), ..Begin::default() };
//! let outcome = drive(&graph, begin, &world.run()).await?;
//! assert_eq!(outcome.how, Ended::Done);
//! assert_eq!(outcome.state.values()["greeting"], "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::domain::checkpoint::{Fork, Place, Put, Snapshot, TaskRecord};
use crate::domain::clock::{Fixed, IdGen, Ts};
use crate::domain::error::Result;
use crate::domain::event::RunEvent;
use crate::domain::ids::{AgentId, CheckpointId, Namespace, Owner, RunId, TaskId, ThreadId};
use crate::domain::item::{Condition, Item, Labels};
use crate::domain::page::Page;
use crate::domain::ports::{BoxFuture, Emitter, Memory, Timer};
use crate::domain::run::Breakpoints;
use crate::domain::state::State;
use crate::engine::port::{Checkpointer, RunContext};

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

/// Keeps checkpoints in memory, as changes, and folds them when they are read.
#[derive(Default)]
pub struct MemorySaver {
    kept: Mutex<BTreeMap<Namespace, Kept>>,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they were written.
    puts: Vec<Put>,
    records: BTreeMap<TaskId, TaskRecord>,
}

impl MemorySaver {
    /// A checkpoint (`None`: the newest) with its state.
    pub fn snapshot(&self, namespace: &Namespace, at: Option<CheckpointId>) -> Option<Snapshot> {
        self.lock().get(namespace)?.snapshot(at)
    }

    /// All checkpoints of a namespace, oldest first.
    pub fn history(&self, namespace: &Namespace) -> Vec<Put> {
        self.lock().get(namespace).map(|kept| kept.puts.clone()).unwrap_or_default()
    }

    /// All namespaces that have something.
    pub fn namespaces(&self) -> Vec<Namespace> {
        self.lock().keys().cloned().collect()
    }

    /// Takes a checkpoint: what [`Checkpointer::put`] does, and a caller's update.
    pub fn keep(&self, put: Put) {
        let mut kept = self.lock();
        let kept = kept.entry(put.checkpoint.namespace.clone()).or_default();
        kept.records.clear();
        kept.puts.push(put);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Namespace, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn snapshot(&self, at: Option<CheckpointId>) -> Option<Snapshot> {
        let newest = self.puts.last()?;
        let wanted = at.unwrap_or(newest.checkpoint.id);
        let checkpoint = self.find(wanted)?.checkpoint.clone();
        let is_newest = wanted == newest.checkpoint.id;
        let next = checkpoint.place.following();
        let taken = self.puts.iter().any(|put| put.checkpoint.place == next);
        let branches = self.puts.iter().map(|put| put.checkpoint.place.branch);
        let fork =
            taken.then(|| Fork { branch: branches.max().unwrap_or(0) + 1, from: checkpoint.place });
        Some(Snapshot {
            state: self.state(wanted),
            next: fork.map_or(next, |fork| Place { branch: fork.branch, ..next }),
            fork,
            tasks: if is_newest { self.records.values().cloned().collect() } else { Vec::new() },
            checkpoint,
        })
    }

    fn find(&self, id: CheckpointId) -> Option<&Put> {
        self.puts.iter().find(|put| put.checkpoint.id == id)
    }

    /// The changes along the lineage, folded.
    fn state(&self, id: CheckpointId) -> State {
        let lineage = std::iter::successors(self.find(id), |put| self.find(put.checkpoint.parent?));
        let mut lineage: Vec<&Put> = lineage.collect();
        lineage.reverse();
        let mut state = State::default();
        for change in lineage.into_iter().flat_map(|put| &put.changes) {
            state.apply(change);
        }
        state
    }
}

impl Checkpointer for MemorySaver {
    fn load<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Option<Snapshot>>> {
        Box::pin(async move { Ok(self.snapshot(namespace, None)) })
    }

    fn put(&self, put: Put) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.keep(put);
            Ok(())
        })
    }

    fn put_task<'a>(
        &'a self,
        namespace: &'a Namespace,
        record: TaskRecord,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut kept = self.lock();
            kept.entry(namespace.clone()).or_default().records.insert(record.task_id, record);
            Ok(())
        })
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

/// A memory that lasts as long as the run; conditions of a search are not looked at.
#[derive(Default)]
struct Items(Mutex<BTreeMap<(String, String), Item>>);

impl Items {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Item>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Items {
    fn get<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Item>>> {
        let found = self.lock().get(&(namespace.path(), key.to_owned())).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn put<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
        value: Map<String, Value>,
    ) -> BoxFuture<'a, Result<()>> {
        let (labels, at) = (namespace.clone(), Ts(0));
        let item =
            Item { namespace: labels, key: key.to_owned(), value, created_at: at, updated_at: at };
        self.lock().insert((namespace.path(), key.to_owned()), item);
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a>(&'a self, namespace: &'a Labels, key: &'a str) -> BoxFuture<'a, Result<bool>> {
        let had = self.lock().remove(&(namespace.path(), key.to_owned())).is_some();
        Box::pin(std::future::ready(Ok(had)))
    }

    fn search<'a>(
        &'a self,
        prefix: &'a Labels,
        _conditions: &'a [Condition],
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Item>>> {
        let prefix = prefix.path();
        let items = self.lock();
        let below = items.iter().filter(|((path, _), _)| path.starts_with(&prefix));
        let found = below.map(|(_, item)| item.clone());
        let found = found.skip(page.offset as usize).take(page.limit as usize).collect();
        Box::pin(std::future::ready(Ok(found)))
    }
}
