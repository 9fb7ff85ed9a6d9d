//! Runs claimed runs: claim, lease, heartbeat, recovery, the live log.

pub mod port;
