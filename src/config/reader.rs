//! Reads sections out of the merged layers and collects what is wrong with them.

use std::sync::Arc;

use figment::error::Kind;
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use serde::de::DeserializeOwned;

use super::error::{Invalid, Problem, sentence};
use super::{Environment, Settings, nearest};

/// Every key that may stand at the top of a file.
const KEYS: [&str; 14] = [
    "listen",
    "database_url",
    "workers",
    "log_format",
    "keys",
    "allow_private_networks",
    "webhook_secret",
    "playground",
    "models",
    "agents",
    "mcp",
    "http",
    "limits",
    "demo_agents",
];

/// Says where a key of a layer was given: `workers in runloom.toml`, `--workers`.
pub(super) type Label = Arc<dyn Fn(&[&str]) -> String + Send + Sync>;

/// Settings that come from one source.
pub(super) struct Layer {
    pub(super) values: Dict,
    pub(super) label: Label,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        let label = self.label.clone();
        Metadata::default().interpolater(move |_: &Profile, keys: &[&str]| label(keys))
    }

    fn data(&self) -> figment::Result<Map<Profile, Dict>> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

/// The merged layers, and what was found wrong so far.
pub(super) struct Reader<'e> {
    merged: Figment,
    pub(super) environment: &'e Environment,
    problems: Vec<Problem>,
}

impl<'e> Reader<'e> {
    /// Later layers win over earlier ones.
    pub(super) fn new(
        layers: Vec<Layer>,
        environment: &'e Environment,
        problems: Vec<Problem>,
    ) -> Self {
        let merged = layers.into_iter().fold(Figment::new(), Figment::merge);
        Self { merged, environment, problems }
    }

    /// The value of a top-level key, or `None` when it is absent or has the wrong shape; the
    /// latter is a problem.
    pub(super) fn value<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.raw(key)?;
        match value.deserialize() {
            Ok(read) => Some(read),
            Err(error) => {
                self.misread(key, error);
                None
            }
        }
    }

    /// The value as it stands, for sections that may be written in more than one way.
    pub(super) fn raw(&self, key: &str) -> Option<Value> {
        self.merged.find_value(key).ok()
    }

    /// Records a problem with what stands at `path`.
    pub(super) fn wrong(&mut self, path: &[&str], what: impl Into<String>) {
        self.problems.push(Problem::new(self.label(path), what));
    }

    /// Everything that was read, unless something was wrong.
    pub(super) fn finish(self, settings: Settings) -> Result<Settings, Invalid> {
        if self.problems.is_empty() {
            Ok(settings)
        } else {
            Err(Invalid { problems: self.problems })
        }
    }

    pub(super) fn refuse_unknown_keys(&mut self) {
        let keys: Vec<String> =
            self.merged.extract::<Dict>().map(|all| all.into_keys().collect()).unwrap_or_default();
        for key in keys.iter().filter(|key| !KEYS.contains(&key.as_str())) {
            self.wrong(&[key], format!("this key is not known; {}", nearest::advice(key, &KEYS)));
        }
    }

    fn misread(&mut self, key: &str, error: figment::Error) {
        for error in error {
            let mut path: Vec<&str> = vec![key];
            path.extend(error.path.iter().map(String::as_str));
            let what = match &error.kind {
                Kind::UnknownField(name, known) => {
                    if path.last() != Some(&name.as_str()) {
                        path.push(name);
                    }
                    format!("this key is not known; {}", nearest::advice(name, *known))
                }
                kind => sentence(kind),
            };
            self.problems.push(Problem::new(self.label(&path), what));
        }
    }

    /// Where the deepest part of `path` that is there was said.
    fn label(&self, path: &[&str]) -> String {
        (1..=path.len())
            .rev()
            .filter_map(|depth| path.get(..depth))
            .find_map(|known| self.merged.find_metadata(&known.join(".")))
            .map_or_else(|| path.join("."), |found| found.interpolate(&Profile::Default, path))
    }
}
