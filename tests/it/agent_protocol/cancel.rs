//! Runs that are stopped: on demand, or because nobody watches any more.

use reqwest::Method;
use serde_json::{Value, json};

use super::probe::Probe;
use super::{begin, eventually, list, new_thread, start, text, turn, wait};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::until;
use crate::harness::tail::Tail;

on_both_databases!(
    a_running_run_stops_and_keeps_its_steps,
    a_run_that_is_rolled_back_was_never_there,
    a_rollback_restores_what_was_asked,
    a_pending_run_never_starts,
    cancelling_what_waits_leaves_the_question_open,
    a_paused_run_withdraws_its_question,
    a_finished_run_is_not_changed,
    a_run_whose_reader_leaves_is_cancelled,
    a_run_that_goes_on_does_not_care_who_reads,
    a_run_without_a_thread_leaves_none_when_cancelled,
);

async fn cancel(client: &Client, run: &str, query: &str) {
    client.post(&format!("{run}/cancel{query}"), &json!({})).await.empty(204);
}

async fn history(client: &Client, thread: &str) -> Value {
    client.get(&format!("{thread}/history?limit=100")).await.json(200)
}

/// A run that waits within its third step.
async fn held(client: &Client, thread: &str, probe: &Probe) -> String {
    let body = json!({"agent_id": "walk", "input": "go", "config": probe.config_with("hold", 3)});
    let run = begin(client, thread, &body).await;
    probe.arrived(1).await;
    run
}

async fn a_running_run_stops_and_keeps_its_steps(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let run = held(&client, &thread, &probe).await;
    cancel(&client, &run, "?wait=true").await;
    let stopped = client.get(&run).await.json(200);
    assert_eq!(stopped["status"], "interrupted");
    assert_eq!((&stopped["error"], &stopped["interrupts"]), (&Value::Null, &Value::Null));
    let left = client.get(&thread).await.json(200);
    assert_eq!((&left["status"], &left["values"]), (&json!("idle"), &json!({"steps": ["1", "2"]})));
    let entries = history(&client, &thread).await;
    assert_eq!((list(&entries).len(), &entries[0]["next"]), (3, &json!(["step_3"])));
    assert_eq!(wait(&client, &run).await["values"], left["values"]);
    probe.let_pass(5);
    assert_eq!(probe.count("3"), 0, "nothing happens after the answer");
    // Without input it goes on from there.
    let on = json!({"agent_id": "walk", "config": probe.config()});
    assert_eq!(turn(&client, &thread, &on).await["values"]["steps"], json!(["1", "2", "3", "4"]));
    assert_eq!(probe.counts().into_values().collect::<Vec<_>>(), [1, 1, 1, 1]);
}

async fn a_run_that_is_rolled_back_was_never_there(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    turn(&client, &thread, &json!({"input": {"message": "hi", "k": 1}})).await;
    let before = (client.get(&thread).await.json(200), history(&client, &thread).await);
    for wait in ["?wait=true&action=rollback", "?action=rollback"] {
        let run = held(&client, &thread, &probe).await;
        eventually(&client, &thread, |thread| thread["values"]["steps"] == json!(["1", "2"])).await;
        cancel(&client, &run, wait).await;
        until(async || json!(client.get(&run).await.status), |status| *status == 404).await;
        let after = client.get(&thread).await.json(200);
        for member in ["status", "values", "messages", "metadata"] {
            assert_eq!(after[member], before.0[member]);
        }
        assert_eq!(history(&client, &thread).await, before.1);
        let found = client.post("/threads/search", &json!({"values": {"k": 1}})).await.json(200);
        assert_eq!(list(&found).len(), 1);
        let found = client.post("/threads/search", &json!({"values": {"steps": ["1"]}})).await;
        assert_eq!(found.json(200), json!([]));
    }
    assert_eq!(list(&client.get(&format!("{thread}/runs")).await.json(200)).len(), 1);
    let heard = turn(&client, &thread, &json!({"agent_id": "echo", "input": "on"})).await;
    assert_eq!(list(&heard["messages"]).len(), 4);
}

