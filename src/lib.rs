//! Runloom, an Agent Protocol server.

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
