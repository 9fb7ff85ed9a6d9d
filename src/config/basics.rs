//! The settings that are one value each.

use secrecy::SecretString;
use serde::Deserialize;

use figment::value::Value;

use super::nearest;
use super::reader::Reader;

const DEFAULT_LISTEN: &str = "127.0.0.1:8000";
const DEFAULT_WORKERS: usize = 64;
/// More than this many runs at a time is a slip of the finger.
const MOST_WORKERS: usize = 100_000;

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One object a line.
    Json,
}

impl LogFormat {
    const NAMES: [&'static str; 2] = ["pretty", "json"];
}

/// One value or a list of them.
#[derive(Deserialize)]
#[serde(transparent)]
struct List(Vec<String>);

pub(super) fn listen(reader: &mut Reader<'_>) -> Vec<String> {
    const KEY: &str = "listen";
    let given = match reader.raw(KEY) {
        None => return vec![DEFAULT_LISTEN.to_owned()],
        Some(Value::String(_, one)) => vec![one],
        Some(_) => match reader.value::<List>(KEY) {
            Some(List(several)) => several,
            None => return Vec::new(),
        },
    };
    if given.is_empty() {
        reader.wrong(&[KEY], format!("there is no address; give one, such as `{DEFAULT_LISTEN}`"));
    }
    for address in given.iter().filter(|address| !is_address(address)) {
        let what = format!(
            "`{address}` is not an address with a port; give one, such as `{DEFAULT_LISTEN}` or `[::]:8000`"
        );
        reader.wrong(&[KEY], what);
    }
    given
}

/// Whether it reads `host:port`; an IPv6 address stands in brackets.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let host_fits = match bracketed {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', ' ', '[', ']']),
    };
    host_fits && port.parse::<u16>().is_ok()
}

pub(super) fn workers(reader: &mut Reader<'_>) -> usize {
    let workers = reader.value("workers").unwrap_or(DEFAULT_WORKERS);
    if !(1..=MOST_WORKERS).contains(&workers) {
        let what = format!("{workers} runs at a time is out of range; give 1 to {MOST_WORKERS}");
        reader.wrong(&["workers"], what);
    }
    workers
}

pub(super) fn log_format(reader: &mut Reader<'_>) -> LogFormat {
    const KEY: &str = "log_format";
    let Some(name) = reader.value::<String>(KEY) else { return LogFormat::default() };
    match name.to_lowercase().as_str() {
        "pretty" => LogFormat::Pretty,
        "json" => LogFormat::Json,
        other => {
            let advice = nearest::advice(other, &LogFormat::NAMES);
            reader.wrong(&[KEY], format!("`{other}` is not a log format; {advice}"));
            LogFormat::default()
        }
    }
}

pub(super) fn webhook_secret(reader: &mut Reader<'_>) -> Option<SecretString> {
    const KEY: &str = "webhook_secret";
    let secret = reader.value::<String>(KEY)?;
    if secret.trim().is_empty() {
        reader.wrong(&[KEY], "the secret is empty; give one, or leave the key out");
    }
    Some(SecretString::from(secret))
}
