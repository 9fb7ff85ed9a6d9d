//! Runloom, an Agent Protocol server.

pub mod agents;
pub mod app;
pub mod domain;
pub mod engine;
pub mod executor;
pub mod faces;
pub mod http;
pub mod models;
pub mod server;
pub mod storage;
pub mod tools;

pub use server::Server;
