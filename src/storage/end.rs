//! The end of a run: its status, its thread's, and what the caller wanted to happen then.

use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::RunId;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::{RunEnd, RunError, RunStatus};
use crate::domain::thread::ThreadStatus;
use crate::executor::port::{Commit, End, Signal};
use crate::storage::db::{Tx, in_tx};
use crate::storage::error::fail;
use crate::storage::types::opaque;
use crate::storage::{docs, interrupts, outbox, threads};

const BASE: &str = "select base from runs where run_key = $1";
const END: &str = "update runs set status = $2, error = $3, interrupts = $4, head = $5, \
     result = $6, worker = null, lease_until = null, updated_at = $7 where run_key = $1";
const HAND_BACK: &str = "update runs set status = 'pending', worker = null, lease_until = null, \
     updated_at = $2 where run_key = $1";
const OTHERS: &str = "select count(*) from runs \
     where thread_key = $1 and run_key <> $2 and status in ('pending', 'running')";
const THREAD: &str =
    "update threads set status = $2, interrupts = $3, updated_at = $4 where thread_key = $1";
const UNDO: &[&str] = &[
    "delete from changes where thread_key = $1 and exists (select 1 from checkpoints c \
       where c.thread_key = changes.thread_key and c.namespace = changes.namespace \
       and c.branch = changes.branch and c.step = changes.step and c.run_id = $2)",
    "delete from checkpoints where thread_key = $1 and run_id = $2",
    "delete from run_log where thread_key = $1 and run_id = $2",
];
const UNDO_BRANCHES: &str = "delete from branches where thread_key = $1 and not exists \
     (select 1 from checkpoints c where c.thread_key = branches.thread_key \
      and c.namespace = branches.namespace and c.branch = branches.branch)";
const UNDO_RECORDS: &str = "delete from task_records where thread_key = $1";
const RESTORE_HEAD: &str = "update threads set head = $2 where thread_key = $1";
/// How the run before this one ended.
const LAST_STATUS: &str = "select status from runs where thread_key = $1 and run_key < $2 \
     and status not in ('pending', 'running') order by run_key desc limit 1";
const DELETE_RUN: &str = "delete from runs where run_key = $1";

/// What the end means for the run and, unless others are unfinished, for its thread.
pub(super) struct Meaning {
    pub(super) status: RunStatus,
    pub(super) error: Option<RunError>,
    interrupts: Vec<Interrupt>,
    pub(super) thread: ThreadStatus,
}

impl Meaning {
    pub(super) fn of(how: &RunEnd) -> Self {
        let plain = |status, thread| Self { status, error: None, interrupts: Vec::new(), thread };
        match how {
            RunEnd::Success => plain(RunStatus::Success, ThreadStatus::Idle),
            RunEnd::Paused(interrupts) => Self {
                interrupts: interrupts.clone(),
                ..plain(RunStatus::Paused, ThreadStatus::Interrupted)
            },
            RunEnd::Failed(error) => {
                Self { error: Some(error.clone()), ..plain(RunStatus::Error, ThreadStatus::Error) }
            }
            RunEnd::TimedOut(limit) => {
                let message = format!("the run took longer than {} seconds", limit.as_secs());
                let error = Some(RunError::new("timeout", message));
                Self { error, ..plain(RunStatus::Timeout, ThreadStatus::Error) }
            }
            RunEnd::Cancelled | RunEnd::RolledBack => {
                plain(RunStatus::Cancelled, ThreadStatus::Idle)
            }
            RunEnd::HandedBack => plain(RunStatus::Pending, ThreadStatus::Busy),
        }
    }
}

/// Writes an end; answers what to tell others.
pub(super) async fn write(tx: &mut Tx, commit: &Commit, end: &End) -> Result<Vec<Signal>> {
    let (run_key, thread) = (commit.fence.run_key.0, commit.fence.thread_key.0);
    match &end.how {
        RunEnd::HandedBack => {
            in_tx!(tx, c => sqlx::query(HAND_BACK).bind(run_key).bind(commit.at).execute(c).await.map(drop))
                .map_err(|error| fail("cannot hand the run back", error))?;
            return Ok(vec![Signal::Due]);
        }
        RunEnd::RolledBack => roll_back(tx, run_key, thread, commit.run_id, commit.at).await?,
        _ => finish(tx, commit, end).await?,
    }
    let mut signals = Vec::new();
    if let Some(url) = &end.webhook {
        outbox::insert(tx, commit.run_id.0, url, commit.at).await?;
        signals.push(Signal::Delivery);
    }
    let waiting = others(tx, thread, run_key).await? > 0;
    if waiting {
        signals.push(Signal::Due);
    } else if end.deletes_thread {
        threads::delete_in(tx, thread).await?;
    }
    Ok(signals)
}

