//! Claims, leases, and recovery: the executor's side of table `runs`.

use std::time::Duration;

use sqlx::FromRow;

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{AgentId, CheckpointId, Namespace, RunKey, ThreadKey};
use crate::domain::ports::BoxFuture;
use crate::domain::run::{CancelAction, OnCompletion, RunEnd};
use crate::executor::port::{Claim, Commit, End, Fence, Held, RunLedger, Signal};
use crate::storage::db::{Tx, in_tx, on_db};
use crate::storage::dialect::{CLAIM, CLAIMABLE, EXPIRED, EXTEND};
use crate::storage::error::{fail, is_duplicate};
use crate::storage::types::opaque;
use crate::storage::{Store, commit, end, runs, threads};

const ROOM: &str = "update threads set status = 'busy', seq = seq + $2, updated_at = $3 \
     where thread_key = $1 returning seq";
const HAND_BACK: &str = "update runs set status = 'pending', worker = null, lease_until = null, \
     updated_at = $3 where run_key = $1 and attempt = $2 and status = 'running'";
const CANCEL_OF: &str = "select cancel from runs where run_key = $1";

#[derive(FromRow)]
struct Candidate {
    run_key: i64,
    thread_key: i64,
}

#[derive(FromRow)]
struct Expired {
    run_key: i64,
    thread_key: Option<i64>,
    attempt: i32,
}

impl RunLedger for Store {
    fn claim<'a>(
        &'a self,
        worker: &'a str,
        agents: &'a [AgentId],
        lease: Duration,
        max: u32,
    ) -> BoxFuture<'a, Result<Vec<Claim>>> {
        Box::pin(self.claim_due(worker, agents, lease, max))
    }

    fn extend<'a>(
        &'a self,
        fences: &'a [Fence],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<Held>>> {
        Box::pin(self.extend_all(fences, lease))
    }

    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.0.writes.commit(commit))
    }

    fn requeue_expired(&self, max_attempts: u32) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.recover(max_attempts))
    }

    fn snapshot<'a>(
        &'a self,
        thread: ThreadKey,
        namespace: &'a Namespace,
        at: Option<CheckpointId>,
    ) -> BoxFuture<'a, Result<Option<Snapshot>>> {
        Box::pin(Self::snapshot(self, thread, namespace, at))
    }

    fn answers(&self, thread: ThreadKey) -> BoxFuture<'_, Result<Answers>> {
        Box::pin(self.answers_of(thread))
    }
}

