//! Settings that are given outside the file: by environment variables and flags.

use std::collections::BTreeMap;
use std::sync::Arc;

use figment::value::{Dict, Value};

use super::error::Problem;
use super::reader::Layer;
use super::{Environment, Flags, limits, nearest};

type Read = fn(&str) -> Result<Value, String>;

/// Which variable sets which key, and how its text is read.
const VARIABLES: [(&str, &str, Read); 11] = [
    ("RUNLOOM_LISTEN", "listen", list),
    ("DATABASE_URL", "database_url", text),
    ("RUNLOOM_WORKERS", "workers", whole),
    ("RUNLOOM_LOG_FORMAT", "log_format", text),
    ("RUNLOOM_API_KEYS", "keys", list),
    ("RUNLOOM_ALLOW_PRIVATE_NETWORKS", "allow_private_networks", boolean),
    ("RUNLOOM_WEBHOOK_SECRET", "webhook_secret", text),
    ("PLAYGROUND_ENABLED", "playground.enabled", truthy),
    ("PLAYGROUND_ORIGINS", "playground.origins", list),
    ("RUNLOOM_DEMO_AGENTS", "demo_agents", boolean),
    // Read before all others, by `file`; here so that it is known.
    ("RUNLOOM_CONFIG", "", text),
];

const OURS: &str = "RUNLOOM_";
const LIMITS: &str = "RUNLOOM_LIMITS_";
/// A variable this close to one of ours is taken for a slip of the finger.
const SLIP: usize = 2;

/// What the environment says.
pub(super) fn environment(environment: &Environment, problems: &mut Vec<Problem>) -> Layer {
    let mut given = Given::default();
    for (variable, key, read) in VARIABLES {
        if let Some(value) = environment.get(variable) {
            given.put(variable, key, read(value), problems);
        }
    }
    for name in environment.names() {
        let Some(limit) = name.strip_prefix(LIMITS).map(str::to_lowercase) else { continue };
        if let (true, Some(value)) = (limits::is_known(&limit), environment.get(name)) {
            given.put(name, &format!("limits.{limit}"), whole_or_none(value), problems);
        }
    }
    problems.extend(environment.names().filter_map(unknown));
    given.into_layer()
}

/// What the command line says.
pub(super) fn flags(flags: &Flags, problems: &mut Vec<Problem>) -> Layer {
    let mut given = Given::default();
    if !flags.listen.is_empty() {
        given.put("--listen", "listen", Ok(flags.listen.clone().into()), problems);
    }
    let others: [(&str, &str, &Option<String>, Read); 3] = [
        ("--database-url", "database_url", &flags.database_url, text),
        ("--workers", "workers", &flags.workers, whole),
        ("--log-format", "log_format", &flags.log_format, text),
    ];
    for (flag, key, value, read) in others {
        if let Some(value) = value {
            given.put(flag, key, read(value), problems);
        }
    }
    given.into_layer()
}

/// A variable that looks like ours and is not.
///
/// Any other `RUNLOOM_…` is let be: Kubernetes puts `RUNLOOM_SERVICE_HOST` and its like into the
/// environment of every pod beside a service of that name.
fn unknown(name: &str) -> Option<Problem> {
    if let Some(limit) = name.strip_prefix(LIMITS) {
        let limit = limit.to_lowercase();
        let advice = match nearest::nearest(&limit, limits::names()) {
            Some(nearest) => format!("did you mean `{LIMITS}{}`?", nearest.to_uppercase()),
            None => format!("known are `{}`", limits::names().collect::<Vec<_>>().join("`, `")),
        };
        let what = format!("this limit is not known; {advice}");
        return (!limits::is_known(&limit)).then(|| Problem::new(name, what));
    }
    let mut known = VARIABLES.iter().map(|(variable, ..)| *variable);
    if !(name.starts_with(OURS) || name.starts_with("PLAYGROUND_")) || known.any(|one| one == name)
    {
        return None;
    }
    let meant = VARIABLES
        .iter()
        .map(|(variable, ..)| *variable)
        .find(|variable| strsim::damerau_levenshtein(variable, name) <= SLIP)?;
    Some(Problem::new(name, format!("this variable is not known; did you mean `{meant}`?")))
}

/// Values with the names they were given under.
#[derive(Default)]
struct Given {
    values: Dict,
    names: BTreeMap<String, String>,
}

impl Given {
    fn put(
        &mut self,
        name: &str,
        key: &str,
        value: Result<Value, String>,
        problems: &mut Vec<Problem>,
    ) {
        let value = match value {
            Ok(value) => value,
            Err(what) => return problems.push(Problem::new(name, what)),
        };
        match key.split_once('.') {
            Some((section, inner)) => self.put_inside(section, inner, value),
            None if key.is_empty() => return,
            None => drop(self.values.insert(key.to_owned(), value)),
        }
        self.names.insert(key.to_owned(), name.to_owned());
    }

    fn put_inside(&mut self, section: &str, key: &str, value: Value) {
        let table = self.values.entry(section.to_owned()).or_insert_with(|| Dict::new().into());
        if let Value::Dict(_, table) = table {
            table.insert(key.to_owned(), value);
        }
    }

    fn into_layer(self) -> Layer {
        let Self { values, names } = self;
        let label = move |keys: &[&str]| {
            let prefixes = (1..=keys.len()).rev().filter_map(|depth| keys.get(..depth));
            let name = prefixes.map(|keys| keys.join(".")).find_map(|key| names.get(&key));
            name.cloned().unwrap_or_else(|| keys.join("."))
        };
        Layer { values, label: Arc::new(label) }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "one of several readers")]
fn text(given: &str) -> Result<Value, String> {
    Ok(Value::from(given))
}

#[expect(clippy::unnecessary_wraps, reason = "one of several readers")]
fn list(given: &str) -> Result<Value, String> {
    let parts = given.split(',').map(str::trim).filter(|part| !part.is_empty());
    Ok(parts.map(Value::from).collect::<Vec<_>>().into())
}

fn whole(given: &str) -> Result<Value, String> {
    let number = given.parse::<u64>();
    number
        .map(Value::from)
        .map_err(|_| "this is not a whole number; give one, such as 64".to_owned())
}

/// `none` takes back what a file limits.
fn whole_or_none(given: &str) -> Result<Value, String> {
    if given.eq_ignore_ascii_case("none") {
        return Value::serialize(None::<u64>).map_err(|error| error.to_string());
    }
    whole(given).map_err(|_| "this is not a whole number; give one, or `none`".to_owned())
}

fn boolean(given: &str) -> Result<Value, String> {
    let is_no = ["0", "false", "no", "off"].contains(&given.to_lowercase().as_str());
    match is_yes(given) {
        yes if yes || is_no => Ok(Value::from(yes)),
        _ => Err("this is neither yes nor no; give `true` or `false`".to_owned()),
    }
}

/// Anything but a clear yes is a no: what opens a door must not open it by a slip.
#[expect(clippy::unnecessary_wraps, reason = "one of several readers")]
fn truthy(given: &str) -> Result<Value, String> {
    Ok(Value::from(is_yes(given)))
}

fn is_yes(given: &str) -> bool {
    ["1", "true", "yes", "on"].contains(&given.to_lowercase().as_str())
}
