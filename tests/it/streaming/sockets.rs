//! Web sockets: opening them, subscriptions, and messages that are no commands.

use serde_json::{Value, json};

use super::{data, done, is_over, new_thread, seqs, text};
use crate::harness::db::{Database, on_both_databases};
use crate::harness::live::{Socket, request};
use crate::harness::server::TestServer;

on_both_databases!(
    one_connection_starts_a_run_and_sees_it,
    an_event_of_two_subscriptions_is_told_once,
    a_subscription_that_joins_late_begins_with_the_state,
    what_is_unsubscribed_is_told_no_more,
    wrong_messages_are_answered_and_the_connection_stays,
    many_observers_see_the_same,
    who_may_open_one,
    a_page_of_another_origin_may_not,
    a_deleted_thread_takes_no_commands,
);

async fn one_connection_starts_a_run_and_sees_it(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    let params = json!({"channels": ["values", "messages", "lifecycle"]});
    let subscription = socket.done("subscription.subscribe", params).await;
    assert_eq!(subscription["replayedEvents"], 1);
    assert_eq!(socket.event().await["params"]["data"], json!({}));
    let reply = socket.command("run.start", json!({"assistantId": "echo", "input": "hi"})).await;
    let seen = socket.until(is_over).await;
    assert_eq!(text(&seen), "hiecho: hi");
    assert!(seqs(&seen)[0] > reply["meta"]["appliedThroughSeq"].as_u64().unwrap());
    assert!(seqs(&seen).is_sorted_by(|one, next| one < next));
}

async fn an_event_of_two_subscriptions_is_told_once(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    for channels in [json!(["lifecycle", "updates"]), json!(["lifecycle", "tasks"])] {
        socket.done("subscription.subscribe", json!({"channels": channels})).await;
    }
    socket.done("run.start", json!({"assistantId": "echo", "input": "hi"})).await;
    let seen = socket.until(is_over).await;
    assert_eq!(data(&seen, "lifecycle").len(), 3);
    assert_eq!(data(&seen, "updates").len(), 1);
    assert_eq!(data(&seen, "tasks").len(), 2);
    assert!(seqs(&seen).is_sorted_by(|one, next| one < next));
}

async fn a_subscription_that_joins_late_begins_with_the_state(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    socket.done("subscription.subscribe", json!({"channels": ["lifecycle", "updates"]})).await;
    let config = json!({"configurable": {"n": 20, "delay_ms": 10}});
    let run = json!({"assistantId": "steps", "input": "go", "config": config});
    socket.done("run.start", run).await;
    let before = socket.until(|event| event["params"]["data"]["node"] == "step_5").await;
    socket.done("subscription.subscribe", json!({"channels": ["values"]})).await;
    let after = socket.until(is_over).await;
    let values = data(&after, "values");
    let steps = |values: &Value| values["steps"].as_array().map_or(0, Vec::len);
    assert!(steps(values[0]) >= 4, "the state as it is comes first");
    assert!(values.is_sorted_by_key(|values| steps(values)));
    assert_eq!(steps(values.last().unwrap()), 20);
    let updates = data(&before, "updates").len() + data(&after, "updates").len();
    assert_eq!(updates, 20, "who was there before misses nothing and sees nothing twice");
}

async fn what_is_unsubscribed_is_told_no_more(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    socket.done("subscription.subscribe", json!({"channels": ["lifecycle"]})).await;
    let params = json!({"channels": ["updates"], "namespaces": [[]], "depth": 0});
    let updates = socket.done("subscription.subscribe", params).await;
    let id = json!({"subscription_id": updates["subscriptionId"]});
    assert_eq!(socket.done("subscription.unsubscribe", id.clone()).await, json!({}));
    let again = socket.refused("subscription.unsubscribe", id).await;
    assert_eq!(again, "no_such_subscription");
    socket.done("run.start", json!({"assistantId": "echo", "input": "hi"})).await;
    assert!(data(&socket.until(is_over).await, "updates").is_empty());
}

