//! The one loop: plan a step, run its tasks, fold what they wrote, save the checkpoint, show it.

use std::sync::Arc;

use crate::domain::checkpoint::{Put, Source};
use crate::domain::error::Error;
use crate::domain::event::RunEvent;
use crate::domain::ids::CheckpointId;
use crate::domain::run::RunError;
use crate::engine::apply::{Done, apply};
use crate::engine::graph::{Graph, START};
use crate::engine::pause::Stops;
use crate::engine::plan::{self, Standing, Task, plan};
use crate::engine::port::RunContext;
use crate::engine::scope::Scope;
use crate::engine::stand::{Stamp, Stand, due_nodes};
use crate::engine::step::{self, Stepped};
use crate::engine::update::{self, Change};
use crate::engine::write::{Command, Update};
use crate::engine::{Begin, Ended, Outcome};

/// Why a graph stopped before its end.
pub(crate) enum Exit {
    Port(Error),
    Failed(RunError),
    Stopped,
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        Self::Port(error)
    }
}

impl From<RunError> for Exit {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

/// Runs `graph` until nothing is due, it pauses, fails, or is stopped.
///
/// A run that wrote the newest checkpoint itself is taken over after a crash: what it was begun
/// with is taken in already, and it goes on from there.
///
/// # Errors
/// Only what the ports answer: the claim is lost, storage is away.
pub async fn drive(
    graph: &Arc<Graph>,
    begin: Begin,
    cx: &RunContext,
) -> crate::domain::Result<Outcome> {
    let Begin { at, input, update, goto, answers } = begin;
    let scope = Arc::new(Scope::root(cx, answers));
    let command = (update.is_some() || !goto.is_empty()).then(|| Command {
        update: update.unwrap_or_default(),
        goto,
        to_parent: false,
    });
    let stand = Stand::new(scope.namespace.clone(), at);
    let mut walk = Walk { graph, scope, stand, made: 0, command: None, passes: false };
    let how = match walk.run(input, command).await {
        Ok(ended) => ended,
        Err(Exit::Failed(error)) => Ended::Failed(error),
        Err(Exit::Stopped) => Ended::Stopped,
        Err(Exit::Port(error)) => return Err(error),
    };
    if let Ended::Paused(interrupts) = &how {
        let interrupts = interrupts.clone();
        walk.scope.emit(RunEvent::Interrupted { interrupts }).await;
    }
    let head = walk.stand.checkpoint.map(|checkpoint| checkpoint.id);
    Ok(Outcome { how, head, state: walk.stand.state })
}

/// One graph on its way through its steps.
pub(crate) struct Walk<'a> {
    graph: &'a Arc<Graph>,
    scope: Arc<Scope>,
    stand: Stand,
    /// Super-steps of this run so far.
    made: u32,
    /// What the caller commands, until a step takes it.
    command: Option<Command>,
    /// Whether the breakpoints at the place where the run goes on are behind it.
    passes: bool,
}

