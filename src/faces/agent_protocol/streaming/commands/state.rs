//! The state, its history, and branches from it. CDDL, section 11.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::error::Refusal;
use super::super::wire::{
    CheckpointRef, CheckpointSummary, ErrorCode, ForkResult, ListCheckpointsParams, Listed,
    StateForkParams, StateGetParams, StateGetResult,
};
use super::{On, Outcome, written};
use crate::app::{Pause, StartRun, Started, ThreadTarget};
use crate::domain::checkpoint::Snapshot;
use crate::domain::error::{Error, Fault};
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::page::Page;
use crate::domain::run::{RunConfig, RunSpec};
use crate::domain::state::State;

/// How many checkpoints are listed where the client does not say.
const DEFAULT_LIMIT: u32 = 10;

/// The state of a graph: all of it, or some channels.
pub(super) async fn get(on: &On, params: StateGetParams) -> Outcome {
    let namespace = Namespace::from(params.namespace);
    let at = params.checkpoint_id.as_deref().map(checkpoint).transpose()?;
    let found = on.app.graph_state(&on.who, on.thread, &namespace, at).await?;
    let (values, id) = match found {
        Some(found) => (found.state, Some(found.checkpoint.id)),
        None if at.is_some() => return Err(no_such_checkpoint(params.checkpoint_id.as_deref())),
        None if namespace.is_root() => (State::default(), None),
        None => return Err(no_such_namespace(&namespace)),
    };
    let wanted =
        |name: &str| params.keys.as_ref().is_none_or(|keys| keys.iter().any(|k| k == name));
    let values = values.channels().filter(|(name, _)| wanted(name));
    written(&StateGetResult {
        values: values.map(|(name, slot)| (name.to_string(), slot.to_value())).collect(),
        checkpoint: id.map(|id| CheckpointRef::new(id, &namespace)),
    })
}

/// A graph's history, newest first.
pub(super) async fn list_checkpoints(on: &On, params: ListCheckpointsParams) -> Outcome {
    let namespace = Namespace::from(params.namespace.unwrap_or_default());
    let before = params.before.as_deref().map(checkpoint).transpose()?;
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    if i64::from(limit) > Page::MAX_LIMIT {
        let why = format!("params.limit must be from 0 to {}", Page::MAX_LIMIT);
        return Err(Error::invalid("params.limit", why).into());
    }
    let found = on.app.graph_history(&on.who, on.thread, &namespace, before, limit.max(1)).await?;
    if found.is_empty() && before.is_none() && !namespace.is_root() {
        return Err(no_such_namespace(&namespace));
    }
    let shown = usize::try_from(limit).unwrap_or(usize::MAX);
    let checkpoints = found.iter().take(shown).map(summary).collect();
    written(&Listed { checkpoints })
}

/// A run on this thread from an older checkpoint: a branch.
pub(super) async fn fork(on: &On, params: StateForkParams) -> Outcome {
    let at = checkpoint(&params.checkpoint_id)?;
    let config = params.config.unwrap_or_default().read()?;
    let input = params.input.filter(|input| !input.is_null());
    let started = branch(on, None, at, input, config, Map::new()).await?;
    written(&ForkResult { run_id: started.run.id.0, thread_id: started.thread.id.0 })
}

/// Starts a run from `at`. What the thread asks elsewhere is given up.
pub(super) async fn branch(
    on: &On,
    agent: Option<String>,
    at: CheckpointId,
    input: Option<Value>,
    config: RunConfig,
    metadata: Map<String, Value>,
) -> Result<Started, Refusal> {
    let spec = RunSpec { input, config, checkpoint_id: Some(at), ..RunSpec::default() };
    let start = StartRun {
        target: ThreadTarget::Existing(on.thread),
        agent,
        spec,
        metadata,
        pause: Pause::Abandon,
        idempotency: None,
        delay: None,
    };
    Ok(on.app.run_start(&on.who, start).await?)
}

/// The checkpoint of this id. What cannot be an id names none.
pub(super) fn checkpoint(text: &str) -> Result<CheckpointId, Refusal> {
    let id = Uuid::try_parse(text).map(CheckpointId);
    id.map_err(|_| no_such_checkpoint(Some(text)))
}

fn summary(found: &Snapshot) -> CheckpointSummary {
    let checkpoint = &found.checkpoint;
    let mut metadata = checkpoint.metadata.clone();
    metadata.insert("source".to_owned(), checkpoint.source.as_str().into());
    metadata.insert("step".to_owned(), checkpoint.place.step.into());
    metadata.insert("parentId".to_owned(), json!(checkpoint.parent));
    metadata.extend(checkpoint.run_id.map(|run| ("runId".to_owned(), json!(run))));
    let mut ran = checkpoint.frontier.ran.iter();
    let only = ran.next().filter(|_| ran.next().is_none());
    CheckpointSummary {
        id: checkpoint.id,
        timestamp: checkpoint.created_at.to_rfc3339(),
        step: u64::try_from(checkpoint.place.step).unwrap_or(0),
        node_name: only.cloned(),
        metadata,
    }
}

fn no_such_checkpoint(id: Option<&str>) -> Refusal {
    let public = format!("the thread has no checkpoint {}", id.unwrap_or_default());
    let error = Error::new(Fault::NotFound, "checkpoint_not_found", public);
    error.into()
}

fn no_such_namespace(namespace: &Namespace) -> Refusal {
    let why = format!("nothing ran in namespace {:?}", namespace.0);
    Refusal::new(ErrorCode::NoSuchNamespace, why)
}
