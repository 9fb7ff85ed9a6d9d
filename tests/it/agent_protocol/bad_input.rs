//! Bad input: named, refused, and without a trace.

use reqwest::Method;
use serde_json::{Value, json};

use super::{list, new_thread, start, text};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    a_wrong_field_is_named,
    what_is_no_json_is_refused_as_such,
    what_is_not_there_is_not_found,
    the_same_request_sent_twice_is_one_run,
);

async fn status(
    client: &Client,
    method: Method,
    path: &str,
    body: &'static str,
    kind: &str,
) -> (u16, Value) {
    let request = client.request(method, path).header("content-type", kind).body(body);
    let response = client.open(request).await;
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

async fn a_wrong_field_is_named(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (path, body, field) in [
        ("/threads", json!({"thread_id": "x"}), "thread_id"),
        ("/threads", json!({"metadata": 5}), "metadata"),
        ("/threads", json!({"metadata": {"a\u{0}": 1}}), "metadata"),
        ("/threads", json!({"if_exists": "maybe"}), "if_exists"),
        ("/runs", json!({"agent_id": 5}), "agent_id"),
        ("/runs", json!({"agent_id": "react", "input": 5}), "input"),
        ("/runs", json!({"messages": [{"role": "nobody", "content": ""}]}), "messages[0].role"),
        ("/runs", json!({"input": "x", "stream_mode": "everything"}), "stream_mode"),
        ("/runs", json!({"input": "x", "multitask_strategy": "fight"}), "multitask_strategy"),
        (
            "/runs",
            json!({"input": "x", "config": {"recursion_limit": -1}}),
            "config.recursion_limit",
        ),
        (
            "/runs",
            json!({"agent_id": "tokens", "input": "x", "config": {"configurable": {"n": -1}}}),
            "config.configurable.n",
        ),
        (
            "/runs",
            json!({"agent_id": "react", "input": "x", "config": {"configurable": {"approval_mode": "level:top"}}}),
            "config.configurable.approval_mode",
        ),
        ("/runs", json!({"input": "x", "after_seconds": -1}), "after_seconds"),
        ("/threads/search", json!({"status": "asleep"}), "status"),
    ] {
        let refused = client.post(path, &body).await.json(422);
        assert_eq!(refused["metadata"]["field"], field, "{path} {body} {refused}");
    }
    assert_eq!(client.post("/threads/search", &json!({})).await.json(200), json!([]));
    assert_eq!(client.post("/runs/search", &json!({})).await.json(200), json!([]));
}

async fn what_is_no_json_is_refused_as_such(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let json_type = "application/json";
    for body in ["{", "{\"a\":}", "\"\\ud800\"", "{\"metadata\": {\"a\": \"\\udc00\"}}", "{} {}"] {
        let (code, refused) = status(&client, Method::POST, "/threads", body, json_type).await;
        assert_eq!(code, 400, "{body} {refused}");
        assert!(refused["message"].is_string() && refused["code"].is_string());
    }
    let (code, _) =
        status(&client, Method::POST, "/threads", "a=1", "application/x-www-form-urlencoded").await;
    assert_eq!(code, 415);
    let (code, found) = status(&client, Method::POST, "/threads/search", "", json_type).await;
    assert_eq!((code, found), (200, json!([])));
}

async fn what_is_not_there_is_not_found(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let nobody = "00000000-0000-4000-8000-000000000000";
    for path in [
        format!("/threads/{nobody}"),
        format!("/threads/{nobody}/history"),
        format!("/threads/{nobody}/runs"),
        format!("/runs/{nobody}"),
        format!("/runs/{nobody}/wait"),
        format!("/runs/{nobody}/stream"),
        "/agents/nobody".to_owned(),
        "/nowhere".to_owned(),
    ] {
        assert!(client.get(&path).await.json(404)["code"].is_string(), "{path}");
    }
    for path in ["/threads/no-uuid", "/runs/no-uuid"] {
        client.get(path).await.json(422);
    }
    client.delete("/threads").await.json(405);
    let run = json!({"thread_id": nobody, "input": "x"});
    assert_eq!(client.post("/runs", &run).await.json(404)["code"], "thread_not_found");
    assert_eq!(
        client.post("/runs", &json!({"agent_id": "nobody", "input": "x"})).await.json(404)["code"],
        "agent_not_found"
    );
    let thread = new_thread(&client).await;
    let branch = json!({"checkpoint": {"checkpoint_id": nobody}, "input": "x"});
    let refused = client.post(&format!("{thread}/runs"), &branch).await.json(404);
    assert_eq!(refused["code"], "checkpoint_not_found");
    assert_eq!(client.get(&thread).await.json(200)["status"], "idle");
}

async fn the_same_request_sent_twice_is_one_run(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let send = |body: Value| {
        let request =
            client.request(Method::POST, "/runs").header("idempotency-key", "k-1").json(&body);
        let client = client.clone();
        async move { client.open(request).await }
    };
    let body = json!({"input": "hello", "on_completion": "keep"});
    let sent = futures::future::join_all((0..8).map(|_| send(body.clone()))).await;
    let mut ids = Vec::new();
    for response in sent {
        assert_eq!(response.status(), 200);
        let run: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        ids.push(text(&run, "run_id"));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(send(json!({"input": "other"})).await.status(), 409);
    assert_eq!(list(&client.post("/runs/search", &json!({})).await.json(200)).len(), 1);
}
