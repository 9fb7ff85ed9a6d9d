//! Tools of MCP servers, over standard streams and over HTTP.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{configured, results, turn};

fn program() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/agents/mcp_server.py");
    format!(
        "[mcp.weather]\ncommand = [\"python3\", \"{script}\"]\nenv = {{ MOOD = \"fine\" }}\n\
         [agents.forecast]\nmodel = \"scripted\"\ntools = [\"mcp:weather\"]\n"
    )
}

#[tokio::test]
async fn a_server_that_is_killed_in_a_call_fails_that_call_alone() {
    let (process, _folder) = configured(&program());
    let client = process.client();
    let killed = turn(&client, "forecast", "weather in doom").await;
    let why = "the MCP server weather is away: it went away during the call";
    assert_eq!(results(&killed), [(why.to_owned(), true)]);
    assert_eq!(killed.last().unwrap()["role"], "assistant");
    let next = turn(&client, "forecast", "weather in Oslo").await;
    assert_eq!(results(&next), [("Oslo is fine for None.".to_owned(), false)]);
}

#[tokio::test]
async fn what_a_server_refuses_and_what_its_schema_refuses_are_results() {
    let (process, _folder) = configured(&program());
    let client = process.client();
    let refused = turn(&client, "forecast", "weather in nowhere").await;
    assert_eq!(results(&refused), [("nowhere is fine for None.".to_owned(), true)]);
    let long = turn(&client, "forecast", "weather in a very far country").await;
    let (why, failed) = results(&long).remove(0);
    assert!(failed && why.starts_with("wrong arguments for get_weather: "), "{why}");
}

#[tokio::test]
async fn a_server_that_cannot_be_started_leaves_the_agent_without_its_tools() {
    let text = "[mcp.gone]\ncommand = [\"/no/such/program\"]\n\
                [agents.forecast]\nmodel = \"scripted\"\ntools = [\"mcp:gone\"]\n";
    let (process, _folder) = configured(text);
    let messages = turn(&process.client(), "forecast", "weather in Oslo").await;
    assert_eq!(messages.last().unwrap()["content"], "You said: weather in Oslo");
}

#[tokio::test]
async fn a_server_is_reached_over_streamable_http() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/mcp", post(answer));
    let served = tokio::spawn(async move { axum::serve(listener, router).await });
    let text = format!(
        "[mcp.weather]\nurl = \"http://{address}/mcp\"\nheaders = {{ x-team = \"care\" }}\n\
         [agents.forecast]\nmodel = \"scripted\"\ntools = [\"mcp:weather\"]\n"
    );
    let (process, _folder) = configured(&text);
    let messages = turn(&process.client(), "forecast", "weather in Oslo").await;
    assert_eq!(results(&messages), [("Oslo, by care.".to_owned(), false)]);
    served.abort();
}

async fn answer(headers: axum::http::HeaderMap, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    if request.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "weather", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "get_weather",
            "inputSchema": {"type": "object", "properties": {"location": {"type": "string"}}},
        }]}),
        _ => {
            let place = request["params"]["arguments"]["location"].as_str().unwrap();
            let text = format!("{place}, by {}.", headers["x-team"].to_str().unwrap());
            json!({"content": [{"type": "text", "text": text}]})
        }
    };
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    ([("content-type", "application/json")], reply.to_string()).into_response()
}
