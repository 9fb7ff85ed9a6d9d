//! Webhooks: delivered at least once, signed, and only to where they may go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{builder, start};
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(
    a_receiver_that_fails_is_tried_again_and_told_how_the_run_ended,
    a_private_address_is_refused_when_the_run_is_asked_for,
);

/// What the receiver was sent: headers and body.
type Delivery = (HeaderMap, Bytes);

#[derive(Clone)]
struct Receiver {
    calls: Arc<AtomicU32>,
    accepted: mpsc::UnboundedSender<Delivery>,
}

/// Fails twice, then accepts.
async fn receive(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if receiver.calls.fetch_add(1, Ordering::SeqCst) < 2 {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    receiver.accepted.send((headers, body)).unwrap();
    StatusCode::NO_CONTENT
}

async fn receiver() -> (String, mpsc::UnboundedReceiver<Delivery>) {
    let (accepted, deliveries) = mpsc::unbounded_channel();
    let receiver = Receiver { calls: Arc::default(), accepted };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(receive)).with_state(receiver);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, deliveries)
}

async fn a_receiver_that_fails_is_tried_again_and_told_how_the_run_ended(database: Database) {
    let (url, mut deliveries) = receiver().await;
    let builder = builder(&database).setup(|setup| {
        setup.app.allow_private_networks = true;
        setup.webhook_secret = Some(Arc::new(SecretString::from("hush")));
        setup.webhook_poll = Duration::from_millis(50);
    });
    let server = TestServer::build(builder).await;
    let run = json!({"input": "hello", "webhook": url});
    let run = server.client().post("/runs", &run).await.json(200);

    let delivery = tokio::time::timeout(Duration::from_secs(20), deliveries.recv()).await;
    let (headers, body) = delivery.expect("it is tried a third time").unwrap();
    let told: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&told["run_id"], &told["status"]), (&run["run_id"], &json!("success")));
    assert_eq!(told["messages"][1]["content"], "echo: hello");
    assert!(headers.contains_key("runloom-delivery"));
    let signature = headers["runloom-signature"].to_str().unwrap();
    let (time, given) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(b"hush").unwrap();
    mac.update(format!("{time}.").as_bytes());
    mac.update(&body);
    assert_eq!(given, hex::encode(mac.finalize().into_bytes()));
}

async fn a_private_address_is_refused_when_the_run_is_asked_for(database: Database) {
    let server = start(&database).await;
    for url in [
        "http://127.0.0.1/hook",
        "http://[::1]/hook",
        "http://10.0.0.8/hook",
        "http://192.168.1.1/hook",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost/hook",
        "ftp://example.com/hook",
        "not a url",
    ] {
        let run = json!({"input": "hello", "webhook": url});
        let refused = server.client().post("/runs", &run).await.json(422);
        assert_eq!(refused["metadata"]["field"], "webhook", "{url}");
    }
    assert_eq!(server.client().post("/runs/search", &json!({})).await.json(200), json!([]));
}
