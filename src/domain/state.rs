//! The state of a graph: named channels, and the changes that a step makes to them.
//!
//! Storage keeps changes, never states: a state is the fold of the changes along its lineage.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::list::List;
use crate::domain::message::{self, Message};

pub use crate::domain::list::Entry;

/// One change to one channel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    pub channel: Arc<str>,
    #[serde(flatten)]
    pub op: Op,
}

/// What happens to the channel. The first two are for channels that hold one value, the others
/// for channels that hold a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    Set {
        value: Arc<Value>,
    },
    Unset,
    /// Adds an entry without a key.
    Push {
        value: Arc<Value>,
    },
    /// Replaces the entry with this key where it stands, or adds it at the end.
    Put {
        key: Arc<str>,
        value: Arc<Value>,
    },
    Drop {
        key: Arc<str>,
    },
    /// Removes all entries.
    Clear,
}

/// What a channel holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Slot {
    Value(Arc<Value>),
    List(Arc<List>),
}

/// All channels that hold something. Cloning shares the contents.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct State {
    channels: BTreeMap<Arc<str>, Slot>,
}

impl State {
    /// Folds one change in.
    pub fn apply(&mut self, change: &Change) {
        let channel = &change.channel;
        match &change.op {
            Op::Set { value } => {
                self.channels.insert(channel.clone(), Slot::Value(value.clone()));
            }
            Op::Unset | Op::Clear => {
                self.channels.remove(channel);
            }
            Op::Push { value } => self.list(channel).push(value.clone()),
            Op::Put { key, value } => self.list(channel).put(key, value.clone()),
            Op::Drop { key } => self.list(channel).remove(key),
        }
    }

    /// The list behind `channel`, empty if it held none. Copied only if somebody shares it.
    fn list(&mut self, channel: &Arc<str>) -> &mut List {
        let slot = self
            .channels
            .entry(channel.clone())
            .and_modify(|slot| {
                if matches!(slot, Slot::Value(_)) {
                    *slot = Slot::List(Arc::default());
                }
            })
            .or_insert_with(|| Slot::List(Arc::default()));
        match slot {
            Slot::List(list) => Arc::make_mut(list),
            Slot::Value(_) => unreachable!("made a list above"),
        }
    }

    pub fn slot(&self, channel: &str) -> Option<&Slot> {
        self.channels.get(channel)
    }

    /// What `channel` holds, as JSON; a list as an array.
    pub fn get(&self, channel: &str) -> Option<Value> {
        self.channels.get(channel).map(Slot::to_value)
    }

    /// What `channel` holds, if it holds something that reads as a `T`.
    pub fn get_as<T: DeserializeOwned>(&self, channel: &str) -> Option<T> {
        match self.channels.get(channel)? {
            Slot::Value(value) => T::deserialize(&**value).ok(),
            slot @ Slot::List(_) => serde_json::from_value(slot.to_value()).ok(),
        }
    }

    /// The entries of a list channel; none if it holds none.
    pub fn entries(&self, channel: &str) -> &[Entry] {
        match self.channels.get(channel) {
            Some(Slot::List(list)) => list,
            Some(Slot::Value(_)) | None => &[],
        }
    }

    /// The messages as values, oldest first.
    pub fn message_values(&self) -> impl DoubleEndedIterator<Item = &Arc<Value>> {
        self.entries(message::CHANNEL).iter().map(|entry| &entry.value)
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> Vec<Message> {
        self.message_values().filter_map(|value| Message::from_value(value)).collect()
    }

    /// Whether the message `id` is there and is this one.
    pub fn has_message(&self, id: &str, value: &Value) -> bool {
        match self.channels.get(message::CHANNEL) {
            Some(Slot::List(list)) => list.find(id).is_some_and(|entry| *entry.value == *value),
            Some(Slot::Value(_)) | None => false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    pub fn channels(&self) -> impl Iterator<Item = (&Arc<str>, &Slot)> {
        self.channels.iter()
    }

    /// All channels as one object, `messages` among them.
    pub fn to_object(&self) -> Map<String, Value> {
        self.channels.iter().map(|(name, slot)| (name.to_string(), slot.to_value())).collect()
    }

    /// All channels but `messages` as one object: what a face shows as `values`.
    pub fn values(&self) -> Map<String, Value> {
        self.channels
            .iter()
            .filter(|(name, _)| &***name != message::CHANNEL)
            .map(|(name, slot)| (name.to_string(), slot.to_value()))
            .collect()
    }
}

impl Slot {
    pub fn to_value(&self) -> Value {
        match self {
            Self::Value(value) => (**value).clone(),
            Self::List(list) => list.iter().map(|entry| (*entry.value).clone()).collect(),
        }
    }
}
