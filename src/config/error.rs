//! What is wrong with the settings, in a sentence that names the source.

use std::fmt;

/// A complaint about one setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// Where it was said: `RUNLOOM_WORKERS`, `--listen`, `runloom.toml: limits.run_seconds`.
    pub source: String,
    pub message: String,
}

impl ConfigError {
    pub(super) fn new(source: impl Into<String>, message: impl Into<String>) -> Self {
        Self { source: source.into(), message: message.into() }
    }

    /// An error of figment's: it knows the file, the key, and for an unknown key the known ones.
    pub(super) fn from_figment(error: &figment::Error) -> Self {
        let file = error.metadata.as_ref().map_or_else(String::new, |metadata| {
            let place = metadata.source.as_ref().map(ToString::to_string);
            place.unwrap_or_else(|| metadata.name.to_string())
        });
        let path = error.path.join(".");
        let source = match (file.is_empty(), path.is_empty()) {
            (false, false) => format!("{file}: {path}"),
            (false, true) => file,
            (true, _) => path,
        };
        let message = match &error.kind {
            figment::error::Kind::UnknownField(field, known) => unknown(field, known),
            kind => kind.to_string(),
        };
        Self { source, message }
    }
}

/// Names the nearest known key.
fn unknown(field: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|name| strsim::damerau_levenshtein(name, field));
    match nearest {
        Some(name) => format!("unknown key {field}; did you mean {name}?"),
        None => format!("unknown key {field}"),
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.message)
    }
}

impl std::error::Error for ConfigError {}
