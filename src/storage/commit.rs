//! What runs write together: checkpoints, task records, the log, the end. One run or a hundred,
//! it is one statement a table.
//!
//! Only the claim can refuse a member; the statements name just those that still hold theirs.
//! Ends that do more than set a status (pauses, rollbacks, webhooks, deletions) are written one by
//! one in the same transaction.

use std::collections::HashSet;

use crate::domain::error::{Error, Result};
use crate::domain::event::Seq;
use crate::domain::ids::{RunId, RunKey};
use crate::executor::port::{Commit, Signal};
use crate::storage::db::{Tx, in_tx};
use crate::storage::dialect::Both;
use crate::storage::error::fail;
use crate::storage::events::column;
use crate::storage::rows::{Kind, OverRows};
use crate::storage::{end, ends, puts};

/// Locks the threads, in one order for everybody. SQLite has one writer at a time.
pub(super) static LOCK: OverRows = OverRows::new(
    &[("thread", Kind::Big)],
    "select t.thread_key from m join threads t on t.thread_key = m.thread \
     order by t.thread_key for update of t",
);
/// The claims that are still held. A statement of its own: what the locks waited for has to be
/// seen by it.
pub(super) static HELD: OverRows = OverRows::differing(
    &[("run", Kind::Big), ("attempt", Kind::Int)],
    Both {
        pg: "select r.run_key from m join runs r on r.run_key = m.run and r.attempt = m.attempt \
             where r.status = 'running' and r.thread_key is not null",
        lite: "select r.run_key from m cross join runs r where r.run_key = m.run \
               and r.attempt = m.attempt and r.status = 'running' and r.thread_key is not null",
    },
);
const LOG_TRIM: &str = "delete from run_log where run_id = $1 and last_seq < $2";

/// Writes a commit; answers what to tell others, or [`Fault::Fenced`](crate::domain::Fault) with
/// nothing written.
pub(super) async fn write(tx: &mut Tx, commit: &Commit) -> Result<Vec<Signal>> {
    write_all(tx, &[commit]).await?.pop().unwrap_or_else(|| Err(Error::fenced()))
}

/// Writes many; answers each one's signals, or that it lost its claim.
///
/// # Errors
/// What spoils the transaction for all.
pub(super) async fn write_all(
    tx: &mut Tx,
    commits: &[&Commit],
) -> Result<Vec<Result<Vec<Signal>>>> {
    lock(tx, commits).await?;
    let mut outcomes = Vec::with_capacity(commits.len());
    let mut rest = commits;
    while !rest.is_empty() {
        let (round, after) = rest.split_at(distinct(rest));
        outcomes.extend(write_round(tx, round).await?);
        rest = after;
    }
    Ok(outcomes)
}

/// How many from the start belong to different threads: two commits of one are written in order.
fn distinct(commits: &[&Commit]) -> usize {
    let mut threads = HashSet::with_capacity(commits.len());
    commits.iter().take_while(|commit| threads.insert(commit.fence.thread_key)).count()
}

async fn write_round(tx: &mut Tx, commits: &[&Commit]) -> Result<Vec<Result<Vec<Signal>>>> {
    let held = held(tx, commits).await?;
    let members: Vec<&Commit> =
        commits.iter().copied().filter(|commit| held.contains(&commit.fence.run_key)).collect();
    write_steps(tx, &members).await?;
    let busy = ends::write(tx, &members).await?;
    let mut outcomes = Vec::with_capacity(commits.len());
    for commit in commits {
        if !held.contains(&commit.fence.run_key) {
            outcomes.push(Err(Error::fenced()));
            continue;
        }
        let mut signals = vec![Signal::Log(commit.fence.thread_key)];
        signals.extend(busy.contains(&commit.fence.thread_key).then_some(Signal::Due));
        if let Some(below) = commit.trim_log_below {
            trim_log(tx, commit.run_id, below).await?;
        }
        if let Some(ending) = commit.end.as_ref().filter(|ending| !ends::is_plain(ending)) {
            signals.extend(end::write(tx, commit, ending).await?);
        }
        outcomes.push(Ok(signals));
    }
    Ok(outcomes)
}

async fn lock(tx: &mut Tx, commits: &[&Commit]) -> Result<()> {
    if matches!(tx, Tx::Lite(_)) {
        return Ok(());
    }
    let mut rows = LOCK.rows();
    for commit in commits {
        rows.push([commit.fence.thread_key.0.into()]);
    }
    rows.execute(tx, "cannot lock the threads").await
}

async fn held(tx: &mut Tx, commits: &[&Commit]) -> Result<HashSet<RunKey>> {
    let mut rows = HELD.rows();
    for commit in commits {
        let attempt = i32::try_from(commit.fence.attempt).unwrap_or(i32::MAX);
        rows.push([commit.fence.run_key.0.into(), attempt.into()]);
    }
    let keys: Vec<(i64,)> = rows.fetch(tx, "cannot check the claims").await?;
    Ok(keys.into_iter().map(|(key,)| RunKey(key)).collect())
}

/// Everything but the ends.
async fn write_steps(tx: &mut Tx, members: &[&Commit]) -> Result<()> {
    let (mut steps, mut segments, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    for commit in members {
        let thread = commit.fence.thread_key.0;
        steps.extend(commit.puts.iter().map(|put| (thread, put)));
        segments.extend(commit.segment.as_ref().map(|segment| (thread, segment, commit.at)));
        let head = commit.puts.iter().rfind(|put| put.checkpoint.namespace.is_root());
        heads.extend(head.map(|head| (thread, head.checkpoint.id.0, commit.at)));
    }
    puts::checkpoints(tx, &steps).await?;
    puts::records(tx, members).await?;
    puts::log(tx, &segments).await?;
    puts::heads(tx, &heads).await
}

async fn trim_log(tx: &mut Tx, run: RunId, below: Seq) -> Result<()> {
    in_tx!(tx, c => sqlx::query(LOG_TRIM).bind(run.0).bind(column(below))
        .execute(c).await.map(drop))
    .map_err(|error| fail("cannot shorten the log", error))
}
