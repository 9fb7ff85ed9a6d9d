//! The one run-time error: chosen by what the caller can do about it.
//!
//! A failing *node* is not an [`Error`]: it is data ([`crate::domain::run::RunError`]).

use std::error::Error as StdError;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// Send something else: the named field is wrong.
    Invalid,
    /// Send the request in a form that can be read at all.
    Malformed,
    /// Say who you are.
    Unauthenticated,
    /// Give up: this caller may not.
    Forbidden,
    /// Name something that exists.
    NotFound,
    /// Look at what is there first: it is not in the state that this needs.
    Conflict,
    /// Wait until the thread's run is over.
    Busy,
    /// Stop: the claim on the run is lost, somebody else has it.
    Fenced,
    /// Come back later: a limit is reached.
    Limited,
    /// Come back soon: something this server needs is away.
    Unavailable,
    /// Tell the operator.
    Internal,
}

/// A failure with a public half (its `Display`) and a private one (`Debug`, `source`).
pub struct Error {
    pub fault: Fault,
    /// Stable, short, for programs; listed in `docs/api.md`.
    pub code: &'static str,
    /// The request field at fault, as a path (`config.recursion_limit`).
    pub field: Option<String>,
    public: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub fn new(fault: Fault, code: &'static str, public: impl Into<String>) -> Self {
        Self { fault, code, field: None, public: public.into(), source: None }
    }

    /// A wrong field of a request.
    pub fn invalid(field: impl Into<String>, public: impl Into<String>) -> Self {
        Self::new(Fault::Invalid, "invalid_argument", public).at(field)
    }

    pub fn not_found(code: &'static str, public: impl Into<String>) -> Self {
        Self::new(Fault::NotFound, code, public)
    }

    pub fn conflict(code: &'static str, public: impl Into<String>) -> Self {
        Self::new(Fault::Conflict, code, public)
    }

    /// A fault of the server itself; the public half says only what could not be done.
    pub fn internal(public: impl Into<String>) -> Self {
        Self::new(Fault::Internal, "internal", public)
    }

    pub fn unavailable(public: impl Into<String>) -> Self {
        Self::new(Fault::Unavailable, "unavailable", public)
    }

    /// The claim is lost: another attempt has the run, or it is gone.
    pub fn fenced() -> Self {
        Self::new(Fault::Fenced, "fenced", "the run was taken over by another attempt")
    }

    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The half that a caller may read.
    pub fn public(&self) -> &str {
        &self.public
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("fault", &self.fault)
            .field("code", &self.code)
            .field("field", &self.field)
            .field("public", &self.public)
            .field("source", &self.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
