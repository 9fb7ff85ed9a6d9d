//! Accepting a run: the thread, what is asked on it, its other runs, the queue; all in one
//! transaction, and claimed in it where nothing stands in the way.

use std::time::Duration;

use sqlx::FromRow;
use uuid::Uuid;

use crate::domain::checkpoint::Answers;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{Owner, ThreadKey};
use crate::domain::interrupt::{self, Interrupt};
use crate::domain::run::{CancelAction, Multitask, Run, RunStatus};
use crate::domain::thread::ThreadStatus;
use crate::executor::port::{Claim, Fence, Signal};
use crate::storage::db::{Tx, in_tx};
use crate::storage::dialect::CLAIM;
use crate::storage::error::fail;
use crate::storage::threads::Locked;
use crate::storage::types::opaque;
use crate::storage::{
    Created, NewRun, OnPause, Store, Target, claim, docs, interrupts, runs, threads,
};

const KNOWN: &str = "select run_key, fingerprint from runs \
     where owner = $1 and idempotency_key = $2";
const QUEUED: &str = "select count(*) from runs where status = 'pending'";
const QUEUED_OF: &str = "select count(*) from runs where status = 'pending' and owner = $1";
const INSERT: &str = "insert into runs \
     (run_id, owner, thread_id, thread_key, agent_id, status, spec, base, idempotency_key, \
      fingerprint, created_at, updated_at, due_at) \
     select $1, $2, t.thread_id, t.thread_key, $3, 'pending', $4, null, $5, $6, $7, $7, $8 \
     from threads t where t.thread_key = $9 returning run_key";
const THREAD: &str = "update threads set status = 'busy', agent_id = $2, interrupts = $3, \
     updated_at = $4 where thread_key = $1";

#[derive(FromRow)]
struct Known {
    run_key: i64,
    fingerprint: Option<String>,
}

impl Store {
    /// Accepts a run.
    ///
    /// # Errors
    /// `thread_not_found`, `thread_busy` ([`Fault::Busy`] where the run wants a free thread,
    /// [`Fault::Conflict`] for a resume), what [`OnPause`] says, `idempotency_conflict`, and
    /// `queue_full` ([`Fault::Limited`]).
    pub async fn run_create(&self, new: NewRun) -> Result<Created> {
        let mut tx = self.0.db.begin().await?;
        if let Some(created) = known(&mut tx, &new).await? {
            return Ok(created);
        }
        check_queue(&mut tx, &new).await?;
        let locked = lock_target(&mut tx, &new).await?;
        let mut signals = Vec::new();
        let unfinished = runs::unfinished_in(&mut tx, locked.thread_key).await?;
        let waiting = make_way(&mut tx, &new, &locked, unfinished, &mut signals).await?;
        let (new, asked, answers) = settle_pause(new, &locked, waiting)?;
        let created = write(&mut tx, &new, &locked, &asked, &answers, waiting).await?;
        tx.commit().await?;
        if created.claim.is_none() {
            signals.push(Signal::Due);
        }
        self.0.notifier.tell(signals);
        Ok(created)
    }
}

/// The run that was accepted before under the same idempotency key.
async fn known(tx: &mut Tx, new: &NewRun) -> Result<Option<Created>> {
    let Some((key, fingerprint)) = &new.idempotency else { return Ok(None) };
    let found: Option<Known> = in_tx!(&mut *tx, c => sqlx::query_as(KNOWN)
        .bind(new.owner.as_str()).bind(key).fetch_optional(c).await)
    .map_err(|error| fail("cannot look for the run", error))?;
    let Some(found) = found else { return Ok(None) };
    if found.fingerprint.as_ref() != Some(fingerprint) {
        let public = "this idempotency key was used for another request";
        return Err(Error::conflict("idempotency_conflict", public));
    }
    let run = runs::get_in(tx, found.run_key).await?;
    let Some(run) = run else { return Ok(None) };
    let thread = match run.thread_key {
        Some(key) => threads::get_in(tx, key.0).await?,
        None => None,
    };
    match thread {
        Some(thread) => Ok(Some(Created { run, thread, claim: None, existing: true })),
        None => Err(Error::conflict("idempotency_conflict", "the run's thread is gone")),
    }
}

async fn check_queue(tx: &mut Tx, new: &NewRun) -> Result<()> {
    let full = |limit: u32| {
        let public = format!("{limit} runs are waiting already");
        Err(Error::new(Fault::Limited, "queue_full", public))
    };
    let failed = |error| fail("cannot count waiting runs", error);
    if let Some(limit) = new.queued_runs {
        let queued: i64 =
            in_tx!(&mut *tx, c => sqlx::query_scalar(QUEUED).fetch_one(c).await).map_err(failed)?;
        if queued >= i64::from(limit) {
            return full(limit);
        }
    }
    if let Some(limit) = new.queued_runs_per_owner {
        let queued: i64 = in_tx!(&mut *tx, c => sqlx::query_scalar(QUEUED_OF)
            .bind(new.owner.as_str()).fetch_one(c).await)
        .map_err(failed)?;
        if queued >= i64::from(limit) {
            return full(limit);
        }
    }
    Ok(())
}

/// Locks the thread that the run is for, made first if it may be.
async fn lock_target(tx: &mut Tx, new: &NewRun) -> Result<Locked> {
    let id = match &new.target {
        Target::Existing(id) => *id,
        Target::Ensured(thread) => {
            if let Some(key) = threads::insert(tx, thread).await? {
                // Just made: nobody else can see it.
                return Ok(Locked {
                    thread_key: key,
                    status: ThreadStatus::Idle.as_str().to_owned(),
                    head: None,
                    interrupts: "[]".to_owned(),
                });
            }
            thread.id
        }
    };
    let owner: &Owner = &new.owner;
    threads::lock(tx, owner, id)
        .await?
        .ok_or_else(|| Error::not_found("thread_not_found", format!("there is no thread {id}")))
}

