//! `[limits]`.

use serde::Deserialize;

/// What one caller, one run or one burst may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub body_bytes: usize,
    pub json_depth: usize,
    pub run_seconds: u64,
    pub max_attempts: u32,
    pub lease_seconds: u64,
    pub shutdown_grace_seconds: u64,
    /// An interrupt that nobody answers expires after this time.
    pub interrupt_seconds: Option<u64>,
    pub log_events_per_run: usize,
    /// How long a log is kept after its run's end.
    pub log_seconds: u64,
    pub queued_runs_per_owner: Option<u32>,
    pub queued_runs: Option<u32>,
}

impl Limits {
    /// The keys, as environment variables have them behind `RUNLOOM_LIMITS_`.
    pub(super) const KEYS: [&str; 11] = [
        "body_bytes",
        "json_depth",
        "run_seconds",
        "max_attempts",
        "lease_seconds",
        "shutdown_grace_seconds",
        "interrupt_seconds",
        "log_events_per_run",
        "log_seconds",
        "queued_runs_per_owner",
        "queued_runs",
    ];
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
