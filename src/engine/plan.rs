//! Which tasks are due after a checkpoint, and how each of them stands. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::checkpoint::{Answers, Due, Kept, TaskOutcome, TaskRecord};
use crate::domain::ids::{CheckpointId, RunId, TaskId};
use crate::domain::interrupt::Interrupt;
use crate::engine::keep;
use crate::engine::stand::Stand;
use crate::engine::write::Command;

/// The node of the pseudo task whose writes are those of a caller's command.
pub const CALLER: &str = "__command__";

/// A task of the next step.
#[derive(Clone, Debug)]
pub struct Task {
    pub id: TaskId,
    pub node: Arc<str>,
    /// Where a branch sent one.
    pub input: Option<Value>,
    /// The node that led here.
    pub from: Option<Arc<str>>,
    /// What it kept when it asked.
    pub kept: Kept,
    pub standing: Standing,
    /// Whether this standing is kept already.
    pub saved: bool,
}

/// How a task of a step stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// To be run: for the first time, or again because what it asked is answered.
    Due,
    Done(Command),
    /// It asked, and nobody has answered any of it.
    Asks(Vec<Interrupt>),
}

/// A caller's command as its task record keeps it: those of several runs go by the runs' age.
#[derive(Serialize, Deserialize)]
struct Called {
    run_id: RunId,
    #[serde(flatten)]
    command: Command,
}

/// The tasks of the step that follows where the graph stands, in order: those of the frontier,
/// then the commands that callers gave while the step was paused.
///
/// What an earlier attempt left is used: a finished task is not run again, and one that asks
/// only if one of its questions is answered.
pub fn plan(stand: &Stand, answers: &Answers) -> Vec<Task> {
    let Some(checkpoint) = &stand.checkpoint else { return Vec::new() };
    let due = checkpoint.frontier.due.iter().enumerate().map(|(place, due)| {
        let id = task_id(checkpoint.id, place, due);
        let record = stand.tasks.iter().find(|record| record.task_id == id);
        let (standing, saved) = match record.and_then(|record| standing(record, answers)) {
            Some(standing) => (standing, true),
            None => (Standing::Due, false),
        };
        let kept = keep::find(id, &stand.tasks).unwrap_or_else(|| due.kept.clone());
        let (node, input, from) = (due.node.clone(), due.input.clone(), due.from.clone());
        Task { id, node, input, from, kept, standing, saved }
    });
    due.chain(called(stand)).collect()
}

/// The id of the task at `place` of a frontier.
pub(crate) fn task_id(checkpoint: CheckpointId, place: usize, due: &Due) -> TaskId {
    due.task_id.unwrap_or_else(|| TaskId::derive(checkpoint, &format!("{place}:{}", due.node)))
}

/// How a task stands by what it left; `None` if it is to be run.
fn standing(record: &TaskRecord, answers: &Answers) -> Option<Standing> {
    match &record.outcome {
        // What an older program wrote in a form of its own is made again.
        TaskOutcome::Done { command } => Command::deserialize(command).ok().map(Standing::Done),
        TaskOutcome::Asks { interrupts } => {
            let answered = interrupts.iter().any(|interrupt| answers.contains_key(&interrupt.id));
            (!answered).then(|| Standing::Asks(interrupts.clone()))
        }
    }
}

/// What callers' commands left in the unfinished step.
fn called(stand: &Stand) -> Vec<Task> {
    let records = stand.tasks.iter().filter(|record| record.node == CALLER);
    let mut called: Vec<(RunId, Task)> = records
        .filter_map(|record| {
            let TaskOutcome::Done { command } = &record.outcome else { return None };
            let Called { run_id, command } = Called::deserialize(command).ok()?;
            Some((run_id, caller_task(record.task_id, command, true)))
        })
        .collect();
    called.sort_by_key(|(run_id, _)| *run_id);
    called.into_iter().map(|(_, task)| task).collect()
}

/// The pseudo task that writes what the caller of `run` commands.
pub(crate) fn call(checkpoint: CheckpointId, run: RunId, command: Command) -> Task {
    caller_task(call_id(checkpoint, run), command, false)
}

pub(crate) fn call_id(checkpoint: CheckpointId, run: RunId) -> TaskId {
    TaskId::derive(checkpoint, &format!("{CALLER}:{run}"))
}

fn caller_task(id: TaskId, command: Command, saved: bool) -> Task {
    let standing = Standing::Done(command);
    Task {
        id,
        node: CALLER.into(),
        input: None,
        from: None,
        kept: Kept::default(),
        standing,
        saved,
    }
}

impl Task {
    /// Whether it stands for a caller's command.
    pub(crate) fn is_call(&self) -> bool {
        &*self.node == CALLER
    }

    /// What is kept of it while its step is not over; `None` if it is still due.
    pub(crate) fn record(&self, run: RunId) -> Option<TaskRecord> {
        let outcome = match &self.standing {
            Standing::Due => return None,
            Standing::Asks(interrupts) => TaskOutcome::Asks { interrupts: interrupts.clone() },
            Standing::Done(command) if self.is_call() => {
                let called = Called { run_id: run, command: command.clone() };
                TaskOutcome::Done { command: serde_json::to_value(called).unwrap_or_default() }
            }
            Standing::Done(command) => {
                TaskOutcome::Done { command: serde_json::to_value(command).unwrap_or_default() }
            }
        };
        Some(TaskRecord { task_id: self.id, node: self.node.to_string(), outcome })
    }
}