async fn wrong_messages_are_answered_and_the_connection_stays(database: Database) {
    let server = TestServer::start(&database.url).await;
    let thread = new_thread(&server.client()).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    let wrong = [
        ("no json", json!(null), "invalid_argument"),
        ("[]", json!(null), "invalid_argument"),
        (r#"{"method": "state.get"}"#, json!(null), "invalid_argument"),
        (r#"{"id": -1, "method": "state.get"}"#, json!(null), "invalid_argument"),
        (r#"{"id": 3}"#, json!(3), "invalid_argument"),
        (r#"{"id": 4, "method": "run.stop"}"#, json!(4), "unknown_command"),
        (r#"{"id": 5, "method": "state.get", "params": []}"#, json!(5), "invalid_argument"),
        (r#"{"id": 6, "method": "subscription.subscribe"}"#, json!(6), "invalid_argument"),
    ];
    for (text, id, code) in wrong {
        socket.send(text).await;
        let reply = socket.reply().await;
        assert_eq!((&reply["type"], &reply["id"]), (&json!("error"), &id), "{text}");
        assert_eq!(reply["error"], code, "{text}");
        assert!(reply["message"].is_string());
    }
    socket.done("state.get", json!({"namespace": []})).await;
}

async fn many_observers_see_the_same(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut sockets = Vec::new();
    for _ in 0..10 {
        let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
        let params = json!({"channels": ["messages", "lifecycle"]});
        socket.done("subscription.subscribe", params).await;
        sockets.push(socket);
    }
    done(&client, &thread, "run.start", json!({"assistantId": "tokens", "input": "go"})).await;
    let mut seen = Vec::new();
    for socket in &mut sockets {
        seen.push(socket.until(is_over).await);
    }
    assert!(seen.iter().all(|one| *one == seen[0]));
}

async fn who_may_open_one(database: Database) {
    let builder = runloom::Server::builder().database_url(&database.url);
    let server = TestServer::build(builder.key("anna", "a").key("bert", "b")).await;
    let thread = new_thread(&server.client().with_key("a")).await;
    let path = format!("/threads/{thread}/stream");
    let open = |protocol: Option<&str>| {
        let mut request = request(server.address, &path);
        if let Some(protocol) = protocol {
            request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
        }
        Socket::with(request)
    };
    assert_eq!(open(None).await.err(), Some(401));
    assert_eq!(open(Some("bearer.c")).await.err(), Some(401));
    assert_eq!(open(Some("bearer.b")).await.err(), Some(404));
    assert!(open(Some("bearer.a")).await.is_ok());
    assert!(open(Some("agent-streaming, bearer.a")).await.is_ok());
    let plain = server.client().with_key("a").get(&path).await;
    assert_eq!(plain.json(426)["code"], "upgrade_required");
}

async fn a_page_of_another_origin_may_not(database: Database) {
    let builder = runloom::Server::builder().database_url(&database.url);
    let known = ["https://app.example".to_owned()];
    let builder = builder.setup(|setup| setup.http.origins = known.into());
    let server = TestServer::build(builder).await;
    let thread = new_thread(&server.client()).await;
    let open = |origin: String| {
        let mut request = request(server.address, &format!("/threads/{thread}/stream"));
        request.headers_mut().insert("origin", origin.parse().unwrap());
        Socket::with(request)
    };
    assert!(open(format!("http://{}", server.address)).await.is_ok());
    assert!(open("https://app.example".to_owned()).await.is_ok());
    assert_eq!(open("https://evil.example".to_owned()).await.err(), Some(403));
    assert_eq!(open("null".to_owned()).await.err(), Some(403));
}

async fn a_deleted_thread_takes_no_commands(database: Database) {
    let server = TestServer::start(&database.url).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut socket = Socket::open(server.address, &format!("/threads/{thread}/stream")).await;
    client.delete(&format!("/threads/{thread}")).await.empty(204);
    let code = socket.refused("state.get", json!({"namespace": []})).await;
    assert_eq!(code, "invalid_argument");
}
