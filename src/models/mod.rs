//! Chat models: the port that agents talk to, and what is behind it.
//!
//! Knows messages and tools as the domain has them; neither graphs nor HTTP faces.

pub mod chat;
pub mod scripted;

pub use chat::{ChatDelta, ChatModel, ChatRequest, ChatStream, ModelError, ModelFault};
