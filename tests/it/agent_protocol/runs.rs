//! Runs: started in every form, found, waited for, listed, deleted.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::probe::Probe;
use super::{begin, builder, eventually, id, last_text, list, new_thread, start, text, turn, wait};
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::{TestServer, until};

on_both_databases!(
    every_form_of_input_is_understood,
    both_families_of_paths_answer_the_same,
    an_agent_goes_by_several_names,
    a_missing_thread_is_made_only_if_asked,
    what_was_asked_for_is_echoed,
    a_failed_run_tells_why_and_keeps_its_steps,
    a_run_stops_at_its_limits,
    a_run_without_a_thread_leaves_nothing_but_its_result,
    a_run_without_a_thread_can_keep_its_thread,
    a_run_can_be_put_off,
    runs_are_listed_newest_first,
    an_unfinished_run_cannot_be_deleted,
    how_a_step_is_kept_makes_no_difference_in_the_end,
);

async fn every_form_of_input_is_understood(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let message = json!({"role": "user", "content": "hi"});
    for (input, said) in [
        (json!("hi"), "hi"),
        (json!({"message": "hi"}), "hi"),
        (json!({"prompt": "hi", "text": "no", "extra": 1}), "hi"),
        (json!({"question": "hi"}), "hi"),
        (json!({"messages": [message]}), "hi"),
        (json!([message]), "hi"),
        (json!([{"type": "human", "content": "hi"}]), "hi"),
        (json!(17), "17"),
        (json!([1, {"a": null}]), r#"[1,{"a":null}]"#),
        (json!(true), "true"),
    ] {
        let heard = client.post("/runs/wait", &json!({"input": input})).await.json(200);
        assert_eq!(last_text(&heard), format!("echo: {said}"), "{input}");
    }
    let both = json!({"input": "first", "messages": [{"role": "user", "content": "second"}]});
    let heard = client.post("/runs/wait", &both).await.json(200);
    assert_eq!(last_text(&heard), "echo: second", "the body's messages come after the input's");
    let others = json!({"input": {"message": "hi", "k": {"l": 1}}});
    let heard = client.post("/runs/wait", &others).await.json(200);
    assert_eq!(
        heard["values"],
        json!({"k": {"l": 1}, "text": 0}).as_object().map(|_| json!({"k": {"l": 1}})).unwrap()
    );
    for input in [json!(17), json!(true), json!([1])] {
        let run = json!({"agent_id": "react", "input": input});
        let refused = client.post("/runs/wait", &run).await.json(422);
        assert_eq!(refused["metadata"]["field"], "input", "{input}");
    }
    client.post("/runs/wait", &json!({})).await.json(200);
}

async fn both_families_of_paths_answer_the_same(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (thread, other) = (new_thread(&client).await, new_thread(&client).await);
    let short = json!({"thread_id": id(&thread), "input": "short"});
    let short = text(&client.post("/runs", &short).await.json(200), "run_id");
    let long = begin(&client, &thread, &json!({"input": "long"})).await;
    for run in [short.as_str(), id(&long)] {
        let (one, two) = (format!("/runs/{run}"), format!("{thread}/runs/{run}"));
        assert_eq!(wait(&client, &one).await, wait(&client, &two).await);
        assert_eq!(client.get(&one).await.json(200), client.get(&two).await.json(200));
        let elsewhere = format!("{other}/runs/{run}");
        for path in ["", "/wait", "/stream"] {
            client.get(&format!("{elsewhere}{path}")).await.json(404);
        }
        client.post(&format!("{elsewhere}/cancel"), &json!({})).await.json(404);
        client.delete(&elsewhere).await.json(404);
    }
    let streams = ["/runs/stream".to_owned(), format!("{thread}/runs/stream")];
    for path in streams {
        let body = json!({"thread_id": id(&thread), "input": "x"});
        let frames = client.frames(client.request(reqwest::Method::POST, &path).json(&body)).await;
        assert_eq!(frames.last().unwrap().data["status"], "success");
        assert_eq!(frames[0].data["thread_id"], id(&thread));
    }
    let mismatch = json!({"thread_id": id(&other), "input": "x"});
    let refused = client.post(&format!("{thread}/runs"), &mismatch).await.json(422);
    assert_eq!(refused["metadata"]["field"], "thread_id");
    let listed = client.get(&format!("{thread}/runs")).await.json(200);
    let searched = client.post("/runs/search", &json!({"thread_id": id(&thread)})).await.json(200);
    assert_eq!((list(&listed).len(), &listed), (4, &searched));
    client.get(&format!("/threads/{}/runs", Uuid::new_v4())).await.json(404);
}

async fn an_agent_goes_by_several_names(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    for name in ["media_management", "video-mixcut"] {
        for member in ["agent_id", "assistant_id"] {
            let run = json!({member: name, "input": "hello"});
            let run = client.post(&format!("{thread}/runs"), &run).await.json(200);
            assert_eq!(run["agent_id"], "media_management");
        }
        let found = client.post("/runs/search", &json!({"agent_id": name})).await.json(200);
        assert!(!list(&found).is_empty());
    }
    // A thread stays with its agent where nobody names one.
    let run = client.post(&format!("{thread}/runs"), &json!({"input": "hello"})).await.json(200);
    assert_eq!(run["agent_id"], "media_management");
    let unknown = json!({"agent_id": "nobody", "input": "x"});
    assert_eq!(client.post("/runs", &unknown).await.json(404)["code"], "agent_not_found");
}

async fn a_missing_thread_is_made_only_if_asked(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = Uuid::new_v4();
    for wish in [json!(null), json!("reject")] {
        let run = json!({"thread_id": thread, "input": "x", "if_not_exists": wish});
        for path in ["/runs", "/runs/wait", "/runs/stream"] {
            assert_eq!(client.post(path, &run).await.json(404)["code"], "thread_not_found");
        }
    }
    client.get(&format!("/threads/{thread}")).await.json(404);
    let run = json!({"thread_id": thread, "input": "x", "if_not_exists": "create"});
    assert_eq!(client.post("/runs/wait", &run).await.json(200)["thread_id"], json!(thread));
    assert_eq!(list(&client.post("/runs/wait", &run).await.json(200)["messages"]).len(), 4);
    assert_eq!(client.get(&format!("/threads/{thread}")).await.json(200)["status"], "idle");
}

async fn what_was_asked_for_is_echoed(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({
        "agent_id": "echo",
        "input": {"message": "a\u{0}b", "k": [1]},
        "messages": [{"id": "m", "role": "user", "content": "c"}],
        "metadata": {"m": {"n": true}},
        "config": {"tags": ["t"], "recursion_limit": 7, "configurable": {"c": null}},
        "webhook": "https://example.com/hook",
        "on_completion": "keep",
        "on_disconnect": "continue",
        "if_not_exists": "create",
        "stream_mode": ["values", "custom"],
        "stream_subgraphs": true,
        "interrupt_before": ["nowhere"],
        "interrupt_after": "*",
        "durability": "sync",
        "multitask_strategy": "reject",
    });
    let run = begin(&client, &thread, &body).await;
    wait(&client, &run).await;
    let echoed = client.get(&run).await.json(200);
    for (member, value) in body.as_object().unwrap() {
        assert_eq!(&echoed[member], value, "{member}");
    }
}

async fn a_failed_run_tells_why_and_keeps_its_steps(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for (agent, code, message) in
        [("breaks", "broken", "it broke"), ("panics", "panic", "the agent crashed")]
    {
        for durability in ["async", "sync", "exit"] {
            let thread = new_thread(&client).await;
            let run = json!({"agent_id": agent, "durability": durability});
            let waited = turn(&client, &thread, &run).await;
            let error = json!({"code": code, "message": message});
            assert_eq!((&waited["status"], &waited["error"]), (&json!("error"), &error));
            assert_eq!(
                (&waited["run"]["status"], &waited["run"]["error"]),
                (&json!("error"), &error)
            );
            assert_eq!(waited["values"], json!({"kept": true}), "{agent} {durability}");
            let seen = client.get(&thread).await.json(200);
            assert_eq!((&seen["status"], &seen["values"]), (&json!("error"), &waited["values"]));
            let run = format!("/runs/{}", text(&waited, "run_id"));
            assert_eq!(wait(&client, &run).await, waited);
            let found = client.post("/threads/search", &json!({"values": {"kept": true}})).await;
            assert_eq!(found.json(200)[0]["thread_id"], waited["thread_id"]);
            let heard = turn(&client, &thread, &json!({"agent_id": "echo", "input": "on"})).await;
            assert_eq!(heard["values"], json!({"kept": true}));
        }
    }
}

async fn a_run_stops_at_its_limits(database: Database) {
    let server = TestServer::build(builder(&database).setup(|setup| {
        setup.executor.run_limit = Duration::from_millis(300);
    }))
    .await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let endless = json!({"agent_id": "endless", "config": {"recursion_limit": 7}});
    let waited = turn(&client, &thread, &endless).await;
    assert_eq!(
        (&waited["status"], &waited["error"]["code"]),
        (&json!("error"), &json!("recursion_limit"))
    );
    assert_eq!(waited["values"]["rounds"], json!([1, 1, 1, 1, 1, 1, 1]), "exactly that many steps");

    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let held = json!({"agent_id": "walk", "config": probe.config_with("hold", 3)});
    let waited = turn(&client, &thread, &held).await;
    assert_eq!(
        (&waited["status"], &waited["error"]["code"]),
        (&json!("timeout"), &json!("timeout"))
    );
    assert_eq!(waited["values"]["steps"], json!(["1", "2"]));
    assert_eq!(client.get(&thread).await.json(200)["status"], "error");
    let found = client.post("/runs/search", &json!({"status": "timeout"})).await.json(200);
    assert_eq!(list(&found).len(), 1);
}

async fn a_run_without_a_thread_leaves_nothing_but_its_result(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let run = json!({"input": {"message": "hi", "k": 1}, "metadata": {"m": 1}});
    let started = client.post("/runs", &run).await.json(200);
    let (path, thread) = (
        format!("/runs/{}", text(&started, "run_id")),
        format!("/threads/{}", text(&started, "thread_id")),
    );
    let waited = wait(&client, &path).await;
    assert_eq!((&waited["status"], &waited["values"]), (&json!("success"), &json!({"k": 1})));
    client.get(&thread).await.json(404);
    assert_eq!(wait(&client, &path).await, waited, "the result outlives the thread");
    assert_eq!(client.get(&path).await.json(200), waited["run"]);
    let found = client.post("/runs/search", &json!({"metadata": {"m": 1}})).await.json(200);
    assert_eq!(found, json!([waited["run"]]));
    assert_eq!(client.post("/threads/search", &json!({})).await.json(200), json!([]));
    client.delete(&path).await.empty(204);
    client.get(&path).await.json(404);

    let failed = client.post("/runs/wait", &json!({"agent_id": "breaks"})).await.json(200);
    assert_eq!((&failed["status"], &failed["values"]), (&json!("error"), &json!({"kept": true})));
    assert_eq!(client.post("/threads/search", &json!({})).await.json(200), json!([]));
}

async fn a_run_without_a_thread_can_keep_its_thread(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let run = json!({"input": "hi", "on_completion": "keep"});
    let waited = client.post("/runs/wait", &run).await.json(200);
    let thread = format!("/threads/{}", text(&waited, "thread_id"));
    assert_eq!(
        list(&turn(&client, &thread, &json!({"input": "again"})).await["messages"]).len(),
        4
    );
    let last = turn(&client, &thread, &json!({"input": "bye", "on_completion": "delete"})).await;
    assert_eq!(list(&last["messages"]).len(), 6);
    client.get(&thread).await.json(404);
    assert_eq!(wait(&client, &format!("/runs/{}", text(&last, "run_id"))).await, last);
}

async fn a_run_can_be_put_off(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let late = begin(&client, &thread, &json!({"input": "late", "after_seconds": 0.3})).await;
    let soon = begin(&client, &thread, &json!({"input": "soon"})).await;
    assert_eq!(
        last_text(&wait(&client, &soon).await),
        "echo: soon",
        "it does not wait for the late one"
    );
    assert_eq!(client.get(&thread).await.json(200)["status"], "busy");
    assert_eq!(last_text(&wait(&client, &late).await), "echo: late");
    for wrong in [json!(-1), json!(1e300), json!("soon")] {
        let run = json!({"input": "x", "after_seconds": wrong});
        let refused = client.post(&format!("{thread}/runs"), &run).await.json(422);
        assert_eq!(refused["metadata"]["field"], "after_seconds");
    }
}

async fn runs_are_listed_newest_first(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let body = json!({"input": n, "metadata": {"even": n % 2 == 0}});
        let waited = turn(&client, &thread, &body).await;
        ids.insert(0, text(&waited, "run_id"));
    }
    let listed = async |path: &str| {
        let found = client.get(&format!("{thread}/runs{path}")).await.json(200);
        list(&found).iter().map(|run| text(run, "run_id")).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, ids);
    assert_eq!(listed("?limit=2&offset=1").await, ids[1..3]);
    assert_eq!(listed("?status=success").await, ids);
    assert_eq!(listed("?status=pending").await, [""; 0]);
    for wrong in ["?limit=0", "?limit=1001", "?status=done", "?offset=-1"] {
        client.get(&format!("{thread}/runs{wrong}")).await.json(422);
    }
    let even = json!({"metadata": {"even": true}, "thread_id": id(&thread)});
    let found = client.post("/runs/search", &even).await.json(200);
    assert_eq!(list(&found).len(), 3);
}

