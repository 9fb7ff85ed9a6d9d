//! Tools of servers that speak the Model Context Protocol, over a program's standard streams or
//! streamable HTTP.
//!
//! A server is started when its tools are first wanted and again when it has died: the call that
//! was on its way fails, the next one finds a new server.

use std::collections::{BTreeMap, HashMap};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::domain::ports::BoxFuture;
use crate::domain::tool::{Risk, ToolSpec};
use crate::tools::tool::{Call, Failure, Limits, Output, Tool, ToolSource};

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    Program {
        program: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, SecretString>,
        /// Variables of this process that are none of its business.
        hidden: Vec<String>,
    },
    Http {
        url: String,
        headers: HeaderMap,
    },
}

/// What a server is made of.
#[derive(Clone)]
pub struct Options {
    /// As the configuration names it.
    pub name: String,
    pub transport: Transport,
    /// Of connecting, and of each call.
    pub timeout: Duration,
    pub retries: u32,
}

type Connection = RunningService<RoleClient, ()>;

/// A server, and its tools as it told them last.
pub struct Server {
    options: Options,
    myself: Weak<Self>,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    known: Mutex<Vec<Arc<dyn Tool>>>,
}

impl Server {
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            options,
            myself: myself.clone(),
            connection: tokio::sync::Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// The connection that stands, or a new one.
    async fn connected(&self) -> Result<Arc<Connection>, Failure> {
        let mut standing = self.connection.lock().await;
        if let Some(connection) = standing.as_ref().filter(|one| !one.is_transport_closed()) {
            return Ok(connection.clone());
        }
        *standing = None;
        let connected = tokio::time::timeout(self.options.timeout, self.connect()).await;
        let connection = Arc::new(connected.map_err(|_| self.away("it does not answer"))??);
        *standing = Some(connection.clone());
        Ok(connection)
    }

    /// A new connection, with what the server says it can do.
    async fn connect(&self) -> Result<Connection, Failure> {
        let connection = match &self.options.transport {
            Transport::Program { program, arguments, environment, hidden } => {
                let mut command = tokio::process::Command::new(program);
                command.args(arguments).kill_on_drop(true);
                for name in hidden {
                    command.env_remove(name);
                }
                for (name, value) in environment {
                    command.env(name, value.expose_secret());
                }
                let spawned = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
                let (child, _) = spawned.map_err(|_| self.away("it cannot be started"))?;
                rmcp::service::serve_client((), child).await
            }
            Transport::Http { url, headers } => {
                let headers: HashMap<HeaderName, HeaderValue> =
                    headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers);
                let transport = StreamableHttpClientTransport::from_config(config);
                rmcp::service::serve_client((), transport).await
            }
        };
        let connection = connection.map_err(|_| self.away("it cannot be spoken to"))?;
        let listed = connection.list_all_tools().await;
        let listed = listed.map_err(|_| self.away("it does not tell its tools"))?;
        let tools = listed.into_iter().filter_map(|tool| self.tool(tool)).collect();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = tools;
        Ok(connection)
    }

    fn tool(&self, told: rmcp::model::Tool) -> Option<Arc<dyn Tool>> {
        let spec = ToolSpec {
            name: told.name.into_owned(),
            description: told.description.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            parameters: Value::Object((*told.input_schema).clone()),
        };
        let server = self.myself.upgrade()?;
        Some(Arc::new(Remote { server, spec }))
    }

    fn away(&self, why: &str) -> Failure {
        Failure::transient(format!("the MCP server {} is away: {why}", self.options.name))
    }

    async fn call(&self, params: CallToolRequestParams) -> Result<Output, Failure> {
        let connection = self.connected().await?;
        match connection.call_tool(params).await {
            Ok(result) => output(&result),
            Err(ServiceError::McpError(error)) => Err(Failure::new(error.message.into_owned())),
            Err(_) => {
                // Nobody else's new connection is given up for this one's end.
                let mut standing = self.connection.lock().await;
                standing.take_if(|one| Arc::ptr_eq(one, &connection));
                Err(self.away("it went away during the call"))
            }
        }
    }
}

impl ToolSource for Server {
    fn known(&self) -> Vec<Arc<dyn Tool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn load(&self) -> BoxFuture<'_, Vec<Arc<dyn Tool>>> {
        Box::pin(async move {
            if let Err(failure) = self.connected().await {
                tracing::warn!(mcp.server = %self.options.name, "{failure}");
            }
            self.known()
        })
    }
}

/// One tool of a server.
struct Remote {
    server: Arc<Server>,
    spec: ToolSpec,
}

impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// What a server says of its own harmlessness is not to be believed.
    fn risk(&self) -> Risk {
        Risk::Medium
    }

    fn limits(&self) -> Limits {
        let Options { timeout, retries, .. } = self.server.options;
        Limits { time: Some(timeout), retries }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let params = CallToolRequestParams::new(self.spec.name.clone()).with_arguments(call.args);
        Box::pin(self.server.call(params))
    }
}

/// Texts as they are, anything else as its JSON.
fn output(result: &CallToolResult) -> Result<Output, Failure> {
    let texts: Vec<String> = result.content.iter().map(text).collect();
    let content = match &result.structured_content {
        Some(structured) if texts.is_empty() => structured.to_string(),
        _ => texts.join("\n"),
    };
    if result.is_error == Some(true) { Err(Failure::new(content)) } else { Ok(Output { content }) }
}

fn text(block: &ContentBlock) -> String {
    match block.as_text() {
        Some(text) => text.text.clone(),
        None => serde_json::to_string(block).unwrap_or_default(),
    }
}
