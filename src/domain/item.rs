//! Long-term memory: documents under a namespace and a key.

use std::fmt;

use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::json;

/// Where items lie: labels, like the folders above a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Labels(pub Vec<String>);

impl Labels {
    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) for a label that is empty or holds a NUL.
    pub fn new(field: &str, labels: Vec<String>) -> Result<Self> {
        for label in &labels {
            json::refuse_nul_text(field, label)?;
            if label.is_empty() {
                return Err(Error::invalid(field, format!("{field} must not hold an empty label")));
            }
        }
        Ok(Self(labels))
    }

    /// One text that sorts and is searched by prefix: each label escaped and followed by `/`.
    pub fn path(&self) -> String {
        self.to_string()
    }

    /// The reverse of [`Labels::path`].
    pub fn from_path(path: &str) -> Self {
        let labels = path.split_terminator('/');
        Self(labels.map(|label| label.replace("%2F", "/").replace("%25", "%")).collect())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|label| write!(f, "{}/", label.replace('%', "%25").replace('/', "%2F")))
    }
}

/// One document. Agent Protocol, `Item`.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub namespace: Labels,
    pub key: String,
    pub value: Map<String, Value>,
    pub created_at: Ts,
    pub updated_at: Ts,
}

/// A condition on one member of an item's value; all of a search's conditions must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    pub member: String,
    pub test: Test,
}

/// What is asked of the member. Order is by number or by text; other kinds are not ordered.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    Eq(Value),
    Ne(Value),
    Gt(Value),
    Gte(Value),
    Lt(Value),
    Lte(Value),
    In(Vec<Value>),
}
