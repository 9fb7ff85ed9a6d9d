//! Agents: graphs with a name, schemas, and a reading of what callers send.
//!
//! They are made of the engine's graphs, of models and of tools, and know neither storage nor how
//! their runs are executed nor any protocol.

pub mod configured;
mod demo;
mod echo;
pub mod intake;
pub mod react;
pub mod registry;
pub mod review;
mod schema;
mod setting;
mod steps;
mod tokens;

#[cfg(test)]
mod tests;