async fn finish(tx: &mut Tx, commit: &Commit, end: &End) -> Result<()> {
    let (run_key, thread) = (commit.fence.run_key.0, commit.fence.thread_key.0);
    let meaning = Meaning::of(&end.how);
    interrupts::ask(tx, thread, &meaning.interrupts, commit.run_id, commit.at).await?;
    let asked = opaque(&meaning.interrupts)?;
    let error = meaning.error.as_ref().map(opaque).transpose()?;
    let result = end.result.as_ref().map(opaque).transpose()?;
    in_tx!(&mut *tx, c => sqlx::query(END).bind(run_key).bind(meaning.status.as_str()).bind(error)
        .bind(&asked).bind(end.head.map(|head| head.0)).bind(result).bind(commit.at)
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot end the run", error))?;
    if let Some(values) = end.values.as_ref() {
        docs::put_thread_states(tx, &[(thread, values)]).await?;
    }
    settle(tx, thread, run_key, meaning.thread, &asked, commit.at).await
}

/// The thread's status after a run of it is over.
pub(super) async fn settle(
    tx: &mut Tx,
    thread: i64,
    run_key: i64,
    status: ThreadStatus,
    interrupts: &str,
    at: Ts,
) -> Result<()> {
    let busy = others(tx, thread, run_key).await? > 0;
    let status = if busy { ThreadStatus::Busy } else { status };
    in_tx!(tx, c => sqlx::query(THREAD).bind(thread).bind(status.as_str()).bind(interrupts).bind(at)
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot update the thread", error))
}

async fn others(tx: &mut Tx, thread: i64, run_key: i64) -> Result<i64> {
    in_tx!(tx, c => sqlx::query_scalar(OTHERS).bind(thread).bind(run_key).fetch_one(c).await)
        .map_err(|error| fail("cannot count the thread's runs", error))
}

/// The thread's status where questions may be open; without any it is `rest`.
pub(super) async fn settle_open(
    tx: &mut Tx,
    thread: i64,
    run_key: i64,
    open: &[Interrupt],
    rest: ThreadStatus,
    at: Ts,
) -> Result<()> {
    let status = if open.is_empty() { rest } else { ThreadStatus::Interrupted };
    settle(tx, thread, run_key, status, &opaque(&open)?, at).await
}

/// As if the run had never been.
pub(super) async fn roll_back(
    tx: &mut Tx,
    run_key: i64,
    thread: i64,
    run: RunId,
    at: Ts,
) -> Result<()> {
    let failed = |error| fail("cannot roll the run back", error);
    let base: Option<Uuid> =
        in_tx!(&mut *tx, c => sqlx::query_scalar(BASE).bind(run_key).fetch_one(c).await)
            .map_err(failed)?;
    for sql in UNDO {
        in_tx!(&mut *tx, c => sqlx::query(*sql).bind(thread).bind(run.0).execute(c).await.map(drop))
            .map_err(failed)?;
    }
    for sql in [UNDO_BRANCHES, UNDO_RECORDS] {
        in_tx!(&mut *tx, c => sqlx::query(sql).bind(thread).execute(c).await.map(drop))
            .map_err(failed)?;
    }
    in_tx!(&mut *tx, c => sqlx::query(RESTORE_HEAD).bind(thread).bind(base).execute(c).await.map(drop))
        .map_err(failed)?;
    forget(tx, run_key, thread, run, at).await
}

/// Deletes a run that left nothing, and gives its thread back what it was and had asked before.
pub(super) async fn forget(
    tx: &mut Tx,
    run_key: i64,
    thread: i64,
    run: RunId,
    at: Ts,
) -> Result<()> {
    let open = interrupts::roll_back(tx, thread, run).await?;
    let last: Option<String> = in_tx!(&mut *tx, c => sqlx::query_scalar(LAST_STATUS).bind(thread)
        .bind(run_key).fetch_optional(c).await)
    .map_err(|error| fail("cannot read the thread's runs", error))?;
    let rest = match last.as_deref().and_then(RunStatus::parse) {
        Some(RunStatus::Error | RunStatus::Timeout) => ThreadStatus::Error,
        _ => ThreadStatus::Idle,
    };
    settle_open(tx, thread, run_key, &open, rest, at).await?;
    in_tx!(tx, c => sqlx::query(DELETE_RUN).bind(run_key).execute(c).await.map(drop))
        .map_err(|error| fail("cannot delete the run", error))
}

/// The error of a run that was lost too often.
pub(super) fn too_many_attempts(attempts: u32) -> RunError {
    let message = format!("the server running it was lost {attempts} times");
    RunError::new("max_attempts", message)
}
