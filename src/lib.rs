//! Runloom, an Agent Protocol server: threads, runs and long-term memory for LLM agents.
//!
//! The modules, from the ground up:
//!
//! - [`domain`]: the nouns as plain data. Imports nothing of the crate.
//! - [`engine`]: graphs of nodes over channels, durable at every step; no HTTP, SQL or clock.
//! - [`models`], [`tools`]: what agents talk to and call.
//! - [`agents`]: the graphs that ship with the program, and the registry.
//! - [`executor`]: claims runs and runs them; the live log.
//! - [`storage`]: one store over SQLite and Postgres.
//! - [`app`]: the use cases, in no protocol's words.
//! - [`http`]: the kit that faces are built from; [`faces`]: the protocols.
//! - [`server`]: the only wiring; [`config`], [`cli`], [`mod@serve`], [`telemetry`], [`lifecycle`]: the
//!   program around it.
//!
//! `docs/ARCHITECTURE.md` says why, and `tests/it/layers.rs` sees to it.

pub mod agents;
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod executor;
pub mod faces;
pub mod http;
pub mod lifecycle;
pub mod models;
pub mod serve;
pub mod server;
pub mod storage;
pub mod telemetry;
pub mod tools;

pub use server::Server;

/// The examples in the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
