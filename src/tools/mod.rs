//! Tools: what a model may call, and the server executes.
//!
//! Knows the domain only: what a tool may ask of a run comes in as [`Call`].

pub mod builtin;
pub mod tool;

pub use tool::{Call, Failure, Output, Progress, Tool, Tools};
