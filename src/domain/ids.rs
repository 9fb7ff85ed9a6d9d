//! Identifiers. An id is always a newtype, so that two kinds cannot be mixed up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

uuid_id! {
    /// A thread, as callers name it: unique per owner.
    ThreadId,
    /// A run, unique on the server.
    RunId,
    /// One entry of a thread's history: fresh for every write of it.
    CheckpointId,
    /// One task of a super-step: derived from its checkpoint and its place, so that a second
    /// attempt finds what the first one saved.
    TaskId,
    /// One question to the outside: derived from its task and its ordinal there.
    InterruptId,
    /// One webhook delivery.
    DeliveryId,
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }
    )*};
}

text_id! {
    /// An agent, as the registry names it.
    AgentId,
    /// Whose data it is. Without keys there is one owner, `default`.
    Owner,
}

impl Owner {
    /// The owner of everything on a server without keys.
    pub fn default_owner() -> Self {
        Self::new("default")
    }
}

/// The internal key of a thread: what rows are joined by, never shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadKey(pub i64);

/// The internal key of a run: the order in which runs were accepted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RunKey(pub i64);

/// A place in the tree of graphs: empty for the root, one `node:task` segment a level below.
///
/// Streaming CDDL, section 1 (`Namespace`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Namespace(pub Arc<[Arc<str>]>);

impl Namespace {
    const SEPARATOR: &'static str = "|";

    /// The root graph's namespace.
    pub fn root() -> Self {
        Self(Arc::from([]))
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// How many graphs are above this one.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The namespace of a graph that `segment` of this one runs.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        self.0.iter().cloned().chain([Arc::from(segment)]).collect::<Vec<_>>().into()
    }

    /// One text for a column, an event name or a log field: segments joined by `|`.
    pub fn joined(&self) -> String {
        self.0.join(Self::SEPARATOR)
    }

    /// The reverse of [`Namespace::joined`].
    pub fn split(text: &str) -> Self {
        if text.is_empty() {
            return Self::root();
        }
        text.split(Self::SEPARATOR).map(Arc::from).collect::<Vec<Arc<str>>>().into()
    }
}

impl From<Vec<Arc<str>>> for Namespace {
    fn from(segments: Vec<Arc<str>>) -> Self {
        Self(segments.into())
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self::root()
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({:?})", self.joined())
    }
}

impl TaskId {
    /// The task at `path` of the step that follows `checkpoint`.
    pub fn derive(checkpoint: CheckpointId, path: &str) -> Self {
        Self(Uuid::new_v5(&checkpoint.0, path.as_bytes()))
    }
}

impl InterruptId {
    /// The `ordinal`-th question (from 0) that `task` asks.
    pub fn derive(task: TaskId, ordinal: usize) -> Self {
        Self(Uuid::new_v5(&task.0, format!("interrupt:{ordinal}").as_bytes()))
    }

    /// The pause before or after nodes that a caller asked for at `checkpoint`.
    pub fn breakpoint(checkpoint: CheckpointId, when: &str) -> Self {
        Self(Uuid::new_v5(&checkpoint.0, format!("breakpoint:{when}").as_bytes()))
    }
}

impl ThreadId {
    /// The thread that `text` names on a face whose callers choose free text: a hyphenated UUID
    /// is used as it is, anything else is mapped to one UUID per owner.
    pub fn from_text(owner: &Owner, text: &str) -> Self {
        match Uuid::try_parse(text) {
            Ok(id) if text.len() == uuid::fmt::Hyphenated::LENGTH => Self(id),
            _ => Self(Uuid::new_v5(
                &Uuid::NAMESPACE_URL,
                format!("runloom:thread:{owner}\n{text}").as_bytes(),
            )),
        }
    }
}
