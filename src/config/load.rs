//! Merges flags, environment, file and defaults.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use figment::Figment;
use figment::providers::{Format, Toml};
use secrecy::SecretString;
use serde::Deserialize;

use crate::config::{
    AgentSettings, ConfigError, Environment, Flags, HttpToolSettings, KeySettings, Limits,
    LogFormat, McpSettings, ModelSettings, PlaygroundSettings, Settings, keys,
};

const DEFAULT_FILE: &str = "runloom.toml";
const DEFAULT_LISTEN: &str = "127.0.0.1:8000";
const DEFAULT_DATABASE: &str = "sqlite://runloom.db";
const DEFAULT_WORKERS: usize = 64;

/// What a file may say.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<OneOrMany>,
    database_url: Option<String>,
    workers: Option<usize>,
    log_format: Option<LogFormat>,
    keys: BTreeMap<String, Vec<String>>,
    allow_private_networks: Option<bool>,
    webhook_secret: Option<String>,
    playground: PlaygroundSettings,
    models: BTreeMap<String, ModelSettings>,
    agents: BTreeMap<String, AgentSettings>,
    mcp: BTreeMap<String, McpSettings>,
    http: BTreeMap<String, HttpToolSettings>,
    limits: Limits,
    demo_agents: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// Reads the settings.
///
/// # Errors
/// The first thing that is wrong, with its source and what would be right.
pub fn load(flags: Flags, environment: Environment) -> Result<Settings, ConfigError> {
    let (path, file) = read_file(&flags, &environment)?;
    let from = |key: &str| format!("{}: {key}", path.display());
    let env = Env(&environment);
    let addresses = match (flags.listen.as_slice(), env.text("RUNLOOM_LISTEN"), file.listen) {
        ([], Some(text), _) => read_addresses("RUNLOOM_LISTEN", text.split(','))?,
        ([], None, Some(OneOrMany::One(text))) => read_addresses(&from("listen"), [text])?,
        ([], None, Some(OneOrMany::Many(texts))) => read_addresses(&from("listen"), texts)?,
        ([], None, None) => read_addresses("listen", [DEFAULT_LISTEN])?,
        (given, _, _) => read_addresses("--listen", given)?,
    };
    let database_url = flags
        .database_url
        .or_else(|| env.text("DATABASE_URL").map(str::to_owned))
        .or(file.database_url)
        .unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
    let workers = match flags.workers {
        Some(workers) => workers,
        None => env
            .parsed("RUNLOOM_WORKERS", "a number of runs")?
            .or(file.workers)
            .unwrap_or(DEFAULT_WORKERS),
    };
    if workers == 0 {
        return Err(ConfigError::new("workers", "must be at least 1"));
    }
    let log_format = match flags.log_format {
        Some(format) => format,
        None => read_log_format(&env)?.or(file.log_format).unwrap_or_default(),
    };
    let playground = read_playground(&env, file.playground)?;
    let private = env.flag("RUNLOOM_ALLOW_PRIVATE_NETWORKS")?.or(file.allow_private_networks);
    let secret = env.text("RUNLOOM_WEBHOOK_SECRET").map(str::to_owned).or(file.webhook_secret);
    let demo = env.flag("RUNLOOM_DEMO_AGENTS")?.or(file.demo_agents);
    Ok(Settings {
        listen: addresses,
        database_url: SecretString::from(database_url),
        workers,
        log_format,
        keys: read_keys(&env, file.keys, &from("keys"))?,
        allow_private_networks: private.unwrap_or(false),
        webhook_secret: secret.map(SecretString::from),
        playground,
        models: file.models,
        agents: file.agents,
        mcp: file.mcp,
        http: file.http,
        limits: read_limits(&env, file.limits)?,
        demo_agents: demo.unwrap_or(true),
        environment,
    })
}

/// The file that was named, or the one that is there, or nothing.
fn read_file(flags: &Flags, environment: &Environment) -> Result<(PathBuf, File), ConfigError> {
    let named =
        flags.config.clone().or_else(|| environment.get("RUNLOOM_CONFIG").map(PathBuf::from));
    let path = named.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FILE));
    if !path.is_file() {
        if named.is_some() {
            return Err(ConfigError::new(path.display().to_string(), "there is no such file"));
        }
        return Ok((path, File::default()));
    }
    let file = Figment::from(Toml::file_exact(&path)).extract();
    file.map(|file| (path, file)).map_err(|error| ConfigError::from_figment(&error))
}

