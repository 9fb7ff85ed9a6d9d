//! Makes the messages of an update ready for the state: read, checked, each with an id.
//!
//! Done once, when a task or a caller hands its update over, so that what is shown of the update
//! and what the state keeps agree.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::domain::error::Result;
use crate::domain::message::{CHANNEL, Message, derived_id};
use crate::engine::write::{Act, Update, Write};

/// Ids of messages that a task left without one are derived from above this ordinal, so that
/// they cannot meet those that it derives itself.
const UNNAMED: usize = 1 << 32;

/// Reads every message that `update` writes. Those without an id get one derived from `source`;
/// `{"role": "remove", "id": …}` becomes a removal.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `messages[i]`'s member.
pub(crate) fn prepare(update: Update, source: Uuid) -> Result<Update> {
    if update.writes.iter().all(|write| &*write.channel != CHANNEL) {
        return Ok(update);
    }
    let mut ready = Vec::with_capacity(update.writes.len());
    let mut reader = Reader { source, seen: 0 };
    for write in update.writes {
        if &*write.channel != CHANNEL {
            ready.push(write);
            continue;
        }
        match write.act {
            Act::Write { value } => reader.read_all(&value, &mut ready)?,
            Act::Push { value } => ready.push(reader.read(&value)?),
            Act::Replace { value } => {
                ready.push(on_messages(Act::Clear));
                reader.read_all(&value, &mut ready)?;
            }
            act @ (Act::Remove { .. } | Act::Clear) => ready.push(on_messages(act)),
        }
    }
    Ok(Update { writes: ready })
}

struct Reader {
    source: Uuid,
    seen: usize,
}

impl Reader {
    fn read_all(&mut self, value: &Arc<Value>, ready: &mut Vec<Write>) -> Result<()> {
        match &**value {
            Value::Array(elements) => {
                for element in elements {
                    ready.push(self.read(element)?);
                }
            }
            one => ready.push(self.read(one)?),
        }
        Ok(())
    }

    fn read(&mut self, value: &Value) -> Result<Write> {
        let ordinal = self.seen;
        self.seen += 1;
        if let Some(key) = removal(value) {
            return Ok(on_messages(Act::Remove { key }));
        }
        let field = format!("{CHANNEL}[{ordinal}]");
        let message = Message::read(&field, value, || derived_id(self.source, UNNAMED + ordinal))?;
        Ok(on_messages(Act::Push { value: Arc::new(message.to_value()) }))
    }
}

/// The id in `{"role": "remove", "id": …}`, LangChain's `type` included.
fn removal(value: &Value) -> Option<Arc<str>> {
    let role = value.get("role").or_else(|| value.get("type"))?.as_str()?;
    let id = value.get("id")?.as_str()?;
    (role == "remove").then(|| id.into())
}

fn on_messages(act: Act) -> Write {
    Write { channel: CHANNEL.into(), act }
}
