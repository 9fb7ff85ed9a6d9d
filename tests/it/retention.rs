//! What is not kept for ever.

use std::time::Duration;

use serde_json::json;

use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::{TestServer, until};

on_both_databases!(a_log_goes_when_its_time_is_over_and_the_run_stays);

async fn a_log_goes_when_its_time_is_over_and_the_run_stays(database: Database) {
    let builder = runloom::Server::builder().database_url(&database.url).setup(|setup| {
        setup.retention.log = Duration::ZERO;
        setup.retention.every = Duration::from_millis(20);
    });
    let server = TestServer::build(builder).await;
    let client = server.client();
    let run = json!({"input": "hello", "on_completion": "keep"});
    let run = client.post("/runs/wait", &run).await.json(200);
    let id = run["run_id"].as_str().unwrap();
    let ask = || async {
        let request = client.request(reqwest::Method::GET, &format!("/runs/{id}/stream?after=0"));
        let frames = client.frames(request).await;
        json!(frames.iter().map(|frame| frame.event.clone()).collect::<Vec<_>>())
    };
    let events = until(ask, |events| events.as_array().unwrap().contains(&json!("gap"))).await;
    assert_eq!(events.as_array().unwrap().last(), Some(&json!("end")));
    assert_eq!(client.get(&format!("/runs/{id}")).await.json(200)["status"], "success");
}
