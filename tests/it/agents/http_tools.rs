//! HTTP requests as tools.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Redirect;
use axum::routing::get;
use tokio::net::TcpListener;

use super::{configured, results, turn};

async fn shop() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let weather = |Path(place): Path<String>, headers: HeaderMap| async move {
        let team = headers["x-team"].to_str().unwrap().to_owned();
        match place.as_str() {
            "ruin" => (StatusCode::INTERNAL_SERVER_ERROR, "in ruins".to_owned()),
            "flood" => (StatusCode::OK, "wet".repeat(50)),
            _ => (StatusCode::OK, format!("<{place}> for {team}")),
        }
    };
    let router = Router::new()
        .route("/at/{place}", get(weather))
        .route("/moved/{place}", get(|| async { Redirect::temporary("/at/there") }));
    drop(tokio::spawn(async move { axum::serve(listener, router).await }));
    address
}

fn config(address: SocketAddr, path: &str, allowed: bool) -> String {
    format!(
        r#"
        allow_private_networks = {allowed}
        [http.get_weather]
        description = "Tells the weather"
        url = "http://{address}/{path}/{{location}}"
        headers = {{ x-team = "care" }}
        max_bytes = 30
        parameters = {{ type = "object", properties = {{ location = {{ type = "string" }} }}, required = ["location"] }}
        [agents.forecast]
        model = "scripted"
        tools = ["http:get_weather"]
        "#
    )
}

#[tokio::test]
async fn arguments_are_encoded_and_answers_are_results() {
    let (process, _folder) = configured(&config(shop().await, "at", true));
    let client = process.client();
    for (said, told, failed) in [
        ("weather in a/b c", "<a/b c> for care", false),
        ("weather in ruin", "the server answered 500 Internal Server Error: in ruins", true),
        ("weather in flood", "wetwetwetwetwetwetwetwetwetwet\n[cut off after 30 bytes]", false),
    ] {
        let messages = turn(&client, "forecast", said).await;
        assert_eq!(results(&messages), [(told.to_owned(), failed)]);
    }
}

#[tokio::test]
async fn redirects_are_followed() {
    let (process, _folder) = configured(&config(shop().await, "moved", true));
    let messages = turn(&process.client(), "forecast", "weather in x").await;
    assert_eq!(results(&messages), [("<there> for care".to_owned(), false)]);
}

#[tokio::test]
async fn private_addresses_are_not_reached() {
    let (process, _folder) = configured(&config(shop().await, "at", false));
    let messages = turn(&process.client(), "forecast", "weather in x").await;
    assert_eq!(results(&messages), [("this address may not be reached".to_owned(), true)]);
}
