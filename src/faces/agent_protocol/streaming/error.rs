//! Errors as the protocol tells them: a code of its own short list, and a sentence.
//!
//! The one table of those codes. What concerns the connection and not the command (the thread is
//! not there, the database is away) has a status over HTTP, like everywhere on this face.

use super::wire::ErrorCode;
use crate::domain::error::{Error, Fault};

/// Why a command was not carried out.
#[derive(Debug)]
pub struct Refusal {
    pub code: ErrorCode,
    pub error: Error,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, error: Error::new(Fault::Invalid, "invalid_argument", message) }
    }

    /// Whether this is said by the status of an HTTP answer instead.
    pub fn is_about_the_request(&self) -> bool {
        self.error.code == "thread_not_found"
            || matches!(self.error.fault, Fault::Unavailable | Fault::Limited | Fault::Internal)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match (error.code, error.fault) {
            ("run_not_found" | "nothing_running", _) => ErrorCode::NoSuchRun,
            ("checkpoint_not_found", _) => ErrorCode::NoSuchCheckpoint,
            ("nothing_to_resume", _) => ErrorCode::NoSuchInterrupt,
            (_, Fault::Unauthenticated | Fault::Forbidden) => ErrorCode::PermissionDenied,
            (
                _,
                Fault::Invalid | Fault::Malformed | Fault::NotFound | Fault::Conflict | Fault::Busy,
            ) => ErrorCode::InvalidArgument,
            (_, Fault::Fenced | Fault::Limited | Fault::Unavailable | Fault::Internal) => {
                ErrorCode::UnknownError
            }
        };
        Self { code, error }
    }
}
