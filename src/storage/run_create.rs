//! Accepting a run: the thread, what is asked on it, its other runs, the queue; all in one
//! transaction, and claimed in it where nothing stands in the way.

use std::time::Duration;

use sqlx::FromRow;

use crate::domain::checkpoint::Answers;
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{AgentId, RunKey};
use crate::domain::interrupt::{self, Interrupt};
use crate::domain::run::{CancelAction, Multitask, Run, RunStatus};
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::{Claim, Fence, Signal};
use crate::storage::db::{Db, Tx, in_tx};
use crate::storage::dialect::RUN_INSERT;
use crate::storage::error::{fail, is_duplicate};
use crate::storage::notify::Notifier;
use crate::storage::types::opaque;
use crate::storage::{
    Created, NewRun, OnPause, Store, Target, claim, docs, interrupts, runs, threads,
};

const KNOWN: &str = "select run_key, fingerprint from runs \
     where owner = $1 and idempotency_key = $2";
const QUEUED: &str = "select count(*) from runs where status = 'pending'";
const QUEUED_OF: &str = "select count(*) from runs where status = 'pending' and owner = $1";
const THREAD: &str = "update threads set status = 'busy', agent_id = $2, interrupts = $3, \
     updated_at = $4, seq = seq + $5 where thread_key = $1 returning seq";

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
        match &self.0.db {
            // One writer: runs that are accepted together share a transaction.
            Db::Lite(_) => self.0.writes.create(new).await,
            Db::Pg(_) => Box::pin(create_alone(&self.0.db, &self.0.notifier, new)).await,
        }
    }
}

/// Accepts a run in a transaction of its own.
pub(super) async fn create_alone(db: &Db, notifier: &Notifier, new: NewRun) -> Result<Created> {
    let attempt = accept_alone(db, new.clone()).await;
    let accepted = match attempt {
        // The same request came twice at once: now the first one is there to be found.
        Err(error) if error.code == SAME_KEY => accept_alone(db, new).await,
        other => other,
    };
    let (created, signals) = accepted?;
    notifier.tell(signals);
    Ok(created)
}

async fn accept_alone(db: &Db, new: NewRun) -> Result<(Created, Vec<Signal>)> {
    let mut tx = db.begin().await?;
    let accepted = accept(&mut tx, new).await?;
    tx.commit().await?;
    Ok(accepted)
}

/// Stands for the moment in which two requests with one idempotency key were accepted.
const SAME_KEY: &str = "idempotency_race";

