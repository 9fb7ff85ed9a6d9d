//! When a failed node is tried again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::halt::NodeError;

/// How often a node is tried, how long it waits in between, and after which errors.
#[derive(Clone)]
pub struct Retry {
    attempts: u32,
    first_wait: Duration,
    factor: u32,
    longest_wait: Duration,
    applies: Option<Applies>,
}

type Applies = Arc<dyn Fn(&NodeError) -> bool + Send + Sync>;

impl Retry {
    /// Up to `attempts` in all: the first wait is half a second, each next one twice as long, none
    /// longer than two minutes.
    pub fn attempts(attempts: u32) -> Self {
        Self {
            attempts,
            first_wait: Duration::from_millis(500),
            factor: 2,
            longest_wait: Duration::from_mins(2),
            applies: None,
        }
    }

    /// Waits `first` before the second attempt, each time `factor` times as long, never longer
    /// than `longest`.
    #[must_use]
    pub fn backoff(mut self, first: Duration, factor: u32, longest: Duration) -> Self {
        (self.first_wait, self.factor, self.longest_wait) = (first, factor, longest);
        self
    }

    /// Only after errors of which `applies` is true.
    #[must_use]
    pub fn when(mut self, applies: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.applies = Some(Arc::new(applies));
        self
    }

    /// How long to wait after `attempt` (from 1) failed with `error`; `None`: it is not tried again.
    pub(crate) fn wait_after(&self, attempt: u32, error: &NodeError) -> Option<Duration> {
        let applies = self.applies.as_ref().is_none_or(|applies| applies(error));
        (attempt < self.attempts && applies).then(|| {
            let grown = self.factor.saturating_pow(attempt - 1);
            self.first_wait.saturating_mul(grown).min(self.longest_wait)
        })
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("attempts", &self.attempts).finish_non_exhaustive()
    }
}
