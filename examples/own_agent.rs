//! A server with an agent and a tool written in Rust: `cargo run --example own_agent`.

use std::sync::Arc;

use runloom::Server;
use runloom::agents::react::React;
use runloom::models::scripted::Scripted;
use runloom::tools::{Function, Tool, Tools};

/// The tool's arguments: their type is its JSON Schema.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    /// A city.
    location: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather: Arc<dyn Tool> =
        Arc::new(Function::new("get_weather", "Tells the weather.", |place: Place, _call| {
            Box::pin(async move { Ok(format!("It rains in {}.", place.location)) })
        }));
    let agent = React { tools: Tools::new([weather]), ..React::new(Arc::new(Scripted)) }
        .agent("forecast", "Forecast")?
        .described("Knows that it rains.");

    let server = Server::builder().agent(agent).build().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    server.serve(vec![listener], tokio_util::sync::CancellationToken::new()).await?;
    Ok(())
}
