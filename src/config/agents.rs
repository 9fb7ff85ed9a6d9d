//! Agents that are described rather than programmed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::models::SCRIPTED;
use super::reader::Reader;
use super::{HttpToolSettings, McpSettings, ModelSettings, nearest};

const SECTION: &str = "agents";

/// One agent. Under the id of an agent that ships with the program it changes that one, and what
/// is left out stays as it was.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSettings {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<AgentKind>,
    pub model: Option<ModelRef>,
    /// Asked instead when the model fails for good.
    pub fallback_model: Option<ModelRef>,
    pub prompt: Option<String>,
    pub tools: Option<Vec<ToolRef>>,
    /// Tools that need a decision, each with the decisions that are offered.
    pub review: BTreeMap<String, Vec<Decision>>,
    /// Callers may not ask for a weaker review.
    pub review_locked: bool,
    /// Ids of the agents it may hand tasks to.
    pub subagents: Vec<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// A JSON Schema that the answer is to follow.
    pub response_schema: Option<Value>,
    /// Of the history, the model sees at most this many turns.
    pub history_turns: Option<usize>,
    /// Of the history, the model sees at most about this many tokens.
    pub history_tokens: Option<usize>,
    pub metadata: Map<String, Value>,
}

/// What an agent does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// Asks a model, runs the tools it calls, and asks again.
    React,
}

/// A model as `provider:model` names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelRef {
    /// A key of the model settings, or `scripted`.
    pub provider: String,
    pub model: String,
}

/// A tool, or a server of tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolRef {
    Builtin(String),
    Mcp(String),
    Http(String),
}

/// What may be decided about a tool call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Approve,
    Edit,
    Reject,
    Respond,
}

/// What agents may refer to.
pub(super) struct Known<'k> {
    pub(super) models: &'k BTreeMap<String, ModelSettings>,
    pub(super) mcp: &'k BTreeMap<String, McpSettings>,
    pub(super) http: &'k BTreeMap<String, HttpToolSettings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Option<String>,
    description: Option<String>,
    kind: Option<AgentKind>,
    model: Option<String>,
    fallback_model: Option<String>,
    prompt: Option<String>,
    tools: Option<Vec<String>>,
    #[serde(default)]
    review: BTreeMap<String, Vec<Decision>>,
    #[serde(default)]
    review_locked: bool,
    #[serde(default)]
    subagents: Vec<String>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    response_schema: Option<Value>,
    history_turns: Option<usize>,
    history_tokens: Option<usize>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

pub(super) fn read(reader: &mut Reader<'_>, known: &Known<'_>) -> BTreeMap<String, AgentSettings> {
    let given: BTreeMap<String, Raw> = reader.value(SECTION).unwrap_or_default();
    given.into_iter().map(|(id, raw)| (id.clone(), settle(reader, known, &id, raw))).collect()
}

fn settle(reader: &mut Reader<'_>, known: &Known<'_>, id: &str, raw: Raw) -> AgentSettings {
    if id.is_empty() || id.contains(['/', ' ']) {
        reader
            .wrong(&[SECTION, id], "this id cannot be used; choose one without slashes and spaces");
    }
    for (tool, _) in raw.review.iter().filter(|(_, decisions)| decisions.is_empty()) {
        let what = "there is no decision; give one at least, such as `approve`";
        reader.wrong(&[SECTION, id, "review", tool], what);
    }
    if raw.subagents.iter().any(|other| other == id) {
        reader.wrong(&[SECTION, id, "subagents"], "an agent cannot be its own; take it out");
    }
    let mut model_of = |key, text: Option<String>| {
        text.and_then(|text| model_ref(reader, known, [SECTION, id, key], &text))
    };
    let model = model_of("model", raw.model);
    let fallback_model = model_of("fallback_model", raw.fallback_model);
    let tools = raw.tools.map(|tools| {
        tools.into_iter().filter_map(|tool| tool_ref(reader, known, id, tool)).collect()
    });
    AgentSettings {
        name: raw.name,
        description: raw.description,
        kind: raw.kind,
        model,
        fallback_model,
        prompt: raw.prompt,
        tools,
        review: raw.review,
        review_locked: raw.review_locked,
        subagents: raw.subagents,
        temperature: raw.temperature,
        max_tokens: raw.max_tokens,
        response_schema: raw.response_schema,
        history_turns: raw.history_turns,
        history_tokens: raw.history_tokens,
        metadata: raw.metadata,
    }
}

fn model_ref(
    reader: &mut Reader<'_>,
    known: &Known<'_>,
    path: [&str; 3],
    text: &str,
) -> Option<ModelRef> {
    let (provider, model) = text.split_once(':').unwrap_or((text, ""));
    if provider != SCRIPTED && !known.models.contains_key(provider) {
        let names: Vec<&str> = known.models.keys().map(String::as_str).chain([SCRIPTED]).collect();
        let advice = nearest::advice(provider, &names);
        reader.wrong(&path, format!("there are no models under `{provider}`; {advice}"));
        return None;
    }
    if provider != SCRIPTED && model.is_empty() {
        reader.wrong(&path, format!("the model is missing; write `{provider}:MODEL`"));
        return None;
    }
    Some(ModelRef { provider: provider.to_owned(), model: model.to_owned() })
}

fn tool_ref(reader: &mut Reader<'_>, known: &Known<'_>, id: &str, text: String) -> Option<ToolRef> {
    let (section, name, names): (_, _, Vec<&String>) = match text.split_once(':') {
        None => return Some(ToolRef::Builtin(text)),
        Some(("mcp", name)) => ("mcp", name, known.mcp.keys().collect()),
        Some(("http", name)) => ("http", name, known.http.keys().collect()),
        Some((other, _)) => {
            let what =
                format!("`{other}:` is no kind of tool; write `mcp:NAME`, `http:NAME` or a name");
            reader.wrong(&[SECTION, id, "tools"], what);
            return None;
        }
    };
    if !names.iter().any(|known| *known == name) {
        let advice = nearest::advice(name, names);
        let what = format!("there is no section `[{section}.{name}]`; {advice}");
        reader.wrong(&[SECTION, id, "tools"], what);
        return None;
    }
    let name = name.to_owned();
    Some(if section == "mcp" { ToolRef::Mcp(name) } else { ToolRef::Http(name) })
}
