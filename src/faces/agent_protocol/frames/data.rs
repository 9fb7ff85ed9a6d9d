//! What frames say, written without copying what it is made of.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::super::wire::Held;
use super::cursor::Cursor;
use crate::domain::ids::{InterruptId, Namespace, RunId, ThreadId};
use crate::domain::interrupt;
use crate::domain::state::State;

/// The member under which a pause is shown, beside channels and nodes.
const INTERRUPT: &str = "__interrupt__";

#[derive(Serialize)]
pub(super) struct Metadata {
    pub(super) run_id: RunId,
    pub(super) thread_id: ThreadId,
    pub(super) attempt: u32,
}

#[derive(Serialize)]
pub(super) struct Gap {
    pub(super) after: Cursor,
    pub(super) first_available: Option<Cursor>,
}

#[derive(Serialize)]
pub(super) struct Failure<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
pub(super) struct End<S> {
    pub(super) run_id: RunId,
    pub(super) status: S,
}

/// The whole state, and what is asked if it stands at a pause.
pub(super) struct Values<'a> {
    pub(super) state: &'a State,
    pub(super) asked: &'a [interrupt::Interrupt],
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        for (name, slot) in self.state.channels() {
            members.serialize_entry(name, &Held(slot))?;
        }
        if !self.asked.is_empty() {
            members.serialize_entry(INTERRUPT, &Asked(self.asked))?;
        }
        members.end()
    }
}

/// What one task changed, under its node's name.
pub(super) struct Update<'a> {
    pub(super) node: &'a str,
    pub(super) update: &'a Map<String, Value>,
}

impl Serialize for Update<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.node, self.update)])
    }
}

/// A pause, where updates are told.
pub(super) struct Pause<'a>(pub(super) &'a [interrupt::Interrupt]);

impl Serialize for Pause<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(INTERRUPT, Asked(self.0))])
    }
}

struct Asked<'a>(&'a [interrupt::Interrupt]);

impl Serialize for Asked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One<'a> {
            id: InterruptId,
            value: &'a Value,
            namespace: &'a Namespace,
        }

        serializer.collect_seq(self.0.iter().map(|interrupt| One {
            id: interrupt.id,
            value: &interrupt.value,
            namespace: &interrupt.namespace,
        }))
    }
}