async fn an_unfinished_run_cannot_be_deleted(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({"agent_id": "door", "input": "in", "config": probe.config()});
    let (running, queued) =
        (begin(&client, &thread, &body).await, begin(&client, &thread, &body).await);
    probe.arrived(1).await;
    for run in [&running, &queued] {
        assert_eq!(client.delete(run).await.json(409)["code"], "run_unfinished");
    }
    probe.let_pass(2);
    wait(&client, &queued).await;
    for run in [&running, &queued] {
        client.delete(run).await.empty(204);
        client.delete(run).await.json(404);
        client.get(&format!("{run}/wait")).await.json(404);
    }
    let seen = client.get(&thread).await.json(200);
    assert_eq!((&seen["status"], &seen["values"]["log"]), (&json!("idle"), &json!(["in", "in"])));
}

async fn how_a_step_is_kept_makes_no_difference_in_the_end(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for durability in ["async", "sync", "exit"] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let body = json!({
            "agent_id": "walk", "durability": durability, "config": probe.config_with("hold", 4),
        });
        let run = begin(&client, &thread, &body).await;
        probe.arrived(1).await;
        let history = format!("{thread}/history");
        let kept = |entries: &Value| list(entries).len();
        match durability {
            "sync" => assert_eq!(kept(&client.get(&history).await.json(200)), 4),
            "async" => drop(eventually(&client, &history, |entries| kept(entries) == 4).await),
            _ => assert_eq!(kept(&client.get(&history).await.json(200)), 0),
        }
        probe.let_pass(1);
        assert_eq!(wait(&client, &run).await["values"]["steps"], json!(["1", "2", "3", "4"]));
        assert_eq!(kept(&client.get(&history).await.json(200)), 5);
        let fresh = until(|| async { client.get(&thread).await.json(200) }, |_| true).await;
        assert_eq!(fresh["values"]["steps"], json!(["1", "2", "3", "4"]));
    }
}
