//! Commits of many runs as one statement a table, on Postgres: round trips cost as much as flushes.
//!
//! Only the claim can refuse a member; the statements name just the members that still hold theirs.
//! Ends that do more than set a status (pauses, rollbacks, webhooks, deletions) are written one by one
//! in the same transaction.

use std::collections::HashSet;

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use crate::domain::checkpoint::Put;
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{RunKey, ThreadKey};
use crate::domain::run::RunEnd;
use crate::domain::thread::ThreadStatus;
use crate::executor::port::{Commit, End, Segment, Signal};
use crate::storage::checkpoints::StoredFrontier;
use crate::storage::db::{Db, Tx};
use crate::storage::error::fail;
use crate::storage::events::column;
use crate::storage::types::opaque;
use crate::storage::{commit, docs, end, fold};

/// Locks the threads, in one order for everybody, and tells which claims are still held.
const HELD: &str = "select r.run_key from unnest($1::bigint[], $2::integer[]) as m (run_key, attempt) \
     join runs r on r.run_key = m.run_key and r.attempt = m.attempt and r.status = 'running' \
     join threads t on t.thread_key = r.thread_key order by t.thread_key for update of t";
const RECORDS_DROP: &str = "delete from task_records k using unnest($1::bigint[], $2::text[]) \
     as m (thread_key, namespace) where k.thread_key = m.thread_key and k.namespace = m.namespace";
const CHECKPOINTS: &str = "insert into checkpoints \
     (thread_key, namespace, checkpoint_id, parent_id, branch, step, source, run_id, metadata, \
      frontier, created_at) \
     select * from unnest($1::bigint[], $2::text[], $3::uuid[], $4::uuid[], $5::integer[], \
      $6::bigint[], $7::text[], $8::uuid[], $9::text[], $10::text[], $11::timestamptz[])";
const CHANGES: &str = "insert into changes \
     (thread_key, namespace, branch, step, ordinal, channel, op, key, value) \
     select * from unnest($1::bigint[], $2::text[], $3::integer[], $4::bigint[], $5::integer[], \
      $6::text[], $7::text[], $8::text[], $9::text[])";
const LOG: &str = "insert into run_log (thread_key, first_seq, last_seq, run_id, lines, created_at) \
     select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::uuid[], $5::text[], \
      $6::timestamptz[])";
const HEADS: &str = "update threads t set head = m.head, updated_at = m.at \
     from unnest($1::bigint[], $2::uuid[], $3::timestamptz[]) as m (thread_key, head, at) \
     where t.thread_key = m.thread_key";

const ENDS: &str = "update runs r set status = m.status, error = m.error, interrupts = '[]', \
     head = m.head, result = m.result, worker = null, lease_until = null, updated_at = m.at \
     from unnest($1::bigint[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::timestamptz[]) \
      as m (run_key, status, error, head, result, at) where r.run_key = m.run_key";
const WITHDRAW: &str = "update interrupts i set state = 'withdrawn', settled_by = m.run_id, \
     settled_at = m.at from unnest($1::bigint[], $2::uuid[], $3::timestamptz[]) \
      as m (thread_key, run_id, at) where i.thread_key = m.thread_key and i.state = 'open'";
const THREADS: &str = "update threads t set interrupts = '[]', updated_at = m.at, \
     status = case when exists (select 1 from runs o where o.thread_key = t.thread_key \
       and o.status in ('pending', 'running')) then 'busy' else m.status end \
     from unnest($1::bigint[], $2::text[], $3::timestamptz[]) as m (thread_key, status, at) \
     where t.thread_key = m.thread_key returning t.thread_key, t.status";
const NO_STATE: &str =
    "update thread_docs set state = '{}' where thread_key = any($1) and state <> '{}'";

type Pg = Transaction<'static, Postgres>;

/// Writes all in one transaction; answers each member's signals, or that it lost its claim.
pub(super) async fn write(db: &Db, commits: &[&Commit]) -> Result<Vec<Result<Vec<Signal>>>> {
    let mut tx = db.begin().await?;
    let Tx::Pg(pg) = &mut tx else { return Err(Error::internal("batches are Postgres' own")) };
    let held = held(pg, commits).await?;
    let members: Vec<&Commit> =
        commits.iter().copied().filter(|commit| held.contains(&commit.fence.run_key)).collect();
    write_puts(pg, &members).await?;
    write_logs(pg, &members).await?;
    let plain: Vec<(&Commit, &End)> = members
        .iter()
        .filter_map(|commit| Some((*commit, commit.end.as_ref()?)))
        .filter(|(_, end)| is_plain(end))
        .collect();
    let busy = write_ends(pg, &plain).await?;
    let mut outcomes = Vec::with_capacity(commits.len());
    for commit in commits {
        if !held.contains(&commit.fence.run_key) {
            outcomes.push(Err(Error::fenced()));
            continue;
        }
        let mut signals = vec![Signal::Log(commit.fence.thread_key)];
        signals.extend(busy.contains(&commit.fence.thread_key).then_some(Signal::Due));
        signals.extend(write_rest(&mut tx, commit).await?);
        outcomes.push(Ok(signals));
    }
    tx.commit().await?;
    Ok(outcomes)
}