/// The environment with complaints that name the variable.
struct Env<'a>(&'a Environment);

impl<'a> Env<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)
    }

    fn parsed<T: FromStr<Err: Display>>(
        &self,
        name: &str,
        wanted: &str,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let parsed = text.trim().parse().map(Some);
        parsed.map_err(|error| ConfigError::new(name, format!("must be {wanted}: {error}")))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(Some(true)),
            "0" | "false" | "no" | "off" => Ok(Some(false)),
            _ => Err(ConfigError::new(name, "must be true or false")),
        }
    }
}

fn read_addresses<T: AsRef<str>>(
    source: &str,
    texts: impl IntoIterator<Item = T>,
) -> Result<Vec<SocketAddr>, ConfigError> {
    texts
        .into_iter()
        .map(|text| {
            let text = text.as_ref().trim();
            text.parse().map_err(|_| {
                ConfigError::new(
                    source,
                    format!("{text} is not ADDRESS:PORT, such as {DEFAULT_LISTEN}"),
                )
            })
        })
        .collect()
}

fn read_log_format(env: &Env) -> Result<Option<LogFormat>, ConfigError> {
    match env.text("RUNLOOM_LOG_FORMAT") {
        None => Ok(None),
        Some("pretty") => Ok(Some(LogFormat::Pretty)),
        Some("json") => Ok(Some(LogFormat::Json)),
        Some(_) => Err(ConfigError::new("RUNLOOM_LOG_FORMAT", "must be pretty or json")),
    }
}

fn read_keys(
    env: &Env,
    file: BTreeMap<String, Vec<String>>,
    source: &str,
) -> Result<Vec<KeySettings>, ConfigError> {
    if let Some(text) = env.text("RUNLOOM_API_KEYS") {
        return keys::read_list("RUNLOOM_API_KEYS", text);
    }
    file.iter()
        .flat_map(|(owner, keys)| keys.iter().map(move |key| (owner, key)))
        .map(|(owner, key)| keys::read(&format!("{source}.{owner}"), owner, key))
        .collect()
}

fn read_playground(
    env: &Env,
    mut playground: PlaygroundSettings,
) -> Result<PlaygroundSettings, ConfigError> {
    if let Some(enabled) = env.flag("PLAYGROUND_ENABLED")? {
        playground.enabled = enabled;
    }
    if let Some(origins) = env.text("PLAYGROUND_ORIGINS") {
        let origins = origins.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        playground.origins = origins.map(str::to_owned).collect();
    }
    Ok(playground)
}

/// `RUNLOOM_LIMITS_BODY_BYTES` and the like over what the file says.
fn read_limits(env: &Env, file: Limits) -> Result<Limits, ConfigError> {
    let mut limits = file;
    for key in Limits::KEYS {
        let name = format!("RUNLOOM_LIMITS_{}", key.to_ascii_uppercase());
        let Some(value) = env.parsed::<u64>(&name, "a whole number")? else { continue };
        let too_large = || ConfigError::new(&name, "is too large");
        let size = || usize::try_from(value).map_err(|_| too_large());
        let count = || u32::try_from(value).map_err(|_| too_large());
        match key {
            "body_bytes" => limits.body_bytes = size()?,
            "json_depth" => limits.json_depth = size()?,
            "run_seconds" => limits.run_seconds = value,
            "max_attempts" => limits.max_attempts = count()?,
            "lease_seconds" => limits.lease_seconds = value,
            "shutdown_grace_seconds" => limits.shutdown_grace_seconds = value,
            "interrupt_seconds" => limits.interrupt_seconds = Some(value),
            "log_events_per_run" => limits.log_events_per_run = size()?,
            "log_seconds" => limits.log_seconds = value,
            "queued_runs_per_owner" => limits.queued_runs_per_owner = Some(count()?),
            "queued_runs" => limits.queued_runs = Some(count()?),
            _ => {}
        }
    }
    Ok(limits)
}
