//! Streams that are joined, cut, and taken up again.

use reqwest::Method;
use serde_json::{Value, json};

use super::probe::Probe;
use super::streams::{check, data, streamed, texts};
use super::{begin, builder, id, new_thread, start, text, turn, wait};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};
use crate::harness::server::TestServer;
use crate::harness::sse::Frame;
use crate::harness::tail::Tail;

on_both_databases!(
    a_finished_run_is_replayed_from_anywhere,
    a_join_without_a_place_sees_what_comes_after_it,
    a_run_that_waits_its_turn_can_be_joined,
    other_modes_can_be_asked_for,
    a_place_is_a_number,
    what_is_no_longer_kept_is_told,
    cut_anywhere_a_stream_goes_on_with_the_next_frame,
    a_slow_reader_slows_nobody,
    after_a_restart_a_run_is_replayed_to_its_end,
    the_stream_of_a_run_outlives_its_thread,
);

/// Joins the stream of a run that ends by itself.
async fn join(client: &Client, run: &str, after: Option<&str>) -> Vec<Frame> {
    let request = client.request(Method::GET, &format!("{run}/stream"));
    let request = match after {
        Some(after) => request.header("last-event-id", after),
        None => request,
    };
    client.frames(request).await
}

async fn a_finished_run_is_replayed_from_anywhere(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({
        "agent_id": "steps", "input": "go", "config": {"configurable": {"n": 4}},
        "stream_mode": ["values", "updates", "messages", "custom"],
    });
    for _ in 0..2 {
        let whole = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
        let run = format!("/runs/{}", text(&whole[0].data, "run_id"));
        for all in ["0", "-1"] {
            assert_eq!(join(&client, &run, Some(all)).await, whole);
        }
        for (place, frame) in whole.iter().enumerate() {
            let after = frame.id.as_deref().unwrap();
            let rest = join(&client, &run, Some(after)).await;
            let wanted =
                if place + 1 == whole.len() { &whole[place..] } else { &whole[place + 1..] };
            let shown = |frames: &[Frame]| {
                frames.iter().map(|f| (f.event.clone(), f.data.clone())).collect::<Vec<_>>()
            };
            assert_eq!(shown(&rest), shown(wanted), "after {after}");
            let query = format!("{run}/stream?after={after}");
            assert_eq!(client.frames(client.request(Method::GET, &query)).await, rest);
        }
        for past in ["9007199254740991", "18446744073709551615"] {
            let rest = join(&client, &run, Some(past)).await;
            assert_eq!((rest.len(), rest[0].event.as_str()), (1, "end"), "{rest:?}");
        }
        let now = join(&client, &run, None).await;
        assert_eq!(now.last().unwrap().data["status"], "success");
        assert!(data(&now, "values").is_empty());
    }
}

async fn a_join_without_a_place_sees_what_comes_after_it(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    // The thread has a history, so that states are folded onto something.
    turn(&client, &thread, &json!({"input": {"message": "hi", "k": 1}})).await;
    let body = json!({"agent_id": "walk", "input": "go", "config": probe.config_with("hold", 3)});
    let run = begin(&client, &thread, &body).await;
    probe.arrived(1).await;
    let request = client.request(Method::GET, &format!("{run}/stream"));
    let joined = Tail::of(client.open(request).await);
    probe.let_pass(1);
    let frames = joined.rest().await;
    check(&frames);
    let steps: Vec<_> =
        data(&frames, "values").iter().map(|values| values["steps"].clone()).collect();
    assert_eq!(steps, [json!(["1", "2", "3"]), json!(["1", "2", "3", "4"])]);
    assert!(data(&frames, "values").iter().all(|values| values["k"] == 1));
}