impl Walk<'_> {
    async fn run(
        &mut self,
        input: Option<Update>,
        command: Option<Command>,
    ) -> Result<Ended, Exit> {
        self.start(input, command).await?;
        loop {
            let tasks = self.tasks();
            if tasks.is_empty() {
                return Ok(Ended::Done);
            }
            if self.scope.run.stop.is_cancelled() {
                return Err(Exit::Stopped);
            }
            let steps = tasks.iter().any(|task| !task.is_call());
            if steps && let Some(pause) = self.checked_pause()? {
                return Ok(Ended::Paused(vec![pause]));
            }
            match step::run(self.graph, &self.scope, &self.stand, tasks).await? {
                Stepped::Asks(interrupts) => return Ok(Ended::Paused(interrupts)),
                Stepped::Done(done) if steps => {
                    self.made += 1;
                    self.take(Source::Loop, &done).await?;
                }
                Stepped::Done(done) => self.take(Source::Update, &done).await?,
            }
        }
    }

    /// Takes in what the run begins with.
    async fn start(&mut self, input: Option<Update>, command: Option<Command>) -> Result<(), Exit> {
        let run_id = self.scope.run.run_id;
        self.made = self.stand.made_by(run_id);
        let mine = self.stand.written_by(run_id).map(|checkpoint| checkpoint.source);
        match mine {
            Some(Source::Fork) => self.passes = true,
            Some(Source::Input | Source::Loop | Source::Update) => return Ok(()),
            None if input.is_some() => {}
            None => {
                self.passes = true;
                if self.stand.fork.is_some() {
                    self.fork().await?;
                }
            }
        }
        if let Some(input) = input {
            self.passes = false;
            self.take_input(input).await?;
        }
        match command {
            Some(command) => self.start_with(command).await,
            None if self.is_at_end() => {
                self.passes = false;
                self.take_input(Update::new()).await
            }
            None => Ok(()),
        }
    }

    /// Whether nothing is due: a run without input starts over then.
    fn is_at_end(&self) -> bool {
        self.stand.frontier().is_none_or(|frontier| frontier.due.is_empty())
    }

    /// Goes on from a checkpoint that something else follows already: the same again on a branch
    /// of its own, so that its tasks are others.
    async fn fork(&mut self) -> Result<(), Exit> {
        let mut frontier = self.stand.frontier().cloned().unwrap_or_default();
        for due in &mut frontier.due {
            due.task_id = None;
        }
        let stamp = self.stamp(Source::Fork);
        let put = self.stand.advance(stamp, frontier, Vec::new());
        self.save(put).await
    }

    /// The entry of the graph is due, whatever was due before.
    async fn take_input(&mut self, input: Update) -> Result<(), Exit> {
        let stamp = self.stamp(Source::Input);
        let update = crate::engine::messages::prepare(input, stamp.id.0)
            .map_err(|wrong| RunError::new("invalid_update", wrong.public()))?;
        if let Some(checkpoint) = &mut self.stand.checkpoint {
            checkpoint.frontier.joins.clear();
        }
        let put = apply(self.graph, &mut self.stand, &[Done::new(START, update)], stamp)?;
        self.save(put).await
    }

    /// Takes a caller's command: it is written with the step that goes on. Where that step only
    /// waits for answers that this run does not bring, it goes past them.
    async fn start_with(&mut self, mut command: Command) -> Result<(), Exit> {
        let stamp = self.stamp(Source::Update);
        command.update = crate::engine::messages::prepare(command.update, stamp.id.0)
            .map_err(|wrong| RunError::new("invalid_update", wrong.public()))?;
        let tasks = plan(&self.stand, &self.scope.answers);
        let asks = tasks.iter().any(|task| matches!(task.standing, Standing::Asks(_)));
        let waits = asks && tasks.iter().all(|task| task.standing != Standing::Due);
        if !waits && self.stand.checkpoint.is_some() {
            self.command = Some(command);
            return Ok(());
        }
        let put = update::change(self.graph, &mut self.stand, Change::Command(command), stamp)?;
        self.save(put).await
    }

    /// The tasks of the next step, the caller's command among them.
    fn tasks(&mut self) -> Vec<Task> {
        let mut tasks = plan(&self.stand, &self.scope.answers);
        if let (Some(command), Some(at)) = (self.command.take(), &self.stand.checkpoint) {
            let call = plan::call(at.id, self.scope.run.run_id, command);
            if tasks.iter().all(|task| task.id != call.id) {
                tasks.push(call);
            }
        }
        tasks
    }

    /// The breakpoint that the run has come to, if any; an error if it may not make another step.
    fn checked_pause(&mut self) -> Result<Option<crate::domain::Interrupt>, Exit> {
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

    async fn take(&mut self, source: Source, done: &[Done]) -> Result<(), Exit> {
        let stamp = self.stamp(source);
        let put = apply(self.graph, &mut self.stand, done, stamp)?;
        self.save(put).await
    }

    fn stamp(&self, source: Source) -> Stamp {
        let run = &self.scope.run;
        Stamp {
            id: CheckpointId(run.ids.uuid()),
            at: run.clock.now(),
            source,
            run_id: Some(run.run_id),
            made: self.made,
        }
    }

    async fn save(&self, put: Put) -> Result<(), Exit> {
        let checkpoint = &put.checkpoint;
        let event = RunEvent::CheckpointSaved {
            checkpoint_id: checkpoint.id,
            parent: checkpoint.parent,
            place: checkpoint.place,
            source: checkpoint.source,
            changes: put.changes.clone(),
            next: due_nodes(&checkpoint.frontier),
        };
        self.scope.run.saver.put(put).await?;
        self.scope.emit(event).await;
        Ok(())
    }
}
