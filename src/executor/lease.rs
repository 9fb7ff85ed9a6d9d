//! Heartbeats for the runs of this node, and recovery of those whose node is gone.

use std::collections::HashMap;
use std::sync::Arc;

use crate::executor::active::Stop;
use crate::executor::shared::Shared;

/// Beats until the last run of a draining node is over.
pub(super) async fn keep_beating(shared: Arc<Shared>) {
    let beat = shared.options.lease / 3;
    loop {
        recover(&shared).await;
        tokio::time::sleep(beat).await;
        heartbeat(&shared).await;
    }
}

/// Extends the leases of all runs at work; one that is not held any more is stopped.
async fn heartbeat(shared: &Shared) {
    let active = shared.active.all();
    let fences: Vec<_> =
        active.iter().map(|run| run.fence).filter(|fence| fence.run_key.0 > 0).collect();
    if fences.is_empty() {
        return;
    }
    let held = match shared.ledger.extend(&fences, shared.options.lease).await {
        Ok(held) => held,
        Err(error) => {
            tracing::warn!(error = ?error, "cannot extend leases");
            return;
        }
    };
    let held: HashMap<_, _> = held.into_iter().map(|held| (held.run_key, held.cancel)).collect();
    for run in active.iter().filter(|run| fences.contains(&run.fence)) {
        match held.get(&run.fence.run_key) {
            None => run.stop(Stop::Lost),
            Some(Some(action)) => run.stop(Stop::Cancel(*action)),
            Some(None) => {}
        }
    }
}

/// Puts runs of nodes that went silent back in the queue.
async fn recover(shared: &Shared) {
    match shared.ledger.requeue_expired(shared.options.max_attempts).await {
        Ok(0) => {}
        Ok(count) => {
            tracing::info!(count, "runs of a silent node are back in the queue");
            shared.due.notify_one();
        }
        Err(error) => tracing::warn!(error = ?error, "cannot look for expired leases"),
    }
}
