//! Folds what a step's tasks wrote into the state, and says what is due next. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::checkpoint::{Due, Frontier, Put};
use crate::domain::run::{Goto, RunError};
use crate::domain::state::{Change, State};
use crate::engine::channel::Written;
use crate::engine::graph::{END, Graph};
use crate::engine::plan::CALLER;
use crate::engine::stand::{Stamp, Stand};
use crate::engine::write::Command;

/// What one task of a finished step leaves.
#[derive(Clone, Debug)]
pub struct Done {
    pub node: Arc<str>,
    pub command: Command,
}

impl Done {
    pub fn new(node: impl Into<Arc<str>>, command: impl Into<Command>) -> Self {
        Self { node: node.into(), command: command.into() }
    }

    fn is_call(&self) -> bool {
        &*self.node == CALLER
    }
}

/// Takes a finished step, `done` in the order of its tasks: folds its writes into the state,
/// moves on to the checkpoint after it and answers that as it is to be written.
///
/// # Errors
/// What the tasks wrote does not fit the channels; nothing has changed then.
pub fn apply(
    graph: &Graph,
    stand: &mut Stand,
    done: &[Done],
    stamp: Stamp,
) -> Result<Put, RunError> {
    let changes = fold(graph, &mut stand.state, done)?;
    let joins = stand.frontier().map(|frontier| frontier.joins.clone()).unwrap_or_default();
    let frontier = follow(graph, &stand.state, joins, done);
    Ok(stand.advance(stamp, frontier, changes))
}

/// Folds the writes of `done` into `state`, all or nothing.
pub(crate) fn fold(
    graph: &Graph,
    state: &mut State,
    done: &[Done],
) -> Result<Vec<Change>, RunError> {
    let mut by_channel: BTreeMap<&Arc<str>, Vec<Written<'_>>> = BTreeMap::new();
    for (place, task) in done.iter().enumerate() {
        for write in &task.command.update.writes {
            by_channel.entry(&write.channel).or_default().push(Written {
                task: (!task.is_call()).then_some(place),
                node: &task.node,
                act: &write.act,
            });
        }
    }
    let fleeting = graph.channels.iter().filter(|(_, channel)| channel.is_fleeting());
    for (name, _) in fleeting {
        by_channel.entry(name).or_default();
    }
    let mut changes = Vec::new();
    for (name, writes) in by_channel {
        graph.channel(name).fold(name, state, &writes, &mut changes)?;
    }
    for change in &changes {
        state.apply(change);
    }
    Ok(changes)
}

/// What is due after `done`: the targets of their commands, edges and conditions, in the order of
/// the tasks. A target without an input of its own is due once.
pub(crate) fn follow(
    graph: &Graph,
    state: &State,
    joins: BTreeMap<String, BTreeSet<String>>,
    done: &[Done],
) -> Frontier {
    let mut frontier = Frontier { joins, ..Frontier::default() };
    for task in done {
        for target in &task.command.goto {
            add(&mut frontier, &task.node, target.clone());
        }
        if task.is_call() {
            continue;
        }
        for target in graph.edges_from(&task.node) {
            add(&mut frontier, &task.node, Goto { node: target.to_string(), input: None });
        }
        for branch in graph.branches_from(&task.node) {
            for target in (branch.choose)(state).0 {
                add(&mut frontier, &task.node, target);
            }
        }
        arrive(graph, &mut frontier, &task.node);
        if graph.has_node(&task.node) {
            frontier.ran.insert(task.node.clone());
        }
    }
    frontier
}

fn add(frontier: &mut Frontier, from: &Arc<str>, target: Goto) {
    let plain = target.input.is_none();
    let known = |due: &Due| due.input.is_none() && *due.node == *target.node;
    if target.node != END && !(plain && frontier.due.iter().any(known)) {
        let (node, input, from) = (target.node.into(), target.input, Some(from.clone()));
        frontier.due.push(Due { node, input, from, ..Due::default() });
    }
}

/// Notes at every join that waits for `node` that it has run; those that are complete are due.
fn arrive(graph: &Graph, frontier: &mut Frontier, node: &Arc<str>) {
    for join in graph.joins.iter().filter(|join| join.sources.contains(node)) {
        let arrived = frontier.joins.entry(join.key.clone()).or_default();
        arrived.insert(node.to_string());
        if arrived.len() == join.sources.len() {
            frontier.joins.remove(&join.key);
            add(frontier, node, Goto { node: join.target.to_string(), input: None });
        }
    }
}
