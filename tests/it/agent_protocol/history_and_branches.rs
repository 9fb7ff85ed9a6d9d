//! What a thread was like before, and going on from there.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{begin, id, last_text, list, new_thread, start, text, turn, wait};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    every_step_is_an_entry_of_the_history,
    the_pages_of_a_history_are_disjoint_and_complete,
    one_entry_can_be_read_alone,
    a_run_from_an_older_entry_is_a_branch,
    a_patch_from_an_older_entry_is_a_branch,
    a_checkpoint_must_be_one_of_the_thread,
);

async fn history(client: &Client, thread: &str, query: &str) -> Vec<Value> {
    list(&client.get(&format!("{thread}/history{query}")).await.json(200)).clone()
}

fn checkpoint(entry: &Value) -> String {
    text(&entry["checkpoint"], "checkpoint_id")
}

async fn steps(client: &Client, thread: &str, n: u32) -> Value {
    let run = json!({"agent_id": "steps", "input": "go", "config": {"configurable": {"n": n}}});
    turn(client, thread, &run).await
}

async fn every_step_is_an_entry_of_the_history(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let waited = steps(&client, &thread, 5).await;
    let entries = history(&client, &thread, "?limit=100").await;
    assert_eq!(entries.len(), 6, "one for the input and one a step");
    let sources: Vec<_> = entries.iter().map(|entry| text(&entry["metadata"], "source")).collect();
    assert_eq!(sources, ["loop", "loop", "loop", "loop", "loop", "input"]);
    let values: Vec<_> = entries.iter().map(|entry| &entry["values"]).collect();
    assert_eq!(values[0], &json!({"steps": [1, 2, 3, 4, 5]}));
    assert_eq!(values[4], &json!({"steps": [1]}));
    assert_eq!(values[5], &json!({}));
    let next: Vec<_> = entries.iter().map(|entry| entry["next"].clone()).collect();
    assert_eq!(
        (&next[0], &next[1], &next[5]),
        (&json!([]), &json!(["step_5"]), &json!(["step_1"]))
    );
    for (newer, older) in entries.iter().zip(&entries[1..]) {
        assert_eq!(newer["parent_checkpoint"], older["checkpoint"]);
        assert_eq!(newer["metadata"]["run_id"], waited["run_id"]);
        assert!(newer["created_at"].as_str() >= older["created_at"].as_str());
    }
    assert_eq!(entries[5]["parent_checkpoint"], Value::Null);
    assert_eq!(entries[0]["messages"], waited["messages"]);
}

async fn the_pages_of_a_history_are_disjoint_and_complete(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    steps(&client, &thread, 6).await;
    let whole = history(&client, &thread, "?limit=1000").await;
    assert_eq!(history(&client, &thread, "").await.len(), 7, "the default limit is ten");
    let mut pages = history(&client, &thread, "?limit=2").await;
    while let Some(last) = pages.last() {
        let page =
            history(&client, &thread, &format!("?limit=2&before={}", checkpoint(last))).await;
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 2);
        pages.extend(page);
    }
    assert_eq!(pages, whole);
    for wrong in ["?limit=0", "?limit=1001", "?limit=x", "?before=x"] {
        client.get(&format!("{thread}/history{wrong}")).await.json(422);
    }
    let unknown = format!("{thread}/history?before={}", Uuid::new_v4());
    assert_eq!(client.get(&unknown).await.json(404)["code"], "checkpoint_not_found");
}

async fn one_entry_can_be_read_alone(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    steps(&client, &thread, 3).await;
    for entry in history(&client, &thread, "").await {
        let path = format!("{thread}/state/{}", checkpoint(&entry));
        assert_eq!(client.get(&path).await.json(200), entry);
    }
    let other = new_thread(&client).await;
    let foreign = &history(&client, &thread, "?limit=1").await[0];
    client.get(&format!("{other}/state/{}", checkpoint(foreign))).await.json(404);
    client.get(&format!("{thread}/state/{}", Uuid::new_v4())).await.json(404);
    client.get(&format!("{thread}/state/latest")).await.json(422);
}