/// An end that only sets statuses.
fn is_plain(end: &End) -> bool {
    let sets_status =
        !matches!(end.how, RunEnd::Paused(_) | RunEnd::HandedBack | RunEnd::RolledBack);
    sets_status && end.webhook.is_none() && !end.deletes_thread
}

/// What few commits have: task records, a shorter log, new states, ends that do more.
async fn write_rest(tx: &mut Tx, commit: &Commit) -> Result<Vec<Signal>> {
    commit::write_extras(tx, commit).await?;
    match &commit.end {
        Some(end) if is_plain(end) => {
            if let Some(values) = end.values.as_ref().filter(|values| !values.is_empty()) {
                docs::put_thread_state(tx, commit.fence.thread_key.0, values).await?;
            }
            Ok(Vec::new())
        }
        Some(end) => end::write(tx, commit, end).await,
        None => Ok(Vec::new()),
    }
}

async fn held(tx: &mut Pg, commits: &[&Commit]) -> Result<HashSet<RunKey>> {
    let attempt = |commit: &&Commit| i32::try_from(commit.fence.attempt).unwrap_or(i32::MAX);
    let keys: Vec<i64> = sqlx::query_scalar(HELD)
        .bind(column_of(commits, |commit| commit.fence.run_key.0))
        .bind(commits.iter().map(attempt).collect::<Vec<_>>())
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| fail("cannot check the claims", error))?;
    Ok(keys.into_iter().map(RunKey).collect())
}

fn column_of<'a, T, V>(rows: &'a [T], value: impl Fn(&'a T) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}

/// A checkpoint to be written, its texts rendered.
struct PutRow<'a> {
    thread: i64,
    put: &'a Put,
    namespace: String,
    metadata: String,
    frontier: String,
}

