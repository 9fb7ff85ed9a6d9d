//! What is wrong with a configuration, in sentences for whoever wrote it.
//!
//! A problem never repeats a value that could be a secret: it names kinds ("text", "a list"),
//! keys and variables.

use std::fmt;

use figment::error::{Actual, Kind};

use super::nearest;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The key and its file, the variable, or the flag.
    pub at: String,
    /// What is wrong with it, and what to do.
    pub what: String,
}

impl Problem {
    pub(super) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// A configuration with which the server does not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    pub problems: Vec<Problem>,
}

impl From<Problem> for Invalid {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration is wrong:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Invalid {}

/// A sentence for what serde has against a value.
pub(super) fn sentence(kind: &Kind) -> String {
    match kind {
        Kind::InvalidType(found, expected) | Kind::InvalidValue(found, expected) => {
            format!("this is {}; give {}", described(found), wanted(expected))
        }
        Kind::UnknownVariant(name, known) => {
            format!("`{name}` is not known; {}", nearest::advice(name, *known))
        }
        Kind::MissingField(name) => format!("`{name}` is missing; add it"),
        Kind::ISizeOutOfRange(_) | Kind::USizeOutOfRange(_) => {
            "this number is too large; give a smaller one".to_owned()
        }
        other => other.to_string(),
    }
}

fn described(found: &Actual) -> &'static str {
    match found {
        Actual::Bool(_) => "true or false",
        Actual::Signed(number) if *number < 0 => "a negative number",
        Actual::Unsigned(_) | Actual::Signed(_) => "a whole number",
        Actual::Float(_) => "a number with a fraction",
        Actual::Char(_) | Actual::Str(_) => "text",
        Actual::Seq => "a list",
        Actual::Map => "a table",
        Actual::Unit | Actual::Option => "nothing",
        _ => "something else",
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u16" | "u32" | "u64" | "usize" => "a whole number that fits",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "a sequence" => "a list in square brackets",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}
