//! Runs the root graph: what a run begins with in, how it ended out.

use std::sync::Arc;

use crate::domain::error::{Error, Result};
use crate::domain::event::RunEvent;
use crate::domain::run::RunError;
use crate::engine::graph::Graph;
use crate::engine::port::RunContext;
use crate::engine::scope::Scope;
use crate::engine::stand::Stand;
use crate::engine::walk::Walk;
use crate::engine::write::Command;
use crate::engine::{Begin, Ended, Outcome};

/// Why a graph stopped before its end.
pub(crate) enum Exit {
    Port(Error),
    Failed(RunError),
    Stopped,
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        Self::Port(error)
    }
}

impl From<RunError> for Exit {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

/// Runs `graph` until nothing is due, it pauses, fails, or is stopped.
///
/// A run that wrote the newest checkpoint itself is taken over after a crash: what it was begun
/// with is taken in already, and it goes on from there.
///
/// # Errors
/// Only what the ports answer: the claim is lost, storage is away.
pub async fn drive(graph: &Arc<Graph>, begin: Begin, cx: &RunContext) -> Result<Outcome> {
    let Begin { at, input, update, goto, answers } = begin;
    let scope = Arc::new(Scope::root(cx, answers));
    let command = (update.is_some() || !goto.is_empty()).then(|| Command {
        update: update.unwrap_or_default(),
        goto,
        to_parent: false,
    });
    let stand = Stand::new(scope.namespace.clone(), at);
    let mut walk = Walk::new(graph, scope.clone(), stand);
    let how = match walk.run(input, command).await {
        Ok(ended) => ended,
        Err(Exit::Failed(error)) => Ended::Failed(error),
        Err(Exit::Stopped) => Ended::Stopped,
        Err(Exit::Port(error)) => return Err(error),
    };
    if let Ended::Paused(interrupts) = &how {
        let interrupts = interrupts.clone();
        scope.emit(RunEvent::Interrupted { interrupts }).await;
    }
    let stand = walk.into_stand();
    let head = stand.checkpoint.map(|checkpoint| checkpoint.id);
    Ok(Outcome { how, head, state: stand.state })
}