async fn a_run_that_waits_its_turn_can_be_joined(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({"agent_id": "door", "input": "a", "config": probe.config()});
    begin(&client, &thread, &body).await;
    probe.arrived(1).await;
    let body = json!({"agent_id": "door", "input": "b", "config": probe.config()});
    let queued = begin(&client, &thread, &body).await;
    let request = |after: Option<&str>| {
        let request = client.request(Method::GET, &format!("{queued}/stream"));
        after.iter().fold(request, |request, after| request.header("last-event-id", *after))
    };
    let now = Tail::of(client.open(request(None)).await);
    let all = Tail::of(client.open(request(Some("0"))).await);
    let created = {
        let body = json!({"agent_id": "door", "input": "c", "config": probe.config()});
        let request = client.request(Method::POST, &format!("{thread}/runs/stream")).json(&body);
        Tail::of(client.open(request).await)
    };
    probe.let_pass(3);
    let (now, all, created) = (now.rest().await, all.rest().await, created.rest().await);
    check(&now);
    assert_eq!(now, all);
    assert_eq!(now[0].data["run_id"], id(&queued));
    let log = |frames: &[Frame]| data(frames, "values").pop().unwrap()["log"].clone();
    assert_eq!((log(&now), log(&created)), (json!(["a", "b"]), json!(["a", "b", "c"])));
    check(&created);
}

async fn other_modes_can_be_asked_for(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let body = json!({"agent_id": "outer", "stream_subgraphs": true, "on_completion": "keep"});
    let whole = streamed(&client, "/runs/stream", &body).await;
    let run = format!("/runs/{}", text(&whole[0].data, "run_id"));
    let modes = async |query: &str| {
        let path = format!("{run}/stream?after=0&{query}");
        let frames = client.frames(client.request(Method::GET, &path)).await;
        check(&frames);
        let mut seen: Vec<_> =
            frames.iter().map(|frame| frame.event.split('|').next().unwrap().to_owned()).collect();
        seen.retain(|event| !["metadata", "end"].contains(&event.as_str()));
        seen.sort();
        seen.dedup();
        seen
    };
    assert_eq!(modes("").await, ["values"]);
    assert_eq!(modes("stream_mode=updates").await, ["updates"]);
    assert_eq!(modes("stream_mode=custom&stream_mode=values").await, ["custom", "values"]);
    assert_eq!(modes("stream_mode=custom,messages").await, ["custom", "messages"]);
    assert_eq!(modes("stream_mode=%5B%22custom%22%5D").await, ["custom"]);
    let nested = format!("{run}/stream?after=0&stream_mode=values");
    let frames = client.frames(client.request(Method::GET, &nested)).await;
    assert!(frames.iter().any(|frame| frame.event.starts_with("values|nested:")));
    assert_eq!(
        client.get(&format!("{run}/stream?stream_mode=tools")).await.json(422)["metadata"]["field"],
        "stream_mode"
    );
}

async fn a_place_is_a_number(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let run = begin(&client, &thread, &json!({"input": "x"})).await;
    for wrong in ["x", "1.5", "-2", "1 2"] {
        let request =
            client.request(Method::GET, &format!("{run}/stream")).header("last-event-id", wrong);
        assert_eq!(request.send().await.unwrap().status(), 422, "{wrong}");
        client.get(&format!("{run}/stream?after={wrong}")).await.json(422);
    }
    client.get(&format!("/runs/{}/stream", uuid::Uuid::new_v4())).await.json(404);
}

async fn what_is_no_longer_kept_is_told(database: Database) {
    let server =
        TestServer::build(builder(&database).setup(|setup| setup.executor.log_events_per_run = 40))
            .await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({
        "agent_id": "steps", "input": "go", "durability": "sync",
        "config": {"configurable": {"n": 60}}, "stream_mode": ["values", "updates"],
    });
    let whole = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
    let run = format!("/runs/{}", text(&whole[0].data, "run_id"));
    for after in ["0", whole[3].id.as_deref().unwrap()] {
        let rest = join(&client, &run, Some(after)).await;
        let gap = rest.iter().find(|frame| frame.event == "gap").expect("a gap is told");
        assert_eq!(gap.data["after"].to_string(), after);
        let first = gap.data["first_available"].as_u64().unwrap();
        let shown: Vec<_> =
            rest.iter().filter(|f| !["gap", "metadata"].contains(&f.event.as_str())).collect();
        let ids: Vec<u64> =
            shown.iter().map(|frame| frame.id.as_ref().unwrap().parse().unwrap()).collect();
        assert!(ids.iter().all(|id| *id >= first), "{first} {ids:?}");
        assert!(shown.len() > 1 && shown.len() < 60);
        // What is left is as it was, folded onto the right state.
        for frame in shown {
            let same = whole.iter().find(|one| one.id == frame.id).expect("it was there before");
            assert_eq!(frame, same);
        }
    }
    let kept = join(&client, &run, whole[whole.len() - 3].id.as_deref()).await;
    assert_eq!(kept, whole[whole.len() - 2..], "no gap where nothing is missing");
}

