//! A change of the state from outside a step: by a caller between runs, or with a command.

use std::sync::Arc;

use crate::domain::checkpoint::{Due, Frontier, Put, Snapshot, Source};
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::run::RunError;
use crate::engine::apply::{Done, fold, follow};
use crate::engine::graph::{END, Graph, START};
use crate::engine::messages;
use crate::engine::plan::{CALLER, Standing, plan, task_id};
use crate::engine::stand::{Stamp, Stand};
use crate::engine::write::{Command, Update};

/// Whose change it is.
pub(crate) enum Change {
    /// Of a caller: what is due stays due, or gives way to where the command goes.
    Command(Command),
    /// As if this node had written it: what follows the node is due.
    AsNode(Arc<str>, Update),
}

/// A caller's change of the state of a thread, as it is to be written (source `update`).
///
/// Without `as_node` what is due stays due, and what its tasks asked stays open. With it, what
/// follows that node is due, as if it had written the update; `__end__` leaves nothing due.
/// What finished tasks of an interrupted step left is taken in too.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `messages[i]`'s member, `values` (what
/// the channels do not take) or `as_node` (no node of the graph).
pub fn revise(
    graph: &Graph,
    at: Option<Snapshot>,
    update: Update,
    as_node: Option<&str>,
    id: CheckpointId,
    now: Ts,
) -> Result<Put> {
    let update = messages::prepare(update, id.0)?;
    let by = match as_node {
        None => Change::Command(update.into()),
        Some(node) if graph.has_node(node) || node == START || node == END => {
            Change::AsNode(node.into(), update)
        }
        Some(node) => {
            let why = format!("graph {} has no node {node}", graph.name());
            return Err(Error::invalid("as_node", why));
        }
    };
    let stamp = Stamp { id, at: now, source: Source::Update, run_id: None, made: 0 };
    let mut stand = Stand::new(Namespace::root(), at);
    change(graph, &mut stand, by, stamp).map_err(|wrong| Error::invalid("values", wrong.message))
}

/// Makes the change.
///
/// # Errors
/// What is written does not fit the channels; nothing has changed then.
pub(crate) fn change(
    graph: &Graph,
    stand: &mut Stand,
    by: Change,
    stamp: Stamp,
) -> std::result::Result<Put, RunError> {
    let mut done = finished(stand);
    let caller = match &by {
        Change::Command(command) => Done::new(CALLER, command.clone()),
        Change::AsNode(node, update) => Done::new(node.clone(), update.clone()),
    };
    done.push(caller);
    let changes = fold(graph, &mut stand.state, &done)?;
    let joins = stand.frontier().map(|frontier| frontier.joins.clone()).unwrap_or_default();
    let frontier = match by {
        Change::Command(command) if command.goto.is_empty() => {
            let mut frontier = keep(stand);
            let next = follow(graph, &stand.state, joins, &done);
            frontier.joins = next.joins;
            frontier.due.extend(next.due);
            frontier
        }
        Change::Command(_) => follow(graph, &stand.state, joins, &done),
        Change::AsNode(node, _) if &*node == END => Frontier::default(),
        Change::AsNode(..) => {
            let last = done.split_off(done.len() - 1);
            follow(graph, &stand.state, joins, &last)
        }
    };
    Ok(stand.advance(stamp, frontier, changes))
}

/// What tasks of the unfinished step have finished.
fn finished(stand: &Stand) -> Vec<Done> {
    let tasks = plan(stand, &std::collections::BTreeMap::new()).into_iter();
    let done = tasks.filter_map(|task| match task.standing {
        Standing::Done(command) => Some(Done { node: task.node, command }),
        Standing::Due | Standing::Asks(_) => None,
    });
    done.collect()
}

/// The tasks that are not done, under the ids they have: what they asked and kept stays theirs.
fn keep(stand: &Stand) -> Frontier {
    let Some(checkpoint) = &stand.checkpoint else { return Frontier::default() };
    let tasks = plan(stand, &std::collections::BTreeMap::new());
    let due = checkpoint.frontier.due.iter().enumerate().zip(&tasks);
    let due = due.filter(|(_, task)| !matches!(task.standing, Standing::Done(_)));
    let due = due.map(|((place, due), task)| Due {
        task_id: Some(task_id(checkpoint.id, place, due)),
        kept: task.kept.clone(),
        ..due.clone()
    });
    Frontier { due: due.collect(), ran: checkpoint.frontier.ran.clone(), ..Frontier::default() }
}
