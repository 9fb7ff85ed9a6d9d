//! Why a node did not come to its end.

use std::error::Error as StdError;
use std::fmt;

use crate::domain::error::{Error, Fault};
use crate::domain::run::RunError;

/// What a node returns instead of a command: it failed, or it waits for an answer.
///
/// Any error converts into one with `?`; what that error displays is what the caller reads, so
/// wrap it in [`Halt::fail`] where that tells too much.
#[derive(Debug)]
pub struct Halt(pub(crate) Why);

#[derive(Debug)]
pub(crate) enum Why {
    /// It asked; what it asked is noted with its task.
    Asks,
    Failed(NodeError),
    /// The world is not there any more: the claim is lost.
    Port(Error),
    /// The run is to stop.
    Stopped,
}

/// How a node failed.
pub struct NodeError {
    /// Stable, for programs; `node_error` unless the node chose one.
    pub code: String,
    /// A sentence for the caller.
    pub message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Halt {
    /// The code of a failure that chose none.
    pub const NODE_ERROR: &'static str = "node_error";

    /// A failure, with a sentence for the caller.
    pub fn fail(message: impl Into<String>) -> Self {
        Self::coded(Self::NODE_ERROR, message)
    }

    /// A failure with a code of its own.
    pub fn coded(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self(Why::Failed(NodeError { code, message, source: None }))
    }

    /// How it failed; `None` if it asks or is to stop.
    pub fn failure(&self) -> Option<&NodeError> {
        match &self.0 {
            Why::Failed(error) => Some(error),
            Why::Asks | Why::Port(_) | Why::Stopped => None,
        }
    }

    pub(crate) fn asks() -> Self {
        Self(Why::Asks)
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Halt {
    fn from(error: E) -> Self {
        let boxed: Box<dyn StdError + Send + Sync> = Box::new(error);
        match boxed.downcast::<Error>() {
            Ok(error) if error.fault == Fault::Fenced => Self(Why::Port(*error)),
            Ok(error) => {
                let (code, message) = (error.code.to_owned(), error.public().to_owned());
                Self(Why::Failed(NodeError { code, message, source: Some(error) }))
            }
            Err(other) => {
                let (code, message) = (Self::NODE_ERROR.to_owned(), other.to_string());
                Self(Why::Failed(NodeError { code, message, source: Some(other) }))
            }
        }
    }
}

impl NodeError {
    /// The error behind it, where there is one: what a retry policy may look into.
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    pub(crate) fn to_run_error(&self) -> RunError {
        RunError::new(&self.code, &self.message)
    }
}

impl From<RunError> for Halt {
    fn from(error: RunError) -> Self {
        Self::coded(error.code, error.message)
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
