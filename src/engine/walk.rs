//! The one loop, of the root graph and of those below it: plan a step, run its tasks, fold what
//! they wrote, show the checkpoint, save it.

use std::sync::Arc;

use crate::domain::checkpoint::{Frontier, Put, Source};
use crate::domain::event::RunEvent;
use crate::domain::ids::CheckpointId;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::RunError;
use crate::engine::Ended;
use crate::engine::apply::{Done, apply, fold};
use crate::engine::drive::Exit;
use crate::engine::graph::Graph;
use crate::engine::pause::Stops;
use crate::engine::plan::{self, Task, plan};
use crate::engine::scope::Scope;
use crate::engine::stand::{Stamp, Stand, due_nodes};
use crate::engine::step::{self, Stepped};
use crate::engine::write::{Command, Update};

/// The member of a checkpoint's metadata that holds what a nested graph commands its parent.
pub(crate) const TO_PARENT: &str = "to_parent";

/// One graph on its way through its steps.
pub(crate) struct Walk<'a> {
    pub(super) graph: &'a Arc<Graph>,
    pub(super) scope: Arc<Scope>,
    pub(super) stand: Stand,
    /// Super-steps of this run so far.
    pub(super) made: u32,
    /// What the caller commands, until a step takes it.
    pub(super) command: Option<Command>,
    /// Whether the breakpoints at the place where the run goes on are behind it.
    pub(super) passes: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(graph: &'a Arc<Graph>, scope: Arc<Scope>, stand: Stand) -> Self {
        let made = stand.made_by(scope.run.run_id);
        Self { graph, scope, stand, made, command: None, passes: false }
    }

    /// Runs the root graph.
    pub(crate) async fn run(
        &mut self,
        input: Option<Update>,
        command: Option<Command>,
    ) -> Result<Ended, Exit> {
        self.begin(input, command).await?;
        self.go_on().await
    }

    /// Runs a graph below: `input` is taken in if it never ran before.
    pub(crate) async fn run_nested(&mut self, input: Update) -> Result<Ended, Exit> {
        if self.stand.checkpoint.is_none() {
            self.take_input(input).await?;
        }
        self.go_on().await
    }

    pub(crate) fn into_stand(self) -> Stand {
        self.stand
    }

    async fn go_on(&mut self) -> Result<Ended, Exit> {
        loop {
            let tasks = self.tasks();
            if tasks.is_empty() {
                return Ok(Ended::Done);
            }
            if self.scope.run.stop.is_cancelled() || self.scope.run.drain.is_cancelled() {
                return Err(Exit::Stopped);
            }
            let steps = tasks.iter().any(|task| !task.is_call());
            if steps && let Some(pause) = self.checked_pause()? {
                return Ok(Ended::Paused(vec![pause]));
            }
            match step::run(self.graph, &self.scope, &self.stand, tasks).await? {
                Stepped::Asks(interrupts) => return Ok(Ended::Paused(interrupts)),
                Stepped::Done(done) => self.take(steps, done).await?,
            }
        }
    }

    /// The tasks of the next step, the caller's command among them.
    fn tasks(&mut self) -> Vec<Task> {
        let mut tasks = plan(&self.stand, &self.scope.answers);
        if let (Some(command), Some(at)) = (self.command.take(), &self.stand.checkpoint) {
            tasks.push(plan::call(at.id, self.scope.run.run_id, command));
        }
        tasks
    }

    /// The breakpoint that the run has come to, if any; an error if it may not make another step.
    fn checked_pause(&mut self) -> Result<Option<Interrupt>, Exit> {
        let run = &self.scope.run;
        let passes = std::mem::take(&mut self.passes) || !self.scope.namespace.is_root();
        let stops = Stops {
            before: &run.interrupt_before,
            after: &run.interrupt_after,
            answers: &self.scope.answers,
        };
        let at = self.stand.checkpoint.as_ref().filter(|_| !passes);
        if let Some(pause) = at.and_then(|at| stops.after(at)) {
            return Ok(Some(pause));
        }
        if self.made >= run.recursion_limit {
            let limit = run.recursion_limit;
            let message = format!(
                "the run made {limit} steps without coming to an end; raise \
                 `config.recursion_limit` if it needs more"
            );
            return Err(Exit::Failed(RunError::new("recursion_limit", message)));
        }
        Ok(at.and_then(|at| stops.before(at)))
    }

    /// Takes a finished step, or one that only took a caller's command.
    async fn take(&mut self, steps: bool, done: Vec<Done>) -> Result<(), Exit> {
        self.made += u32::from(steps);
        if let Some(leaving) = done.iter().find(|task| task.command.to_parent) {
            if self.scope.namespace.is_root() {
                let message =
                    format!("node `{}` commands a graph above, but there is none", leaving.node);
                return Err(Exit::Failed(RunError::new("no_parent", message)));
            }
            return self.leave(done).await;
        }
        let stamp = self.stamp(if steps { Source::Loop } else { Source::Update });
        let put = apply(self.graph, &mut self.stand, &done, stamp)?;
        self.save(put).await
    }

    /// Ends a nested graph with what it commands its parent: kept with its last checkpoint, and
    /// found there should the task above run again.
    async fn leave(&mut self, mut done: Vec<Done>) -> Result<(), Exit> {
        let mut command = Command::new();
        for task in done.iter_mut().filter(|task| task.command.to_parent) {
            let up = Command { to_parent: false, ..std::mem::take(&mut task.command) };
            command = up.after(command);
        }
        let stamp = self.stamp(Source::Loop);
        let changes = fold(self.graph, &mut self.stand.state, &done)?;
        let mut put = self.stand.advance(stamp, Frontier::default(), changes);
        let command = serde_json::to_value(command).unwrap_or_default();
        put.checkpoint.metadata.insert(TO_PARENT.to_owned(), command);
        self.stand.checkpoint = Some(put.checkpoint.clone());
        self.save(put).await
    }

    pub(super) fn stamp(&self, source: Source) -> Stamp {
        let run = &self.scope.run;
        Stamp {
            id: CheckpointId(run.ids.uuid()),
            at: run.clock.now(),
            source,
            run_id: Some(run.run_id),
            made: self.made,
        }
    }

    /// Shows the checkpoint, then saves it: one that is saved is in the log, and one that a crash
    /// kept from being saved is void there.
    pub(super) async fn save(&self, put: Put) -> Result<(), Exit> {
        let checkpoint = &put.checkpoint;
        let event = RunEvent::CheckpointSaved {
            checkpoint_id: checkpoint.id,
            parent: checkpoint.parent,
            place: checkpoint.place,
            source: checkpoint.source,
            changes: put.changes.clone(),
            next: due_nodes(&checkpoint.frontier),
        };
        self.scope.emit(event).await;
        self.scope.run.saver.put(put).await?;
        Ok(())
    }
}
