//! How the root graph's walk begins: what the run brings is taken in, once, also if the run is
//! taken over after a crash.

use crate::domain::checkpoint::{Kept, Source};
use crate::domain::run::RunError;
use crate::engine::apply::{Done, apply};
use crate::engine::drive::Exit;
use crate::engine::graph::START;
use crate::engine::messages;
use crate::engine::plan::{self, Standing, Task, plan};
use crate::engine::update::{self, Change};
use crate::engine::walk::Walk;
use crate::engine::write::{Command, Update};

impl Walk<'_> {
    /// Takes in what the run begins with, as far as an earlier attempt has not.
    pub(super) async fn begin(
        &mut self,
        input: Option<Update>,
        command: Option<Command>,
    ) -> Result<(), Exit> {
        let mine = self.stand.written_by(self.scope.run.run_id).map(|at| at.source);
        let has_input = input.is_some() || mine == Some(Source::Input);
        match (mine, input) {
            (Some(Source::Loop | Source::Update), _) => return Ok(()),
            (Some(Source::Input), _) => {}
            (Some(Source::Fork), _) => self.passes = true,
            (None, Some(input)) => self.take_input(input).await?,
            (None, None) => {
                self.passes = true;
                if self.stand.fork.is_some() {
                    self.fork().await?;
                }
            }
        }
        match command {
            Some(command) => self.start_with(command).await,
            None if !has_input && self.is_at_end() => {
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
            due.kept = Kept::default();
        }
        let stamp = self.stamp(Source::Fork);
        let put = self.stand.advance(stamp, frontier, Vec::new());
        self.save(put).await
    }

    /// The entry of the graph is due, whatever was due before.
    pub(super) async fn take_input(&mut self, input: Update) -> Result<(), Exit> {
        let stamp = self.stamp(Source::Input);
        let update = prepare(input, stamp.id.0)?;
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
        command.update = prepare(command.update, stamp.id.0)?;
        let tasks = plan(&self.stand, &self.scope.answers);
        if self.has_taken_command(&tasks) {
            return Ok(());
        }
        let asks = tasks.iter().any(|task| matches!(task.standing, Standing::Asks(_)));
        let waits = asks && tasks.iter().all(|task| task.standing != Standing::Due);
        if !waits && self.stand.checkpoint.is_some() {
            self.command = Some(command);
            return Ok(());
        }
        let put = update::change(self.graph, &mut self.stand, Change::Command(command), stamp)?;
        self.save(put).await
    }

    /// Whether an earlier attempt of this run has kept its command with the unfinished step.
    fn has_taken_command(&self, tasks: &[Task]) -> bool {
        let at = self.stand.checkpoint.as_ref().map(|at| at.id);
        let call = at.map(|at| plan::call_id(at, self.scope.run.run_id));
        tasks.iter().any(|task| Some(task.id) == call)
    }
}

fn prepare(update: Update, source: uuid::Uuid) -> Result<Update, Exit> {
    messages::prepare(update, source)
        .map_err(|wrong| Exit::Failed(RunError::new("invalid_update", wrong.public())))
}
