//! Takes due runs as long as there is room for them.

use std::sync::Arc;

use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::domain::ids::RunKey;
use crate::executor::active::Stop;
use crate::executor::port::Signal;
use crate::executor::shared::Shared;

/// At most this many runs a query.
const BATCH: usize = 64;

/// Claims until the node drains. A wake-up that comes while it looks is kept, so that none is
/// lost; the poll is behind it all for those that never come.
pub(super) async fn keep_claiming(shared: Arc<Shared>) {
    while !shared.draining.is_cancelled() {
        let free = shared.free();
        if free > 0 && claim(&shared, free).await {
            continue;
        }
        tokio::select! {
            () = shared.due.notified() => {}
            () = tokio::time::sleep(shared.options.poll) => {}
            () = shared.draining.cancelled() => {}
        }
    }
}

/// Claims once; answers whether there may be more.
async fn claim(shared: &Arc<Shared>, free: usize) -> bool {
    let wanted = free.min(BATCH);
    let max = u32::try_from(wanted).unwrap_or(u32::MAX);
    let agents = shared.graphs.ids();
    let options = &shared.options;
    match shared.ledger.claim(&options.worker, &agents, options.lease, max).await {
        Ok(claims) => {
            let more = claims.len() == wanted;
            for claim in claims {
                shared.start(claim, Some(shared.ledger.clone()));
            }
            more
        }
        Err(error) => {
            tracing::warn!(error = ?error, "cannot claim runs");
            false
        }
    }
}

/// Passes on what storage says, until it has nothing more to say.
pub(super) async fn keep_listening(shared: Arc<Shared>, mut signals: Receiver<Signal>) {
    loop {
        let signal = tokio::select! {
            signal = signals.recv() => signal,
            () = shared.draining.cancelled() => return,
        };
        match signal {
            Ok(Signal::Due) => shared.due.notify_one(),
            Ok(Signal::Delivery) => shared.deliveries.notify_one(),
            Ok(Signal::Log(thread)) => shared.hub.written_elsewhere(thread),
            Ok(Signal::Cancel(run)) => look_at(&shared, run).await,
            Ok(Signal::Resync) | Err(RecvError::Lagged(_)) => {
                shared.due.notify_one();
                shared.deliveries.notify_one();
                shared.hub.resync();
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// A run of this node is to be cancelled: its row says how.
async fn look_at(shared: &Shared, run: RunKey) {
    let Some(active) = shared.active.get(run) else { return };
    match shared.ledger.extend(&[active.fence], shared.options.lease).await {
        Ok(held) => match held.first() {
            Some(held) => {
                if let Some(action) = held.cancel {
                    active.stop(Stop::Cancel(action));
                }
            }
            None => active.stop(Stop::Lost),
        },
        // The next heartbeat looks again.
        Err(error) => tracing::warn!(error = ?error, "cannot look at a run to be cancelled"),
    }
}