async fn write_puts(tx: &mut Pg, members: &[&Commit]) -> Result<()> {
    let mut rows = Vec::new();
    for commit in members {
        for put in &commit.puts {
            let checkpoint = &put.checkpoint;
            rows.push(PutRow {
                thread: commit.fence.thread_key.0,
                put,
                namespace: checkpoint.namespace.joined(),
                metadata: opaque(&checkpoint.metadata)?,
                frontier: opaque(&StoredFrontier::of(&checkpoint.frontier))?,
            });
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let failed = |error| fail("cannot write checkpoints", error);
    let (threads, namespaces) =
        (column_of(&rows, |row| row.thread), column_of(&rows, |row| row.namespace.as_str()));
    sqlx::query(RECORDS_DROP)
        .bind(&threads)
        .bind(&namespaces)
        .execute(&mut **tx)
        .await
        .map_err(failed)?;
    sqlx::query(CHECKPOINTS)
        .bind(&threads)
        .bind(&namespaces)
        .bind(column_of(&rows, |row| row.put.checkpoint.id.0))
        .bind(column_of(&rows, |row| row.put.checkpoint.parent.map(|parent| parent.0)))
        .bind(column_of(&rows, |row| row.put.checkpoint.place.branch))
        .bind(column_of(&rows, |row| row.put.checkpoint.place.step))
        .bind(column_of(&rows, |row| row.put.checkpoint.source.as_str()))
        .bind(column_of(&rows, |row| row.put.checkpoint.run_id.map(|run| run.0)))
        .bind(column_of(&rows, |row| row.metadata.as_str()))
        .bind(column_of(&rows, |row| row.frontier.as_str()))
        .bind(column_of(&rows, |row| row.put.checkpoint.created_at))
        .execute(&mut **tx)
        .await
        .map_err(failed)?;
    write_forks(tx, &rows).await?;
    write_changes(tx, &rows).await?;
    write_heads(tx, members).await
}

/// New branches are rare: one by one.
async fn write_forks(tx: &mut Pg, puts: &[PutRow<'_>]) -> Result<()> {
    for row in puts {
        let Some(fork) = row.put.fork else { continue };
        sqlx::query(commit::BRANCH)
            .bind(row.thread)
            .bind(&row.namespace)
            .bind(fork.branch)
            .bind(fork.from.branch)
            .bind(fork.from.step)
            .execute(&mut **tx)
            .await
            .map_err(|error| fail("cannot write a branch", error))?;
    }
    Ok(())
}

async fn write_changes(tx: &mut Pg, puts: &[PutRow<'_>]) -> Result<()> {
    let mut rows = Vec::new();
    for row in puts {
        for (ordinal, change) in row.put.changes.iter().enumerate() {
            let (op, key, value) = fold::columns(&change.op);
            let ordinal = i32::try_from(ordinal).unwrap_or(i32::MAX);
            rows.push((row, ordinal, &*change.channel, op, key, value.map(opaque).transpose()?));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(CHANGES)
        .bind(column_of(&rows, |row| row.0.thread))
        .bind(column_of(&rows, |row| row.0.namespace.as_str()))
        .bind(column_of(&rows, |row| row.0.put.checkpoint.place.branch))
        .bind(column_of(&rows, |row| row.0.put.checkpoint.place.step))
        .bind(column_of(&rows, |row| row.1))
        .bind(column_of(&rows, |row| row.2))
        .bind(column_of(&rows, |row| row.3))
        .bind(column_of(&rows, |row| row.4))
        .bind(column_of(&rows, |row| row.5.as_deref()))
        .execute(&mut **tx)
        .await
        .map(drop)
        .map_err(|error| fail("cannot write the changes", error))
}

/// Moves each thread's head to the last checkpoint of its root graph.
async fn write_heads(tx: &mut Pg, members: &[&Commit]) -> Result<()> {
    let heads: Vec<(i64, Uuid, Ts)> = members
        .iter()
        .filter_map(|commit| {
            let head = commit.puts.iter().rfind(|put| put.checkpoint.namespace.is_root())?;
            Some((commit.fence.thread_key.0, head.checkpoint.id.0, commit.at))
        })
        .collect();
    sqlx::query(HEADS)
        .bind(column_of(&heads, |head| head.0))
        .bind(column_of(&heads, |head| head.1))
        .bind(column_of(&heads, |head| head.2))
        .execute(&mut **tx)
        .await
        .map(drop)
        .map_err(|error| fail("cannot move the threads' heads", error))
}

async fn write_logs(tx: &mut Pg, members: &[&Commit]) -> Result<()> {
    let rows: Vec<(&Commit, &Segment)> =
        members.iter().filter_map(|commit| Some((*commit, commit.segment.as_ref()?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(LOG)
        .bind(column_of(&rows, |row| row.0.fence.thread_key.0))
        .bind(column_of(&rows, |row| column(row.1.first)))
        .bind(column_of(&rows, |row| column(row.1.last)))
        .bind(column_of(&rows, |row| row.1.run_id.0))
        .bind(column_of(&rows, |row| row.1.lines.as_str()))
        .bind(column_of(&rows, |row| row.0.at))
        .execute(&mut **tx)
        .await
        .map(drop)
        .map_err(|error| fail("cannot write the log", error))
}

/// Writes plain ends; answers the threads on which others wait.
async fn write_ends(tx: &mut Pg, ends: &[(&Commit, &End)]) -> Result<HashSet<ThreadKey>> {
    if ends.is_empty() {
        return Ok(HashSet::new());
    }
    let failed = |error| fail("cannot end the runs", error);
    let meanings = column_of(ends, |(_, end)| end::Meaning::of(&end.how));
    let mut errors = Vec::with_capacity(ends.len());
    let mut results = Vec::with_capacity(ends.len());
    for ((_, end), meaning) in ends.iter().zip(&meanings) {
        errors.push(meaning.error.as_ref().map(opaque).transpose()?);
        results.push(end.result.as_ref().map(opaque).transpose()?);
    }
    let threads = column_of(ends, |(commit, _)| commit.fence.thread_key.0);
    let times = column_of(ends, |(commit, _)| commit.at);
    sqlx::query(ENDS)
        .bind(column_of(ends, |(commit, _)| commit.fence.run_key.0))
        .bind(column_of(&meanings, |meaning| meaning.status.as_str()))
        .bind(errors)
        .bind(column_of(ends, |(_, end)| end.head.map(|head| head.0)))
        .bind(results)
        .bind(&times)
        .execute(&mut **tx)
        .await
        .map_err(failed)?;
    sqlx::query(WITHDRAW)
        .bind(&threads)
        .bind(column_of(ends, |(commit, _)| commit.run_id.0))
        .bind(&times)
        .execute(&mut **tx)
        .await
        .map_err(failed)?;
    let stateless: Vec<i64> = ends
        .iter()
        .filter(|(_, end)| end.values.as_ref().is_some_and(serde_json::Map::is_empty))
        .map(|(commit, _)| commit.fence.thread_key.0)
        .collect();
    sqlx::query(NO_STATE).bind(&stateless).execute(&mut **tx).await.map_err(failed)?;
    let settled: Vec<(i64, String)> = sqlx::query_as(THREADS)
        .bind(&threads)
        .bind(column_of(&meanings, |meaning| meaning.thread.as_str()))
        .bind(&times)
        .fetch_all(&mut **tx)
        .await
        .map_err(failed)?;
    let busy = settled.into_iter().filter(|(_, status)| status == ThreadStatus::Busy.as_str());
    Ok(busy.map(|(thread, _)| ThreadKey(thread)).collect())
}
