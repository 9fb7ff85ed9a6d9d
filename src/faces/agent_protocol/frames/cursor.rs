//! The `id` of a frame.

use std::fmt;

use crate::app::From;
use crate::domain::error::{Error, Result};
use crate::domain::event::Seq;

/// Where a client is in a stream: which event its last frame came from, and which of that event's
/// frames it was.
///
/// One event can make a frame in each of several modes; a client that is cut off between them
/// gets the others when it comes back. So an id is the event's number times eight plus a slot
/// that depends on nothing but the kind of frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(in super::super) struct Cursor(u64);

/// The kinds of frames, in the order in which one event makes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Slot {
    Metadata = 0,
    Updates = 1,
    Messages = 2,
    Custom = 3,
    Values = 4,
    Error = 5,
    /// The last that an event can make: who has it has all of the event.
    End = 7,
}

impl Cursor {
    /// Before everything.
    pub(in super::super) const START: Self = Self(0);
    /// Behind everything: the largest number that every client can hold.
    pub(in super::super) const PAST: Self = Self((1 << 53) - 1);
    const SLOTS: u64 = 8;

    pub(in super::super) fn of(seq: Seq, slot: Slot) -> Self {
        Self(seq.saturating_mul(Self::SLOTS).saturating_add(slot as u64))
    }

    /// Reads what a client sends back; `0` and `-1` are the beginning.
    ///
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `field` for what is no number.
    pub(in super::super) fn read(field: &str, text: &str) -> Result<Self> {
        match text.trim() {
            "-1" => Ok(Self::START),
            text => text.parse().map(Self).map_err(|_| {
                Error::invalid(field, format!("{field} must be the id of an event, 0 or -1"))
            }),
        }
    }

    /// From where to follow the run to get everything after this, and maybe some of what is not.
    pub(in super::super) fn follow(self) -> From {
        let seq = self.0 / Self::SLOTS;
        let complete = self.0 % Self::SLOTS == Slot::End as u64;
        From::After(if complete { seq } else { seq.saturating_sub(1) })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl serde::Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}
