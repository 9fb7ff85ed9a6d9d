//! What JSON means here: containment (the one meaning both databases give it) and what is refused.

use serde_json::{Map, Value};

use crate::domain::error::{Error, Result};

pub type Object = Map<String, Value>;

/// Whether `document` contains `pattern`, as Postgres' `@>` has it for objects and scalars: every
/// member of an object pattern is in the document with a containing value, every element of an
/// array pattern is contained in some element of the document's array, scalars are equal.
///
/// `true` is not `1`, `null` is not missing, `1` is `1.0`, and key order is nothing.
pub fn contains(document: &Value, pattern: &Value) -> bool {
    match (document, pattern) {
        (Value::Object(document), Value::Object(pattern)) => pattern
            .iter()
            .all(|(key, want)| document.get(key).is_some_and(|have| contains(have, want))),
        (Value::Array(document), Value::Array(pattern)) => {
            pattern.iter().all(|want| document.iter().any(|have| contains(have, want)))
        }
        (have, want) => scalar_eq(have, want),
    }
}

/// Equality of scalars; numbers compare by value.
pub fn scalar_eq(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || (left.as_f64() == right.as_f64() && !(left.is_i64() && right.is_i64()))
        }
        (left, right) => left == right,
    }
}

/// Refuses a NUL anywhere in the texts of `value`: searchable documents cannot hold one.
///
/// # Errors
/// [`Fault::Invalid`](crate::domain::Fault::Invalid) naming `field`.
pub fn refuse_nul(field: &str, value: &Value) -> Result<()> {
    let clean = match value {
        Value::String(text) => !text.contains('\0'),
        Value::Array(elements) => return elements.iter().try_for_each(|e| refuse_nul(field, e)),
        Value::Object(members) => return refuse_nul_in(field, members),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    };
    if clean { Ok(()) } else { Err(nul(field)) }
}

/// [`refuse_nul`] for an object, its keys included.
pub fn refuse_nul_in(field: &str, members: &Object) -> Result<()> {
    members.iter().try_for_each(|(key, value)| {
        refuse_nul_text(field, key)?;
        refuse_nul(field, value)
    })
}

/// [`refuse_nul`] for one text.
pub fn refuse_nul_text(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') { Err(nul(field)) } else { Ok(()) }
}

fn nul(field: &str) -> Error {
    Error::invalid(field, format!("{field} must not contain the character U+0000"))
}

/// One scalar inside a document: where it is, of which type, and its canonical text.
///
/// A document is searched by its leaves where the database has no JSON index: a pattern's leaves
/// are a subset of the leaves of every document that contains it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leaf {
    /// Member names joined by U+001F; array elements add nothing, so that order is nothing.
    pub path: String,
    /// `n`ull, `b`ool, `d` number, `s`tring, `o` empty object, `a` empty array.
    pub kind: char,
    pub text: String,
}

impl Leaf {
    /// Longer texts are compared by their beginning; the verification decides.
    pub const MAX_TEXT: usize = 200;
}

/// The distinct leaves of `document`.
pub fn leaves(document: &Object) -> Vec<Leaf> {
    let mut found = Vec::new();
    for (key, value) in document {
        collect(key, value, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn collect(path: &str, value: &Value, found: &mut Vec<Leaf>) {
    let (kind, text) = match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                collect(&format!("{path}\u{1f}{key}"), value, found);
            }
            return;
        }
        Value::Array(elements) if !elements.is_empty() => {
            for element in elements {
                collect(path, element, found);
            }
            return;
        }
        Value::Object(_) => ('o', String::new()),
        Value::Array(_) => ('a', String::new()),
        Value::Null => ('n', String::new()),
        Value::Bool(flag) => ('b', flag.to_string()),
        Value::Number(number) => ('d', canonical_number(number)),
        Value::String(text) => ('s', text.chars().take(Leaf::MAX_TEXT).collect()),
    };
    found.push(Leaf { path: path.to_owned(), kind, text });
}

/// One text per numeric value, so that `1` and `1.0` meet.
fn canonical_number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(whole), _, _) => whole.to_string(),
        (None, Some(whole), _) => whole.to_string(),
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        (None, None, Some(float)) if float.fract() == 0.0 && float.abs() < 9e15 => {
            (float as i64).to_string()
        }
        (None, None, Some(float)) => format!("{float:?}"),
        (None, None, None) => number.to_string(),
    }
}

/// The leaves a document must have to contain `pattern`: none for what matches by being there at
/// all (an empty object or array in the pattern).
pub fn required_leaves(pattern: &Object) -> Vec<Leaf> {
    leaves(pattern).into_iter().filter(|leaf| !matches!(leaf.kind, 'o' | 'a')).collect()
}
