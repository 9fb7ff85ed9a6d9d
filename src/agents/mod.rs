//! Agents (stands for the real ones).
pub mod registry;