/// Deals with the thread's unfinished runs; answers whether this one has to wait for any.
async fn make_way(
    tx: &mut Tx,
    new: &NewRun,
    locked: &Locked,
    unfinished: Vec<Run>,
    signals: &mut Vec<Signal>,
) -> Result<bool> {
    if unfinished.is_empty() {
        return Ok(false);
    }
    let public = "the thread has an unfinished run";
    if matches!(new.on_pause, OnPause::Resume(_)) {
        return Err(Error::conflict("thread_busy", public));
    }
    let action = match new.spec.multitask {
        Multitask::Reject => return Err(Error::new(Fault::Busy, "thread_busy", public)),
        Multitask::Enqueue => return Ok(true),
        Multitask::Interrupt => CancelAction::Interrupt,
        Multitask::Rollback => CancelAction::Rollback,
    };
    let mut waiting = false;
    for run in unfinished {
        if run.status == RunStatus::Running {
            runs::mark(tx, run.key.0, action, new.created_at).await?;
            signals.push(Signal::Cancel(run.key));
            waiting = true;
        } else {
            runs::cancel_pending(tx, &run, locked.thread_key, action, new.created_at).await?;
        }
    }
    signals.push(Signal::Log(ThreadKey(locked.thread_key)));
    Ok(waiting)
}

/// What the run does about the questions that are open: which stay so, and which it answers.
fn settle_pause(
    mut new: NewRun,
    locked: &Locked,
    waiting: bool,
) -> Result<(NewRun, Vec<Interrupt>, Answers)> {
    let open = if waiting { Vec::new() } else { locked.interrupts()? };
    match &new.on_pause {
        OnPause::Keep => Ok((new, open, Answers::new())),
        OnPause::Withdraw => Ok((new, Vec::new(), Answers::new())),
        OnPause::Refuse if open.is_empty() => Ok((new, open, Answers::new())),
        OnPause::Refuse => {
            Err(Error::conflict("thread_interrupted", "the thread waits for an answer"))
        }
        OnPause::Resume(value) => {
            let answers = interrupt::resolve("command.resume", &open, value)?;
            let left = open.into_iter().filter(|one| !answers.contains_key(&one.id)).collect();
            new.spec.command.get_or_insert_default().answers = answers.clone();
            Ok((new, left, answers))
        }
    }
}

async fn write(
    tx: &mut Tx,
    new: &NewRun,
    locked: &Locked,
    asked: &[Interrupt],
    answers: &Answers,
    waiting: bool,
) -> Result<Created> {
    let (thread, now) = (locked.thread_key, new.created_at);
    let key = insert(tx, new, thread).await?;
    interrupts::answer(tx, thread, answers, new.id, now).await?;
    if matches!(new.on_pause, OnPause::Withdraw) && locked.interrupts != "[]" && !waiting {
        interrupts::withdraw(tx, thread, Some(new.id), now).await?;
    }
    let asked = if waiting { locked.interrupts.clone() } else { opaque(&asked)? };
    in_tx!(&mut *tx, c => sqlx::query(THREAD).bind(thread).bind(new.agent_id.as_str()).bind(&asked)
        .bind(now).execute(c).await.map(drop))
    .map_err(|error| fail("cannot update the thread", error))?;
    let claimed = match &new.claim_for {
        Some((worker, lease)) if !waiting && new.due_at <= now => {
            Some(claim_at_once(tx, key, thread, worker, *lease, now).await?)
        }
        Some(_) | None => None,
    };
    let gone = || Error::internal("the run could not be read back");
    let run = runs::get_in(tx, key).await?.ok_or_else(gone)?;
    let thread = threads::get_in(tx, thread).await?.ok_or_else(gone)?;
    let claim = claimed.map(|first_seq| {
        let fence = Fence { run_key: run.key, thread_key: thread.key, attempt: run.attempt };
        Claim { run: run.clone(), fence, first_seq }
    });
    // Whoever created it is told that it is pending, always.
    let run = Run { status: RunStatus::Pending, ..run };
    Ok(Created { run, thread, claim, existing: false })
}

async fn insert(tx: &mut Tx, new: &NewRun, thread: i64) -> Result<i64> {
    let (idempotency_key, fingerprint) = new.idempotency.clone().unzip();
    let (spec, id): (String, Uuid) = (opaque(&new.spec)?, new.id.0);
    let key: i64 = in_tx!(&mut *tx, c => sqlx::query_scalar(INSERT).bind(id)
        .bind(new.owner.as_str()).bind(new.agent_id.as_str()).bind(&spec).bind(&idempotency_key)
        .bind(&fingerprint).bind(new.created_at).bind(new.due_at).bind(thread)
        .fetch_one(c).await)
    .map_err(|error| fail("cannot create the run", error))?;
    if !new.metadata.is_empty() {
        docs::put_run_metadata(tx, key, &new.metadata).await?;
    }
    Ok(key)
}

async fn claim_at_once(
    tx: &mut Tx,
    run: i64,
    thread: i64,
    worker: &str,
    lease: Duration,
    now: crate::domain::Ts,
) -> Result<u64> {
    let sql = CLAIM.in_tx(tx);
    in_tx!(&mut *tx, c => sqlx::query(sql).bind(run).bind(worker).bind(claim::micros(lease))
        .bind(now).execute(c).await.map(drop))
    .map_err(|error| fail("cannot claim the run", error))?;
    claim::make_room(tx, thread, now).await
}
