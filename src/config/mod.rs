//! Settings: what the operator says, from the command line, the environment and a file.
//!
//! Flag before environment before file before default. Every complaint names its source and says
//! what would be right. Nothing here knows what the settings are for.

mod agents;
mod env;
mod error;
mod keys;
mod limits;
mod load;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

pub use agents::{AgentSettings, HttpToolSettings, McpSettings, ModelSettings, ModelWire};
pub use env::Environment;
pub use error::ConfigError;
pub use keys::{Key, KeySettings};
pub use limits::Limits;
pub use load::load;

use std::collections::BTreeMap;

/// What the command line says; all optional.
#[derive(Clone, Default, Debug)]
pub struct Flags {
    pub listen: Vec<String>,
    pub database_url: Option<String>,
    pub config: Option<PathBuf>,
    pub workers: Option<usize>,
    pub log_format: Option<LogFormat>,
}

/// Everything the server is told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: Vec<SocketAddr>,
    pub database_url: SecretString,
    pub workers: usize,
    pub log_format: LogFormat,
    pub keys: Vec<KeySettings>,
    pub allow_private_networks: bool,
    pub webhook_secret: Option<SecretString>,
    pub playground: PlaygroundSettings,
    pub models: BTreeMap<String, ModelSettings>,
    pub agents: BTreeMap<String, AgentSettings>,
    pub mcp: BTreeMap<String, McpSettings>,
    pub http: BTreeMap<String, HttpToolSettings>,
    pub limits: Limits,
    pub demo_agents: bool,
    /// The environment as it was read: what `${NAME}` in headers and commands stands for.
    pub environment: Environment,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Pretty,
    Json,
}

/// The web page for trying agents, and its API.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlaygroundSettings {
    pub enabled: bool,
    /// Browsers' requests are allowed from these origins.
    pub origins: Vec<String>,
    pub features: Vec<FeatureSettings>,
}

impl Default for PlaygroundSettings {
    fn default() -> Self {
        let origins = ["http://127.0.0.1:8001", "http://localhost:8001"].map(str::to_owned);
        Self { enabled: false, origins: origins.into(), features: Vec::new() }
    }
}

/// One thing to try on the playground.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSettings {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub agent: String,
    #[serde(default)]
    pub examples: Vec<String>,
}