impl Store {
    async fn claim_due(
        &self,
        worker: &str,
        agents: &[AgentId],
        lease: Duration,
        max: u32,
    ) -> Result<Vec<Claim>> {
        let (now, agents) = (self.0.clock.now(), opaque(&agents)?);
        let sql = CLAIMABLE.of(&self.0.db);
        // Most of the time nothing is due: that costs SQLite's readers a look, not its writer.
        if !self.0.db.is_postgres() {
            let looked: Vec<Candidate> = on_db!(self.0.db.reader(), c => sqlx::query_as(sql)
                .bind(now).bind(1_i64).bind(&agents).fetch_all(c).await)
            .map_err(|error| fail("cannot look for due runs", error))?;
            if looked.is_empty() {
                return Ok(Vec::new());
            }
        }
        let mut tx = self.0.db.begin().await?;
        let due: Vec<Candidate> = in_tx!(&mut tx, c => sqlx::query_as(sql).bind(now)
            .bind(i64::from(max)).bind(&agents).fetch_all(c).await)
        .map_err(|error| fail("cannot look for due runs", error))?;
        let mut claims = Vec::with_capacity(due.len());
        for candidate in due {
            match take(&mut tx, &candidate, worker, lease, now).await {
                Ok(Some(claim)) => claims.push(claim),
                Ok(None) => {}
                // Another node took one of that thread at the same moment: it has it.
                Err(error) if error.code == LOST_RACE => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
        tx.commit().await?;
        Ok(claims)
    }

    async fn extend_all(&self, fences: &[Fence], lease: Duration) -> Result<Vec<Held>> {
        let (now, micros) = (self.0.clock.now(), micros(lease));
        let sql = EXTEND.of(&self.0.db);
        let mut held = Vec::with_capacity(fences.len());
        let mut tx = self.0.db.begin().await?;
        let mut fences = fences.to_vec();
        fences.sort_by_key(|fence| fence.run_key);
        for fence in fences {
            let attempt = i32::try_from(fence.attempt).unwrap_or(i32::MAX);
            let row: Option<Option<String>> = in_tx!(&mut tx, c => sqlx::query_scalar(sql)
                .bind(fence.run_key.0).bind(attempt).bind(micros).bind(now)
                .fetch_optional(c).await)
            .map_err(|error| fail("cannot extend the lease", error))?;
            if let Some(cancel) = row {
                let cancel = cancel.as_deref().and_then(CancelAction::parse);
                held.push(Held { run_key: fence.run_key, cancel });
            }
        }
        tx.commit().await?;
        Ok(held)
    }

    async fn recover(&self, max_attempts: u32) -> Result<u64> {
        let now = self.0.clock.now();
        let sql = EXPIRED.of(&self.0.db);
        let expired: Vec<Expired> = on_db!(self.0.db.reader(), c =>
            sqlx::query_as(sql).bind(now).fetch_all(c).await)
        .map_err(|error| fail("cannot look for expired leases", error))?;
        let mut recovered = 0;
        for run in expired {
            recovered += u64::from(self.recover_one(&run, max_attempts).await?);
        }
        Ok(recovered)
    }

    /// Puts one lost run back in the queue, or ends it. `false`: somebody else did.
    async fn recover_one(&self, run: &Expired, max_attempts: u32) -> Result<bool> {
        let Some(thread) = run.thread_key else { return Ok(false) };
        let now = self.0.clock.now();
        let mut tx = self.0.db.begin().await?;
        threads::lock_key(&mut tx, thread).await?;
        let cancel: Option<Option<String>> = in_tx!(&mut tx, c =>
            sqlx::query_scalar(CANCEL_OF).bind(run.run_key).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the run", error))?;
        let cancel = cancel.flatten().as_deref().and_then(CancelAction::parse);
        let attempts = u32::try_from(run.attempt).unwrap_or(u32::MAX);
        let how = match cancel {
            Some(CancelAction::Interrupt) => Some(RunEnd::Cancelled),
            Some(CancelAction::Rollback) => Some(RunEnd::RolledBack),
            None if attempts >= max_attempts => {
                Some(RunEnd::Failed(end::too_many_attempts(attempts)))
            }
            None => None,
        };
        let mut signals = vec![Signal::Due, Signal::Log(ThreadKey(thread))];
        let recovered = match how {
            Some(how) => end_lost(&mut tx, run, thread, how, now).await,
            None => hand_back(&mut tx, run, now).await,
        };
        match recovered {
            Ok(more) => signals.extend(more),
            Err(error) if error.fault == Fault::Fenced => return Ok(false),
            Err(error) => return Err(error),
        }
        tx.commit().await?;
        self.0.notifier.tell(signals);
        Ok(true)
    }
}

/// Ends a run in its lost node's name.
async fn end_lost(
    tx: &mut Tx,
    run: &Expired,
    thread: i64,
    how: RunEnd,
    at: Ts,
) -> Result<Vec<Signal>> {
    let head = threads::lock_key(tx, thread).await?.and_then(|thread| thread.head);
    let lost = runs::get_in(tx, run.run_key).await?.ok_or_else(Error::fenced)?;
    let fence = Fence {
        run_key: RunKey(run.run_key),
        thread_key: ThreadKey(thread),
        attempt: run.attempt.unsigned_abs(),
    };
    let failed = matches!(how, RunEnd::Failed(_));
    let end = End {
        webhook: lost.spec.webhook.filter(|_| failed),
        deletes_thread: lost.spec.on_completion == OnCompletion::Delete,
        how,
        head,
        values: None,
        result: None,
    };
    let commit = Commit {
        fence,
        run_id: lost.id,
        puts: Vec::new(),
        tasks: Vec::new(),
        segment: None,
        trim_log_below: None,
        end: Some(end),
        at,
    };
    commit::write(tx, &commit).await
}

/// Puts a run back in the queue; [`Fault::Fenced`] if somebody else dealt with it.
async fn hand_back(tx: &mut Tx, run: &Expired, at: Ts) -> Result<Vec<Signal>> {
    let found = in_tx!(tx, c => sqlx::query(HAND_BACK).bind(run.run_key).bind(run.attempt).bind(at)
        .execute(c).await.map(|done| done.rows_affected()))
    .map_err(|error| fail("cannot hand the run back", error))?;
    if found == 0 { Err(Error::fenced()) } else { Ok(Vec::new()) }
}

/// Stands for the moment in which two nodes wanted the same thread.
const LOST_RACE: &str = "claim_race";

async fn take(
    tx: &mut Tx,
    candidate: &Candidate,
    worker: &str,
    lease: Duration,
    now: Ts,
) -> Result<Option<Claim>> {
    let sql = CLAIM.in_tx(tx);
    let marked = in_tx!(&mut *tx, c => sqlx::query(sql).bind(candidate.run_key).bind(worker)
        .bind(micros(lease)).bind(now).execute(c).await.map(|done| done.rows_affected()));
    match marked {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(error) if is_duplicate(&error) => {
            return Err(Error::conflict(LOST_RACE, "another run of the thread was claimed"));
        }
        Err(error) => return Err(fail("cannot claim the run", error)),
    }
    let first_seq = make_room(tx, candidate.thread_key, now).await?;
    let Some(run) = runs::get_in(tx, candidate.run_key).await? else { return Ok(None) };
    let fence = Fence {
        run_key: run.key,
        thread_key: ThreadKey(candidate.thread_key),
        attempt: run.attempt,
    };
    Ok(Some(Claim { run, fence, first_seq }))
}

/// Reserves numbers for an attempt's events; answers the first.
pub(super) async fn make_room(tx: &mut Tx, thread: i64, now: Ts) -> Result<u64> {
    let room = i64::try_from(Claim::SEQ_ROOM).unwrap_or(i64::MAX);
    let ceiling: i64 = in_tx!(tx, c => sqlx::query_scalar(ROOM).bind(thread).bind(room).bind(now)
        .fetch_one(c).await)
    .map_err(|error| fail("cannot reserve event numbers", error))?;
    Ok((ceiling - room + 1).unsigned_abs())
}

pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
