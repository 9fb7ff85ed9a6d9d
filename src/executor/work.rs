//! Drives one claimed run to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::error::{Error, Fault, Result};
use crate::domain::event::RunEvent;
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::run::{CancelAction, OnCompletion, Run, RunEnd, RunError, RunResult, RunStatus};
use crate::domain::state::State;
use crate::engine::port::RunContext;
use crate::engine::{self, Begin, Ended, Outcome};
use crate::executor::active::{ActiveRun, Stop};
use crate::executor::feed::EndedRun;
use crate::executor::port::{Claim, End, RunLedger, Runnable};
use crate::executor::recorder::Recorder;
use crate::executor::shared::Shared;

/// A claimed run with everything it takes to run it.
pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) claim: Claim,
    /// `None`: the run lives in memory only.
    pub(super) ledger: Option<Arc<dyn RunLedger>>,
    pub(super) active: Arc<ActiveRun>,
}

/// How the run came out: how it ended, and the state it left.
struct Came {
    how: RunEnd,
    head: Option<CheckpointId>,
    /// `None`: it could not be read.
    state: Option<State>,
}

impl Work {
    /// Runs to the end. Whatever goes wrong is this run's alone.
    pub(super) async fn run(self) {
        let feed = self.shared.hub.feed(self.claim.fence.thread_key);
        let recorder = Arc::new(Recorder::new(
            &self.claim,
            self.ledger.clone(),
            feed.clone(),
            self.shared.clock.clone(),
            self.shared.options.log_events_per_run,
        ));
        let came = match self.drive(&recorder).await {
            Ok(came) => came,
            Err(error) if self.is_lost(&error) => {
                tracing::info!(run.id = %self.claim.run.id, "the run is not this node's any more");
                return feed.abandon();
            }
            Err(error) => match self.failed(&recorder, &error).await {
                Ok(came) => came,
                Err(_lost) => return feed.abandon(),
            },
        };
        let ended = self.ended_run(&came);
        let event = matches!(came.how, RunEnd::HandedBack | RunEnd::RolledBack)
            .then_some(())
            .map_or_else(|| Some(run_ended(&ended.run)), |()| None);
        let handed_back = came.how == RunEnd::HandedBack;
        let newest = came.state.as_ref().and_then(|state| recorder.newest(state));
        let wrote = recorder.wrote();
        let at = ended.run.updated_at;
        match recorder.finish(self.end(came, wrote), event, at).await {
            Ok(()) if handed_back => feed.abandon(),
            Ok(()) => {
                self.remember(newest, &ended);
                feed.close(ended);
            }
            Err(error) => {
                if error.fault != Fault::Fenced {
                    tracing::error!(run.id = %self.claim.run.id, error = ?error, "a run's end could not be written; it will be tried again");
                }
                feed.abandon();
            }
        }
    }

