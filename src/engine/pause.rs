//! Breakpoints: pauses before and after nodes that the caller of a run asked for. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::domain::checkpoint::{Answers, Checkpoint};
use crate::domain::ids::InterruptId;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::Breakpoints;

/// The nodes to pause at.
#[derive(Clone, Copy)]
pub(crate) struct Stops<'a> {
    pub(crate) before: &'a Breakpoints,
    pub(crate) after: &'a Breakpoints,
    /// What was answered is passed.
    pub(crate) answers: &'a Answers,
}

impl Stops<'_> {
    /// The pause after nodes that the step before `at` ran, while something is due next.
    pub(crate) fn after(&self, at: &Checkpoint) -> Option<Interrupt> {
        let ran = at.frontier.ran.iter().filter(|node| self.after.contains(node));
        self.pause(at, "after", &ran.cloned().collect())
    }

    /// The pause before nodes that are due.
    pub(crate) fn before(&self, at: &Checkpoint) -> Option<Interrupt> {
        let due = at.frontier.due.iter().map(|due| &due.node);
        let due = due.filter(|node| self.before.contains(node));
        self.pause(at, "before", &due.cloned().collect())
    }

    fn pause(&self, at: &Checkpoint, when: &str, nodes: &BTreeSet<Arc<str>>) -> Option<Interrupt> {
        let first = nodes.first()?.to_string();
        let id = InterruptId::breakpoint(at.id, when);
        if self.answers.contains_key(&id) {
            return None;
        }
        Some(Interrupt {
            id,
            value: json!({"breakpoint": when, "nodes": nodes}),
            namespace: at.namespace.clone(),
            node: first,
            task_id: None,
        })
    }
}
