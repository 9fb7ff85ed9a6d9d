//! The keys that open the server, and whose data each opens.
//!
//! Only digests are kept: a key that is given in plain is hashed here and forgotten.

use figment::value::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

use super::reader::Reader;

const KEY: &str = "keys";
const HASHED: &str = "sha256:";
const HOW_TO_HASH: &str = "give `sha256:` and 64 hexadecimal digits";

/// One key, by its SHA-256.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKey {
    pub owner: String,
    pub sha256: [u8; 32],
}

/// All keys. Without any the server is open, to the one owner `default`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Keys(Vec<ApiKey>);

impl Keys {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &ApiKey> {
        self.0.iter()
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Keys {
    // A list is how the environment writes them; it replaces the file's table as a whole, so that
    // whoever sets the variable knows which keys are good.
    let given = match reader.raw(KEY) {
        None => return Keys::default(),
        Some(Value::Array(..)) => listed(reader),
        Some(_) => tabled(reader),
    };
    let mut keys = Keys::default();
    for (path, owner, key) in given {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match digest(&key) {
            _ if owner.trim().is_empty() => {
                reader.wrong(&path, "a key has no owner; write `owner:key`");
            }
            Err(what) => reader.wrong(&path, what),
            Ok(sha256) => keys.add(reader, &path, ApiKey { owner, sha256 }),
        }
    }
    keys
}

impl Keys {
    fn add(&mut self, reader: &mut Reader<'_>, path: &[&str], key: ApiKey) {
        match self.0.iter().find(|known| known.sha256 == key.sha256) {
            Some(known) if known.owner != key.owner => {
                let owners = format!("`{}` and `{}`", known.owner, key.owner);
                reader.wrong(path, format!("{owners} have the same key; give each their own"));
            }
            Some(_) => {}
            None => self.0.push(key),
        }
    }
}

type Given = Vec<(Vec<String>, String, String)>;

/// `owner:key` each.
fn listed(reader: &mut Reader<'_>) -> Given {
    let entries: Vec<String> = reader.value(KEY).unwrap_or_default();
    if entries.is_empty() {
        reader.wrong(&[KEY], "there is no key; write `owner:key`, or leave it out");
    }
    let mut given = Given::new();
    for entry in entries {
        match entry.split_once(':') {
            Some((owner, key)) => {
                given.push((vec![KEY.to_owned()], owner.trim().to_owned(), key.trim().to_owned()));
            }
            None => reader.wrong(&[KEY], "an entry has no owner; write `owner:key`"),
        }
    }
    given
}

/// `owner = ["key", …]`.
fn tabled(reader: &mut Reader<'_>) -> Given {
    let table: BTreeMap<String, Vec<String>> = reader.value(KEY).unwrap_or_default();
    let spread = |(owner, keys): (String, Vec<String>)| {
        keys.into_iter().map(move |key| (vec![KEY.to_owned(), owner.clone()], owner.clone(), key))
    };
    table.into_iter().flat_map(spread).collect()
}

fn digest(key: &str) -> Result<[u8; 32], String> {
    if key.is_empty() {
        return Err("a key is empty; give one that cannot be guessed".to_owned());
    }
    let Some(digits) = key.strip_prefix(HASHED) else {
        return Ok(Sha256::digest(key.as_bytes()).into());
    };
    let mut digest = [0; 32];
    hex::decode_to_slice(digits, &mut digest)
        .map_err(|_| format!("a hashed key is malformed; {HOW_TO_HASH}"))?;
    Ok(digest)
}
