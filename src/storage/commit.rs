//! What a run writes together: checkpoints with their changes, task records, the log, the end.

use uuid::Uuid;

use crate::domain::checkpoint::{Put, TaskRecord};
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::event::Seq;
use crate::domain::ids::{Namespace, RunId};
use crate::executor::port::{Commit, Segment, Signal};
use crate::storage::checkpoints::StoredFrontier;
use crate::storage::db::{Tx, in_tx};
use crate::storage::error::fail;
use crate::storage::events::column;
use crate::storage::types::opaque;
use crate::storage::{end, fold, threads};

const HELD: &str = "select 1 from runs where run_key = $1 and attempt = $2 and status = 'running'";
pub(super) const BRANCH: &str = "insert into branches \
     (thread_key, namespace, branch, parent_branch, parent_step) values ($1, $2, $3, $4, $5)";
const CHECKPOINT: &str = "insert into checkpoints \
     (thread_key, namespace, checkpoint_id, parent_id, branch, step, source, run_id, metadata, \
      frontier, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const CHANGE: &str = "insert into changes \
     (thread_key, namespace, branch, step, ordinal, channel, op, key, value) \
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
/// The same for many at once, on Postgres.
const CHANGES: &str = "insert into changes \
     (thread_key, namespace, branch, step, ordinal, channel, op, key, value) \
     select $1, $2, $3, $4, * from unnest($5::integer[], $6::text[], $7::text[], $8::text[], $9::text[])";
const RECORDS_DROP: &str = "delete from task_records where thread_key = $1 and namespace = $2";
const RECORD: &str = "insert into task_records (thread_key, namespace, task_id, record) \
     values ($1, $2, $3, $4) \
     on conflict (thread_key, namespace, task_id) do update set record = excluded.record";
const LOG: &str = "insert into run_log (thread_key, first_seq, last_seq, run_id, lines, created_at) \
     values ($1, $2, $3, $4, $5, $6)";
const LOG_TRIM: &str = "delete from run_log where run_id = $1 and last_seq < $2";
const HEAD: &str = "update threads set head = $2, updated_at = $3 where thread_key = $1";

/// Writes a commit; answers what to tell others, or [`Fault::Fenced`](crate::domain::Fault) with
/// nothing written.
pub(super) async fn write(tx: &mut Tx, commit: &Commit) -> Result<Vec<Signal>> {
    let thread = commit.fence.thread_key.0;
    if threads::lock_key(tx, thread).await?.is_none() || !is_held(tx, commit).await? {
        return Err(Error::fenced());
    }
    for put in &commit.puts {
        write_put(tx, thread, put).await?;
    }
    if let Some(segment) = &commit.segment {
        write_segment(tx, thread, segment, commit.at).await?;
    }
    write_extras(tx, commit).await?;
    let head = commit.puts.iter().rfind(|put| put.checkpoint.namespace.is_root());
    if let Some(head) = head {
        move_head(tx, thread, head.checkpoint.id.0, commit.at).await?;
    }
    let mut signals = vec![Signal::Log(commit.fence.thread_key)];
    if let Some(ending) = &commit.end {
        signals.extend(end::write(tx, commit, ending).await?);
    }
    Ok(signals)
}

/// What few commits have: task records, and a log that is to be shorter.
pub(super) async fn write_extras(tx: &mut Tx, commit: &Commit) -> Result<()> {
    for (namespace, record) in &commit.tasks {
        write_record(tx, commit.fence.thread_key.0, namespace, record).await?;
    }
    match commit.trim_log_below {
        Some(below) => trim_log(tx, commit.run_id, below).await,
        None => Ok(()),
    }
}

async fn is_held(tx: &mut Tx, commit: &Commit) -> Result<bool> {
    let attempt = i32::try_from(commit.fence.attempt).unwrap_or(i32::MAX);
    in_tx!(tx, c => sqlx::query(HELD).bind(commit.fence.run_key.0).bind(attempt)
        .fetch_optional(c).await.map(|row| row.is_some()))
    .map_err(|error| fail("cannot check the claim", error))
}

