//! The agents and tools that the settings describe.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::models::reach;
use crate::agents::configured::{self, Described};
use crate::agents::react::Trim;
use crate::agents::registry::Registry;
use crate::agents::review::Allowed;
use crate::config::{
    AgentSettings, Decision, HttpToolSettings, McpSettings, McpTransport, Settings, ToolRef,
};
use crate::domain::tool::ToolSpec;
use crate::models::chat::ChatOptions;
use crate::server::PublicOnly;
use crate::tools::http::HttpTool;
use crate::tools::mcp::{self, Transport};
use crate::tools::{Tool, Tools, builtin};

use std::collections::BTreeMap;

/// Variables of this process that a program of tools has no business with.
const SECRETS: [&str; 5] = [
    "RUNLOOM_API_KEYS",
    "RUNLOOM_WEBHOOK_SECRET",
    "DATABASE_URL",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
];

/// The demo agents, unless they are not wanted, and those of the settings.
///
/// # Errors
/// Everything that is wrong with the agents and their tools, a line each.
pub(super) fn agents(settings: &Settings) -> Result<Registry> {
    let mut parts = Parts::of(settings)?;
    let described: Vec<Described> =
        settings.agents.iter().map(|(id, agent)| parts.described(id, agent)).collect();
    let mut demo = Registry::demo();
    let built = configured::add(demo.clone(), described).map_err(|found| {
        parts.problems.extend(found);
    });
    if !parts.problems.is_empty() {
        return Err(anyhow!("the configuration is wrong:\n  {}", parts.problems.join("\n  ")));
    }
    let built = built.map_err(|()| anyhow!("the agents cannot be put together"))?;
    if settings.demo_agents {
        return Ok(built);
    }
    // Agents that hand tasks to a demo agent still can; it is only not listed.
    demo = Registry::new();
    for agent in built.iter().filter(|agent| settings.agents.contains_key(agent.id.as_str())) {
        demo = demo.with((**agent).clone());
    }
    Ok(demo)
}

/// Tools and servers, each made once for all agents.
struct Parts<'s> {
    settings: &'s Settings,
    http: BTreeMap<&'s str, Arc<dyn Tool>>,
    mcp: BTreeMap<&'s str, Arc<mcp::Server>>,
    problems: Vec<String>,
}

impl<'s> Parts<'s> {
    fn of(settings: &'s Settings) -> Result<Self> {
        let client = client(settings)?;
        let mut parts =
            Self { settings, http: BTreeMap::new(), mcp: BTreeMap::new(), problems: Vec::new() };
        for (name, tool) in &settings.http {
            match http_tool(settings, name, tool, &client) {
                Ok(tool) => drop(parts.http.insert(name, Arc::new(tool))),
                Err(error) => parts.problems.push(format!("http.{name}.{error:#}")),
            }
        }
        for (name, server) in &settings.mcp {
            match mcp_server(settings, name, server) {
                Ok(server) => drop(parts.mcp.insert(name, server)),
                Err(error) => parts.problems.push(format!("mcp.{name}.{error:#}")),
            }
        }
        Ok(parts)
    }

    fn described(&mut self, id: &str, agent: &AgentSettings) -> Described {
        let tools = agent.tools.as_ref().map(|tools| self.tools(id, tools));
        let review = agent.review.iter().map(|(tool, decisions)| {
            (tool.clone(), decisions.iter().copied().map(Allowed::from).collect())
        });
        Described {
            id: id.to_owned(),
            name: agent.name.clone(),
            description: agent.description.clone(),
            model: agent.model.as_ref().map(|model| reach(self.settings, model)),
            fallback: agent.fallback_model.as_ref().map(|model| reach(self.settings, model)),
            prompt: agent.prompt.clone(),
            tools,
            review: review.collect(),
            review_locked: agent.review_locked,
            subagents: agent.subagents.clone(),
            options: ChatOptions {
                temperature: agent.temperature,
                max_tokens: agent.max_tokens,
                response_schema: agent.response_schema.clone(),
            },
            trim: Trim { turns: agent.history_turns, tokens: agent.history_tokens },
            metadata: agent.metadata.clone(),
        }
    }

    fn tools(&mut self, id: &str, wanted: &[ToolRef]) -> Tools {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let mut sources = Vec::new();
        for tool in wanted {
            match tool {
                ToolRef::Builtin(name) => match builtin::by_name(name) {
                    Some(tool) => tools.push(tool),
                    None => self.problems.push(unknown(id, name)),
                },
                // One that is missing here is a problem of its own.
                ToolRef::Http(name) => tools.extend(self.http.get(name.as_str()).cloned()),
                ToolRef::Mcp(name) => sources.extend(self.mcp.get(name.as_str()).cloned()),
            }
        }
        sources.into_iter().fold(Tools::new(tools), |tools, source| tools.with_source(source))
    }
}

fn unknown(id: &str, name: &str) -> String {
    let all = builtin::all();
    let names: Vec<&str> = all.iter().map(|tool| tool.spec().name.as_str()).collect();
    let names = names.join("`, `");
    format!(
        "agents.{id}.tools: there is no tool `{name}`; write `mcp:NAME`, `http:NAME` or one of `{names}`"
    )
}

impl From<Decision> for Allowed {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approve => Self::Approve,
            Decision::Edit => Self::Edit,
            Decision::Reject => Self::Reject,
            Decision::Respond => Self::Respond,
        }
    }
}

fn http_tool(
    settings: &Settings,
    name: &str,
    tool: &HttpToolSettings,
    client: &reqwest::Client,
) -> Result<HttpTool> {
    jsonschema::validator_for(&tool.parameters)
        .map_err(|error| anyhow!("parameters: this is no JSON Schema: {error}"))?;
    Ok(HttpTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        },
        method: tool.method.parse().context("method")?,
        url: tool.url.clone(),
        headers: headers(&tool.headers)?,
        timeout: Duration::from_secs(tool.timeout_seconds),
        retries: tool.retries,
        max_bytes: tool.max_bytes,
        allow_private_networks: settings.allow_private_networks,
        client: client.clone(),
    })
}

fn mcp_server(settings: &Settings, name: &str, server: &McpSettings) -> Result<Arc<mcp::Server>> {
    let transport = match &server.transport {
        McpTransport::Command { program, arguments, environment } => {
            let keys = settings.models.values().filter_map(|model| model.api_key_env.clone());
            Transport::Program {
                program: program.clone(),
                arguments: arguments.clone(),
                environment: environment.clone(),
                hidden: keys.chain(SECRETS.map(str::to_owned)).collect(),
            }
        }
        McpTransport::Http { url, headers: given } => {
            Transport::Http { url: url.clone(), headers: headers(given)? }
        }
    };
    Ok(mcp::Server::new(mcp::Options {
        name: name.to_owned(),
        transport,
        timeout: Duration::from_secs(server.timeout_seconds),
        retries: server.retries,
    }))
}

fn headers(given: &BTreeMap<String, SecretString>) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = || format!("headers.{name}: this header cannot be sent");
        let key = HeaderName::try_from(name.as_str()).with_context(wrong)?;
        // The error of a value would not show it, and neither must anything else.
        let mut value = HeaderValue::try_from(value.expose_secret()).with_context(wrong)?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// For tools: it follows no redirect by itself, so that each can be judged.
fn client(settings: &Settings) -> Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .user_agent(concat!("runloom/", env!("CARGO_PKG_VERSION")));
    let builder = if settings.allow_private_networks {
        builder
    } else {
        builder.dns_resolver(Arc::new(PublicOnly))
    };
    builder.build().context("the client for tools cannot be built")
}
