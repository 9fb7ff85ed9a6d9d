//! `run.start`: the single entry for input. CDDL, section 4a.

use super::super::wire::{RunResult, RunStartParams};
use super::state::{branch, checkpoint};
use super::{On, Outcome, written};
use crate::app::{Started, Steer};
use crate::domain::run::RunSpec;

/// The member of `config.configurable` that makes the run a branch.
const CHECKPOINT: &str = "checkpoint_id";

/// Starts a run; resumes one that waits, with the input as the answer; or leaves the input for
/// the one that runs.
pub(super) async fn start(on: &On, params: RunStartParams) -> Outcome {
    let RunStartParams { assistant_id, input, config, metadata } = params;
    let mut config = config.unwrap_or_default().read()?;
    let metadata = metadata.unwrap_or_default();
    if let Some(at) = config.configurable.shift_remove(CHECKPOINT).filter(|at| !at.is_null()) {
        let at = checkpoint(at.as_str().unwrap_or_default())?;
        let input = Some(input).filter(|input| !input.is_null());
        let started = branch(on, Some(assistant_id), at, input, config, metadata).await?;
        return accepted(&started);
    }
    let steer = Steer {
        thread: on.thread,
        agent: Some(assistant_id),
        input,
        spec: RunSpec { config, ..RunSpec::default() },
        metadata,
    };
    let started = on.app.thread_steer(&on.who, steer).await?;
    accepted(&started)
}

/// An answer that tells only which run came of it.
pub(super) fn accepted(started: &Started) -> Outcome {
    written(&RunResult { run_id: started.run.id.0 })
}
