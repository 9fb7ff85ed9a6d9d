//! The log of a run over its attempts, as a follower reads it: without what a crash made void,
//! and without the ids that differ from attempt to attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::event::RunEvent;
use crate::domain::ids::{Namespace, TaskId};
use crate::engine::memory::World;

/// What one attempt left in the log.
pub(super) struct Attempt {
    pub(super) events: Vec<(Namespace, RunEvent)>,
}

/// Which part of a namespace's log an event belongs to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Graph,
    Checkpoints,
    Task(TaskId),
}

/// Every valid event of the log, in a form that two runs can be compared by: sorted by the part
/// of the log it belongs to, in order within it.
pub(super) fn valid(world: &World, attempts: &[Attempt]) -> Vec<Value> {
    let mut parts: BTreeMap<(Namespace, Part), Vec<Value>> = BTreeMap::new();
    for attempt in attempts {
        for (key, events) in split(world, attempt) {
            // What began again is void as far as it had come before.
            let begins_anew = key.1 != Part::Checkpoints;
            let standing = parts.entry(key).or_default();
            if begins_anew {
                standing.clear();
            }
            standing.extend(events);
        }
    }
    let mut lines: Vec<Value> = parts
        .into_iter()
        .map(|((namespace, _), events)| json!([nodes(&namespace), events]))
        .collect();
    lines.sort_by_key(ToString::to_string);
    lines
}

fn split(world: &World, attempt: &Attempt) -> BTreeMap<(Namespace, Part), Vec<Value>> {
    let mut parts: BTreeMap<(Namespace, Part), Vec<Value>> = BTreeMap::new();
    let mut running: BTreeMap<(Namespace, Arc<str>), Vec<TaskId>> = BTreeMap::new();
    for (namespace, event) in &attempt.events {
        let part = match event {
            RunEvent::CheckpointSaved { checkpoint_id, .. } => {
                if world.saver.snapshot(namespace, Some(*checkpoint_id)).is_none() {
                    continue;
                }
                Part::Checkpoints
            }
            RunEvent::TaskStarted { task_id, node, .. } => {
                running.entry((namespace.clone(), node.clone())).or_default().push(*task_id);
                Part::Task(*task_id)
            }
            RunEvent::TaskFinished { task_id, .. } | RunEvent::TaskFailed { task_id, .. } => {
                Part::Task(*task_id)
            }
            RunEvent::Custom { node, .. } => {
                let tasks = &running[&(namespace.clone(), node.clone())];
                Part::Task(*tasks.last().unwrap())
            }
            _ => Part::Graph,
        };
        parts.entry((namespace.clone(), part)).or_default().push(plain(event));
    }
    parts
}

/// The nodes on the way to a graph, without the ids of their tasks.
fn nodes(namespace: &Namespace) -> Vec<&str> {
    namespace.0.iter().filter_map(|segment| segment.split(':').next()).collect()
}

/// The event without ids that are fresh in every attempt.
fn plain(event: &RunEvent) -> Value {
    let mut value = serde_json::to_value(event).unwrap();
    without_ids(&mut value);
    value
}

fn without_ids(value: &mut Value) {
    let fresh = BTreeSet::from(["checkpoint_id", "parent", "task_id", "id", "namespace"]);
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !fresh.contains(&**name));
            members.values_mut().for_each(without_ids);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_ids),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