async fn a_rollback_restores_what_was_asked(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let asks = json!({"agent_id": "asks", "input": "a?", "config": probe.config()});
    let asked = turn(&client, &thread, &asks).await["interrupts"].clone();
    let run = held(&client, &thread, &probe).await;
    cancel(&client, &run, "?wait=true&action=rollback").await;
    let after = client.get(&thread).await.json(200);
    assert_eq!((&after["status"], &after["interrupts"]), (&json!("interrupted"), &asked));
    let resume =
        json!({"agent_id": "asks", "config": probe.config(), "command": {"resume": "yes"}});
    assert_eq!(turn(&client, &thread, &resume).await["values"]["answer"], "yes");
    assert_eq!(probe.count("answered"), 1);
}

async fn a_pending_run_never_starts(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({"agent_id": "door", "input": "first", "config": probe.config()});
    let first = begin(&client, &thread, &body).await;
    probe.arrived(1).await;
    let body = json!({"agent_id": "door", "input": "second", "config": probe.config()});
    let kept = begin(&client, &thread, &body).await;
    let gone = begin(&client, &thread, &body).await;
    let waiting = {
        let (client, kept) = (client.clone(), kept.clone());
        tokio::spawn(async move { wait(&client, &kept).await })
    };
    cancel(&client, &kept, "").await;
    cancel(&client, &gone, "?wait=true&action=rollback").await;
    assert_eq!(waiting.await.unwrap()["status"], "interrupted");
    assert_eq!(client.get(&kept).await.json(200)["status"], "interrupted");
    client.get(&gone).await.json(404);
    assert_eq!(client.get(&thread).await.json(200)["status"], "busy", "the first one is at work");
    probe.let_pass(3);
    assert_eq!(wait(&client, &first).await["values"]["log"], json!(["first"]));
    assert_eq!(client.get(&thread).await.json(200)["status"], "idle");
    assert_eq!(probe.count("second"), 0);
}

async fn cancelling_what_waits_leaves_the_question_open(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for action in ["interrupt", "rollback"] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let asks = json!({"agent_id": "asks", "input": "a?", "config": probe.config()});
        let asked = turn(&client, &thread, &asks).await["interrupts"].clone();
        // It goes on from where the thread stands, later: so it takes nothing back by itself.
        let later = json!({"agent_id": "asks", "after_seconds": 60, "config": probe.config()});
        let later = begin(&client, &thread, &later).await;
        cancel(&client, &later, &format!("?action={action}")).await;
        let after = client.get(&thread).await.json(200);
        assert_eq!((&after["status"], &after["interrupts"]), (&json!("interrupted"), &asked));
        let resume = json!({"command": {"resume": 1}, "config": probe.config()});
        assert_eq!(turn(&client, &thread, &resume).await["values"]["answer"], 1);
    }
}

async fn a_paused_run_withdraws_its_question(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for query in ["", "?wait=true", "?action=interrupt&wait=1"] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let asks = json!({"agent_id": "asks", "input": "a?", "config": probe.config()});
        let paused = turn(&client, &thread, &asks).await;
        let run = format!("{thread}/runs/{}", text(&paused, "run_id"));
        cancel(&client, &run, query).await;
        let after = client.get(&thread).await.json(200);
        assert_eq!((&after["status"], &after["interrupts"]), (&json!("idle"), &Value::Null));
        let stopped = client.get(&run).await.json(200);
        assert_eq!(
            (&stopped["status"], &stopped["interrupts"]),
            (&json!("interrupted"), &Value::Null)
        );
        let resume = json!({"command": {"resume": "late"}, "config": probe.config()});
        let refused = client.post(&format!("{thread}/runs"), &resume).await.json(409);
        assert_eq!(refused["code"], "nothing_to_resume");
        assert_eq!(probe.count("answered"), 0);
    }
}

