//! Runs claimed runs: claim, lease, heartbeat, recovery, the live log.
//!
//! It knows neither SQL nor HTTP nor agents: storage is behind [`port::RunLedger`], agents are
//! behind [`port::Graphs`]. The one module that spawns tasks for work.

mod active;
mod cache;
mod claim;
mod feed;
mod lease;
pub mod port;
mod recorder;
mod shared;
mod timer;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

pub use feed::{EndedRun, Ends, Feed, Read};
pub use shared::{Options, Ports};
pub use timer::SystemTimer;
pub use work::result;

use crate::domain::checkpoint::Snapshot;
use crate::domain::error::{Error, Result};
use crate::domain::ids::{CheckpointId, Namespace, RunKey, ThreadKey};
use crate::domain::run::{CancelAction, Run};
use crate::domain::state::State;
use crate::executor::active::Stop;
use crate::executor::port::{Claim, Fence, Signal};
use crate::executor::shared::Shared;

/// The code of the error for a head that is gone.
pub const HEAD_MOVED: &str = "head_moved";

/// The running half: owns the loops.
pub struct Service {
    shared: Arc<Shared>,
    signals: Receiver<Signal>,
}

/// The calling half. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    volatile: Arc<AtomicI64>,
}

impl Service {
    /// `signals` must have been subscribed to before anything that it tells of can happen.
    pub fn new(options: Options, ports: Ports, signals: Receiver<Signal>) -> (Self, Handle) {
        let shared = Arc::new(Shared::new(options, ports));
        let handle = Handle { shared: shared.clone(), volatile: Arc::new(AtomicI64::new(-1)) };
        (Self { shared, signals }, handle)
    }

    /// Works until `drain` fires and all runs are over or handed back; those that are not over
    /// within `grace` are stopped where they are.
    pub async fn run(self, drain: CancellationToken, grace: Duration) {
        let Self { shared, signals } = self;
        let loops = async {
            tokio::join!(
                claim::keep_claiming(shared.clone()),
                claim::keep_listening(shared.clone(), signals),
                lease::keep_beating(shared.clone()),
            )
        };
        tokio::select! {
            _ = loops => {}
            () = shut_down(&shared, &drain, grace) => {}
        }
    }
}

/// Waits for `drain`, then sees the runs off.
async fn shut_down(shared: &Shared, drain: &CancellationToken, grace: Duration) {
    drain.cancelled().await;
    shared.draining.cancel();
    shared.tasks.close();
    if tokio::time::timeout(grace, shared.tasks.wait()).await.is_err() {
        for run in shared.active.all() {
            run.stop(Stop::Drained);
        }
        shared.tasks.wait().await;
    }
}

impl Handle {
    /// Under which name and for how long this node would claim a run now; `None` if it is full.
    pub fn claim_for(&self) -> Option<(String, Duration)> {
        let options = &self.shared.options;
        (self.shared.free() > 0).then(|| (options.worker.clone(), options.lease))
    }

    /// Starts a run that was claimed for this node.
    pub fn start(&self, claim: Claim) {
        self.shared.start(claim, Some(self.shared.ledger.clone()));
    }

    /// Starts a run that lives in memory only, on a thread nobody else knows.
    pub fn start_volatile(&self, mut run: Run) -> Option<(Run, Arc<Feed>)> {
        if self.shared.free() == 0 {
            return None;
        }
        let key = self.volatile.fetch_sub(1, Ordering::Relaxed);
        let fence = Fence { run_key: RunKey(key), thread_key: ThreadKey(key), attempt: 1 };
        (run.key, run.thread_key, run.attempt) = (fence.run_key, Some(fence.thread_key), 1);
        let feed = self.shared.hub.feed(fence.thread_key);
        self.shared.start(Claim { run: run.clone(), fence, first_seq: 1 }, None);
        Some((run, feed))
    }

    /// Stops a run of this node at once; the row was marked before.
    pub fn cancel(&self, run: RunKey, action: CancelAction) {
        if let Some(active) = self.shared.active.get(run) {
            active.stop(Stop::Cancel(action));
        }
    }

    /// The live events of a thread.
    pub fn feed(&self, thread: ThreadKey) -> Arc<Feed> {
        self.shared.hub.feed(thread)
    }

    /// The state of a thread whose head is `head`: from memory, else from the ledger.
    pub async fn state(&self, thread: ThreadKey, head: CheckpointId) -> Result<State> {
        match self.shared.snapshots.get(thread, head) {
            Some(snapshot) => Ok(snapshot.state.clone()),
            None => Ok(self.snapshot(thread, head).await?.state.clone()),
        }
    }

    /// The newest snapshot of a thread whose head is `head`, to go on from.
    ///
    /// # Errors
    /// [`HEAD_MOVED`] if that head is no more: a run was rolled back after the thread was read.
    pub async fn snapshot(&self, thread: ThreadKey, head: CheckpointId) -> Result<Arc<Snapshot>> {
        if let Some(snapshot) = self.shared.snapshots.at_rest(thread, head) {
            return Ok(snapshot);
        }
        let ledger = &self.shared.ledger;
        let found = ledger.snapshot(thread, &Namespace::root(), Some(head)).await?;
        let Some(snapshot) = found.map(Arc::new) else {
            let public = "the thread's history was rolled back meanwhile; read it again";
            return Err(Error::conflict(HEAD_MOVED, public));
        };
        self.shared.snapshots.put(thread, snapshot.clone());
        Ok(snapshot)
    }

    /// The snapshot of a thread at `checkpoint`, if that is its newest and in memory.
    pub fn hot_snapshot(
        &self,
        thread: ThreadKey,
        checkpoint: CheckpointId,
    ) -> Option<Arc<Snapshot>> {
        self.shared.snapshots.get(thread, checkpoint)
    }

    /// Looks for due runs after `delay`.
    pub fn look_in(&self, delay: Duration) {
        let shared = self.shared.clone();
        self.shared.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => shared.due.notify_one(),
                () = shared.draining.cancelled() => {}
            }
        });
    }

    /// Runs `work` as a task of this node; a shut-down waits for it.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.shared.tasks.spawn(work);
    }

    /// Resolves when a webhook may be due.
    pub async fn delivery_due(&self) {
        self.shared.deliveries.notified().await;
    }

    /// Runs `work` as a task that goes on if whoever waits for it goes away.
    pub async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let broke =
            |error| Error::internal("the request could not be carried out").caused_by(error);
        self.shared.tasks.spawn(work).await.map_err(broke)
    }

    /// Whether this node runs it now.
    pub fn is_active(&self, run: RunKey) -> bool {
        self.shared.active.get(run).is_some()
    }

    /// How many runs this node runs now.
    pub fn active(&self) -> usize {
        self.shared.active.count()
    }
}
