//! Tools from outside: MCP servers and plain HTTP endpoints.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::expand;
use super::reader::Reader;

const MCP: &str = "mcp";
const HTTP: &str = "http";
/// Seconds.
const DEFAULT_TIMEOUT: u64 = 30;
const DEFAULT_MAX_BYTES: usize = 1 << 20;
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// A server that offers tools over the Model Context Protocol.
#[derive(Clone, Debug)]
pub struct McpSettings {
    pub transport: McpTransport,
    pub timeout_seconds: u64,
    /// Further attempts after failures that may pass.
    pub retries: u32,
}

/// How it is spoken to.
#[derive(Clone, Debug)]
pub enum McpTransport {
    /// A program, over its standard input and output.
    Command { program: String, arguments: Vec<String>, environment: BTreeMap<String, SecretString> },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, SecretString> },
}

/// One HTTP request as a tool.
#[derive(Clone, Debug)]
pub struct HttpToolSettings {
    pub description: String,
    pub method: String,
    /// With `{name}` where a parameter goes.
    pub url: String,
    pub headers: BTreeMap<String, SecretString>,
    /// A JSON Schema.
    pub parameters: Value,
    pub timeout_seconds: u64,
    /// Further attempts after failures that may pass.
    pub retries: u32,
    /// Of the answer, the model sees at most so much.
    pub max_bytes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMcp {
    command: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    timeout_seconds: Option<u64>,
    #[serde(default)]
    retries: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHttp {
    #[serde(default)]
    description: String,
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    parameters: Option<Value>,
    timeout_seconds: Option<u64>,
    #[serde(default)]
    retries: u32,
    max_bytes: Option<usize>,
}

pub(super) fn read_mcp(reader: &mut Reader<'_>) -> BTreeMap<String, McpSettings> {
    let given: BTreeMap<String, RawMcp> = reader.value(MCP).unwrap_or_default();
    let settled = given.into_iter().filter_map(|(name, raw)| {
        let timeout_seconds = raw.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT);
        let retries = raw.retries;
        let transport = transport(reader, &name, raw)?;
        Some((name, McpSettings { transport, timeout_seconds, retries }))
    });
    settled.collect()
}

fn transport(reader: &mut Reader<'_>, name: &str, raw: RawMcp) -> Option<McpTransport> {
    match (raw.command, raw.url) {
        (Some(command), None) => {
            if !raw.headers.is_empty() {
                let what = "a program takes no headers; use `env`";
                reader.wrong(&[MCP, name, "headers"], what);
            }
            let environment = expand::table(reader, &[MCP, name, "env"], raw.env);
            let mut words = command.into_iter();
            let Some(program) = words.next().filter(|program| !program.is_empty()) else {
                let what = "the command is empty; give the program and its arguments";
                reader.wrong(&[MCP, name, "command"], what);
                return None;
            };
            Some(McpTransport::Command { program, arguments: words.collect(), environment })
        }
        (None, Some(url)) => {
            if !raw.env.is_empty() {
                reader.wrong(&[MCP, name, "env"], "a URL takes no `env`; use `headers`");
            }
            if !is_http_url(&url) {
                reader.wrong(&[MCP, name, "url"], not_a_url(&url));
            }
            let headers = expand::headers(reader, &[MCP, name, "headers"], raw.headers);
            Some(McpTransport::Http { url, headers })
        }
        (Some(_), Some(_)) => {
            reader.wrong(&[MCP, name], "there are both `command` and `url`; keep one");
            None
        }
        (None, None) => {
            reader.wrong(&[MCP, name], "there is neither `command` nor `url`; add one");
            None
        }
    }
}

pub(super) fn read_http(reader: &mut Reader<'_>) -> BTreeMap<String, HttpToolSettings> {
    let given: BTreeMap<String, RawHttp> = reader.value(HTTP).unwrap_or_default();
    given.into_iter().map(|(name, raw)| (name.clone(), http_tool(reader, &name, raw))).collect()
}

fn http_tool(reader: &mut Reader<'_>, name: &str, raw: RawHttp) -> HttpToolSettings {
    let method = raw.method.unwrap_or_else(|| "GET".to_owned()).to_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let what =
            format!("`{method}` is not a method for tools; give one of `{}`", METHODS.join("`, `"));
        reader.wrong(&[HTTP, name, "method"], what);
    }
    if !is_http_url(&raw.url) {
        reader.wrong(&[HTTP, name, "url"], not_a_url(&raw.url));
    }
    let parameters = raw.parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    let declared = parameters.get("properties").and_then(Value::as_object);
    for wanted in placeholders(&raw.url) {
        if !declared.is_some_and(|declared| declared.contains_key(wanted)) {
            let what = format!("`{{{wanted}}}` is not among `parameters.properties`; add it there");
            reader.wrong(&[HTTP, name, "url"], what);
        }
    }
    HttpToolSettings {
        description: raw.description,
        method,
        headers: expand::headers(reader, &[HTTP, name, "headers"], raw.headers),
        url: raw.url,
        parameters,
        timeout_seconds: raw.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT),
        retries: raw.retries,
        max_bytes: raw.max_bytes.unwrap_or(DEFAULT_MAX_BYTES),
    }
}

/// The names in braces.
fn placeholders(url: &str) -> BTreeSet<&str> {
    url.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
}

pub(super) fn is_http_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| !host.is_empty()) && !text.contains(char::is_whitespace)
}

pub(super) fn not_a_url(text: &str) -> String {
    let shown: String = text.chars().take(8).collect();
    format!(
        "what begins with `{shown}` is not a URL; give one that begins with `http://` or `https://`"
    )
}
