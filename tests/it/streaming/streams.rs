//! Streams of server-sent events.

use serde_json::json;

use super::{ALL, data, done, is_over, new_thread, seqs, stream, text};
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;

on_both_databases!(
    a_stream_opened_before_any_run_sees_all_of_them,
    a_stream_begins_with_the_state_as_it_is,
    whoever_comes_late_sees_the_open_message_from_its_start,
    a_change_by_a_caller_is_seen,
    channels_are_filtered_and_numbers_do_not_depend_on_it,
    a_stream_of_a_thread_that_is_not_there_is_refused,
    a_wrong_request_is_refused,
);

async fn a_stream_opened_before_any_run_sees_all_of_them(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut events = stream(&client, &thread, &json!({"channels": ALL})).await;
    assert_eq!(events.next().await.unwrap()["params"]["data"], json!({}));
    let mut last = 0;
    for word in ["one", "two"] {
        let run = json!({"assistantId": "echo", "input": word});
        done(&client, &thread, "run.start", run).await;
        let seen = events.until(is_over).await;
        assert!(seqs(&seen).is_sorted_by(|one, next| one < next));
        assert!(seqs(&seen)[0] > last, "numbers go on from run to run");
        last = *seqs(&seen).last().unwrap();
        assert_eq!(data(&seen, "lifecycle")[0]["event"], "started");
        assert_eq!(data(&seen, "lifecycle").last().unwrap()["event"], "completed");
        let values = data(&seen, "values");
        let messages = values.last().unwrap()["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], format!("echo: {word}"));
        assert_eq!(text(&seen), format!("{word}echo: {word}"));
    }
}

async fn a_stream_begins_with_the_state_as_it_is(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let run = json!({"agent_id": "echo", "input": "hello"});
    client.post(&format!("/threads/{thread}/runs/wait"), &run).await.json(200);
    let request = json!({"channels": ["values", "messages", "lifecycle"]});
    let mut events = stream(&client, &thread, &request).await;
    let first = events.next().await.unwrap();
    assert_eq!(first["method"], "values");
    let messages = first["params"]["data"]["messages"].as_array().unwrap();
    assert_eq!(messages[1]["content"], "echo: hello");
    // Nothing of the run that is over is told again.
    done(&client, &thread, "run.start", json!({"assistantId": "echo", "input": "again"})).await;
    let next = events.next().await.unwrap();
    assert_eq!(next["params"]["data"]["event"], "started");
}

async fn whoever_comes_late_sees_the_open_message_from_its_start(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut first = stream(&client, &thread, &json!({"channels": ["messages"]})).await;
    let config = json!({"configurable": {"n": 40, "delay_ms": 10}});
    let run = json!({"assistantId": "tokens", "input": "go", "config": config});
    done(&client, &thread, "run.start", run).await;
    first.until(|event| event["params"]["data"]["delta"]["text"] == "tok5 ").await;
    let request = json!({"channels": ["values", "messages", "lifecycle"]});
    let mut late = stream(&client, &thread, &request).await;
    let seen = late.until(is_over).await;
    assert_eq!(seen[0]["method"], "values");
    assert_eq!(seen[0]["params"]["data"]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(data(&seen, "lifecycle")[0]["event"], "running");
    let all: Vec<_> = (0..40).map(|n| format!("tok{n} ")).collect();
    assert_eq!(text(&seen), all.concat());
    assert_eq!(data(&seen, "messages")[0]["event"], "message-start");
}

async fn a_change_by_a_caller_is_seen(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut events =
        stream(&client, &thread, &json!({"channels": ["values", "checkpoints"]})).await;
    events.next().await.unwrap();
    let path = format!("/threads/{thread}");
    client.patch(&path, &json!({"values": {"k": 1}})).await.json(200);
    let values = events.next().await.unwrap();
    assert_eq!(values["params"]["data"], json!({"k": 1}));
    let checkpoint = events.next().await.unwrap();
    assert_eq!(checkpoint["params"]["data"]["source"], "update");
    assert_eq!(checkpoint["seq"].as_u64(), values["seq"].as_u64().map(|seq| seq + 1));
}

async fn channels_are_filtered_and_numbers_do_not_depend_on_it(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut all = stream(&client, &thread, &json!({"channels": ALL})).await;
    let mut some = stream(&client, &thread, &json!({"channels": ["updates", "lifecycle"]})).await;
    done(&client, &thread, "run.start", json!({"assistant_id": "steps", "input": "go"})).await;
    let all = all.until(is_over).await;
    let some = some.until(is_over).await;
    let of_some =
        |event: &&serde_json::Value| event["method"] == "updates" || event["method"] == "lifecycle";
    assert!(all.iter().filter(of_some).eq(some.iter()));
    assert_eq!(data(&some, "updates").len(), 10);
    let request = json!({"channels": ["values"], "since": seqs(&some)[2]});
    let mut rest = stream(&client, &thread, &request).await;
    let next = rest.next().await.unwrap();
    let values = all.iter().filter(|event| event["method"] == "values");
    let wanted = values.into_iter().find(|event| event["seq"].as_u64() > Some(seqs(&some)[2]));
    assert_eq!(Some(&next), wanted);
}

async fn a_stream_of_a_thread_that_is_not_there_is_refused(database: Database) {
    let builder = runloom::Server::builder().database_url(&database.url);
    let server = TestServer::build(builder.key("anna", "a").key("bert", "b")).await;
    let (anna, bert) = (server.client().with_key("a"), server.client().with_key("b"));
    let thread = new_thread(&anna).await;
    let request = json!({"channels": ["values"]});
    let nowhere = "00000000-0000-0000-0000-000000000000";
    let error = bert.post(&format!("/threads/{thread}/stream"), &request).await.json(404);
    assert_eq!(error["code"], "thread_not_found");
    anna.post(&format!("/threads/{nowhere}/stream"), &request).await.json(404);
    anna.post("/threads/mine/stream", &request).await.json(422);
    server.client().post(&format!("/threads/{thread}/stream"), &request).await.json(401);
}

async fn a_wrong_request_is_refused(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let path = format!("/threads/{}/stream", new_thread(&client).await);
    let wrong = [
        (json!({}), "channels"),
        (json!({"channels": []}), "channels"),
        (json!({"channels": ["valeus"]}), "channels[0]"),
        (json!({"channels": ["custom:"]}), "channels[0]"),
        (json!({"channels": ["values"], "namespaces": ["a"]}), "namespaces[0]"),
        (json!({"channels": ["values"], "depth": -1}), "depth"),
        (json!({"channels": ["values"], "since": "one"}), "since"),
    ];
    for (request, field) in wrong {
        let error = client.post(&path, &request).await.json(422);
        assert_eq!(error["metadata"]["field"], field, "{error}");
    }
}