async fn cut_anywhere_a_stream_goes_on_with_the_next_frame(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let mut dice = 1_u64;
    let mut throw = |sides: u64| {
        // A fixed sequence, so that what fails once fails always.
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((dice >> 33) % sides).unwrap()
    };
    let mut cuts = 0;
    while cuts < 200 {
        let body = json!({
            "agent_id": "tokens", "input": "go", "stream_mode": ["messages", "values", "updates"],
            "config": {"configurable": {"n": 60, "delay_ms": throw(2)}},
        });
        let run = begin(&client, &thread, &body).await;
        let mut seen: Vec<Frame> = Vec::new();
        'run: loop {
            let after = seen.last().and_then(|frame| frame.id.clone());
            let request = client.request(Method::GET, &format!("{run}/stream"));
            let request = request.header("last-event-id", after.unwrap_or_else(|| "0".to_owned()));
            let mut tail = Tail::of(client.open(request).await);
            for _ in 0..=throw(12) {
                let Some(frame) = tail.next().await else { break 'run };
                seen.push(frame);
                if seen.last().is_some_and(|frame| frame.event == "end") {
                    break 'run;
                }
            }
            cuts += 1;
        }
        check(&seen);
        assert_eq!(seen, join(&client, &run, Some("0")).await, "each frame once, in order");
        let left = wait(&client, &run).await;
        let message = left["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(
            texts(&seen)[message["id"].as_str().unwrap()],
            message["content"].as_str().unwrap()
        );
    }
    drop(probe);
}

async fn a_slow_reader_slows_nobody(database: Database) {
    let server = TestServer::build(
        builder(&database).setup(|setup| setup.executor.log_events_per_run = 100_000),
    )
    .await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({
        "agent_id": "tokens", "input": "go", "stream_mode": "messages",
        "config": {"configurable": {"n": 20_000}},
    });
    let request = client.request(Method::POST, &format!("{thread}/runs/stream")).json(&body);
    // It reads nothing until the run is over and another reader has seen all of it.
    let mut slow = Tail::of(client.open(request).await);
    let run = text(&slow.next().await.unwrap().data, "run_id");
    let run = format!("{thread}/runs/{run}");
    let quick = join(&client, &run, Some("0")).await;
    let left = wait(&client, &run).await;
    assert_eq!(left["status"], "success");
    assert_eq!(slow.rest().await, quick[1..]);
    assert_eq!(data(&quick, "messages").len(), 20_000);
    let message = &left["messages"][1];
    assert_eq!(
        texts(&quick)[message["id"].as_str().unwrap()],
        message["content"].as_str().unwrap()
    );
}

async fn after_a_restart_a_run_is_replayed_to_its_end(database: Database) {
    let (first, run, whole) = {
        let server = start(&database).await;
        let client = server.client();
        let thread = new_thread(&client).await;
        let body =
            json!({"agent_id": "steps", "input": "go", "stream_mode": ["values", "messages"]});
        let whole = streamed(&client, &format!("{thread}/runs/stream"), &body).await;
        (server, format!("/runs/{}", text(&whole[0].data, "run_id")), whole)
    };
    first.drain().await;
    let server = start(&database).await;
    let client = server.client();
    assert_eq!(join(&client, &run, Some("-1")).await, whole);
    assert_eq!(join(&client, &run, whole[4].id.as_deref()).await, whole[5..]);
    assert_eq!(join(&client, &run, None).await.last().unwrap().data, whole.last().unwrap().data);
}

async fn the_stream_of_a_run_outlives_its_thread(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let whole =
        streamed(&client, "/runs/stream", &json!({"input": "hi", "stream_mode": "values"})).await;
    let run = format!("/runs/{}", text(&whole[0].data, "run_id"));
    client.get(&format!("/threads/{}", text(&whole[0].data, "thread_id"))).await.json(404);
    let again = join(&client, &run, Some("0")).await;
    assert_eq!(again, whole);
    let left: Value = wait(&client, &run).await;
    assert_eq!(left["messages"], data(&again, "values").pop().unwrap()["messages"]);
}
