//! Long-term memory: documents under a namespace and a key.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::json;

/// Where items lie: labels, like the folders above a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Labels(pub Vec<String>);

impl Labels {
    /// The longest [`Labels::path`], in bytes: an index must hold it, with the key and the owner.
    pub const MAX_PATH: usize = 1024;

    /// # Errors
    /// [`Fault::Invalid`](crate::domain::Fault::Invalid) for a label that is empty or holds a NUL,
    /// and for labels that are too long together.
    pub fn new(field: &str, labels: Vec<String>) -> Result<Self> {
        for label in &labels {
            json::refuse_nul_text(field, label)?;
            if label.is_empty() {
                return Err(Error::invalid(field, format!("{field} must not hold an empty label")));
            }
        }
        let labels = Self(labels);
        if labels.path().len() > Self::MAX_PATH {
            let why = format!("{field} must not be longer than {} bytes", Self::MAX_PATH);
            return Err(Error::invalid(field, why));
        }
        Ok(labels)
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

/// The longest key, in bytes.
pub const MAX_KEY: usize = 1024;

/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) for a key that is too long or holds a NUL.
pub fn check_key(key: &str) -> Result<()> {
    json::refuse_nul_text("key", key)?;
    if key.len() > MAX_KEY {
        return Err(Error::invalid("key", format!("key must not be longer than {MAX_KEY} bytes")));
    }
    Ok(())
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

impl Condition {
    /// Whether an item's value meets the condition. A missing member meets only `$ne`.
    pub fn holds(&self, value: &Map<String, Value>) -> bool {
        let have = value.get(&self.member);
        match &self.test {
            Test::Eq(want) => have.is_some_and(|have| equal(have, want)),
            Test::Ne(want) => !have.is_some_and(|have| equal(have, want)),
            Test::Gt(want) => order(have, want).is_some_and(Ordering::is_gt),
            Test::Gte(want) => order(have, want).is_some_and(Ordering::is_ge),
            Test::Lt(want) => order(have, want).is_some_and(Ordering::is_lt),
            Test::Lte(want) => order(have, want).is_some_and(Ordering::is_le),
            Test::In(wanted) => {
                have.is_some_and(|have| wanted.iter().any(|want| equal(have, want)))
            }
        }
    }
}

/// Equality of documents: numbers by value, members in any order, elements in theirs.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, one)| right.get(key).is_some_and(|two| equal(one, two)))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(one, two)| equal(one, two))
        }
        (left, right) => json::scalar_eq(left, right),
    }
}

fn order(have: Option<&Value>, want: &Value) -> Option<Ordering> {
    match (have?, want) {
        (Value::Number(have), Value::Number(want)) => have.as_f64()?.partial_cmp(&want.as_f64()?),
        (Value::String(have), Value::String(want)) => Some(have.cmp(want)),
        _ => None,
    }
}
