//! One HTTP request as a tool, as the configuration describes it.
//!
//! Arguments named in the URL go there, encoded; the others go into the query of `GET` and
//! `DELETE`, else into a JSON body. Names are judged by the client's resolver; literal addresses
//! are judged here, at every redirect.

use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Method, Response, Url};
use serde_json::{Map, Value};

use crate::domain::net;
use crate::domain::ports::BoxFuture;
use crate::domain::tool::{Risk, ToolSpec};
use crate::tools::tool::{Call, Failure, Limits, Output, Tool};

/// Redirects that are followed.
const MAX_HOPS: usize = 5;

/// What the tool is made of.
pub struct HttpTool {
    pub spec: ToolSpec,
    pub method: Method,
    /// With `{name}` where an argument goes.
    pub url: String,
    pub headers: HeaderMap,
    pub timeout: Duration,
    pub retries: u32,
    /// Of the answer, the model sees at most so much.
    pub max_bytes: usize,
    pub allow_private_networks: bool,
    /// Follows no redirects by itself, and resolves names to allowed addresses only.
    pub client: Client,
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn risk(&self) -> Risk {
        if self.method == Method::GET { Risk::None } else { Risk::Medium }
    }

    fn limits(&self) -> Limits {
        Limits { time: Some(self.timeout), retries: self.retries }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let response = self.send(call).await?;
            let status = response.status();
            let content = self.read(response).await?;
            if status.is_success() {
                return Ok(Output { content });
            }
            let message = format!("the server answered {status}: {content}");
            Err(Failure { message, transient: status.is_server_error() })
        })
    }
}

impl HttpTool {
    async fn send(&self, call: Call<'_>) -> Result<Response, Failure> {
        let (mut url, rest) = self.target(call.args)?;
        let (mut method, mut body) = (self.method.clone(), None);
        if matches!(method, Method::GET | Method::DELETE) {
            if !rest.is_empty() {
                let pairs = rest.iter().map(|(name, value)| (name, plain(value)));
                url.query_pairs_mut().extend_pairs(pairs);
            }
        } else {
            body = Some(Value::Object(rest));
        }
        let home = url.origin();
        for _ in 0..=MAX_HOPS {
            self.judge(&url)?;
            let mut request = self.client.request(method.clone(), url.clone());
            // What the headers hold is meant for this server alone.
            if url.origin() == home {
                request = request.headers(self.headers.clone());
                request = request.header("idempotency-key", &call.idempotency_key);
            }
            if let Some(body) = &body {
                request = request.json(body);
            }
            let response = request.send().await.map_err(|error| unreachable(&error))?;
            let Some(next) = location(&response, &url) else { return Ok(response) };
            url = next;
            if !matches!(response.status().as_u16(), 307 | 308) && method != Method::GET {
                (method, body) = (Method::GET, None);
            }
            if url.origin() != home && body.is_some() {
                return Err(Failure::new("the server redirects the request to another server"));
            }
        }
        Err(Failure::new("the server redirects too often"))
    }

    /// The URL with its arguments, and the arguments that are not in it.
    fn target(&self, mut args: Map<String, Value>) -> Result<(Url, Map<String, Value>), Failure> {
        let (mut url, mut rest) = (String::new(), self.url.as_str());
        let mut used = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            let value = args.get(name).map(plain).unwrap_or_default();
            // Dots alone would walk up the path.
            if value.is_empty() || matches!(value.as_str(), "." | "..") {
                return Err(Failure::new(format!("{name} cannot be {value:?}")));
            }
            url.push_str(before);
            url.extend(value.bytes().map(encoded));
            used.push(name);
            rest = after;
        }
        url.push_str(rest);
        for name in used {
            args.shift_remove(name);
        }
        let url = Url::parse(&url).map_err(|_| Failure::new("the arguments make no URL"))?;
        Ok((url, args))
    }

    /// Refuses addresses of this machine and of private networks, unless they are allowed.
    fn judge(&self, url: &Url) -> Result<(), Failure> {
        let private = url.host_str().is_none_or(net::is_private_host);
        if !matches!(url.scheme(), "http" | "https") || private && !self.allow_private_networks {
            return Err(Failure::new("this address may not be reached"));
        }
        Ok(())
    }

    async fn read(&self, mut response: Response) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
            let room = self.max_bytes.saturating_sub(bytes.len());
            bytes.extend(chunk.iter().take(room));
            if chunk.len() > room {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok(format!("{text}\n[cut off after {} bytes]", self.max_bytes));
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The error itself would show the URL, and with it what the operator put there.
fn unreachable(error: &reqwest::Error) -> Failure {
    Failure::transient(if error.is_connect() {
        "the server cannot be reached"
    } else {
        "the connection broke off"
    })
}

fn location(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Everything but the unreserved characters of RFC 3986, percent-encoded.
fn encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}
