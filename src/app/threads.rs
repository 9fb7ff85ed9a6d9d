//! Threads, as a caller uses them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agents::intake;
use crate::agents::registry::Agent;
use crate::app::{App, Caller};
use crate::domain::checkpoint::Snapshot;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{CheckpointId, Namespace, ThreadId};
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::run::CancelAction;
use crate::domain::state::State;
use crate::domain::thread::Thread;
use crate::engine;
use crate::executor::HEAD_MOVED;
use crate::storage::{NewThread, StateUpdate, ThreadFilter};

/// A thread with its current state.
#[derive(Clone, Debug)]
pub struct ThreadView {
    pub thread: Thread,
    pub state: State,
}

/// What to do about a thread that is there already.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IfExists {
    /// Refuse (`thread_exists`).
    #[default]
    Raise,
    DoNothing,
}

/// A change of a thread by its caller.
#[derive(Default)]
pub struct ThreadPatch {
    /// The checkpoint to branch from; the newest if absent.
    pub checkpoint: Option<CheckpointId>,
    /// Merged, member by member.
    pub metadata: Map<String, Value>,
    /// Taken in through the channels' reducers.
    pub values: Option<Map<String, Value>>,
    /// Merged by id.
    pub messages: Vec<Value>,
    /// The node in whose name the values are written; it decides what is due next.
    pub as_node: Option<String>,
}

impl App {
    /// Creates a thread; `None` draws an id.
    pub async fn thread_create(
        &self,
        who: &Caller,
        id: Option<ThreadId>,
        metadata: Map<String, Value>,
        if_exists: IfExists,
    ) -> Result<ThreadView> {
        json::refuse_nul_in("metadata", &metadata)?;
        let id = id.unwrap_or_else(|| ThreadId(self.0.ids.uuid()));
        let (owner, created_at) = (who.owner.clone(), self.0.clock.now());
        let new = NewThread { id, owner, metadata, created_at };
        match self.0.store.thread_create(new).await? {
            Some(thread) => Ok(ThreadView { thread, state: State::default() }),
            None if if_exists == IfExists::DoNothing => self.thread_get(who, id).await,
            None => Err(Error::conflict("thread_exists", format!("thread {id} exists already"))),
        }
    }

    pub async fn thread_get(&self, who: &Caller, id: ThreadId) -> Result<ThreadView> {
        let thread = self.thread(who, id).await?;
        self.view(thread).await
    }

