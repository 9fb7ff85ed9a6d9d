//! What nodes and callers write: updates of channels, and commands that also say where to go.
//!
//! A write is not yet a change: the channel's reducer makes changes of it (`channel`, `apply`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::message::{CHANNEL as MESSAGES, Message};
use crate::domain::run::Goto;

/// One write to one channel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Write {
    pub channel: Arc<str>,
    #[serde(flatten)]
    pub act: Act,
}

/// What is written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// Handed to the channel's reducer; a list channel takes an array element by element.
    Write { value: Arc<Value> },
    /// One entry of a list channel, whatever its shape.
    Push { value: Arc<Value> },
    /// Past the reducer: the channel holds just this afterwards.
    Replace { value: Arc<Value> },
    /// The entry with this key goes.
    Remove { key: Arc<str> },
    /// The channel holds nothing afterwards.
    Clear,
}

/// Writes to channels, in order.
///
/// ```
/// # use runloom::engine::Update;
/// # use runloom::domain::Message;
/// let update = Update::new().set("topic", "cats").push("steps", 3).message(Message::user("m1", "hi"));
/// # assert_eq!(update.to_object()["topic"], "cats");
/// ```
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Update {
    pub(crate) writes: Vec<Write>,
}

/// The id that, in a removal, stands for every message.
pub const ALL_MESSAGES: &str = "__remove_all__";

impl Update {
    pub fn new() -> Self {
        Self::default()
    }

    /// Every member handed to the reducer of its channel: what a caller's `values` mean.
    pub fn from_object(members: Map<String, Value>) -> Self {
        members
            .into_iter()
            .fold(Self::new(), |update, (channel, value)| update.set(&channel, value))
    }

    /// Hands `value` to the channel's reducer: a channel that holds one value holds this one
    /// afterwards, a list channel gets the elements of an array, or this one.
    #[must_use]
    pub fn set(self, channel: &str, value: impl Into<Value>) -> Self {
        self.with(channel, Act::Write { value: Arc::new(value.into()) })
    }

    /// Adds one entry to a list channel.
    #[must_use]
    pub fn push(self, channel: &str, value: impl Into<Value>) -> Self {
        self.with(channel, Act::Push { value: Arc::new(value.into()) })
    }

    /// Sets the channel past its reducer: a list channel holds just these elements afterwards.
    #[must_use]
    pub fn replace(self, channel: &str, value: impl Into<Value>) -> Self {
        self.with(channel, Act::Replace { value: Arc::new(value.into()) })
    }

    /// Empties the channel.
    #[must_use]
    pub fn clear(self, channel: &str) -> Self {
        self.with(channel, Act::Clear)
    }

    /// Adds the message, or replaces the one with its id.
    #[must_use]
    pub fn message(self, message: Message) -> Self {
        self.push(MESSAGES, message)
    }

    #[must_use]
    pub fn messages(self, messages: impl IntoIterator<Item = Message>) -> Self {
        messages.into_iter().fold(self, Self::message)
    }

    /// Removes the message with this id, if there is one.
    #[must_use]
    pub fn remove_message(self, id: &str) -> Self {
        self.with(MESSAGES, Act::Remove { key: id.into() })
    }

    /// These writes, then those of `other`.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.writes.extend(other.writes);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Channel by channel, as a node in a language without types would have said it: what the
    /// `updates` of a stream show.
    pub fn to_object(&self) -> Map<String, Value> {
        let mut members = Map::new();
        for write in &self.writes {
            let member = members.entry(&*write.channel);
            match &write.act {
                Act::Write { value } | Act::Replace { value } => {
                    let value = (**value).clone();
                    member.and_modify(|had| *had = both(had.take(), &value)).or_insert(value);
                }
                Act::Push { value } => {
                    append(member.or_insert_with(|| json!([])), (**value).clone());
                }
                Act::Remove { key } => {
                    let removal = json!({"role": "remove", "id": key});
                    append(member.or_insert_with(|| json!([])), removal);
                }
                Act::Clear => {
                    member.or_insert(Value::Null);
                }
            }
        }
        members
    }

    fn with(mut self, channel: &str, act: Act) -> Self {
        self.writes.push(Write { channel: channel.into(), act });
        self
    }
}

/// Two writes of one task to one channel, shown as one: lists follow each other, else the later.
fn both(earlier: Value, later: &Value) -> Value {
    match (earlier, later) {
        (Value::Array(mut list), Value::Array(more)) => {
            list.extend(more.iter().cloned());
            Value::Array(list)
        }
        (_, later) => later.clone(),
    }
}

fn append(list: &mut Value, value: Value) {
    match list {
        Value::Array(entries) => entries.push(value),
        other => *other = json!([other.take(), value]),
    }
}

/// What a node returns: what it writes, and where to go besides its edges.
///
/// ```
/// # use runloom::engine::{Command, Update};
/// let command = Command::from(Update::new().set("approved", true)).goto("publish");
/// # assert_eq!(command.goto[0].node, "publish");
/// ```
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Command {
    #[serde(default, skip_serializing_if = "Update::is_empty")]
    pub update: Update,
    /// Targets that are due next beside those of the node's edges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goto: Vec<Goto>,
    /// Meant for the graph above: this graph ends here, and the task that runs it writes this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_parent: bool,
}

impl Command {
    pub fn new() -> Self {
        Self::default()
    }

    /// Also runs `node` next.
    #[must_use]
    pub fn goto(mut self, node: impl Into<String>) -> Self {
        self.goto.push(Goto { node: node.into(), input: None });
        self
    }

    /// Also runs `node` next, in a task of its own with this input.
    #[must_use]
    pub fn send(mut self, node: impl Into<String>, input: impl Into<Value>) -> Self {
        self.goto.push(Goto { node: node.into(), input: Some(input.into()) });
        self
    }

    /// Hands this to the graph that runs this one as a node: its update and its targets are the
    /// parent's, and this graph is over.
    #[must_use]
    pub fn to_parent(mut self) -> Self {
        self.to_parent = true;
        self
    }

    /// One command that does what `earlier` does, then what this one does.
    pub(crate) fn after(self, earlier: Self) -> Self {
        let mut goto = earlier.goto;
        goto.extend(self.goto);
        Self { update: earlier.update.and(self.update), goto, to_parent: self.to_parent }
    }
}

impl From<Update> for Command {
    fn from(update: Update) -> Self {
        Self { update, ..Self::default() }
    }
}

impl From<()> for Command {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<Message> for Command {
    fn from(message: Message) -> Self {
        Update::new().message(message).into()
    }
}

/// Where a condition leads: one target, several, or none.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Route(pub Vec<Goto>);

impl From<&str> for Route {
    fn from(node: &str) -> Self {
        Self(vec![Goto { node: node.to_owned(), input: None }])
    }
}

impl From<String> for Route {
    fn from(node: String) -> Self {
        Self(vec![Goto { node, input: None }])
    }
}

impl From<Goto> for Route {
    fn from(target: Goto) -> Self {
        Self(vec![target])
    }
}

impl From<Vec<Goto>> for Route {
    fn from(targets: Vec<Goto>) -> Self {
        Self(targets)
    }
}

impl From<Vec<&str>> for Route {
    fn from(nodes: Vec<&str>) -> Self {
        Self(nodes.into_iter().map(|node| Goto { node: node.to_owned(), input: None }).collect())
    }
}

/// A target with an input of its own: what a condition fans out with.
pub fn send(node: impl Into<String>, input: impl Into<Value>) -> Goto {
    Goto { node: node.into(), input: Some(input.into()) }
}
