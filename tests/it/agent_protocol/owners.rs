//! Owners: what belongs to another does not exist.

use reqwest::Method;
use serde_json::{Value, json};

use super::{begin, builder, new_thread, text, turn};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(
    every_route_hides_what_belongs_to_another,
    ids_and_names_of_another_can_be_taken,
    a_key_is_needed_and_must_be_right,
);

async fn two_owners(database: &Database) -> (TestServer, Client, Client) {
    let server = TestServer::build(builder(database).key("ann", "a-key").key("bob", "b-key")).await;
    let (ann, bob) = (server.client().with_key("a-key"), server.client().with_key("b-key"));
    (server, ann, bob)
}

/// Every operation of the document whose path names a thread or a run.
fn routes() -> Vec<(Method, String)> {
    let document: Value = serde_json::from_str(&runloom::faces::openapi_json()).unwrap();
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"] {
            let named = path.contains("{thread_id}") || path.contains("{run_id}");
            if named && operations.get(method).is_some() {
                routes.push((method.to_uppercase().parse().unwrap(), path.clone()));
            }
        }
    }
    assert!(routes.len() > 15, "the document is read");
    routes
}

async fn every_route_hides_what_belongs_to_another(database: Database) {
    let (_server, ann, bob) = two_owners(&database).await;
    let thread = new_thread(&ann).await;
    turn(&ann, &thread, &json!({"input": "secret"})).await;
    let slow =
        json!({"agent_id": "steps", "config": {"configurable": {"n": 100, "delay_ms": 60_000}}});
    let run = begin(&ann, &thread, &slow).await;
    let thread_id = thread.strip_prefix("/threads/").unwrap();
    let (_, run_id) = run.rsplit_once('/').unwrap();
    let history = ann.get(&format!("{thread}/history")).await.json(200);
    let checkpoint = text(&history[0]["checkpoint"], "checkpoint_id");
    for (method, route) in routes() {
        let path = route
            .replace("{thread_id}", thread_id)
            .replace("{run_id}", run_id)
            .replace("{checkpoint_id}", &checkpoint);
        let body = json!({"channels": ["values"], "id": 1, "method": "state.get",
                          "params": {"namespace": []}, "input": "x", "metadata": {"x": 1}});
        let mut request = bob.request(method.clone(), &path);
        if method != Method::GET && method != Method::DELETE {
            request = request.json(&body);
        }
        if method == Method::GET && route.ends_with("/threads/{thread_id}/stream") {
            request = request
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        let status = bob.open(request).await.status().as_u16();
        assert_eq!(status, 404, "{method} {route}");
    }
    for path in ["/threads/search", "/runs/search"] {
        assert_eq!(bob.post(path, &json!({})).await.json(200), json!([]), "{path}");
    }
    let still = ann.get(&run).await.json(200);
    assert_eq!(still["status"], "pending", "nobody else cancelled it");
    ann.post(&format!("{run}/cancel?wait=true"), &json!({})).await.empty(204);
}

async fn ids_and_names_of_another_can_be_taken(database: Database) {
    let (_server, ann, bob) = two_owners(&database).await;
    let thread = new_thread(&ann).await;
    let id = thread.strip_prefix("/threads/").unwrap();
    let taken = bob.post("/threads", &json!({"thread_id": id})).await.json(200);
    assert_eq!(taken["thread_id"], id);
    turn(&bob, &thread, &json!({"input": "bob's"})).await;
    assert_eq!(ann.get(&thread).await.json(200)["messages"], json!([]));

    let item = |likes: &str| json!({"namespace": ["me"], "key": "k", "value": {"likes": likes}});
    ann.put("/store/items", &item("tea")).await.empty(204);
    let path = "/store/items?namespace=me&key=k";
    bob.get(path).await.json(404);
    bob.put("/store/items", &item("coffee")).await.empty(204);
    assert_eq!(ann.get(path).await.json(200)["value"]["likes"], "tea");
    let found = bob.post("/store/items/search", &json!({})).await.json(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}

async fn a_key_is_needed_and_must_be_right(database: Database) {
    let (server, ann, _bob) = two_owners(&database).await;
    let stranger = server.client();
    for client in [stranger.clone(), stranger.with_key("c-key")] {
        let refused = client.post("/threads", &json!({})).await.json(401);
        assert_eq!(refused["code"], "unauthenticated");
    }
    let request = stranger.request(Method::POST, "/agents/search").json(&json!({}));
    assert_eq!(stranger.open(request.header("x-api-key", "a-key")).await.status(), 200);
    for open in ["/healthz", "/readyz", "/openapi.json", "/docs/"] {
        assert_eq!(stranger.get(open).await.status, 200, "{open}");
    }
    ann.get("/threads/00000000-0000-4000-8000-000000000000").await.json(404);
}