    /// Newest update first.
    pub async fn thread_search(
        &self,
        who: &Caller,
        filter: &ThreadFilter,
        page: Page,
    ) -> Result<Vec<ThreadView>> {
        json::refuse_nul_in("metadata", &filter.metadata)?;
        json::refuse_nul_in("values", &filter.values)?;
        let threads = self.0.store.thread_search(&who.owner, filter, page).await?;
        let views = threads.into_iter().map(|thread| self.view(thread));
        let mut found = Vec::new();
        for view in futures::future::join_all(views).await {
            match view {
                Ok(view) => found.push(view),
                // Deleted since it was found.
                Err(error) if error.fault == Fault::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Changes metadata, state, or both together.
    ///
    /// # Errors
    /// `thread_not_found`, `checkpoint_not_found`; `thread_busy` for values or messages while a
    /// run is unfinished; [`Fault::Invalid`] for what the channels do not take.
    pub async fn thread_patch(
        &self,
        who: &Caller,
        id: ThreadId,
        patch: ThreadPatch,
    ) -> Result<ThreadView> {
        json::refuse_nul_in("metadata", &patch.metadata)?;
        let changes_state = patch.values.is_some() || !patch.messages.is_empty();
        if changes_state || patch.as_node.is_some() {
            return self.revise(who, id, patch).await;
        }
        let now = self.0.clock.now();
        let patched = self.0.store.thread_patch(&who.owner, id, &patch.metadata, now).await?;
        self.view(patched.ok_or_else(|| missing(id))?).await
    }

    /// Writes a checkpoint in the caller's name.
    async fn revise(&self, who: &Caller, id: ThreadId, patch: ThreadPatch) -> Result<ThreadView> {
        let thread = self.thread(who, id).await?;
        let agent = self.agent_of(&thread)?;
        let at = match (patch.checkpoint, thread.head) {
            (Some(wanted), _) => Some(self.snapshot(&thread, wanted).await?),
            (None, Some(head)) => {
                Some((*self.0.executor.snapshot(thread.key, head).await?).clone())
            }
            (None, None) => None,
        };
        let (checkpoint, now) = (CheckpointId(self.0.ids.uuid()), self.0.clock.now());
        let values = patch.values.unwrap_or_default();
        let update = intake::values("values", &values, checkpoint.0)?.and(intake::messages(
            "messages",
            &patch.messages,
            checkpoint.0,
        )?);
        let mut state = at.as_ref().map(|at| at.state.clone()).unwrap_or_default();
        let as_node = patch.as_node.as_deref();
        let put = engine::update::revise(&agent.graph, at, update, as_node, checkpoint, now)?;
        put.changes.iter().for_each(|change| state.apply(change));
        let values = state.values();
        let update = StateUpdate { put, values, metadata: patch.metadata, at: now };
        let thread = self.0.store.thread_update(thread.key, update).await?;
        Ok(ThreadView { thread, state })
    }

    /// Cancels its unfinished runs, waits for their end, and deletes it with all it has.
    pub async fn thread_delete(&self, who: &Caller, id: ThreadId) -> Result<()> {
        let thread = self.thread(who, id).await?;
        loop {
            // Those that wait go first, so that none of them starts when the one before it stops.
            for run in self.0.store.run_unfinished(thread.key).await?.into_iter().rev() {
                match self.run_cancel(who, run.id, CancelAction::Interrupt, true).await {
                    Err(error) if error.fault != Fault::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            match self.0.store.thread_delete(&who.owner, id).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(missing(id)),
                // A run came in between.
                Err(error) if error.fault == Fault::Busy => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// An independent copy with the whole history, under a new id.
    pub async fn thread_copy(&self, who: &Caller, id: ThreadId) -> Result<ThreadView> {
        let (new_id, now) = (ThreadId(self.0.ids.uuid()), self.0.clock.now());
        let copied = self.0.store.thread_copy(&who.owner, id, new_id, now).await?;
        self.view(copied.ok_or_else(|| missing(id))?).await
    }

    /// Newest first; from before `before` if given (`checkpoint_not_found`).
    pub async fn thread_history(
        &self,
        who: &Caller,
        id: ThreadId,
        before: Option<CheckpointId>,
        limit: u32,
    ) -> Result<Vec<Snapshot>> {
        let thread = self.thread(who, id).await?;
        self.0.store.history(thread.key, &Namespace::root(), before, limit).await
    }

    /// One entry of the history (`checkpoint_not_found`).
    pub async fn thread_state(
        &self,
        who: &Caller,
        id: ThreadId,
        at: CheckpointId,
    ) -> Result<Snapshot> {
        let thread = self.thread(who, id).await?;
        self.snapshot(&thread, at).await
    }

    /// The agent whose channels a thread's state is made of.
    fn agent_of(&self, thread: &Thread) -> Result<Arc<Agent>> {
        match &thread.agent_id {
            Some(agent) => self.agent(agent.as_str()),
            None => self.default_agent(),
        }
    }

    pub(super) async fn thread(&self, who: &Caller, id: ThreadId) -> Result<Thread> {
        self.0.store.thread_get(&who.owner, id).await?.ok_or_else(|| missing(id))
    }

    async fn snapshot(&self, thread: &Thread, at: CheckpointId) -> Result<Snapshot> {
        let found = self.0.store.snapshot(thread.key, &Namespace::root(), Some(at)).await?;
        found.ok_or_else(|| {
            let public = format!("the thread has no checkpoint {at}");
            Error::not_found("checkpoint_not_found", public)
        })
    }

    /// The thread with its state. A run that is rolled back in between moves the head: then both
    /// are read again.
    async fn view(&self, mut thread: Thread) -> Result<ThreadView> {
        loop {
            let Some(head) = thread.head else {
                return Ok(ThreadView { thread, state: State::default() });
            };
            match self.0.executor.state(thread.key, head).await {
                Ok(state) => return Ok(ThreadView { thread, state }),
                Err(error) if error.code == HEAD_MOVED => {
                    let again = self.0.store.thread_get(&thread.owner, thread.id).await?;
                    thread = again.ok_or_else(|| missing(thread.id))?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn missing(id: ThreadId) -> Error {
    Error::not_found("thread_not_found", format!("there is no thread {id}"))
}
