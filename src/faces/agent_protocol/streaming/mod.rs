//! The thread streaming protocol: watching, steering and rewinding a thread over one connection.

mod commands;
mod error;
mod filter;
mod frames;
mod wire;
