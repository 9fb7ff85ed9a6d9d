//! The runs that this node runs now, and why one of them is to stop.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::domain::ids::RunKey;
use crate::domain::run::CancelAction;
use crate::executor::port::Fence;

/// Why a run is to stop before its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Cancel(CancelAction),
    /// It ran too long.
    TimedOut,
    /// Its claim is lost: it is somebody else's.
    Lost,
    /// The node shuts down; another goes on.
    Drained,
}

/// One run at work.
pub(super) struct ActiveRun {
    pub(super) fence: Fence,
    pub(super) stop: CancellationToken,
    why: Mutex<Option<Stop>>,
}

impl ActiveRun {
    pub(super) fn new(fence: Fence) -> Self {
        Self { fence, stop: CancellationToken::new(), why: Mutex::default() }
    }

    /// Stops the run. The first reason counts, except that a lost claim overrides all.
    pub(super) fn stop(&self, why: Stop) {
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() || why == Stop::Lost {
            *first = Some(why);
        }
        drop(first);
        self.stop.cancel();
    }

    pub(super) fn why(&self) -> Option<Stop> {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All runs at work.
#[derive(Default)]
pub(super) struct Active {
    runs: Mutex<HashMap<RunKey, Arc<ActiveRun>>>,
}

impl Active {
    pub(super) fn add(&self, run: Arc<ActiveRun>) {
        self.lock().insert(run.fence.run_key, run);
    }

    pub(super) fn remove(&self, run: RunKey) {
        self.lock().remove(&run);
    }

    pub(super) fn get(&self, run: RunKey) -> Option<Arc<ActiveRun>> {
        self.lock().get(&run).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<ActiveRun>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<ActiveRun>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
