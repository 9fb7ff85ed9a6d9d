//! How much of anything is allowed.

use serde::Deserialize;

use super::reader::Reader;

const SECTION: &str = "limits";
/// A century: beyond it, times can no longer be told.
const LONGEST: u64 = 100 * 365 * 86_400;
/// The JSON parser itself goes no deeper.
const DEEPEST: u64 = 128;

/// Each as it is written in `[limits]` and, in capitals, in `RUNLOOM_LIMITS_…`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Larger request bodies are refused.
    pub body_bytes: usize,
    /// More deeply nested JSON is refused.
    pub json_depth: usize,
    /// A run that takes longer ends in `timeout`.
    pub run_seconds: u64,
    /// Tries of a run that its worker lost.
    pub max_attempts: u32,
    /// A worker that is silent for so long has lost its runs.
    pub lease_seconds: u64,
    /// How long a shutdown lets steps end.
    pub shutdown_grace_seconds: u64,
    /// A run that waits longer for an answer is given up.
    pub interrupt_seconds: Option<u64>,
    /// Events of a run that are kept.
    pub log_events_per_run: usize,
    /// How long they are kept after the run's end.
    pub log_seconds: u64,
    /// Runs that one owner may have waiting.
    pub queued_runs_per_owner: Option<u32>,
    /// Runs that may wait altogether.
    pub queued_runs: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            json_depth: 128,
            run_seconds: 3600,
            max_attempts: 3,
            lease_seconds: 15,
            shutdown_grace_seconds: 25,
            interrupt_seconds: None,
            log_events_per_run: 10_000,
            log_seconds: 86_400,
            queued_runs_per_owner: None,
            queued_runs: None,
        }
    }
}

impl Limits {
    /// Every limit with its value, the least it may be, and the most.
    ///
    /// Taken apart without `..`, so that a new limit is a compile error until it stands here.
    fn bounded(self) -> [(&'static str, Option<u64>, u64, u64); 11] {
        let Self {
            body_bytes,
            json_depth,
            run_seconds,
            max_attempts,
            lease_seconds,
            shutdown_grace_seconds,
            interrupt_seconds,
            log_events_per_run,
            log_seconds,
            queued_runs_per_owner,
            queued_runs,
        } = self;
        let size = |size: usize| u64::try_from(size).ok();
        [
            ("body_bytes", size(body_bytes), 1, u64::MAX),
            ("json_depth", size(json_depth), 1, DEEPEST),
            ("run_seconds", Some(run_seconds), 1, LONGEST),
            ("max_attempts", Some(max_attempts.into()), 1, u64::MAX),
            ("lease_seconds", Some(lease_seconds), 1, LONGEST),
            ("shutdown_grace_seconds", Some(shutdown_grace_seconds), 0, LONGEST),
            ("interrupt_seconds", interrupt_seconds, 1, LONGEST),
            ("log_events_per_run", size(log_events_per_run), 1, u64::MAX),
            ("log_seconds", Some(log_seconds), 0, LONGEST),
            ("queued_runs_per_owner", queued_runs_per_owner.map(u64::from), 1, u64::MAX),
            ("queued_runs", queued_runs.map(u64::from), 1, u64::MAX),
        ]
    }
}

/// The names of all limits.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    Limits::default().bounded().into_iter().map(|(name, ..)| name)
}

pub(super) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

pub(super) fn read(reader: &mut Reader<'_>) -> Limits {
    let limits: Limits = reader.value(SECTION).unwrap_or_default();
    for (name, value, least, most) in limits.bounded() {
        let Some(value) = value else { continue };
        if value < least {
            reader.wrong(&[SECTION, name], format!("{value} is too small; give at least {least}"));
        } else if value > most {
            reader.wrong(&[SECTION, name], format!("{value} is too large; give at most {most}"));
        }
    }
    limits
}
