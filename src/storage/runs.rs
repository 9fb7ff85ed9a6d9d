//! Table `runs`, as callers see it.

use serde_json::{Map, Value};
use sqlx::FromRow;
use sqlx::types::Json;
use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{AgentId, CheckpointId, Owner, RunId, RunKey, ThreadId, ThreadKey};
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::run::{CancelAction, OnCompletion, Run, RunStatus};
use crate::domain::thread::{Thread, ThreadStatus};
use crate::executor::port::Signal;
use crate::storage::db::{Tx, in_tx, on_db};
use crate::storage::error::fail;
use crate::storage::filter::{Arg, Search};
use crate::storage::types::read_opaque;
use crate::storage::{CancelOutcome, RunFilter, Store, docs, end, interrupts, threads};

macro_rules! select_runs {
    ($rest:literal) => {
        concat!(
            "select r.run_key, r.run_id, r.owner, r.thread_id, r.thread_key, r.agent_id, r.status, \
             r.attempt, r.cancel, r.spec, r.error, r.interrupts, r.base, r.head, r.result, \
             r.created_at, r.updated_at, r.due_at, d.metadata \
             from runs r left join run_docs d on d.run_key = r.run_key where ",
            $rest
        )
    };
}

const GET: &str = select_runs!("r.owner = $1 and r.run_id = $2");
const GET_BY_KEY: &str = select_runs!("r.run_key = $1");
const GET_BY_ID: &str = select_runs!("r.run_id = $1");
const SEARCH: &str = select_runs!("");
const UNFINISHED: &str =
    select_runs!("r.thread_key = $1 and r.status in ('pending', 'running') order by r.run_key");
const DELETE: &str = "delete from runs where run_key = $1 and status not in ('pending', 'running')";
const DELETE_LOG: &str = "delete from run_log where run_id = $1";
const MARK: &str = "update runs set cancel = $2, updated_at = $3 where run_key = $1";
const CANCEL: &str = "update runs set status = 'cancelled', interrupts = '[]', updated_at = $2 \
     where run_key = $1";

#[derive(FromRow)]
pub(super) struct RunRow {
    run_key: i64,
    run_id: Uuid,
    owner: String,
    thread_id: Uuid,
    thread_key: Option<i64>,
    agent_id: String,
    status: String,
    attempt: i32,
    cancel: Option<String>,
    spec: String,
    error: Option<String>,
    interrupts: String,
    base: Option<Uuid>,
    head: Option<Uuid>,
    result: Option<String>,
    created_at: Ts,
    updated_at: Ts,
    due_at: Ts,
    metadata: Option<Json<Map<String, Value>>>,
}

impl RunRow {
    pub(super) fn into_run(self) -> Result<Run> {
        let status = RunStatus::parse(&self.status).ok_or_else(|| {
            Error::internal("a stored value could not be read")
                .caused_by(format!("runs.status: {}", self.status))
        })?;
        Ok(Run {
            id: RunId(self.run_id),
            key: RunKey(self.run_key),
            owner: Owner::new(self.owner),
            thread_id: ThreadId(self.thread_id),
            thread_key: self.thread_key.map(ThreadKey),
            agent_id: AgentId::new(self.agent_id),
            status,
            attempt: self.attempt.unsigned_abs(),
            metadata: self.metadata.map(|Json(metadata)| metadata).unwrap_or_default(),
            spec: read_opaque("runs.spec", &self.spec)?,
            error: self.error.map(|text| read_opaque("runs.error", &text)).transpose()?,
            interrupts: read_opaque("runs.interrupts", &self.interrupts)?,
            base: self.base.map(CheckpointId),
            head: self.head.map(CheckpointId),
            result: self.result.map(|text| read_opaque("runs.result", &text)).transpose()?,
            cancel: self.cancel.as_deref().and_then(CancelAction::parse),
            created_at: self.created_at,
            updated_at: self.updated_at,
            due_at: self.due_at,
        })
    }
}

