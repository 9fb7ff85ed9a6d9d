//! The nouns of the server as plain data: no async, no I/O, no protocol.
//!
//! Everything else may import this module; it imports nothing of the crate.

pub mod checkpoint;
pub mod clock;
pub mod error;
pub mod event;
pub mod ids;
pub mod interrupt;
pub mod item;
pub mod json;
pub mod list;
pub mod message;
pub mod net;
pub mod page;
pub mod ports;
pub mod run;
pub mod state;
pub mod thread;
pub mod tool;

pub use checkpoint::{Checkpoint, Source};
pub use clock::{Clock, IdGen, Ts};
pub use error::{Error, Fault, Result};
pub use event::{Logged, RunEvent, Seq};
pub use ids::{
    AgentId, CheckpointId, InterruptId, Namespace, Owner, RunId, TaskId, ThreadId, ThreadKey,
};
pub use interrupt::Interrupt;
pub use message::Message;
pub use run::{Run, RunStatus};
pub use state::{Change, Op, State};
pub use thread::{Thread, ThreadStatus};
