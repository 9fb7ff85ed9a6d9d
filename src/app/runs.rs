//! Runs, as a caller uses them.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::agents::intake;
use crate::agents::registry::Agent;
use crate::app::{App, Caller, Follow, disconnect, webhooks};
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{AgentId, Namespace, RunId, ThreadId};
use crate::domain::interrupt;
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::run::{CancelAction, Run, RunResult, RunSpec};
use crate::domain::thread::{Thread, ThreadStatus};
use crate::storage::{CancelOutcome, Created, NewRun, NewThread, OnPause, RunFilter, Target};

/// The thread a run is for.
#[derive(Clone, Debug)]
pub enum ThreadTarget {
    /// A thread of its own, deleted afterwards unless the run says otherwise.
    Stateless,
    /// `thread_not_found` if it is missing.
    Existing(ThreadId),
    /// Made if it is missing, with this metadata.
    Ensured(ThreadId, Map<String, Value>),
}

/// What a run does about interrupts that are open on its thread.
#[derive(Clone, PartialEq, Debug)]
pub enum Pause {
    /// They are answered with this value. Wrong review decisions are refused (`invalid_decision`).
    Resume(Value),
    /// They are withdrawn: the run's input starts over.
    Abandon,
    /// The run is refused (`thread_interrupted`).
    Refuse,
}

/// A run to be started.
pub struct StartRun {
    pub target: ThreadTarget,
    /// An id or alias; the thread's last agent or the default if absent.
    pub agent: Option<String>,
    pub spec: RunSpec,
    pub metadata: Map<String, Value>,
    pub pause: Pause,
    /// The caller's key and a fingerprint of its request.
    pub idempotency: Option<(String, String)>,
    /// Not before this much time has passed.
    pub delay: Option<Duration>,
}

/// A run that was accepted.
#[derive(Clone, Debug)]
pub struct Started {
    pub run: Run,
    pub thread: Thread,
    /// By its idempotency key it was there already.
    pub existing: bool,
}

/// A run that is over (or paused), with what it left.
#[derive(Clone, Debug)]
pub struct Finished {
    pub run: Run,
    pub result: RunResult,
}

impl App {
    /// Accepts the run and answers at once. Bad input is refused here, not in the run.
    pub async fn run_start(&self, who: &Caller, start: StartRun) -> Result<Started> {
        self.accepted(who, start, |app, Created { run, thread, claim, existing }| {
            if let Some(claim) = claim {
                app.0.executor.start(claim);
            }
            Started { run, thread, existing }
        })
        .await
    }

    /// Accepts the run and waits for its end. If the future is dropped before, the run is
    /// cancelled where it says so (`on_disconnect`).
    pub async fn run_start_and_wait(&self, who: &Caller, start: StartRun) -> Result<Finished> {
        let accepted = self.accepted(who, start, |app, Created { run, claim, .. }| {
            if let Some(claim) = claim {
                app.0.executor.start(claim);
            }
            (disconnect::Guard::new(app.clone(), &run), run)
        });
        let (guard, run) = accepted.await?;
        let finished = self.wait_for(run).await;
        guard.disarm();
        finished
    }

    /// Accepts the run and follows it from its first event. If the follow is dropped before the
    /// end, the run is cancelled where it says so.
    pub async fn run_start_and_follow(&self, who: &Caller, start: StartRun) -> Result<Follow> {
        let accepted = self.accepted(who, start, |app, Created { run, claim, .. }| {
            let guard = disconnect::Guard::new(app.clone(), &run);
            let follow = claim.map(|claim| {
                // Followed before it starts, so that the feed is there for its first event.
                let follow = app.follow_claimed(run.clone(), claim.first_seq - 1);
                app.0.executor.start(claim);
                follow
            });
            (guard, run, follow)
        });
        let (guard, run, follow) = accepted.await?;
        let follow = match follow {
            Some(follow) => follow,
            None => self.run_follow(who, run.id, crate::app::From::After(0)).await?,
        };
        Ok(guard.watch(follow))
    }

    pub async fn run_get(&self, who: &Caller, id: RunId) -> Result<Run> {
        self.0.store.run_get(&who.owner, id).await?.ok_or_else(|| missing(id))
    }

    /// Newest first.
    pub async fn run_search(
        &self,
        who: &Caller,
        filter: &RunFilter,
        page: Page,
    ) -> Result<Vec<Run>> {
        json::refuse_nul_in("metadata", &filter.metadata)?;
        self.0.store.run_search(&who.owner, filter, page).await
    }

    /// `run_unfinished` (conflict) while it is not over.
    pub async fn run_delete(&self, who: &Caller, id: RunId) -> Result<()> {
        let found = self.0.store.run_delete(&who.owner, id).await?;
        if found { Ok(()) } else { Err(missing(id)) }
    }

    /// Nothing happens to a run that is over. With `wait`, answers when it is.
    pub async fn run_cancel(
        &self,
        who: &Caller,
        id: RunId,
        action: CancelAction,
        wait: bool,
    ) -> Result<()> {
        let run = self.run_get(who, id).await?;
        let now = self.0.clock.now();
        match self.0.store.run_cancel(&who.owner, id, action, now).await? {
            CancelOutcome::NotFound => return Err(missing(id)),
            CancelOutcome::AlreadyOver | CancelOutcome::Cancelled => return Ok(()),
            CancelOutcome::Requested => self.0.executor.cancel(run.key, action),
        }
        if !wait {
            return Ok(());
        }
        match self.wait_for(run).await {
            // Rolled back: that it is gone is what was asked for.
            Err(error) if error.fault == Fault::NotFound => Ok(()),
            waited => waited.map(drop),
        }
    }

