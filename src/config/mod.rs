//! What the server is told to do: read once, checked as a whole, and then plain data.
//!
//! A flag wins over the environment, the environment over the file, the file over the default.
//! Everything that is wrong is found in one go, and each [`Problem`] names where it was said and
//! what to do about it. This module must not know HTTP, SQL or any component: others turn
//! [`Settings`] into their own options.

mod agents;
mod basics;
mod database;
mod env;
mod error;
mod expand;
mod file;
mod keys;
mod limits;
mod models;
mod nearest;
mod playground;
mod reader;
mod sources;
mod summary;
mod tools;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

pub use agents::{AgentKind, AgentSettings, Decision, ModelRef, ToolRef};
pub use basics::LogFormat;
pub use database::{DatabaseUrl, Engine};
pub use env::Environment;
pub use error::{Invalid, Problem};
pub use keys::{ApiKey, Keys};
pub use limits::Limits;
pub use models::{ModelSettings, Wire};
pub use playground::{Feature, Playground};
pub use tools::{HttpToolSettings, McpSettings, McpTransport};

use reader::Reader;

/// The file that is read when nobody names another, if it exists.
const DEFAULT_FILE: &str = "runloom.toml";

/// What the command line says, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub listen: Vec<String>,
    pub database_url: Option<String>,
    pub config: Option<PathBuf>,
    pub workers: Option<String>,
    pub log_format: Option<String>,
}

/// Everything the server is told, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
    /// `host:port` each; port 0 picks a free one.
    pub listen: Vec<String>,
    pub database_url: DatabaseUrl,
    /// Runs at a time on this node.
    pub workers: usize,
    pub log_format: LogFormat,
    /// `RUST_LOG`, when it is set.
    pub log_filter: Option<String>,
    pub keys: Keys,
    /// Webhooks and HTTP tools may reach loopback and private addresses.
    pub allow_private_networks: bool,
    /// Signs webhooks; without it they are unsigned.
    pub webhook_secret: Option<SecretString>,
    pub playground: Playground,
    /// By the name that comes before the colon in an agent's `model`; always has `openai` and
    /// `anthropic`.
    pub models: BTreeMap<String, ModelSettings>,
    /// By agent id.
    pub agents: BTreeMap<String, AgentSettings>,
    /// By the name that `mcp:NAME` uses.
    pub mcp: BTreeMap<String, McpSettings>,
    /// By the name that `http:NAME` uses.
    pub http: BTreeMap<String, HttpToolSettings>,
    pub limits: Limits,
    /// The agents that ship with the program are listed.
    pub demo_agents: bool,
}

/// Reads and checks everything there is to know.
///
/// # Errors
/// [`Invalid`], with every problem that was found.
pub fn load(flags: &Flags, environment: &Environment) -> Result<Settings, Invalid> {
    load_beside(flags, environment, Path::new(DEFAULT_FILE))
}

fn load_beside(
    flags: &Flags,
    environment: &Environment,
    default_file: &Path,
) -> Result<Settings, Invalid> {
    let file = file::find(flags, environment, default_file)?;
    let mut layers = Vec::new();
    let mut problems = Vec::new();
    if let Some(path) = &file {
        layers.push(file::read(path)?);
    }
    layers.push(sources::environment(environment, &mut problems));
    layers.push(sources::flags(flags, &mut problems));

    let mut reader = Reader::new(layers, environment, problems);
    reader.refuse_unknown_keys();
    let mcp = tools::read_mcp(&mut reader);
    let http = tools::read_http(&mut reader);
    let models = models::read(&mut reader);
    let agents =
        agents::read(&mut reader, &agents::Known { models: &models, mcp: &mcp, http: &http });
    let settings = Settings {
        file,
        listen: basics::listen(&mut reader),
        database_url: database::read(&mut reader),
        workers: basics::workers(&mut reader),
        log_format: basics::log_format(&mut reader),
        log_filter: environment.get("RUST_LOG").map(str::to_owned),
        keys: keys::read(&mut reader),
        allow_private_networks: reader.value("allow_private_networks").unwrap_or(false),
        webhook_secret: basics::webhook_secret(&mut reader),
        playground: playground::read(&mut reader),
        models,
        agents,
        mcp,
        http,
        limits: limits::read(&mut reader),
        demo_agents: reader.value("demo_agents").unwrap_or(true),
    };
    reader.finish(settings)
}