async fn a_finished_run_is_not_changed(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    for body in [json!({"input": "hi"}), json!({"agent_id": "breaks"})] {
        let over = turn(&client, &thread, &body).await;
        let run = format!("{thread}/runs/{}", text(&over, "run_id"));
        for query in ["", "?wait=true", "?action=rollback", "?action=rollback&wait=true"] {
            cancel(&client, &run, query).await;
            assert_eq!(wait(&client, &run).await, over);
        }
    }
    let run = format!("{thread}/runs/{}", uuid::Uuid::new_v4());
    client.post(&format!("{run}/cancel"), &json!({})).await.json(404);
    let refused = client.post(&format!("{run}/cancel?action=stop"), &json!({})).await;
    assert!([404, 422].contains(&refused.status));
}

async fn a_run_whose_reader_leaves_is_cancelled(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for path in ["wait", "stream"] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let body = json!({"agent_id": "walk", "config": probe.config_with("hold", 3)});
        let request = client.request(Method::POST, &format!("{thread}/runs/{path}")).json(&body);
        let reader = tokio::spawn(async move { request.send().await.unwrap().text().await });
        probe.arrived(1).await;
        reader.abort();
        let left = eventually(&client, &thread, |thread| thread["status"] == "idle").await;
        assert_eq!(left["values"], json!({"steps": ["1", "2"]}));
        let runs = client.get(&format!("{thread}/runs")).await.json(200);
        assert_eq!(runs[0]["status"], "interrupted");
        assert_eq!(probe.count("3"), 0);
    }
}

async fn a_run_that_goes_on_does_not_care_who_reads(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for path in ["wait", "stream"] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let body = json!({
            "agent_id": "walk", "on_disconnect": "continue", "config": probe.config_with("hold", 3),
        });
        let request = client.request(Method::POST, &format!("{thread}/runs/{path}")).json(&body);
        let reader = tokio::spawn(async move { request.send().await.unwrap().text().await });
        probe.arrived(1).await;
        reader.abort();
        let _left = reader.await;
        probe.let_pass(1);
        let left = eventually(&client, &thread, |thread| thread["status"] == "idle").await;
        assert_eq!(left["values"]["steps"], json!(["1", "2", "3", "4"]));
    }
    // Nor does one that runs in the background care for those who join it.
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let run = held(&client, &thread, &probe).await;
    let mut tail =
        Tail::of(client.open(client.request(Method::GET, &format!("{run}/stream?after=0"))).await);
    tail.next().await.unwrap();
    drop(tail);
    probe.let_pass(1);
    assert_eq!(wait(&client, &run).await["status"], "success");
}

async fn a_run_without_a_thread_leaves_none_when_cancelled(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let probe = Probe::new();
    let threads = async || client.post("/threads/search", &json!({})).await.json(200);
    // Running, paused, and not started yet.
    let bodies = [
        json!({"agent_id": "walk", "config": probe.config_with("hold", 3)}),
        json!({"agent_id": "asks", "input": "a?", "config": probe.config()}),
        json!({"input": "later", "after_seconds": 60}),
    ];
    for body in bodies {
        let run = client.post("/runs", &body).await.json(200);
        let run = format!("/runs/{}", text(&run, "run_id"));
        match body["agent_id"].as_str() {
            Some("walk") => probe.arrived(1).await,
            Some(_) => drop(wait(&client, &run).await),
            None => {}
        }
        assert_eq!(list(&threads().await).len(), 1);
        cancel(&client, &run, "?wait=true").await;
        assert_eq!(client.get(&run).await.json(200)["status"], "interrupted");
        assert_eq!(threads().await, json!([]), "{body}");
        assert_eq!(wait(&client, &run).await["status"], "interrupted");
    }
}