    /// Accepts the run, and does `then`, in a task of their own: a caller that goes away in between
    /// leaves no run that is claimed and not started.
    async fn accepted<T: Send + 'static>(
        &self,
        who: &Caller,
        start: StartRun,
        then: impl FnOnce(&Self, Created) -> T + Send + 'static,
    ) -> Result<T> {
        let (app, who) = (self.clone(), who.clone());
        let accepting = async move {
            let created = app.accept(&who, start).await?;
            Ok(then(&app, created))
        };
        self.0.executor.to_the_end(accepting).await?
    }

    async fn accept(&self, who: &Caller, start: StartRun) -> Result<Created> {
        json::refuse_nul_in("metadata", &start.metadata)?;
        if let Some(url) = &start.spec.webhook {
            webhooks::check("webhook", url, self.0.options.allow_private_networks)?;
        }
        let id = RunId(self.0.ids.uuid());
        let before = self.thread_before(who, &start).await?;
        let last_agent = before.as_ref().and_then(|thread| thread.agent_id.clone());
        let named = start.agent.as_deref().or(last_agent.as_ref().map(AgentId::as_str));
        let agent = self.runnable_agent(named)?;
        intake::check(&agent, &start.spec, id)?;
        if let (Pause::Resume(answer), Some(thread)) = (&start.pause, &before) {
            check_answers(&agent, thread, answer)?;
        }
        let now = self.0.clock.now();
        let due_at = now.plus(start.delay.unwrap_or_default());
        let branches = branches_off(before.as_ref(), &start.spec);
        let on_pause = match start.pause {
            Pause::Resume(answer) => OnPause::Resume(answer),
            Pause::Refuse => OnPause::Refuse,
            Pause::Abandon if branches || brings_input(&start.spec) => OnPause::Withdraw,
            Pause::Abandon => OnPause::Keep,
        };
        let options = &self.0.options;
        let created = self.0.store.run_create(NewRun {
            id,
            owner: who.owner.clone(),
            target: self.target(who, start.target, now),
            agent_id: agent.id.clone(),
            spec: start.spec,
            metadata: start.metadata,
            on_pause,
            idempotency: start.idempotency,
            queued_runs_per_owner: options.queued_runs_per_owner,
            queued_runs: options.queued_runs,
            created_at: now,
            due_at,
            claim_for: self.0.executor.claim_for(),
        });
        let created = created.await?;
        if let Some(delay) = start.delay {
            self.0.executor.look_in(delay);
        }
        Ok(created)
    }

    /// The thread as it is before the run, where the run's acceptance depends on it.
    async fn thread_before(&self, who: &Caller, start: &StartRun) -> Result<Option<Thread>> {
        let id = match &start.target {
            ThreadTarget::Existing(id) | ThreadTarget::Ensured(id, _) => *id,
            ThreadTarget::Stateless => return check_stateless(start).map(|()| None),
        };
        let resumes = matches!(start.pause, Pause::Resume(_));
        if start.agent.is_some() && !resumes && start.spec.checkpoint_id.is_none() {
            return Ok(None);
        }
        let thread = self.0.store.thread_get(&who.owner, id).await?;
        if let (Some(thread), Some(checkpoint)) = (&thread, start.spec.checkpoint_id) {
            if resumes && thread.head != Some(checkpoint) {
                let why = "a run can only be resumed at the thread's newest checkpoint";
                return Err(Error::invalid("checkpoint", why));
            }
            let found =
                self.0.store.snapshot(thread.key, &Namespace::root(), Some(checkpoint)).await?;
            if found.is_none() {
                let public = format!("the thread has no checkpoint {checkpoint}");
                return Err(Error::not_found("checkpoint_not_found", public));
            }
        }
        Ok(thread)
    }

    fn target(&self, who: &Caller, target: ThreadTarget, now: crate::domain::Ts) -> Target {
        let new =
            |id, metadata| NewThread { id, owner: who.owner.clone(), metadata, created_at: now };
        match target {
            ThreadTarget::Existing(id) => Target::Existing(id),
            ThreadTarget::Ensured(id, metadata) => Target::Ensured(new(id, metadata)),
            ThreadTarget::Stateless => {
                Target::Ensured(new(ThreadId(self.0.ids.uuid()), Map::new()))
            }
        }
    }
}

fn check_stateless(start: &StartRun) -> Result<()> {
    if matches!(start.pause, Pause::Resume(_)) {
        let why = "a run without a thread has nothing to resume";
        return Err(Error::conflict("nothing_to_resume", why));
    }
    match start.spec.checkpoint_id {
        Some(_) => Err(Error::invalid("checkpoint", "a checkpoint needs a thread_id")),
        None => Ok(()),
    }
}

/// Refuses an answer that a question's own rules do not allow; nothing is consumed by it.
fn check_answers(agent: &Agent, thread: &Thread, answer: &Value) -> Result<()> {
    if thread.status == ThreadStatus::Busy {
        return Err(Error::conflict("thread_busy", "the thread has an unfinished run"));
    }
    let answers = interrupt::resolve("command.resume", &thread.interrupts, answer)?;
    for asked in &thread.interrupts {
        if let Some(answer) = answers.get(&asked.id) {
            agent.check_answer(&asked.value, answer)?;
        }
    }
    Ok(())
}

/// Whether the run brings something that starts the graph anew.
fn brings_input(spec: &RunSpec) -> bool {
    spec.input.is_some() || !spec.messages.is_empty()
}

/// Whether the run leaves the thread's newest checkpoint, and what is asked there, behind.
fn branches_off(before: Option<&Thread>, spec: &RunSpec) -> bool {
    spec.checkpoint_id.is_some() && before.is_some_and(|thread| thread.head != spec.checkpoint_id)
}

fn missing(id: RunId) -> Error {
    Error::not_found("run_not_found", format!("there is no run {id}"))
}
