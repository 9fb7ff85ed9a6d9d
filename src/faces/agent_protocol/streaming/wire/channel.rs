//! Channels and what is asked of them. CDDL, sections 5 and 6.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use super::Number;

/// A subscribable stream of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Channel {
    Values,
    Updates,
    Messages,
    Tools,
    Lifecycle,
    Input,
    Checkpoints,
    Tasks,
    /// All custom events.
    Custom,
    /// Those of one name.
    CustomNamed(String),
}

impl Channel {
    const NAMES: &str = "values, updates, messages, tools, lifecycle, input, checkpoints, tasks, \
                         custom or custom:NAME";

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "values" => Some(Self::Values),
            "updates" => Some(Self::Updates),
            "messages" => Some(Self::Messages),
            "tools" => Some(Self::Tools),
            "lifecycle" => Some(Self::Lifecycle),
            "input" => Some(Self::Input),
            "checkpoints" => Some(Self::Checkpoints),
            "tasks" => Some(Self::Tasks),
            "custom" => Some(Self::Custom),
            named => {
                let name = named.strip_prefix("custom:").filter(|name| !name.is_empty())?;
                Some(Self::CustomNamed(name.to_owned()))
            }
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values => "values",
            Self::Updates => "updates",
            Self::Messages => "messages",
            Self::Tools => "tools",
            Self::Lifecycle => "lifecycle",
            Self::Input => "input",
            Self::Checkpoints => "checkpoints",
            Self::Tasks => "tasks",
            Self::Custom => "custom",
            Self::CustomNamed(name) => return write!(f, "custom:{name}"),
        })
    }
}

impl<'de> Deserialize<'de> for Channel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom(format!("`{text}` is no channel: {}", Self::NAMES));
        Self::parse(&text).ok_or_else(wrong)
    }
}

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in the tree of graphs, as a client names it.
pub type NamespacePath = Vec<Arc<str>>;

/// Which events a subscription takes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, serde::Deserialize)]
pub struct SubscribeParams {
    pub channels: Vec<Channel>,
    /// Prefixes. Absent: all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<NamespacePath>>,
    /// Levels below the prefix. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// What `POST /threads/{thread_id}/stream` asks for.
#[derive(serde::Deserialize)]
pub struct EventStreamRequest {
    channels: Vec<Channel>,
    namespaces: Option<Vec<NamespacePath>>,
    depth: Option<u32>,
    since: Option<u64>,
}

impl EventStreamRequest {
    /// The subscription, and the number after which events are to be replayed.
    pub fn read(self) -> (SubscribeParams, Option<Number>) {
        let Self { channels, namespaces, depth, since } = self;
        (SubscribeParams { channels, namespaces, depth }, since.map(Number::from_wire))
    }
}
