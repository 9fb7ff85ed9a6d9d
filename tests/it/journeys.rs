//! The three journeys of the protocol's founding document.

use serde_json::json;

use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(
    a_thread_is_created_run_and_waited_for,
    a_run_without_a_thread_answers_at_once,
    an_item_is_stored_read_and_deleted,
);

async fn a_thread_is_created_run_and_waited_for(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let id = "229c1834-bc04-4d90-8fd6-77f6b9ef1462";
    let thread = json!({"thread_id": id, "metadata": {"purpose": "support-chat"}});
    assert_eq!(client.post("/threads", &thread).await.json(200)["thread_id"], id);
    client.post("/threads", &thread).await.json(409);

    let path = format!("/threads/{id}");
    let fresh = client.get(&path).await.json(200);
    assert_eq!(
        (&fresh["status"], &fresh["values"], &fresh["messages"]),
        (&json!("idle"), &json!({}), &json!([]))
    );

    let run =
        json!({"input": {"message": "Hi there"}, "metadata": {"requestType": "weatherQuery"}});
    let run = client.post(&format!("{path}/runs"), &run).await.json(200);
    assert_eq!(run["status"], "pending");

    let waited = client
        .get(&format!("{path}/runs/{}/wait", run["run_id"].as_str().unwrap()))
        .await
        .json(200);
    assert_eq!((&waited["status"], &waited["values"]), (&json!("success"), &json!({})));
    let messages = waited["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["content"], "echo: Hi there");

    let thread = client.get(&path).await.json(200);
    assert_eq!((&thread["status"], &thread["messages"]), (&json!("idle"), &waited["messages"]));
}

async fn a_run_without_a_thread_answers_at_once(database: Database) {
    let server = TestServer::start(&database.url).await;
    let run = json!({
        "input": {"prompt": "What's the fastest route to the airport?"},
        "metadata": {"useCase": "travelPlan"},
        "config": {"tags": ["ephemeral", "demo"]},
    });
    let waited = server.client().post("/runs/wait", &run).await.json(200);
    assert_eq!(waited["messages"][1]["content"], "echo: What's the fastest route to the airport?");
    let path = format!("/threads/{}", waited["thread_id"].as_str().unwrap());
    server.client().get(&path).await.json(404);
}

async fn an_item_is_stored_read_and_deleted(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let named = json!({"namespace": ["user_profiles"], "key": "profile_jane_doe"});
    let mut item = named.clone();
    item["value"] = json!({"displayName": "Jane Doe", "role": "customer"});
    client.put("/store/items", &item).await.empty(204);
    let path = "/store/items?key=profile_jane_doe&namespace=user_profiles";
    assert_eq!(client.get(path).await.json(200)["value"], item["value"]);
    client.delete_with("/store/items", &named).await.empty(204);
    client.get(path).await.json(404);
}