pub(super) async fn get_in(tx: &mut Tx, key: i64) -> Result<Option<Run>> {
    in_tx!(tx, c => sqlx::query_as::<_, RunRow>(GET_BY_KEY).bind(key).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the run", error))?
        .map(RunRow::into_run)
        .transpose()
}

/// The unfinished runs of a thread, oldest first.
pub(super) async fn unfinished_in(tx: &mut Tx, thread: i64) -> Result<Vec<Run>> {
    in_tx!(tx, c => sqlx::query_as::<_, RunRow>(UNFINISHED).bind(thread).fetch_all(c).await)
        .map_err(|error| fail("cannot read the thread's runs", error))?
        .into_iter()
        .map(RunRow::into_run)
        .collect()
}

impl Store {
    pub async fn run_get(&self, owner: &Owner, id: RunId) -> Result<Option<Run>> {
        on_db!(self.0.db.reader(), c => sqlx::query_as::<_, RunRow>(GET).bind(owner.as_str())
            .bind(id.0).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the run", error))?
        .map(RunRow::into_run)
        .transpose()
    }

    /// A run whoever owns it: for the server's own work.
    pub(super) async fn run_of_id(&self, id: Uuid) -> Result<Option<Run>> {
        on_db!(self.0.db.reader(), c => sqlx::query_as::<_, RunRow>(GET_BY_ID).bind(id)
            .fetch_optional(c).await)
        .map_err(|error| fail("cannot read the run", error))?
        .map(RunRow::into_run)
        .transpose()
    }

    /// Newest first by creation, ties by id.
    pub async fn run_search(
        &self,
        owner: &Owner,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Vec<Run>> {
        let mut search = Search::new(&self.0.db, SEARCH, "r.owner", owner);
        if let Some(thread) = filter.thread_id {
            search.and("r.thread_id = ?", [Arg::Uuid(thread.0)]);
        }
        if let Some(agent) = &filter.agent_id {
            search.and("r.agent_id = ?", [Arg::Text(agent.to_string())]);
        }
        if !filter.status.is_empty() {
            let marks = vec!["?"; filter.status.len()].join(", ");
            let names = filter.status.iter().map(|status| Arg::Text(status.as_str().to_owned()));
            search.and(&format!("r.status in ({marks})"), names);
        }
        search.containing("d.metadata", docs::RUN_METADATA, "r.run_key", &filter.metadata);
        let pattern = Value::Object(filter.metadata.clone());
        let keep = |row: RunRow| {
            let run = row.into_run()?;
            let document = Value::Object(run.metadata.clone());
            Ok(json::contains(&document, &pattern).then_some(run))
        };
        let order = "r.created_at desc, r.run_id";
        search.page(self.0.db.reader(), "cannot search runs", order, page, keep).await
    }

    /// The unfinished runs of a thread, oldest first.
    pub async fn run_unfinished(&self, key: ThreadKey) -> Result<Vec<Run>> {
        on_db!(self.0.db.reader(), c => sqlx::query_as::<_, RunRow>(UNFINISHED).bind(key.0)
            .fetch_all(c).await)
        .map_err(|error| fail("cannot read the thread's runs", error))?
        .into_iter()
        .map(RunRow::into_run)
        .collect()
    }

    /// `false`: there is no such run.
    ///
    /// # Errors
    /// `run_unfinished` (conflict) while it is pending or running.
    pub async fn run_delete(&self, owner: &Owner, id: RunId) -> Result<bool> {
        let Some(run) = self.run_get(owner, id).await? else { return Ok(false) };
        let mut tx = self.0.db.begin().await?;
        let deleted = in_tx!(&mut tx, c => sqlx::query(DELETE).bind(run.key.0).execute(c).await
            .map(|done| done.rows_affected()))
        .map_err(|error| fail("cannot delete the run", error))?;
        if deleted == 0 {
            if get_in(&mut tx, run.key.0).await?.is_none() {
                return Ok(false);
            }
            let public = "the run is not over; cancel it first";
            return Err(Error::conflict("run_unfinished", public));
        }
        docs::unindex(&mut tx, docs::RUN_METADATA, run.key.0).await?;
        in_tx!(&mut tx, c => sqlx::query(DELETE_LOG).bind(id.0).execute(c).await.map(drop))
            .map_err(|error| fail("cannot delete the run's log", error))?;
        tx.commit().await?;
        Ok(true)
    }

    /// A pending run is over at once, and gone with [`CancelAction::Rollback`]; a paused one is
    /// cancelled and what it asked is withdrawn; a running one is marked, and its node told.
    pub async fn run_cancel(
        &self,
        owner: &Owner,
        id: RunId,
        action: CancelAction,
        at: Ts,
    ) -> Result<CancelOutcome> {
        let Some(seen) = self.run_get(owner, id).await? else { return Ok(CancelOutcome::NotFound) };
        let mut tx = self.0.db.begin().await?;
        let locked = match seen.thread_key {
            Some(thread) => threads::lock_key(&mut tx, thread.0).await?,
            None => None,
        };
        let Some(locked) = locked else { return Ok(CancelOutcome::AlreadyOver) };
        let Some(run) = get_in(&mut tx, seen.key.0).await? else {
            return Ok(CancelOutcome::NotFound);
        };
        let thread = locked.key.0;
        let outcome = match run.status {
            RunStatus::Pending => {
                cancel_pending(&mut tx, &run, &locked, action, at).await?;
                CancelOutcome::Cancelled
            }
            RunStatus::Running => {
                mark(&mut tx, run.key.0, action, at).await?;
                CancelOutcome::Requested
            }
            RunStatus::Paused if is_what_waits(&locked, &run) => {
                cancel_paused(&mut tx, &run, &locked, action, at).await?;
                CancelOutcome::Cancelled
            }
            _ => return Ok(CancelOutcome::AlreadyOver),
        };
        let deletes = run.spec.on_completion == OnCompletion::Delete;
        if outcome == CancelOutcome::Cancelled
            && deletes
            && threads::unfinished(&mut tx, thread).await? == 0
        {
            threads::delete_in(&mut tx, thread).await?;
        }
        tx.commit().await?;
        let told = match outcome {
            CancelOutcome::Requested => vec![Signal::Cancel(run.key)],
            _ => vec![Signal::Log(ThreadKey(thread)), Signal::Due],
        };
        self.0.notifier.tell(told);
        Ok(outcome)
    }
}

/// Whether what the run asked is what the thread waits for.
fn is_what_waits(thread: &Thread, run: &Run) -> bool {
    let open = |id| thread.interrupts.iter().any(|one| one.id == id);
    thread.status == ThreadStatus::Interrupted && run.interrupts.iter().any(|one| open(one.id))
}

/// Ends a run that never started, or forgets it. What the thread asks is no concern of it.
pub(super) async fn cancel_pending(
    tx: &mut Tx,
    run: &Run,
    thread: &Thread,
    action: CancelAction,
    at: Ts,
) -> Result<()> {
    if action == CancelAction::Rollback {
        return end::forget(tx, run.key.0, thread.key.0, run.id, at).await;
    }
    cancel(tx, run, at).await?;
    end::settle_open(tx, thread.key.0, run.key.0, &thread.interrupts, ThreadStatus::Idle, at).await
}

/// Gives up what a run asked; a rollback undoes it, unless the thread has moved on since.
async fn cancel_paused(
    tx: &mut Tx,
    run: &Run,
    thread: &Thread,
    action: CancelAction,
    at: Ts,
) -> Result<()> {
    if action == CancelAction::Rollback && run.head == thread.head {
        return end::roll_back(tx, run.key.0, thread.key.0, run.id, at).await;
    }
    cancel(tx, run, at).await?;
    interrupts::withdraw(tx, thread.key.0, Some(run.id), at).await?;
    end::settle_open(tx, thread.key.0, run.key.0, &[], ThreadStatus::Idle, at).await
}

async fn cancel(tx: &mut Tx, run: &Run, at: Ts) -> Result<()> {
    in_tx!(tx, c => sqlx::query(CANCEL).bind(run.key.0).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot cancel the run", error))
}

/// Asks a running run's node to stop it.
pub(super) async fn mark(tx: &mut Tx, key: i64, action: CancelAction, at: Ts) -> Result<()> {
    in_tx!(tx, c => sqlx::query(MARK).bind(key).bind(action.as_str()).bind(at).execute(c).await.map(drop))
        .map_err(|error| fail("cannot mark the run", error))
}
