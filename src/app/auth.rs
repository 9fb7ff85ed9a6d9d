//! Who calls: keys and the owners they stand for.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::Owner;

/// Who calls. Every use case wants one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub owner: Owner,
}

/// The keys that open the server, by their SHA-256. Without any it is open, to one owner.
#[derive(Clone, Default)]
pub struct Keys {
    owners: HashMap<[u8; 32], Owner>,
}

impl Keys {
    /// Adds a key that opens `owner`'s data.
    pub fn add(&mut self, owner: Owner, key: &str) {
        self.add_hashed(owner, Sha256::digest(key.as_bytes()).into());
    }

    /// The same for a key of which only the SHA-256 is known.
    pub fn add_hashed(&mut self, owner: Owner, digest: [u8; 32]) {
        self.owners.insert(digest, owner);
    }

    /// Whether callers need no key.
    pub fn is_open(&self) -> bool {
        self.owners.is_empty()
    }

    /// Who presents `key`.
    ///
    /// Keys are looked up by their digest, so that the time it takes says nothing about a key.
    ///
    /// # Errors
    /// [`Fault::Unauthenticated`] for a missing or unknown key, unless the server is open.
    pub fn caller(&self, key: Option<&str>) -> Result<Caller> {
        if self.is_open() {
            return Ok(Caller { owner: Owner::default_owner() });
        }
        let refused = |why| Err(Error::new(Fault::Unauthenticated, "unauthenticated", why));
        let Some(key) = key else {
            return refused("an API key is needed: Authorization: Bearer KEY, or X-Api-Key: KEY");
        };
        let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        match self.owners.get(&digest) {
            Some(owner) => Ok(Caller { owner: owner.clone() }),
            None => refused("the API key is not known"),
        }
    }
}

impl super::App {
    /// [`Keys::caller`] with this server's keys.
    pub fn caller(&self, key: Option<&str>) -> Result<Caller> {
        self.0.keys.caller(key)
    }

    /// [`Keys::caller`] for what is not for everybody, even on a server that is open.
    pub fn caller_with_key(&self, key: Option<&str>) -> Result<Caller> {
        if self.0.keys.is_open() {
            let why = "this is only for callers on the server's own machine";
            return Err(Error::new(Fault::Unauthenticated, "unauthenticated", why));
        }
        self.caller(key)
    }
}
