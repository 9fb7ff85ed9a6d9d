//! Threads: made, read, changed, copied, deleted.

use serde_json::{Value, json};
use uuid::Uuid;

use super::probe::Probe;
use super::{begin, eventually, last_text, list, new_thread, start, text, turn, wait};
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    a_thread_is_made_from_any_form_of_body,
    an_id_is_taken_once,
    metadata_is_merged_member_by_member,
    values_go_through_the_channels_of_the_thread,
    messages_are_merged_by_their_ids,
    while_a_run_is_at_work_only_metadata_can_be_changed,
    a_copy_has_the_history_and_goes_its_own_way,
    a_deleted_thread_takes_everything_along,
    deleting_a_thread_stops_its_runs_first,
    the_status_follows_the_runs,
);

async fn a_thread_is_made_from_any_form_of_body(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let bare = client.request(reqwest::Method::POST, "/threads").send().await.unwrap();
    assert_eq!(bare.status(), 200);
    let bodies = [
        json!({}),
        json!({"thread_id": null, "metadata": null, "if_exists": null}),
        json!({"metadata": {"a": {"b": [1, null, "ü"]}}, "unknown": 1}),
        json!({"thread_id": Uuid::new_v4()}),
    ];
    for body in bodies {
        let made = client.post("/threads", &body).await.json(200);
        let path = format!("/threads/{}", text(&made, "thread_id"));
        assert_eq!(made["status"], "idle");
        assert_eq!((&made["values"], &made["messages"]), (&json!({}), &json!([])));
        let wanted = if body["metadata"].is_null() { json!({}) } else { body["metadata"].clone() };
        assert_eq!(made["metadata"], wanted);
        assert_eq!(client.get(&path).await.json(200), made);
        assert_eq!(client.get(&format!("{path}/history")).await.json(200), json!([]));
    }
}

async fn an_id_is_taken_once(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let id = Uuid::new_v4();
    let first = json!({"thread_id": id, "metadata": {"n": 1}});
    let made = client.post("/threads", &first).await.json(200);
    assert_eq!(client.post("/threads", &first).await.json(409)["code"], "thread_exists");
    let raise = json!({"thread_id": id, "if_exists": "raise"});
    client.post("/threads", &raise).await.json(409);
    let again = json!({"thread_id": id, "if_exists": "do_nothing", "metadata": {"n": 2}});
    assert_eq!(client.post("/threads", &again).await.json(200), made);
}

async fn metadata_is_merged_member_by_member(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    for (patch, whole) in [
        (json!({"a": {"x": 1}, "b": 1}), json!({"a": {"x": 1}, "b": 1})),
        (json!({"a": {"y": 2}}), json!({"a": {"y": 2}, "b": 1})),
        (json!({"b": null, "c": [true]}), json!({"a": {"y": 2}, "b": null, "c": [true]})),
        (json!({}), json!({"a": {"y": 2}, "b": null, "c": [true]})),
    ] {
        let patched = client.patch(&thread, &json!({"metadata": patch})).await.json(200);
        assert_eq!(patched["metadata"], whole);
        assert_eq!(client.get(&thread).await.json(200), patched);
    }
    assert_eq!(client.get(&format!("{thread}/history")).await.json(200), json!([]));
    let nowhere = format!("/threads/{}", Uuid::new_v4());
    client.patch(&nowhere, &json!({"metadata": {}})).await.json(404);
}

async fn values_go_through_the_channels_of_the_thread(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    client.patch(&thread, &json!({"values": {"k": 1}})).await.json(200);
    let patched = client.patch(&thread, &json!({"values": {"k": {"l": 2}, "m": 3}})).await;
    assert_eq!(patched.json(200)["values"], json!({"k": {"l": 2}, "m": 3}));
    let history = client.get(&format!("{thread}/history")).await.json(200);
    let sources: Vec<_> = list(&history).iter().map(|at| &at["metadata"]["source"]).collect();
    assert_eq!(sources, ["update", "update"]);

    let walked = new_thread(&client).await;
    let steps = json!({"agent_id": "steps", "config": {"configurable": {"n": 2}}});
    turn(&client, &walked, &steps).await;
    let patched = client.patch(&walked, &json!({"values": {"steps": [7, 8]}})).await.json(200);
    assert_eq!(patched["values"]["steps"], json!([1, 2, 7, 8]));
    // The next run finds what was written.
    let more = turn(&client, &walked, &steps).await;
    assert_eq!(more["values"]["steps"], json!([1, 2, 7, 8, 1, 2]));
}

async fn messages_are_merged_by_their_ids(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let first = json!({"messages": [
        {"id": "m1", "role": "user", "content": "one"},
        {"type": "ai", "content": "two"},
    ]});
    let patched = client.patch(&thread, &first).await.json(200);
    let messages = list(&patched["messages"]);
    assert_eq!(messages[0]["id"], "m1");
    assert_eq!(
        (&messages[1]["role"], &messages[1]["content"]),
        (&json!("assistant"), &json!("two"))
    );
    assert!(messages[1]["id"].is_string(), "an id is given where there is none");
    assert_eq!(patched["values"], json!({}), "messages are beside the values, not in them");

    let again = json!({"messages": [{"id": "m1", "role": "user", "content": "ONE"}]});
    let patched = client.patch(&thread, &again).await.json(200);
    assert_eq!(list(&patched["messages"]).len(), 2);
    assert_eq!(patched["messages"][0]["content"], "ONE");
    let heard = turn(&client, &thread, &json!({"input": "three"})).await;
    assert_eq!(last_text(&heard), "echo: three");
    assert_eq!(list(&heard["messages"]).len(), 4);
}

