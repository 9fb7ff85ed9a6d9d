//! The use cases: what a caller can do, in the words of the domain, for every face alike.
//!
//! It knows no protocol and no wire format. Each method names its [`Caller`]; what belongs to
//! another owner does not exist.

mod agents;
mod auth;
mod disconnect;
mod follow;
mod items;
mod lookup;
mod memory;
mod outbox;
mod retention;
mod runs;
mod steer;
mod threads;
mod tree;
mod wait;
mod watch;
mod webhooks;

use std::sync::Arc;

pub use auth::{Caller, Keys};
pub use follow::{Follow, Followed, From};
pub use memory::StoredMemories;
pub use outbox::Courier;
pub use retention::Retention;
pub use runs::{Finished, Pause, StartRun, Started, ThreadTarget};
pub use steer::Steer;
pub use threads::{IfExists, ThreadPatch, ThreadView};
pub use tree::{Nested, Tree};
pub use watch::{Gap, Opening, Running, Watch, Watched};

pub use crate::agents::registry::Agent;
use crate::agents::registry::Registry;
use crate::domain::clock::{Clock, IdGen};
use crate::domain::error::Result;
use crate::executor;
use crate::storage::Store;
pub use crate::storage::{RunFilter, ThreadFilter};

/// Everything a face calls. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
pub struct Parts {
    pub store: Store,
    pub agents: Arc<Registry>,
    pub executor: executor::Handle,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdGen>,
    pub keys: Keys,
    pub options: Options,
}

/// Limits that the use cases keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub queued_runs_per_owner: Option<u32>,
    pub queued_runs: Option<u32>,
    /// Webhooks may reach loopback and private addresses.
    pub allow_private_networks: bool,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Whether the server can do its work: the database answers and has this program's schema.
    pub async fn ready(&self) -> Result<()> {
        self.0.store.ping().await
    }
}