async fn a_run_from_an_older_entry_is_a_branch(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    turn(&client, &thread, &json!({"input": "one"})).await;
    let first = checkpoint(&history(&client, &thread, "?limit=1").await[0]);
    turn(&client, &thread, &json!({"input": "two"})).await;
    let before = history(&client, &thread, "?limit=100").await;

    let from = json!({"input": "other", "checkpoint": {"checkpoint_id": first}});
    let heard = turn(&client, &thread, &from).await;
    let said: Vec<_> = list(&heard["messages"]).iter().map(|m| text(m, "content")).collect();
    assert_eq!(said, ["one", "echo: one", "other", "echo: other"]);
    let after = history(&client, &thread, "?limit=100").await;
    assert_eq!(after[after.len() - before.len()..], before, "the other branch stays");
    let oldest_of_branch = &after[after.len() - before.len() - 1];
    assert_eq!(oldest_of_branch["parent_checkpoint"]["checkpoint_id"], first.as_str());
    // What comes next goes on from the branch, and another branch can leave from the same place.
    assert_eq!(last_text(&turn(&client, &thread, &json!({"input": "three"})).await), "echo: three");
    let from = json!({"input": "third way", "checkpoint": {"checkpoint_id": first}});
    assert_eq!(list(&turn(&client, &thread, &from).await["messages"]).len(), 4);
    assert_eq!(list(&client.get(&thread).await.json(200)["messages"]).len(), 4);
}

async fn a_patch_from_an_older_entry_is_a_branch(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    steps(&client, &thread, 3).await;
    let entries = history(&client, &thread, "?limit=100").await;
    let second = entries.iter().find(|entry| entry["values"]["steps"] == json!([1, 2])).unwrap();
    let patch = json!({"values": {"steps": [9]}, "checkpoint": second["checkpoint"]});
    let patched = client.patch(&thread, &patch).await.json(200);
    assert_eq!(patched["values"]["steps"], json!([1, 2, 9]));
    let newest = &history(&client, &thread, "?limit=1").await[0];
    assert_eq!(newest["parent_checkpoint"], second["checkpoint"]);
    // What was due there is due here: without input the run goes on.
    let config = json!({"configurable": {"n": 3}});
    let run = begin(&client, &thread, &json!({"agent_id": "steps", "config": config})).await;
    assert_eq!(wait(&client, &run).await["values"]["steps"], json!([1, 2, 9, 3]));
    // From the tip of the first branch again.
    let patch = json!({"values": {"k": 1}, "checkpoint": entries[0]["checkpoint"]});
    let patched = client.patch(&thread, &patch).await.json(200);
    assert_eq!(patched["values"], json!({"k": 1, "steps": [1, 2, 3]}));
}

async fn a_checkpoint_must_be_one_of_the_thread(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (thread, other) = (new_thread(&client).await, new_thread(&client).await);
    steps(&client, &other, 1).await;
    let foreign = checkpoint(&history(&client, &other, "?limit=1").await[0]);
    for unknown in [json!(foreign), json!(Uuid::new_v4())] {
        let checkpoint = json!({"checkpoint_id": unknown});
        let run = json!({"input": "x", "checkpoint": checkpoint});
        let refused = client.post(&format!("{thread}/runs"), &run).await.json(404);
        assert_eq!(refused["code"], "checkpoint_not_found");
        let patch = json!({"values": {"k": 1}, "checkpoint": checkpoint});
        client.patch(&thread, &patch).await.json(404);
    }
    let wrong = json!({"input": "x", "checkpoint": {"checkpoint_id": "first"}});
    client.post(&format!("{thread}/runs"), &wrong).await.json(422);
    let stateless = json!({"input": "x", "checkpoint": {"checkpoint_id": foreign}});
    assert_eq!(
        client.post("/runs/wait", &stateless).await.json(422)["metadata"]["field"],
        "checkpoint"
    );
    assert_eq!(client.get(&format!("{thread}/runs")).await.json(200), json!([]));
    assert_eq!(client.get(&thread).await.json(200)["status"], "idle");
    assert_eq!(id(&thread).len(), 36);
}