async fn while_a_run_is_at_work_only_metadata_can_be_changed(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let run = json!({"agent_id": "door", "input": "in", "config": probe.config()});
    let run = begin(&client, &thread, &run).await;
    probe.arrived(1).await;
    for patch in [
        json!({"values": {"k": 1}}),
        json!({"messages": [{"role": "user", "content": "no"}]}),
        json!({"values": {"k": 1}, "metadata": {"half": true}}),
    ] {
        assert_eq!(client.patch(&thread, &patch).await.json(409)["code"], "thread_busy");
    }
    let patched = client.patch(&thread, &json!({"metadata": {"seen": true}})).await.json(200);
    assert_eq!(
        (&patched["status"], &patched["metadata"]),
        (&json!("busy"), &json!({"seen": true}))
    );
    probe.let_pass(1);
    assert_eq!(wait(&client, &run).await["values"], json!({"log": ["in"]}));
    client.patch(&thread, &json!({"values": {"k": 1}})).await.json(200);
}

async fn a_copy_has_the_history_and_goes_its_own_way(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    client.patch(&thread, &json!({"metadata": {"of": "a"}, "values": {"k": 1}})).await.json(200);
    turn(&client, &thread, &json!({"input": "one"})).await;
    let copy = client.post(&format!("{thread}/copy"), &json!({})).await.json(200);
    let twin = format!("/threads/{}", text(&copy, "thread_id"));
    assert_ne!(twin, thread);
    let original = client.get(&thread).await.json(200);
    for member in ["metadata", "values", "messages", "status"] {
        assert_eq!(copy[member], original[member], "{member}");
    }
    let ours = client_history(&client, &thread).await;
    assert_eq!(ours, client_history(&client, &twin).await);
    assert_eq!(client.get(&format!("{twin}/runs")).await.json(200), json!([]));

    turn(&client, &twin, &json!({"input": "two"})).await;
    assert_eq!(client.get(&thread).await.json(200), original);
    client.delete(&thread).await.empty(204);
    let heard = turn(&client, &twin, &json!({"input": "three"})).await;
    assert_eq!(list(&heard["messages"]).len(), 6);
    let found = client.post("/threads/search", &json!({"values": {"k": 1}})).await.json(200);
    assert_eq!(list(&found).len(), 1, "the copy is found by its values too");
    client.post(&format!("{thread}/copy"), &json!({})).await.json(404);
}

async fn client_history(client: &crate::harness::client::Client, thread: &str) -> Value {
    client.get(&format!("{thread}/history?limit=100")).await.json(200)
}

async fn a_deleted_thread_takes_everything_along(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let run = begin(&client, &thread, &json!({"input": "hi", "metadata": {"k": 1}})).await;
    wait(&client, &run).await;
    client.delete(&thread).await.empty(204);
    for path in [thread.clone(), format!("{thread}/history"), format!("{thread}/runs"), run] {
        client.get(&path).await.json(404);
    }
    client.delete(&thread).await.json(404);
    let found = client.post("/runs/search", &json!({"metadata": {"k": 1}})).await.json(200);
    assert_eq!(found, json!([]));
    // Its id is free again, for a thread that has nothing of the old one.
    let again = json!({"thread_id": super::id(&thread)});
    assert_eq!(client.post("/threads", &again).await.json(200)["messages"], json!([]));
    assert_eq!(client_history(&client, &thread).await, json!([]));
}

async fn deleting_a_thread_stops_its_runs_first(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let run = json!({"agent_id": "door", "input": "in", "config": probe.config()});
    let first = begin(&client, &thread, &run).await;
    probe.arrived(1).await;
    let second = begin(&client, &thread, &run).await;
    let waiting = [first, second].map(|run| {
        let client = client.clone();
        tokio::spawn(async move { client.get(&format!("{run}/wait")).await })
    });
    eventually(&client, &thread, |thread| thread["status"] == "busy").await;
    client.delete(&thread).await.empty(204);
    client.get(&thread).await.json(404);
    for waited in waiting {
        let answer = waited.await.unwrap();
        let told = answer.status == 404
            || serde_json::from_str::<Value>(&answer.text).unwrap()["status"] == "interrupted";
        assert!(told, "{answer:?}");
    }
    assert_eq!(probe.count("in"), 1, "the second one never started");
}

async fn the_status_follows_the_runs(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let status = async || text(&client.get(&thread).await.json(200), "status");
    turn(&client, &thread, &json!({"agent_id": "breaks"})).await;
    assert_eq!(status().await, "error");
    let run = json!({"agent_id": "door", "input": "in", "config": probe.config()});
    let run = begin(&client, &thread, &run).await;
    assert_eq!(status().await, "busy");
    probe.let_pass(1);
    wait(&client, &run).await;
    assert_eq!(status().await, "idle");
    turn(&client, &thread, &json!({"agent_id": "asks", "config": probe.config()})).await;
    assert_eq!(status().await, "interrupted");
    turn(&client, &thread, &json!({"agent_id": "echo", "input": "never mind"})).await;
    assert_eq!(status().await, "idle");
}