/// Writes a checkpoint with its changes. What tasks of the step before left is void.
pub(super) async fn write_put(tx: &mut Tx, thread: i64, put: &Put) -> Result<()> {
    let checkpoint = &put.checkpoint;
    let namespace = checkpoint.namespace.joined();
    let failed = |error| fail("cannot write the checkpoint", error);
    if let Some(fork) = put.fork {
        in_tx!(&mut *tx, c => sqlx::query(BRANCH).bind(thread).bind(&namespace).bind(fork.branch)
            .bind(fork.from.branch).bind(fork.from.step).execute(c).await.map(drop))
        .map_err(failed)?;
    }
    in_tx!(&mut *tx, c => sqlx::query(RECORDS_DROP).bind(thread).bind(&namespace).execute(c).await.map(drop))
        .map_err(failed)?;
    let frontier = opaque(&StoredFrontier::of(&checkpoint.frontier))?;
    let metadata = opaque(&checkpoint.metadata)?;
    in_tx!(&mut *tx, c => sqlx::query(CHECKPOINT).bind(thread).bind(&namespace)
        .bind(checkpoint.id.0).bind(checkpoint.parent.map(|parent| parent.0))
        .bind(checkpoint.place.branch).bind(checkpoint.place.step)
        .bind(checkpoint.source.as_str()).bind(checkpoint.run_id.map(|run| run.0))
        .bind(metadata).bind(frontier).bind(checkpoint.created_at).execute(c).await.map(drop))
    .map_err(failed)?;
    write_changes(tx, thread, &namespace, put).await
}

async fn write_changes(tx: &mut Tx, thread: i64, namespace: &str, put: &Put) -> Result<()> {
    let place = put.checkpoint.place;
    let mut rows = Vec::with_capacity(put.changes.len());
    for (ordinal, change) in put.changes.iter().enumerate() {
        let (op, key, value) = fold::columns(&change.op);
        let value = value.map(opaque).transpose()?;
        let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
        rows.push((ordinal, &*change.channel, op, key, value));
    }
    let failed = |error| fail("cannot write the changes", error);
    match tx {
        Tx::Pg(_) if rows.is_empty() => {}
        Tx::Pg(tx) => {
            let query = sqlx::query(CHANGES).bind(thread).bind(namespace);
            let query = query.bind(place.branch).bind(place.step);
            let query = query.bind(rows.iter().map(|row| row.0).collect::<Vec<_>>());
            let query = query.bind(rows.iter().map(|row| row.1).collect::<Vec<_>>());
            let query = query.bind(rows.iter().map(|row| row.2).collect::<Vec<_>>());
            let query = query.bind(rows.iter().map(|row| row.3).collect::<Vec<_>>());
            let query = query.bind(rows.iter().map(|row| row.4.as_deref()).collect::<Vec<_>>());
            query.execute(&mut **tx).await.map_err(failed)?;
        }
        Tx::Lite(tx) => {
            for (ordinal, channel, op, key, value) in rows {
                let query = sqlx::query(CHANGE).bind(thread).bind(namespace);
                let query = query.bind(place.branch).bind(place.step).bind(ordinal);
                let query = query.bind(channel).bind(op).bind(key).bind(value);
                query.execute(&mut **tx).await.map_err(failed)?;
            }
        }
    }
    Ok(())
}

async fn write_record(
    tx: &mut Tx,
    thread: i64,
    namespace: &Namespace,
    record: &TaskRecord,
) -> Result<()> {
    let (joined, text) = (namespace.joined(), opaque(record)?);
    in_tx!(tx, c => sqlx::query(RECORD).bind(thread).bind(&joined).bind(record.task_id.0)
        .bind(&text).execute(c).await.map(drop))
    .map_err(|error| fail("cannot write a task's outcome", error))
}

pub(super) async fn write_segment(
    tx: &mut Tx,
    thread: i64,
    segment: &Segment,
    at: Ts,
) -> Result<()> {
    in_tx!(tx, c => sqlx::query(LOG).bind(thread).bind(column(segment.first))
        .bind(column(segment.last)).bind(segment.run_id.0).bind(&segment.lines).bind(at)
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot write the log", error))
}

async fn trim_log(tx: &mut Tx, run: RunId, below: Seq) -> Result<()> {
    in_tx!(tx, c => sqlx::query(LOG_TRIM).bind(run.0).bind(column(below))
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot shorten the log", error))
}

pub(super) async fn move_head(tx: &mut Tx, thread: i64, head: Uuid, at: Ts) -> Result<()> {
    in_tx!(tx, c => sqlx::query(HEAD).bind(thread).bind(head).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot move the thread's head", error))
}
