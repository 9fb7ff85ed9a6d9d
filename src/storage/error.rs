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
    let (fault, code) = match away {
        true => (Fault::Unavailable, "unavailable"),
        false => (Fault::Internal, "internal"),
    };
    Error::new(fault, code, what).caused_by(error)
}

/// Postgres: connection, resources, operator, serialisation, deadlock. SQLite: busy, locked, I/O,
/// full, cannot open, with their extended codes.
fn is_transient(code: &str) -> bool {
    const CLASSES: [&str; 3] = ["08", "53", "57P"];
    if code.len() == 5 && code.chars().any(|sign| sign.is_ascii_alphabetic())
        || CLASSES.iter().any(|class| code.len() == 5 && code.starts_with(class))
    {
        return CLASSES.iter().any(|class| code.starts_with(class))
            || matches!(code, "40001" | "40P01" | "25006");
    }
    match code.parse::<i32>() {
        Ok(40001) => true,
        Ok(lite) => matches!(lite & 0xff, 5 | 6 | 10 | 13 | 14),
        Err(_) => false,
    }
}

/// Whether a unique index refused the row.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(database) if database.is_unique_violation())
}
