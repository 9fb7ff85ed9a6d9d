//! Decisions about calls: over restarts, kept, and carried out once.

use serde_json::{Value, json};

use super::results;
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(decisions_are_carried_out_after_a_restart_and_kept);

async fn paused(client: &Client) -> String {
    let thread = client.post("/threads", &json!({})).await.json(200);
    let path = format!("/threads/{}/runs/wait", thread["thread_id"].as_str().unwrap());
    let body = json!({"agent_id": "human-in-the-loop", "input": "delete the file a.txt"});
    let asked = client.post(&path, &body).await.json(200);
    assert_eq!(asked["status"], "interrupted", "{asked}");
    path
}

fn answer(decision: &Value) -> Value {
    let resume = json!({"decisions": [decision]});
    json!({"agent_id": "human-in-the-loop", "command": {"resume": resume}})
}

async fn decisions_are_carried_out_after_a_restart_and_kept(database: Database) {
    let edit =
        json!({"type": "edit", "edited_action": {"name": "delete_file", "args": {"path": "b"}}});
    let cases = [
        (json!({"type": "approve"}), "Deleted a.txt.", false),
        (edit, "Deleted b.", false),
        (
            json!({"type": "reject", "message": "no"}),
            "The call of delete_file was rejected: no",
            true,
        ),
        (json!({"type": "respond", "message": "did it"}), "did it", false),
    ];
    let before = TestServer::start(&database.url).await;
    let mut paths = Vec::new();
    for _ in &cases {
        paths.push(paused(&before.client()).await);
    }
    before.drain().await;
    let after = TestServer::start(&database.url).await;
    for (path, (decision, told, failed)) in paths.iter().zip(cases) {
        let done = after.client().post(path, &answer(&decision)).await.json(200);
        let messages = done["messages"].as_array().unwrap();
        assert_eq!(results(messages), [(told.to_owned(), failed)]);
        let kept = messages.iter().find(|message| message["role"] == "tool").unwrap();
        let kept = &kept["metadata"]["decision"];
        assert_eq!((&kept["type"], &kept["by"]), (&decision["type"], &json!("default")));
        assert_eq!(kept["run_id"], done["run_id"]);
        assert!(!kept["at"].is_null(), "{kept}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_on_two_servers_one_counts() {
    let database = Database::postgres().await;
    let one = TestServer::start(&database.url).await;
    let other = TestServer::start(&database.url).await;
    let path = paused(&one.client()).await;
    let body = answer(&json!({"type": "approve"}));
    let (first, second) = (one.client(), other.client());
    let (first, second) = tokio::join!(first.post(&path, &body), second.post(&path, &body));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", first.text, second.text);
    let done = if first.status == 200 { first } else { second }.json(200);
    let results = results(done["messages"].as_array().unwrap());
    assert_eq!(results, [("Deleted a.txt.".to_owned(), false)]);
}
