//! A thread's state in its two halves, written without copying it.

use serde::{Serialize, Serializer};

use crate::domain::message::CHANNEL;
use crate::domain::state::{Slot, State};

/// All channels but `messages`, as an object.
pub struct Values(pub State);

/// The messages, as a list.
pub struct Messages(pub State);

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let channels = self.0.channels().filter(|(name, _)| &***name != CHANNEL);
        serializer.collect_map(channels.map(|(name, slot)| (name, Held(slot))))
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.message_values())
    }
}

/// What a channel holds, as JSON.
pub(in super::super) struct Held<'a>(pub(in super::super) &'a Slot);

impl Serialize for Held<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Slot::Value(value) => value.serialize(serializer),
            Slot::List(list) => serializer.collect_seq(list.iter().map(|entry| &entry.value)),
        }
    }
}
