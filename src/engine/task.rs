//! Runs one task: its attempts, its time limit, what it shows, and what it leaves.

use std::sync::Arc;

use futures::future::{Either, select};

use crate::domain::checkpoint::Kept;
use crate::domain::event::RunEvent;
use crate::domain::interrupt::Interrupt;
use crate::domain::message::{CHANNEL, Role};
use crate::domain::ports::BoxFuture;
use crate::domain::run::RunError;
use crate::domain::state::State;
use crate::engine::cx::Cx;
use crate::engine::drive::Exit;
use crate::engine::graph::Graph;
use crate::engine::halt::{Halt, NodeError, Why};
use crate::engine::messages;
use crate::engine::node::Spec;
use crate::engine::plan::{Standing, Task};
use crate::engine::scope::Scope;
use crate::engine::write::{Act, Command, Update};

/// How one attempt came out.
enum Came {
    Done(Command),
    Asks(Vec<Interrupt>),
    Failed(NodeError),
}

/// A task about to be run, with what it is run on.
pub(crate) struct Running<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) scope: &'a Arc<Scope>,
    pub(crate) state: &'a State,
    pub(crate) task: &'a Task,
    pub(crate) step: i64,
}

impl Running<'_> {
    /// Runs it to its end, as often as its retry policy says.
    pub(crate) async fn run(&self) -> Result<Task, Exit> {
        let node = &self.task.node;
        let Some(spec) = self.graph.spec(node) else {
            let message = format!("graph `{}` has no node `{node}`", self.graph.name());
            return Err(Exit::Failed(RunError::new("unknown_node", message)));
        };
        let mut attempt = 1;
        let mut task = self.task.clone();
        loop {
            let (task_id, node, step) = (self.task.id, node.clone(), self.step);
            self.scope.emit(RunEvent::TaskStarted { task_id, node, step }).await;
            let cx = Cx::new(self.scope.clone(), task.clone(), self.step, attempt);
            let came = self.attempt(spec, &cx).await?;
            task.kept = std::mem::take(&mut cx.notes().kept);
            let error = match came {
                Came::Done(command) => {
                    let command = self.finished(&cx, command, &task.kept).await?;
                    return Ok(Task { standing: Standing::Done(command), saved: false, ..task });
                }
                Came::Asks(interrupts) => {
                    return Ok(Task { standing: Standing::Asks(interrupts), saved: false, ..task });
                }
                Came::Failed(error) => error,
            };
            let wait = spec.retry.as_ref().and_then(|retry| retry.wait_after(attempt, &error));
            self.failed(&cx, &error, wait.map(|wait| wait.as_millis())).await;
            let Some(wait) = wait else { return Err(Exit::Failed(error.to_run_error())) };
            self.unless_stopped(self.scope.run.timer.sleep(wait)).await?;
            attempt += 1;
        }
    }

    async fn attempt(&self, spec: &Spec, cx: &Cx) -> Result<Came, Exit> {
        let run = spec.node.run(self.state.clone(), cx.clone());
        let came = match spec.time_limit {
            None => self.unless_stopped(run).await?,
            Some(limit) => {
                let timer = self.scope.run.timer.sleep(limit);
                match self.unless_stopped(Box::pin(select(run, timer))).await? {
                    Either::Left((came, _)) => came,
                    Either::Right(((), _)) => {
                        let (node, limit) = (&self.task.node, limit.as_millis());
                        let message = format!("node `{node}` took longer than {limit} ms");
                        Err(Halt::coded("node_timeout", message))
                    }
                }
            }
        };
        let asked = std::mem::take(&mut cx.notes().asked);
        match came {
            Err(Halt(Why::Failed(error))) => Ok(Came::Failed(error)),
            Err(Halt(Why::Port(error))) => Err(Exit::Port(error)),
            Err(Halt(Why::Stopped)) => Err(Exit::Stopped),
            // A node that went on although nobody answered it still waits for the answers.
            Ok(_) | Err(Halt(Why::Asks)) if !asked.is_empty() => Ok(Came::Asks(asked)),
            Err(Halt(Why::Asks)) => {
                let message =
                    format!("node `{}` waits for an answer it did not ask for", cx.node());
                Err(Exit::Failed(RunError::new(Halt::NODE_ERROR, message)))
            }
            Ok(command) => Ok(Came::Done(command)),
        }
    }

    /// The task's command, those of graphs below it included, made ready and shown.
    async fn finished(&self, cx: &Cx, command: Command, kept: &Kept) -> Result<Command, Exit> {
        let below = std::mem::take(&mut cx.notes().from_below);
        let mut command = below.into_iter().rev().fold(command, Command::after);
        command.update = match messages::prepare(command.update, self.task.id.0) {
            Ok(update) => update,
            Err(wrong) => {
                let message = format!("node `{}` wrote to `messages`: {wrong}", cx.node());
                return Err(Exit::Failed(RunError::new("invalid_update", message)));
            }
        };
        self.show_messages(cx, &command.update, kept).await;
        let event = RunEvent::TaskFinished {
            task_id: self.task.id,
            node: cx.node().clone(),
            step: self.step,
            update: command.update.to_object(),
        };
        self.scope.emit(event).await;
        Ok(command)
    }

    /// Emits the assistant's and tools' messages in `update` that were not shown while they came.
    async fn show_messages(&self, cx: &Cx, update: &Update, kept: &Kept) {
        for write in update.writes.iter().filter(|write| &*write.channel == CHANNEL) {
            let Act::Push { value } = &write.act else { continue };
            let text = |member| value.get(member).and_then(serde_json::Value::as_str);
            let spoken = text("role").and_then(Role::parse);
            let shows = matches!(spoken, Some(Role::Assistant | Role::Tool));
            let id = text("id").unwrap_or_default();
            if !shows || kept.shown.contains(id) || self.state.has_message(id, value) {
                continue;
            }
            let (message, node) = (value.clone(), cx.node().clone());
            self.scope.emit(RunEvent::Message { message, node, step: self.step }).await;
        }
    }

    async fn failed(&self, cx: &Cx, error: &NodeError, retry_in_ms: Option<u128>) {
        let error = error.to_run_error();
        let open = std::mem::take(&mut cx.notes().open);
        for message_id in open {
            let error = error.clone();
            self.scope.emit(RunEvent::MessageFailed { message_id, error }).await;
        }
        let event = RunEvent::TaskFailed {
            task_id: self.task.id,
            node: cx.node().clone(),
            step: self.step,
            error,
            retry_in_ms: retry_in_ms.map(|wait| u64::try_from(wait).unwrap_or(u64::MAX)),
        };
        self.scope.emit(event).await;
    }

    /// Waits for `work`, but not once the run is to stop.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T> + Unpin) -> Result<T, Exit> {
        let stopped: BoxFuture<'_, ()> = Box::pin(self.scope.run.stop.cancelled());
        match select(stopped, work).await {
            Either::Left(((), _)) => Err(Exit::Stopped),
            Either::Right((done, _)) => Ok(done),
        }
    }
}
