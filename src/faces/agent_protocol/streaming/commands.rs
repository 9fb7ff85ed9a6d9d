//! Commands, the same over HTTP and WebSocket: one file a module of the protocol.
//!
//! Each reads its params, calls one use case and says what came of it. Subscriptions belong to a
//! connection: see [`super::session`].

mod agent;
mod input;
mod params;
mod run;
mod state;

use serde::Serialize;
use serde_json::Value;

pub use agent::{run_id, statuses};
pub use params::read;

use super::error::Refusal;
use super::wire::{Envelope, ErrorCode, Number, Reply, ResponseMeta};
use crate::app::{App, Caller};
use crate::domain::error::Error;
use crate::domain::ids::ThreadId;

/// What came of a command.
pub type Outcome = Result<Value, Refusal>;

/// Whom a command comes from, and which thread it is for.
#[derive(Clone)]
pub struct On {
    pub app: App,
    pub who: Caller,
    pub thread: ThreadId,
}

/// The commands that are about the connection they come over.
pub const SUBSCRIPTIONS: [&str; 3] =
    ["subscription.subscribe", "subscription.unsubscribe", "subscription.reconnect"];

impl On {
    /// Carries out a command that is not about the connection.
    pub async fn carry_out(&self, method: &str, params: Value) -> Outcome {
        match method {
            "run.start" => run::start(self, read(params)?).await,
            "input.respond" => input::respond(self, read(params)?).await,
            "input.inject" => input::inject(self, read(params)?).await,
            "state.get" => state::get(self, read(params)?).await,
            "state.listCheckpoints" => state::list_checkpoints(self, read(params)?).await,
            "state.fork" => state::fork(self, read(params)?).await,
            "agent.getTree" => agent::get_tree(self, read(params)?).await,
            subscription if SUBSCRIPTIONS.contains(&subscription) => Err(Refusal::new(
                ErrorCode::NotSupported,
                "subscriptions belong to a WebSocket; over HTTP a stream is one: POST …/stream",
            )),
            unknown => {
                let why = format!("there is no command `{unknown}`");
                Err(Refusal::new(ErrorCode::UnknownCommand, why))
            }
        }
    }

    /// Carries out a command and makes its answer. `applied`: the last event that the client was
    /// sent, where that is known.
    pub async fn answer(
        &self,
        command: Envelope,
        applied: Option<Number>,
    ) -> Result<Reply, (u64, Refusal)> {
        let Envelope { id, method, params } = command;
        let refused = |refusal: Refusal| (id, refusal);
        let applied = match applied {
            Some(applied) => applied,
            None => self.position().await.map_err(|error| refused(error.into()))?,
        };
        let result = self.carry_out(&method, params).await.map_err(refused)?;
        Ok(success(id, result, applied))
    }

    /// A number that every event after this is above.
    async fn position(&self) -> Result<Number, Error> {
        Ok(Number::end_of(self.app.thread_position(&self.who, self.thread).await?))
    }
}

pub fn success(id: u64, result: Value, applied: Number) -> Reply {
    Reply::Success { id, result, meta: ResponseMeta { applied_through_seq: applied } }
}

pub fn failure(id: Option<u64>, refusal: &Refusal) -> Reply {
    let message = refusal.error.public().to_owned();
    Reply::Error { id, error: refusal.code, message }
}

/// A result as it goes into a reply.
pub fn written(result: &impl Serialize) -> Outcome {
    serde_json::to_value(result)
        .map_err(|why| Error::internal("cannot write the answer").caused_by(why).into())
}
