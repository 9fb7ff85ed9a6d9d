//! Reads what is due at a checkpoint, for whoever shows it.

use std::sync::Arc;

use crate::domain::checkpoint::{Answers, Snapshot};
use crate::domain::ids::TaskId;
use crate::domain::interrupt::Interrupt;
use crate::engine::plan::{Standing, plan};
use crate::engine::stand::Stand;

/// A task of the step that follows a checkpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct Pending {
    pub id: TaskId,
    pub node: Arc<str>,
    /// What it asks.
    pub interrupts: Vec<Interrupt>,
    /// It is done, and waits for the others of its step.
    pub done: bool,
}

/// The tasks that are due after `at`, in order.
pub fn tasks(at: &Snapshot) -> Vec<Pending> {
    let stand = Stand::new(at.checkpoint.namespace.clone(), Some(at.clone()));
    let tasks = plan(&stand, &Answers::new()).into_iter().filter(|task| !task.is_call());
    let pending = tasks.map(|task| Pending {
        id: task.id,
        node: task.node,
        done: matches!(task.standing, Standing::Done(_)),
        interrupts: match task.standing {
            Standing::Asks(interrupts) => interrupts,
            Standing::Due | Standing::Done(_) => Vec::new(),
        },
    });
    pending.collect()
}

/// The names of the nodes that are still to be run after `at`, in order.
pub fn next(at: &Snapshot) -> Vec<Arc<str>> {
    tasks(at).into_iter().filter(|task| !task.done).map(|task| task.node).collect()
}
