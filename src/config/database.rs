//! Which database, with its password kept out of logs.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::reader::Reader;

const KEY: &str = "database_url";
const DEFAULT: &str = "sqlite://runloom.db";

/// The kind of database a URL names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// `sqlite://FILE`, `sqlite::memory:` or `postgres://…`. Shows itself without its credentials.
#[derive(Clone)]
pub struct DatabaseUrl {
    url: SecretString,
    engine: Engine,
}

impl DatabaseUrl {
    /// `None` for a URL of another kind of database.
    pub fn new(url: &str) -> Option<Self> {
        let engine = match url.split_once(':')? {
            ("sqlite", file) if !file.trim_start_matches('/').is_empty() => Engine::Sqlite,
            ("postgres" | "postgresql", rest) if rest.starts_with("//") => Engine::Postgres,
            _ => return None,
        };
        Some(Self { url: SecretString::from(url), engine })
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The URL with its password, for whoever connects.
    pub fn expose(&self) -> &str {
        self.url.expose_secret()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Drivers take a password in the query too, so that goes as well.
        let url = self.expose().split(['?', '#']).next().unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((_, place)) => write!(f, "{scheme}://…@{place}"),
                None => f.write_str(url),
            },
            None => f.write_str(url),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> DatabaseUrl {
    let given = reader.value::<String>(KEY);
    let url = given.as_deref().map_or(DEFAULT, str::trim);
    DatabaseUrl::new(url).unwrap_or_else(|| {
        reader.wrong(
            &[KEY],
            "this is not the URL of a database that is supported; give `sqlite://FILE`, \
             `sqlite::memory:` or `postgres://USER:PASSWORD@HOST/NAME`",
        );
        DatabaseUrl { url: SecretString::from(DEFAULT), engine: Engine::Sqlite }
    })
}
