//! Tools: what a model may call, and the server executes.
//!
//! Knows the domain only: what a tool may ask of a run comes in as [`Call`].

pub mod builtin;
pub mod function;
pub mod http;
pub mod mcp;
pub mod tool;

pub use function::Function;
pub use tool::{Call, Failure, Limits, Output, Progress, Tool, ToolSource, Tools};
