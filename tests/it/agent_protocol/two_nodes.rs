//! Two servers on one Postgres: what one has, the other shows and steers.

use serde_json::json;

use super::{begin, builder, new_thread, start, text};
use crate::harness::db::Database;
use crate::harness::server::TestServer;

/// Two servers on the same database; the second one runs nothing itself.
async fn pair() -> (TestServer, TestServer) {
    let database = Database::postgres().await;
    let worker = start(&database).await;
    let idle = builder(&database).setup(|setup| setup.executor.workers = 0);
    (worker, TestServer::build(idle).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_one_server_is_waited_for_through_the_other() {
    let (worker, idle) = pair().await;
    let thread = new_thread(&idle.client()).await;
    let steps = json!({"agent_id": "steps", "config": {"configurable": {"n": 10, "delay_ms": 20}}});
    let run = begin(&idle.client(), &thread, &steps).await;
    let waited = idle.client().get(&format!("{run}/wait")).await.json(200);
    assert_eq!(waited["status"], "success");
    assert_eq!(waited["values"]["steps"].as_array().unwrap().len(), 10);
    let seen = worker.client().get(&thread).await.json(200);
    assert_eq!((&seen["status"], &seen["values"]), (&json!("idle"), &waited["values"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_one_server_is_streamed_whole_through_the_other() {
    let (worker, idle) = pair().await;
    let tokens = json!({
        "agent_id": "tokens",
        "input": "go",
        "stream_mode": ["messages", "values"],
        "config": {"configurable": {"n": 40, "delay_ms": 5}},
    });
    let request = idle.client().request(reqwest::Method::POST, "/runs/stream").json(&tokens);
    let frames = idle.client().frames(request).await;
    let said: String = frames
        .iter()
        .filter(|frame| frame.event == "messages")
        .map(|frame| frame.data[0]["content"].as_str().unwrap())
        .collect();
    let whole: String = (0..40).map(|ordinal| format!("tok{ordinal} ")).collect();
    assert_eq!(said, whole);
    assert_eq!(frames.last().unwrap().data["status"], "success");
    let ids: Vec<u64> =
        frames.iter().map(|one| one.id.as_ref().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_one_server_is_cancelled_through_the_other() {
    let (worker, idle) = pair().await;
    let thread = new_thread(&worker.client()).await;
    let steps =
        json!({"agent_id": "steps", "config": {"configurable": {"n": 10_000, "delay_ms": 50}}});
    let run = begin(&worker.client(), &thread, &steps).await;
    idle.client().post(&format!("{run}/cancel?wait=true"), &json!({})).await.empty(204);
    let cancelled = worker.client().get(&run).await.json(200);
    assert_eq!(text(&cancelled, "status"), "interrupted");
    assert_eq!(worker.client().get(&thread).await.json(200)["status"], "idle");
}