    async fn drive(&self, recorder: &Arc<Recorder>) -> Result<Came> {
        let run = &self.claim.run;
        let Some(agent) = self.shared.graphs.get(&run.agent_id) else {
            let public = format!("agent {} is not available on this server", run.agent_id);
            return Err(Error::unavailable(public));
        };
        let at = self.snapshot().await?;
        if let Some(at) = &at {
            recorder.feed().set_base(at.checkpoint.id, at.state.clone());
        }
        recorder.record(
            &Namespace::root(),
            RunEvent::AttemptStarted {
                agent_id: run.agent_id.clone(),
                checkpoint_id: at.as_ref().map(|snapshot| snapshot.checkpoint.id),
            },
        );
        let begin = self.begin(agent.as_ref(), at).await?;
        let context = self.context(recorder.clone());
        let graph = agent.graph().clone();
        let driven = AssertUnwindSafe(engine::drive(&graph, begin, &context)).catch_unwind();
        let limit = tokio::time::sleep(self.shared.options.run_limit);
        tokio::pin!(driven, limit);
        let flushing = recorder.keep_flushing();
        tokio::pin!(flushing);
        let mut timed = false;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut driven => break outcome,
                error = &mut flushing => return Err(error),
                () = &mut limit, if !timed => {
                    timed = true;
                    self.active.stop(Stop::TimedOut);
                }
            }
        };
        match outcome {
            Ok(outcome) => Ok(self.came(outcome?)),
            Err(_panic) => {
                tracing::error!(run.id = %run.id, "a node panicked");
                self.broke_off(recorder, RunError::new("panic", "the agent crashed")).await
            }
        }
    }

    /// Where the run starts: the checkpoint it names, else the thread's newest.
    async fn snapshot(&self) -> Result<Option<Snapshot>> {
        let (run, thread) = (&self.claim.run, self.claim.fence.thread_key);
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let first = self.claim.fence.attempt == 1;
        if first && run.spec.checkpoint_id.is_none() {
            let Some(base) = run.base else { return Ok(None) };
            if let Some(snapshot) = self.shared.snapshots.at_rest(thread, base) {
                return Ok(Some((*snapshot).clone()));
            }
        }
        let newest = ledger.snapshot(thread, &Namespace::root(), None).await?;
        match run.spec.checkpoint_id {
            Some(wanted) if !self.has_begun(newest.as_ref()) => {
                ledger.snapshot(thread, &Namespace::root(), Some(wanted)).await
            }
            Some(_) | None => Ok(newest),
        }
    }

    /// Whether an earlier attempt of this run already took its input in.
    fn has_begun(&self, at: Option<&Snapshot>) -> bool {
        self.claim.fence.attempt > 1
            && at.is_some_and(|at| at.checkpoint.run_id == Some(self.claim.run.id))
    }

    async fn begin(&self, agent: &dyn Runnable, at: Option<Snapshot>) -> Result<Begin> {
        let command = self.claim.run.spec.command.clone().unwrap_or_default();
        let asked = at.as_ref().is_some_and(|at| !at.tasks.is_empty());
        let answers = match &self.ledger {
            Some(ledger)
                if asked || !command.answers.is_empty() || self.claim.fence.attempt > 1 =>
            {
                ledger.answers(self.claim.fence.thread_key).await?
            }
            Some(_) | None => Answers::new(),
        };
        let intake = agent.intake(&self.claim.run)?;
        let (input, update, goto) = (intake.input, intake.update, command.goto);
        Ok(Begin { at, input, update, goto, answers })
    }

    fn context(&self, recorder: Arc<Recorder>) -> RunContext {
        let (run, shared) = (&self.claim.run, &self.shared);
        RunContext {
            owner: run.owner.clone(),
            thread_id: run.thread_id,
            run_id: run.id,
            agent_id: run.agent_id.clone(),
            attempt: self.claim.fence.attempt,
            tags: run.spec.config.tags.clone(),
            configurable: Arc::new(run.spec.config.configurable.clone()),
            client_tools: run.spec.client_tools.clone().into(),
            recursion_limit: run
                .spec
                .config
                .recursion_limit
                .unwrap_or(shared.options.recursion_limit),
            interrupt_before: run.spec.interrupt_before.clone(),
            interrupt_after: run.spec.interrupt_after.clone(),
            saver: recorder.clone(),
            emitter: recorder,
            memory: shared.memories.of(&run.owner),
            timer: shared.timer.clone(),
            clock: shared.clock.clone(),
            ids: shared.ids.clone(),
            stop: self.active.stop.clone(),
            drain: self.ledger.as_ref().map(|_| shared.draining.clone()).unwrap_or_default(),
        }
    }

    fn came(&self, outcome: Outcome) -> Came {
        let how = match outcome.how {
            Ended::Done => RunEnd::Success,
            Ended::Paused(interrupts) => RunEnd::Paused(interrupts),
            Ended::Failed(error) => RunEnd::Failed(error),
            Ended::Stopped => match self.active.why() {
                Some(Stop::Cancel(CancelAction::Interrupt)) => RunEnd::Cancelled,
                Some(Stop::Cancel(CancelAction::Rollback)) => RunEnd::RolledBack,
                Some(Stop::TimedOut) => RunEnd::TimedOut(self.shared.options.run_limit),
                Some(Stop::Drained | Stop::Lost) | None => RunEnd::HandedBack,
            },
        };
        Came { how, head: outcome.head, state: Some(outcome.state) }
    }

    fn is_lost(&self, error: &Error) -> bool {
        error.fault == Fault::Fenced || self.active.why() == Some(Stop::Lost)
    }

    /// The end of a run that could not be driven on.
    async fn failed(&self, recorder: &Recorder, error: &Error) -> Result<Came> {
        if error.fault == Fault::Internal {
            tracing::error!(run.id = %self.claim.run.id, error = ?error, "a run failed");
        }
        self.broke_off(recorder, RunError::new(error.code, error.public())).await
    }

    /// The engine did not come back: what it had finished is what is stored.
    ///
    /// # Errors
    /// The claim is lost.
    async fn broke_off(&self, recorder: &Recorder, error: RunError) -> Result<Came> {
        let how = RunEnd::Failed(error);
        match self.stored(recorder).await {
            Ok(at) => {
                let head = at.as_ref().map(|at| at.checkpoint.id);
                let state = at.map(|at| at.state).unwrap_or_default();
                Ok(Came { how, head, state: Some(state) })
            }
            Err(lost) if self.is_lost(&lost) => Err(lost),
            Err(unreadable) => {
                tracing::error!(run.id = %self.claim.run.id, error = ?unreadable, "what a run left cannot be read");
                Ok(Came { how, head: self.claim.run.base, state: None })
            }
        }
    }

    /// Where the thread stands with everything that this attempt wrote.
    async fn stored(&self, recorder: &Recorder) -> Result<Option<Snapshot>> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        recorder.flush_all().await?;
        ledger.snapshot(self.claim.fence.thread_key, &Namespace::root(), None).await
    }

    /// The run as it will be kept once its end is written.
    fn ended_run(&self, came: &Came) -> EndedRun {
        let mut run = self.claim.run.clone();
        (run.status, run.error) = match &came.how {
            RunEnd::Success => (RunStatus::Success, None),
            RunEnd::Paused(_) => (RunStatus::Paused, None),
            RunEnd::Failed(error) => (RunStatus::Error, Some(error.clone())),
            RunEnd::TimedOut(limit) => {
                let message = format!("the run took longer than {} seconds", limit.as_secs());
                (RunStatus::Timeout, Some(RunError::new("timeout", message)))
            }
            RunEnd::Cancelled | RunEnd::RolledBack => (RunStatus::Cancelled, None),
            RunEnd::HandedBack => (RunStatus::Pending, None),
        };
        if let RunEnd::Paused(interrupts) = &came.how {
            run.interrupts.clone_from(interrupts);
        }
        run.head = came.head;
        run.updated_at = self.shared.clock.now();
        EndedRun { run, state: came.state.clone().unwrap_or_default() }
    }

    fn end(&self, came: Came, wrote: bool) -> End {
        let spec = &self.claim.run.spec;
        let outlived = spec.on_completion == OnCompletion::Delete || spec.webhook.is_some();
        let state = came.state.as_ref();
        let over = !matches!(came.how, RunEnd::Paused(_) | RunEnd::HandedBack | RunEnd::RolledBack);
        let told = matches!(came.how, RunEnd::Paused(_)) || (over && came.how != RunEnd::Cancelled);
        End {
            webhook: spec.webhook.clone().filter(|_| told),
            deletes_thread: over && spec.on_completion == OnCompletion::Delete,
            values: state.filter(|_| wrote).map(State::values),
            result: state.filter(|_| outlived).map(result),
            how: came.how,
            head: came.head,
        }
    }

    fn remember(&self, newest: Option<Snapshot>, ended: &EndedRun) {
        let thread = self.claim.fence.thread_key;
        match newest {
            Some(snapshot) if ended.run.status != RunStatus::Cancelled => {
                self.shared.snapshots.put(thread, Arc::new(snapshot));
            }
            Some(_) | None => {}
        }
    }
}

/// What a state shows as a run's result.
pub fn result(state: &State) -> RunResult {
    RunResult {
        values: state.values(),
        messages: state.message_values().map(|message| (**message).clone()).collect(),
    }
}

fn run_ended(run: &Run) -> RunEvent {
    RunEvent::RunEnded { status: run.status, error: run.error.clone() }
}