/// Accepts a run; answers what to tell others after the commit.
pub(super) async fn accept(tx: &mut Tx, new: NewRun) -> Result<(Created, Vec<Signal>)> {
    if let Some(created) = known(tx, &new).await? {
        return Ok((created, Vec::new()));
    }
    check_queue(tx, &new).await?;
    let locked = lock_target(tx, &new).await?;
    let mut signals = Vec::new();
    let (locked, waiting) = make_way(tx, &new, locked, &mut signals).await?;
    let (new, asked, answers) = settle_pause(new, &locked, waiting)?;
    let created = write(tx, new, locked, asked, &answers, waiting).await?;
    if created.claim.is_none() {
        signals.push(Signal::Due);
    }
    Ok((created, signals))
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
async fn lock_target(tx: &mut Tx, new: &NewRun) -> Result<Thread> {
    let id = match &new.target {
        Target::Existing(id) => *id,
        Target::Ensured(thread) => {
            if let Some(key) = threads::insert(tx, thread).await? {
                // Just made: nobody else can see it.
                return Ok(threads::fresh(thread.clone(), key));
            }
            thread.id
        }
    };
    threads::lock(tx, &new.owner, id)
        .await?
        .ok_or_else(|| Error::not_found("thread_not_found", format!("there is no thread {id}")))
}

/// Deals with the thread's unfinished runs; answers the thread, and whether this one has to wait
/// for any.
async fn make_way(
    tx: &mut Tx,
    new: &NewRun,
    locked: Thread,
    signals: &mut Vec<Signal>,
) -> Result<(Thread, bool)> {
    // A thread is busy exactly while it has unfinished runs.
    if locked.status != ThreadStatus::Busy {
        return Ok((locked, false));
    }
    let public = "the thread has an unfinished run";
    if matches!(new.on_pause, OnPause::Resume(_)) {
        return Err(Error::conflict("thread_busy", public));
    }
    let action = match new.spec.multitask {
        Multitask::Reject => return Err(Error::new(Fault::Busy, "thread_busy", public)),
        Multitask::Enqueue => return Ok((locked, true)),
        Multitask::Interrupt => CancelAction::Interrupt,
        Multitask::Rollback => CancelAction::Rollback,
    };
    let mut waiting = false;
    for run in runs::unfinished_in(tx, locked.key.0).await? {
        if run.status == RunStatus::Running {
            runs::mark(tx, run.key.0, action, new.created_at).await?;
            signals.push(Signal::Cancel(run.key));
            waiting = true;
        } else {
            runs::cancel_pending(tx, &run, &locked, action, new.created_at).await?;
        }
    }
    signals.push(Signal::Log(locked.key));
    // What a run that is undone had answered is open again.
    let key = locked.key.0;
    Ok((threads::get_in(tx, key).await?.unwrap_or(locked), waiting))
}

/// What the run does about the questions that are open: which stay so, and which it answers.
fn settle_pause(
    mut new: NewRun,
    locked: &Thread,
    waiting: bool,
) -> Result<(NewRun, Vec<Interrupt>, Answers)> {
    let open = if waiting { Vec::new() } else { locked.interrupts.clone() };
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

/// Writes the run and what it means for its thread; claimed where nothing stands in the way.
async fn write(
    tx: &mut Tx,
    new: NewRun,
    thread: Thread,
    asked: Vec<Interrupt>,
    answers: &Answers,
    waiting: bool,
) -> Result<Created> {
    let (now, at_once) = (new.created_at, !waiting && new.due_at <= new.created_at);
    let claim_for = new.claim_for.clone().filter(|_| at_once);
    let run = insert(tx, &new, &thread, claim_for.as_ref()).await?;
    interrupts::answer(tx, thread.key.0, answers, run.id, now).await?;
    if matches!(new.on_pause, OnPause::Withdraw) && !thread.interrupts.is_empty() && !waiting {
        interrupts::withdraw(tx, thread.key.0, Some(run.id), now).await?;
    }
    let thread = Thread {
        status: ThreadStatus::Busy,
        interrupts: if waiting { thread.interrupts } else { asked },
        agent_id: Some(run.agent_id.clone()),
        updated_at: now,
        ..thread
    };
    let first_seq = occupy(tx, &thread, claim_for.is_some()).await?;
    let claim = claim_for.map(|_| {
        let fence = Fence { run_key: run.key, thread_key: thread.key, attempt: run.attempt };
        Claim { run: run.clone(), fence, first_seq }
    });
    // Whoever created it is told that it is pending, always.
    let run = Run { status: RunStatus::Pending, ..run };
    Ok(Created { run, thread, claim, existing: false })
}

async fn insert(
    tx: &mut Tx,
    new: &NewRun,
    thread: &Thread,
    claim_for: Option<&(String, Duration)>,
) -> Result<Run> {
    let mut run = Run {
        id: new.id,
        key: RunKey(0),
        owner: new.owner.clone(),
        thread_id: thread.id,
        thread_key: Some(thread.key),
        agent_id: new.agent_id.clone(),
        status: RunStatus::Pending,
        attempt: 0,
        metadata: new.metadata.clone(),
        spec: new.spec.clone(),
        error: None,
        interrupts: Vec::new(),
        base: None,
        head: None,
        result: None,
        cancel: None,
        created_at: new.created_at,
        updated_at: new.created_at,
        due_at: new.due_at,
    };
    if claim_for.is_some() {
        (run.status, run.attempt, run.base) = (RunStatus::Running, 1, thread.head);
    }
    let (worker, lease) = claim_for.map(|(worker, lease)| (worker, claim::micros(*lease))).unzip();
    let (idempotency_key, fingerprint) = new.idempotency.clone().unzip();
    let attempt = i32::try_from(run.attempt).unwrap_or(i32::MAX);
    let (sql, spec) = (RUN_INSERT.in_tx(tx), opaque(&new.spec)?);
    let key = in_tx!(&mut *tx, c => sqlx::query_scalar(sql).bind(run.id.0)
        .bind(run.owner.as_str()).bind(run.thread_id.0).bind(thread.key.0)
        .bind(run.agent_id.as_str()).bind(run.status.as_str()).bind(attempt).bind(worker)
        .bind(lease).bind(run.base.map(|base| base.0)).bind(&spec).bind(&idempotency_key)
        .bind(&fingerprint).bind(run.created_at).bind(run.due_at).fetch_one(c).await)
    .map_err(|error| {
        if is_duplicate(&error) {
            return Error::conflict(SAME_KEY, "the same request was accepted at this moment");
        }
        fail("cannot create the run", error)
    })?;
    run.key = RunKey(key);
    if !run.metadata.is_empty() {
        docs::put_run_metadata(tx, &[(key, &run.metadata)]).await?;
    }
    Ok(run)
}

/// Writes what the run means for its thread; answers the first number of its events, if it has any.
async fn occupy(tx: &mut Tx, thread: &Thread, claimed: bool) -> Result<u64> {
    let room = if claimed { i64::try_from(Claim::SEQ_ROOM).unwrap_or(i64::MAX) } else { 0 };
    let agent = thread.agent_id.as_ref().map(AgentId::as_str);
    let asked = opaque(&thread.interrupts)?;
    let ceiling: i64 = in_tx!(tx, c => sqlx::query_scalar(THREAD).bind(thread.key.0).bind(agent)
        .bind(&asked).bind(thread.updated_at).bind(room).fetch_one(c).await)
    .map_err(|error| fail("cannot update the thread", error))?;
    Ok((ceiling - room + 1).unsigned_abs())
}
