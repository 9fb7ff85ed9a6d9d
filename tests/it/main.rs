//! Tests of the whole program, in one binary.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::format_collect,
    clippy::needless_for_each,
    clippy::needless_pass_by_value,
    clippy::semicolon_if_nothing_returned,
    clippy::similar_names,
    clippy::unused_async,
    dead_code,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that goes wrong is to say so at once"
)]

mod agent_protocol;
mod agents;
mod harness;
mod histories;
mod journeys;
mod layers;
mod migrations;
mod plans;
mod recovery;
mod retention;
mod streaming;
