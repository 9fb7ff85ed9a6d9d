//! Messages piece by piece: `[chunk, metadata]`.
//!
//! The pieces of a message add up to it. A message that was not streamed is one piece.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::domain::event::{Block, Delta, Logged, RunEvent};
use crate::domain::ids::{Namespace, RunId, ThreadId};
use crate::domain::message::Role;

/// What is known of the messages of the attempt that is being watched.
#[derive(Default)]
pub(super) struct Messages {
    open: HashMap<Arc<str>, Open>,
    /// Those of which something was shown.
    begun: HashSet<Arc<str>>,
    /// The step that each graph is in.
    steps: HashMap<Namespace, i64>,
}

/// A message that is being written.
struct Open {
    role: Role,
    node: Arc<str>,
    step: i64,
}

/// The pair that is sent.
pub(super) type Pair<'a> = (Chunk<'a>, About<'a>);

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Chunk<'a> {
    Piece(Piece<'a>),
    Whole(Whole<'a>),
}

/// A part of a message.
#[derive(Serialize)]
pub(super) struct Piece<'a> {
    id: &'a str,
    role: Role,
    r#type: &'static str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_chunks: Option<[ToolCallChunk<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks([Value; 1]),
}

/// A part of a tool call: name and id come first, then the arguments' text.
#[derive(Serialize)]
struct ToolCallChunk<'a> {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    args: &'a str,
}

/// A message as the state keeps it, with the `type` that pieces have.
pub(super) struct Whole<'a>(&'a Value);

/// Where a piece comes from.
#[derive(Serialize)]
pub(super) struct About<'a> {
    run_id: RunId,
    thread_id: ThreadId,
    node: Option<Arc<str>>,
    step: Option<i64>,
    namespace: &'a Namespace,
    tags: &'a [String],
}

/// What the run says about all of its messages.
pub(super) struct Watched<'a> {
    pub(super) run_id: RunId,
    pub(super) thread_id: ThreadId,
    pub(super) tags: &'a [String],
}

impl Messages {
    /// Forgets what an attempt left open.
    pub(super) fn begin_attempt(&mut self) {
        *self = Self::default();
    }

    /// Takes note of the event; the piece of a message that it is, if it is one.
    pub(super) fn piece<'a>(&mut self, logged: &'a Logged, run: &Watched<'a>) -> Option<Pair<'a>> {
        let namespace = &logged.namespace;
        match &logged.event {
            RunEvent::TaskStarted { step, .. } => {
                self.steps.insert(namespace.clone(), *step);
                None
            }
            RunEvent::MessageStarted { message_id, role, node, step, .. } => {
                let open = Open { role: *role, node: node.clone(), step: *step };
                self.open.insert(message_id.clone(), open);
                None
            }
            RunEvent::BlockStarted { message_id, index, block } => {
                let (content, call, reasoning) = opening(*index, block)?;
                Some(self.part(run, namespace, message_id, content, call, reasoning))
            }
            RunEvent::BlockDelta { message_id, index, delta } => {
                let (content, call, reasoning) = growth(*index, delta);
                Some(self.part(run, namespace, message_id, content, call, reasoning))
            }
            RunEvent::MessageFinished { message_id, .. } => {
                // A message without any content shows once, so that its id is known.
                let bare = !self.begun.contains(message_id);
                let last = bare
                    .then(|| self.part(run, namespace, message_id, Content::Text(""), None, None));
                self.open.remove(message_id);
                last
            }
            RunEvent::MessageFailed { message_id, .. } => {
                self.open.remove(message_id);
                self.begun.remove(message_id);
                None
            }
            RunEvent::Message { message, node, step } => {
                self.whole(message, About::new(run, namespace, Some(node.clone()), Some(*step)))
            }
            RunEvent::ToolFinished { message, node, .. } => {
                let step = self.steps.get(namespace).copied();
                self.whole(message, About::new(run, namespace, Some(node.clone()), step))
            }
            _ => None,
        }
    }

    fn part<'a>(
        &mut self,
        run: &Watched<'a>,
        namespace: &'a Namespace,
        id: &'a Arc<str>,
        content: Content<'a>,
        call: Option<ToolCallChunk<'a>>,
        reasoning: Option<&'a str>,
    ) -> Pair<'a> {
        self.begun.insert(id.clone());
        let open = self.open.get(id);
        let role = open.map_or(Role::Assistant, |open| open.role);
        let tool_call_chunks = call.map(|call| [call]);
        let r#type = type_of(role);
        let piece = Piece { id, role, r#type, content, tool_call_chunks, reasoning };
        let node = open.map(|open| open.node.clone());
        (Chunk::Piece(piece), About::new(run, namespace, node, open.map(|open| open.step)))
    }

    /// `None` for a message that was shown already.
    fn whole<'a>(&mut self, message: &'a Value, about: About<'a>) -> Option<Pair<'a>> {
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
        let new = self.begun.insert(Arc::from(id));
        new.then_some((Chunk::Whole(Whole(message)), about))
    }
}

impl<'a> About<'a> {
    fn new(
        run: &Watched<'a>,
        namespace: &'a Namespace,
        node: Option<Arc<str>>,
        step: Option<i64>,
    ) -> Self {
        let Watched { run_id, thread_id, tags } = *run;
        Self { run_id, thread_id, node, step, namespace, tags }
    }
}

type Parts<'a> = (Content<'a>, Option<ToolCallChunk<'a>>, Option<&'a str>);

/// What a block shows as it starts; nothing if it starts empty.
fn opening(index: u32, block: &Block) -> Option<Parts<'_>> {
    match block {
        Block::Text { text } if text.is_empty() => None,
        Block::Text { text } => Some((Content::Text(text), None, None)),
        Block::Reasoning { text, .. } if text.is_empty() => None,
        Block::Reasoning { text, .. } => Some((Content::Text(""), None, Some(text))),
        Block::ToolCall { id, name, args } | Block::InvalidToolCall { id, name, args, .. } => {
            let call = ToolCallChunk { index, id: Some(id), name: Some(name), args };
            Some((Content::Text(""), Some(call), None))
        }
        Block::Other { value } => Some((Content::Blocks([value.clone()]), None, None)),
    }
}

fn growth(index: u32, delta: &Delta) -> Parts<'_> {
    match delta {
        Delta::Text { text } => (Content::Text(text), None, None),
        Delta::Reasoning { text } => (Content::Text(""), None, Some(text)),
        Delta::Args { args } => {
            let call = ToolCallChunk { index, id: None, name: None, args };
            (Content::Text(""), Some(call), None)
        }
        Delta::Data { data } => {
            (Content::Blocks([json!({"type": "data", "index": index, "data": data})]), None, None)
        }
    }
}

/// The role in the words of `type`.
fn type_of(role: Role) -> &'static str {
    match role {
        Role::User => "human",
        Role::Assistant => "ai",
        Role::System | Role::Developer | Role::Tool => role.as_str(),
    }
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(members) = self.0.as_object() else { return self.0.serialize(serializer) };
        let role = members.get("role").and_then(Value::as_str).and_then(Role::parse);
        let mut whole = serializer.serialize_map(None)?;
        for (name, member) in members.iter().filter(|(name, _)| *name != "type") {
            whole.serialize_entry(name, member)?;
        }
        if let Some(role) = role {
            whole.serialize_entry("type", type_of(role))?;
        }
        whole.end()
    }
}
