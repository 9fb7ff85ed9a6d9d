//! What the tests are written with.

pub(crate) mod client;
pub(crate) mod db;
pub(crate) mod live;
pub(crate) mod process;
pub(crate) mod server;
pub(crate) mod sse;
pub(crate) mod tail;
