//! The envelope of an event. CDDL, section 3 (`Event`).

use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::super::super::wire::Held;
use super::{
    Checkpoint, CustomData, InputRequestedData, LifecycleData, MessagesData, Number, ResumeGap,
    TaskData, ToolsData, UpdatesData,
};
use crate::domain::clock::Ts;
use crate::domain::ids::Namespace;
use crate::domain::state::State;

/// Something that happened on a thread.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    pub number: Number,
    pub at: Ts,
    pub namespace: Namespace,
    /// Only on the channels `messages` and `tools`.
    pub node: Option<Arc<str>>,
    pub data: Data,
}

/// What happened; its kind is the event's `method`.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(untagged)]
pub enum Data {
    #[serde(serialize_with = "whole")]
    Values(State),
    Updates(UpdatesData),
    Messages(MessagesData),
    Tools(ToolsData),
    Lifecycle(LifecycleData),
    Input(InputRequestedData),
    Checkpoints(Checkpoint),
    Tasks(TaskData),
    Custom(CustomData),
    /// Told on every channel, in the form of a custom event: the protocol has none for it.
    ResumeGap(ResumeGap),
}

impl Data {
    pub fn method(&self) -> &'static str {
        match self {
            Self::Values(_) => "values",
            Self::Updates(_) => "updates",
            Self::Messages(_) => "messages",
            Self::Tools(_) => "tools",
            Self::Lifecycle(_) => "lifecycle",
            Self::Input(_) => "input.requested",
            Self::Checkpoints(_) => "checkpoints",
            Self::Tasks(_) => "tasks",
            Self::Custom(_) | Self::ResumeGap(_) => "custom",
        }
    }
}

/// A state with all its channels, written without copying it.
fn whole<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(state.channels().map(|(name, slot)| (name, Held(slot))))
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut event = serializer.serialize_struct("Event", 5)?;
        event.serialize_field("type", "event")?;
        event.serialize_field("eventId", &format_args!("{}", self.number))?;
        event.serialize_field("seq", &self.number)?;
        event.serialize_field("method", self.data.method())?;
        event.serialize_field("params", &Params(self))?;
        event.end()
    }
}

struct Params<'a>(&'a Event);

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(event) = self;
        let members = if event.node.is_some() { 4 } else { 3 };
        let mut params = serializer.serialize_struct("params", members)?;
        params.serialize_field("namespace", &event.namespace)?;
        params.serialize_field("timestamp", &event.at.millis())?;
        if let Some(node) = &event.node {
            params.serialize_field("node", node)?;
        }
        params.serialize_field("data", &event.data)?;
        params.end()
    }
}
