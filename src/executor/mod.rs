//! Runs claimed runs: claim, lease, heartbeat, recovery, the live log.

pub mod port;

/// A handle on the executor (stands for the real one).
#[derive(Clone)]
pub struct Handle;
