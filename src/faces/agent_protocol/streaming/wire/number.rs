//! How events are numbered.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::domain::event::Seq;

/// The `seq` of an event, and its `eventId`.
///
/// One entry of the log gives several events: a checkpoint its values and its envelope, a whole
/// message its start, its blocks and its finish. A client whose connection breaks between two of
/// them must get the second and not the first again, so each has a number of its own: the
/// entry's, times 1024, plus its ordinal there. The ordinal counts what every channel
/// would get, so that numbers do not depend on what somebody subscribed to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Number(u64);

impl Number {
    /// Numbers an entry of the log. With 2^24 entries an attempt, a thread has half a million
    /// attempts before a number is no longer exact in JavaScript.
    const ROOM: u64 = 1 << 10;
    /// From this ordinal on: how things stood after the entry, told to whoever came in there.
    const STANDING: u64 = Self::ROOM / 2;

    /// The `ordinal`-th event that the log's entry `seq` gives. Beyond the room there is, the
    /// events of one entry share the last number.
    pub fn of(seq: Seq, ordinal: u32) -> Self {
        Self(seq.saturating_mul(Self::ROOM) + u64::from(ordinal).min(Self::STANDING - 1))
    }

    /// The `ordinal`-th event that tells how things stand after the entry `seq`.
    pub fn standing(seq: Seq, ordinal: u32) -> Self {
        let ordinal = (Self::STANDING + u64::from(ordinal)).min(Self::ROOM - 1);
        Self(seq.saturating_mul(Self::ROOM) + ordinal)
    }

    /// Above all numbers that the entry `seq` gives.
    pub fn end_of(seq: Seq) -> Self {
        Self(seq.saturating_mul(Self::ROOM) + (Self::ROOM - 1))
    }

    /// The number as a client gave it back.
    pub fn from_wire(number: u64) -> Self {
        Self(number)
    }

    /// The number behind an `eventId`.
    pub fn from_event_id(text: &str) -> Option<Self> {
        text.trim().parse().ok().map(Self)
    }

    /// The log's entry that it belongs to.
    pub fn entry(self) -> Seq {
        self.0 / Self::ROOM
    }

    /// Whether it tells how things stand, not what happened.
    pub fn is_standing(self) -> bool {
        self.0 % Self::ROOM >= Self::STANDING
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}
