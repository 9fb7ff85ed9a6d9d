//! What all parts of the executor hold in common.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::clock::{Clock, IdGen};
use crate::domain::ports::Timer;
use crate::executor::active::{Active, ActiveRun, Stop};
use crate::executor::cache::Snapshots;
use crate::executor::feed::Hub;
use crate::executor::port::{Claim, Graphs, Memories, RunLedger};
use crate::executor::work::Work;

/// How this node runs its runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names this node in claims.
    pub worker: String,
    /// Runs at a time.
    pub workers: usize,
    /// How long a claim holds without a heartbeat; one is sent every third of it.
    pub lease: Duration,
    /// A run that takes longer ends with status `timeout`.
    pub run_limit: Duration,
    /// A run that was lost this often ends with error `max_attempts`.
    pub max_attempts: u32,
    /// Super-steps, where the run does not say.
    pub recursion_limit: u32,
    /// Older events of a run are dropped beyond this many.
    pub log_events_per_run: usize,
    /// How often to look for due runs when nobody calls.
    pub poll: Duration,
    /// Threads whose newest state is kept in memory.
    pub hot_threads: NonZeroUsize,
}

/// What the executor asks of the world.
pub struct Ports {
    pub ledger: Arc<dyn RunLedger>,
    pub graphs: Arc<dyn Graphs>,
    pub memories: Arc<dyn Memories>,
    pub timer: Arc<dyn Timer>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdGen>,
}

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) ledger: Arc<dyn RunLedger>,
    pub(super) graphs: Arc<dyn Graphs>,
    pub(super) memories: Arc<dyn Memories>,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdGen>,
    pub(super) hub: Hub,
    pub(super) snapshots: Snapshots,
    pub(super) active: Active,
    pub(super) tasks: TaskTracker,
    /// Somebody should look for due runs.
    pub(super) due: Notify,
    /// Somebody should look for webhooks.
    pub(super) deliveries: Notify,
    /// No more claims.
    pub(super) draining: CancellationToken,
}

impl Shared {
    pub(super) fn new(options: Options, ports: Ports) -> Self {
        Self {
            snapshots: Snapshots::new(options.hot_threads),
            options,
            ledger: ports.ledger,
            graphs: ports.graphs,
            memories: ports.memories,
            timer: ports.timer,
            clock: ports.clock,
            ids: ports.ids,
            hub: Hub::default(),
            active: Active::default(),
            tasks: TaskTracker::new(),
            due: Notify::new(),
            deliveries: Notify::new(),
            draining: CancellationToken::new(),
        }
    }

    /// How many more runs this node may take.
    pub(super) fn free(&self) -> usize {
        if self.draining.is_cancelled() {
            return 0;
        }
        self.options.workers.saturating_sub(self.active.count())
    }

    /// Starts a claimed run as a task of its own.
    pub(super) fn start(self: &Arc<Self>, claim: Claim, ledger: Option<Arc<dyn RunLedger>>) {
        let active = Arc::new(ActiveRun::new(claim.fence));
        if let Some(cancel) = claim.run.cancel {
            active.stop(Stop::Cancel(cancel));
        }
        self.active.add(active.clone());
        let shared = self.clone();
        let key = claim.fence.run_key;
        let work = Work { shared: self.clone(), claim, ledger, active };
        self.tasks.spawn(async move {
            let was_full = shared.free() == 0;
            work.run().await;
            shared.active.remove(key);
            if was_full || shared.free() == 1 {
                shared.due.notify_one();
            }
        });
    }
}
