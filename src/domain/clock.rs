//! Time and ids come in as values: the system's in production, fixed ones in tests.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A point in time: microseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ts(pub i64);

impl Ts {
    /// RFC 3339 with microseconds and `Z`; the epoch for a value beyond chrono's range.
    pub fn to_rfc3339(self) -> String {
        self.to_datetime().to_rfc3339_opts(SecondsFormat::Micros, true)
    }

    pub fn to_datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }

    pub fn from_datetime(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_micros())
    }

    /// Whole milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this one; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Debug for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync {
    fn now(&self) -> Ts;
}

/// Where fresh ids come from.
pub trait IdGen: Send + Sync {
    /// A fresh UUID; later ones sort after earlier ones.
    fn uuid(&self) -> Uuid;
}

/// The system's clock and random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
    fn now(&self) -> Ts {
        Ts::from_datetime(Utc::now())
    }
}

impl IdGen for System {
    #[expect(clippy::disallowed_methods, reason = "the one place that draws random ids")]
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// A clock that moves only when told, and ids that count from one.
#[derive(Debug)]
pub struct Fixed {
    now: AtomicI64,
    drawn: AtomicU64,
}

impl Fixed {
    pub fn at(now: Ts) -> Self {
        Self { now: AtomicI64::new(now.0), drawn: AtomicU64::new(0) }
    }

    pub fn advance(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.now.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for Fixed {
    fn now(&self) -> Ts {
        Ts(self.now.load(Ordering::Relaxed))
    }
}

impl IdGen for Fixed {
    fn uuid(&self) -> Uuid {
        let ordinal = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 | u128::from(ordinal))
    }
}
