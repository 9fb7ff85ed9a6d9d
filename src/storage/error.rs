//! The one place where a database's error becomes ours.

use crate::domain::error::{Error, Fault};

/// What could not be done, and why: a database that is away or overloaded is
/// [`Fault::Unavailable`], anything else is a fault of this program.
pub(super) fn fail(what: &'static str, error: sqlx::Error) -> Error {
    let away = match &error {
        sqlx::Error::Database(database) => database.code().is_some_and(|code| is_transient(&code)),
        sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    };
    let (fault, code) =
        if away { (Fault::Unavailable, "unavailable") } else { (Fault::Internal, "internal") };
    Error::new(fault, code, what).caused_by(error)
}

/// Postgres: connection, resources, operator, serialisation, deadlock. SQLite: busy, locked, I/O,
/// full, cannot open, with their extended codes.
fn is_transient(code: &str) -> bool {
    // SQLite's codes are small numbers, Postgres' have five signs.
    if code.len() == 5 {
        return ["08", "53", "57P"].iter().any(|class| code.starts_with(class))
            || matches!(code, "25006" | "40001" | "40P01");
    }
    code.parse::<i32>().is_ok_and(|lite| matches!(lite & 0xff, 5 | 6 | 10 | 13 | 14))
}

/// Whether a unique index refused the row.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(database) if database.is_unique_violation())
}
