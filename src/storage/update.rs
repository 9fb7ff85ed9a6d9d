//! A caller's change of a thread's state.

use crate::domain::Namespace;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::event::{Logged, RunEvent};
use crate::domain::ids::{RunId, TaskId, ThreadKey};
use crate::domain::interrupt::Interrupt;
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::{Segment, Signal};
use crate::storage::db::{Tx, in_tx};
use crate::storage::error::fail;
use crate::storage::types::opaque;
use crate::storage::{StateUpdate, Store, docs, interrupts, puts, threads};

const SETTLE: &str = "update threads set status = $2, interrupts = $3, updated_at = $4, \
     seq = seq + 1 where thread_key = $1 returning seq";
const PLACE: &str = "select 1 from checkpoints \
     where thread_key = $1 and namespace = '' and branch = $2 and step = $3";

impl Store {
    /// Moves the head. What open tasks ask stays open as long as they are due; the rest is
    /// withdrawn.
    ///
    /// # Errors
    /// `thread_busy` ([`Fault::Busy`]) while a run is unfinished, `stale_checkpoint` (conflict) if
    /// somebody else wrote behind the same checkpoint meanwhile.
    pub async fn thread_update(&self, key: ThreadKey, update: StateUpdate) -> Result<Thread> {
        let mut tx = self.0.db.begin().await?;
        let gone = || Error::not_found("thread_not_found", "the thread is gone");
        let locked = threads::lock_key(&mut tx, key.0).await?.ok_or_else(gone)?;
        if threads::unfinished(&mut tx, key.0).await? > 0 {
            return Err(Error::new(Fault::Busy, "thread_busy", "the thread has an unfinished run"));
        }
        check_place(&mut tx, key, &update).await?;
        let kept: Vec<_> =
            locked.interrupts.into_iter().filter(|one| stays_open(one, &update)).collect();
        puts::checkpoints(&mut tx, &[(key.0, &update.put)]).await?;
        puts::heads(&mut tx, &[(key.0, update.put.checkpoint.id.0, update.at)]).await?;
        interrupts::keep(&mut tx, key.0, &kept, update.at).await?;
        docs::put_thread_states(&mut tx, &[(key.0, &update.values)]).await?;
        threads::merge_metadata(&mut tx, key.0, &update.metadata).await?;
        let seq = settle(&mut tx, key.0, &kept, &update).await?;
        let segment = segment(seq, &update)?;
        puts::log(&mut tx, &[(key.0, &segment, update.at)]).await?;
        let thread = threads::get_in(&mut tx, key.0).await?.ok_or_else(gone)?;
        tx.commit().await?;
        self.0.notifier.tell([Signal::Log(key)]);
        Ok(thread)
    }
}

async fn check_place(tx: &mut Tx, key: ThreadKey, update: &StateUpdate) -> Result<()> {
    let place = update.put.checkpoint.place;
    let taken = in_tx!(tx, c => sqlx::query(PLACE).bind(key.0).bind(place.branch).bind(place.step)
        .fetch_optional(c).await.map(|row| row.is_some()))
    .map_err(|error| fail("cannot read the history", error))?;
    if taken {
        let public = "the thread's state was changed meanwhile; read it again";
        return Err(Error::conflict("stale_checkpoint", public));
    }
    Ok(())
}

/// Whether the task that asks is still due after the update. Questions of nested graphs belong to
/// the task of the root graph that runs them.
fn stays_open(asked: &Interrupt, update: &StateUpdate) -> bool {
    let mut due = update.put.checkpoint.frontier.due.iter().filter_map(|due| due.task_id);
    match asked.namespace.0.first() {
        Some(segment) => due.any(|task| names(segment, task)),
        None => asked.task_id.is_some_and(|task| due.any(|one| one == task)),
    }
}

fn names(segment: &str, task: TaskId) -> bool {
    segment.contains(&task.to_string())
}

async fn settle(tx: &mut Tx, key: i64, kept: &[Interrupt], update: &StateUpdate) -> Result<i64> {
    let status = if kept.is_empty() { ThreadStatus::Idle } else { ThreadStatus::Interrupted };
    let asked = opaque(&kept)?;
    in_tx!(tx, c => sqlx::query_scalar(SETTLE).bind(key).bind(status.as_str()).bind(&asked)
        .bind(update.at).fetch_one(c).await)
    .map_err(|error| fail("cannot update the thread", error))
}

/// What watchers of the thread see: the checkpoint, of no run.
fn segment(seq: i64, update: &StateUpdate) -> Result<Segment> {
    let (checkpoint, seq) = (&update.put.checkpoint, seq.unsigned_abs());
    let run_id = RunId(uuid::Uuid::nil());
    let logged = Logged {
        seq,
        at: update.at,
        run_id,
        attempt: 0,
        namespace: Namespace::root(),
        event: RunEvent::CheckpointSaved {
            checkpoint_id: checkpoint.id,
            parent: checkpoint.parent,
            place: checkpoint.place,
            source: checkpoint.source,
            changes: update.put.changes.clone(),
            next: checkpoint.frontier.due.iter().map(|due| due.node.clone()).collect(),
        },
    };
    Ok(Segment { run_id, first: seq, last: seq, lines: format!("{}\n", opaque(&logged)?) })
}
