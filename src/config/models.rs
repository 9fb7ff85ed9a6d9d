//! Where chat models are reached.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Deserialize;

use super::Environment;
use super::reader::Reader;
use super::{expand, tools};

const SECTION: &str = "models";
/// Seconds; models think.
const DEFAULT_TIMEOUT: u64 = 120;
/// The offline model: always there, and not to be redefined.
pub(super) const SCRIPTED: &str = "scripted";

/// The wire format that a model server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    OpenAi,
    Anthropic,
}

impl Wire {
    const ALL: [(&'static str, Self); 2] =
        [("openai", Self::OpenAi), ("anthropic", Self::Anthropic)];

    fn of_builtin(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, wire)| wire)
    }
}

/// One place where models are reached.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    pub provider: Wire,
    /// `None`: the provider's own.
    pub base_url: Option<String>,
    /// The variable that holds the key. `None`: no key is sent.
    pub api_key_env: Option<String>,
    /// What that variable holds. A key that is wanted and missing does not stop the server: its
    /// agents answer that they are unavailable.
    pub api_key: Option<SecretString>,
    pub headers: BTreeMap<String, SecretString>,
    pub timeout_seconds: u64,
}

impl ModelSettings {
    /// The variable that should hold a key and does not.
    pub fn missing_key(&self) -> Option<&str> {
        self.api_key_env.as_deref().filter(|_| self.api_key.is_none())
    }
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Raw {
    provider: Option<Wire>,
    base_url: Option<String>,
    api_key_env: Option<String>,
    headers: BTreeMap<String, String>,
    timeout_seconds: Option<u64>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> BTreeMap<String, ModelSettings> {
    let mut given: BTreeMap<String, Raw> = reader.value(SECTION).unwrap_or_default();
    for (name, _) in Wire::ALL {
        given.entry(name.to_owned()).or_default();
    }
    let settings = given.into_iter().filter_map(|(name, raw)| {
        let settings = settle(reader, &name, raw)?;
        Some((name, settings))
    });
    settings.collect()
}

fn settle(reader: &mut Reader<'_>, name: &str, raw: Raw) -> Option<ModelSettings> {
    if name == SCRIPTED || name.is_empty() || name.contains([':', ' ']) {
        let what =
            "this name cannot be used; choose one without colons and spaces, and not `scripted`";
        reader.wrong(&[SECTION, name], what);
        return None;
    }
    let builtin = Wire::of_builtin(name);
    let Some(provider) = raw.provider.or(builtin) else {
        reader.wrong(
            &[SECTION, name],
            "`provider` is missing; add `openai` or `anthropic`, the wire format",
        );
        return None;
    };
    let mut given = raw;
    if builtin.is_some() {
        from_environment(&mut given, name, reader.environment);
    }
    if let Some(url) = given.base_url.as_deref().filter(|url| !tools::is_http_url(url)) {
        reader.wrong(&[SECTION, name, "base_url"], tools::not_a_url(url));
    }
    let api_key = given.api_key_env.as_deref().and_then(|name| reader.environment.get(name));
    Some(ModelSettings {
        provider,
        base_url: given.base_url,
        api_key: api_key.map(SecretString::from),
        api_key_env: given.api_key_env,
        timeout_seconds: given.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT),
        headers: expand::headers(reader, &[SECTION, name, "headers"], given.headers),
    })
}

/// `OPENAI_BASE_URL` and its like win over the file, as the environment always does; the key's
/// variable may be renamed there.
fn from_environment(raw: &mut Raw, name: &str, environment: &Environment) {
    let prefix = name.to_uppercase();
    if let Some(url) = environment.get(&format!("{prefix}_BASE_URL")) {
        raw.base_url = Some(url.to_owned());
    }
    raw.api_key_env.get_or_insert_with(|| format!("{prefix}_API_KEY"));
}
