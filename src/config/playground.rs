//! The playground: whether it is there, and which pages may call it.

use serde::Deserialize;

use super::reader::Reader;

const SECTION: &str = "playground";

/// A page to try agents on, and the API behind it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Playground {
    pub enabled: bool,
    /// Pages from these origins may call it from a browser.
    pub origins: Vec<String>,
    /// What it offers, in this order; empty means its own choice.
    pub features: Vec<Feature>,
}

/// One thing to try.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// The id of the agent behind it.
    pub agent: String,
    #[serde(default)]
    pub examples: Vec<String>,
}

impl Default for Playground {
    fn default() -> Self {
        let origins = ["http://127.0.0.1:8001", "http://localhost:8001"];
        Self { enabled: false, origins: origins.map(str::to_owned).into(), features: Vec::new() }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Playground {
    let playground: Playground = reader.value(SECTION).unwrap_or_default();
    for origin in playground.origins.iter().filter(|origin| !is_origin(origin)) {
        let what = format!(
            "`{origin}` is not an origin; give scheme, host and port alone, such as `http://127.0.0.1:8001`"
        );
        reader.wrong(&[SECTION, "origins"], what);
    }
    playground
}

/// Whether a browser would send it as `Origin`: without a path, not even `/`.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']))
}
