//! `${NAME}` in values that are sent to others: read from the environment, never from the file.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::Environment;
use super::reader::Reader;

/// The table with every `${NAME}` replaced; what cannot be is a problem at `path`.
pub(super) fn table(
    reader: &mut Reader<'_>,
    path: &[&str],
    table: BTreeMap<String, String>,
) -> BTreeMap<String, SecretString> {
    let mut expanded = BTreeMap::new();
    for (name, value) in table {
        match expand(&value, reader.environment) {
            Ok(value) => drop(expanded.insert(name, SecretString::from(value))),
            Err(what) => reader.wrong(&[path, &[&name]].concat(), what),
        }
    }
    expanded
}

/// The same for headers, whose names and values HTTP must be able to carry.
pub(super) fn headers(
    reader: &mut Reader<'_>,
    path: &[&str],
    headers: BTreeMap<String, String>,
) -> BTreeMap<String, SecretString> {
    for (name, value) in &headers {
        if name.is_empty() || !name.bytes().all(is_token) {
            let what = "this is not the name of a header; use letters, digits and `-`";
            reader.wrong(&[path, &[name]].concat(), what);
        }
        if value.chars().any(char::is_control) {
            let what = "a header's value has no line breaks or control characters; take them out";
            reader.wrong(&[path, &[name]].concat(), what);
        }
    }
    table(reader, path, headers)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn expand(text: &str, environment: &Environment) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            return Err("a `${` has no `}`; write `${NAME}`".to_owned());
        };
        let value = environment.get(name).ok_or_else(|| {
            format!("the environment variable `{name}` is not set; set it, or take it out here")
        })?;
        expanded.push_str(before);
        expanded.push_str(value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
