//! Numbering events as they are made.

use std::sync::Arc;

use super::super::wire::{Data, Event, Number};
use crate::domain::clock::Ts;
use crate::domain::event::{Logged, Seq};
use crate::domain::ids::Namespace;

/// Takes the events that one entry of the log gives.
pub(super) struct Emit<'a> {
    seq: Seq,
    number: fn(Seq, u32) -> Number,
    ordinal: u32,
    at: Ts,
    namespace: Namespace,
    out: &'a mut Vec<Event>,
}

impl<'a> Emit<'a> {
    /// For what `logged` gives.
    pub(super) fn of(logged: &Logged, out: &'a mut Vec<Event>) -> Self {
        let namespace = logged.namespace.clone();
        Self { seq: logged.seq, number: Number::of, ordinal: 0, at: logged.at, namespace, out }
    }

    /// For how things stand after `seq`.
    pub(super) fn standing(seq: Seq, at: Ts, out: &'a mut Vec<Event>) -> Self {
        let namespace = Namespace::root();
        Self { seq, number: Number::standing, ordinal: 0, at, namespace, out }
    }

    /// An event in the entry's own namespace.
    pub(super) fn push(&mut self, data: Data) {
        let namespace = self.namespace.clone();
        self.push_in(&namespace, None, data);
    }

    pub(super) fn push_in(&mut self, namespace: &Namespace, node: Option<&Arc<str>>, data: Data) {
        let number = (self.number)(self.seq, self.ordinal);
        self.ordinal += 1;
        let (namespace, node) = (namespace.clone(), node.cloned());
        self.out.push(Event { number, at: self.at, namespace, node, data });
    }

    /// Leaves the number to an event that cannot be told here but may be elsewhere.
    pub(super) fn skip(&mut self) {
        self.ordinal += 1;
    }
}
