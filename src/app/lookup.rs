//! Looking into a thread beyond its root graph's newest state.

use crate::app::follow::events_of;
use crate::app::{App, Caller};
use crate::domain::checkpoint::Snapshot;
use crate::domain::error::Result;
use crate::domain::event::Seq;
use crate::domain::ids::{CheckpointId, Namespace, ThreadId};
use crate::domain::run::RunStatus;

/// Segments a query.
const SEGMENTS: u32 = 64;

impl App {
    /// The state of one of the thread's graphs, now or at a checkpoint. `None`: there is none.
    pub async fn graph_state(
        &self,
        who: &Caller,
        id: ThreadId,
        namespace: &Namespace,
        at: Option<CheckpointId>,
    ) -> Result<Option<Snapshot>> {
        let thread = self.thread(who, id).await?;
        if let (true, None, Some(head)) = (namespace.is_root(), at, thread.head) {
            return Ok(Some((*self.0.executor.snapshot(thread.key, head).await?).clone()));
        }
        self.0.store.snapshot(thread.key, namespace, at).await
    }

    /// The history of one of the thread's graphs, newest first; from before `before` if given
    /// (`checkpoint_not_found`).
    pub async fn graph_history(
        &self,
        who: &Caller,
        id: ThreadId,
        namespace: &Namespace,
        before: Option<CheckpointId>,
        limit: u32,
    ) -> Result<Vec<Snapshot>> {
        let thread = self.thread(who, id).await?;
        self.0.store.history(thread.key, namespace, before, limit).await
    }

    /// A number at or before the newest event of the thread and above all that were shown before
    /// the run under way; 0 for a thread that does not exist.
    pub async fn thread_position(&self, who: &Caller, id: ThreadId) -> Result<Seq> {
        let Some(thread) = self.0.store.thread_get(&who.owner, id).await? else { return Ok(0) };
        let ceiling = self.0.store.thread_seq(thread.key).await?;
        if let Some(newest) = self.0.executor.feed(thread.key).newest() {
            return Ok(newest);
        }
        let unfinished = self.0.store.run_unfinished(thread.key).await?;
        let Some(run) = unfinished.into_iter().find(|run| run.status == RunStatus::Running) else {
            return Ok(ceiling);
        };
        // It runs elsewhere; what it has told so far is stored.
        let mut newest = 0;
        loop {
            let segments = self.0.store.run_log(run.id, newest, SEGMENTS).await?;
            match segments.iter().flat_map(events_of).last() {
                Some(logged) if logged.seq > newest => newest = logged.seq,
                Some(_) | None => return Ok(newest),
            }
        }
    }
}
