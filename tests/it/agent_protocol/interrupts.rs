//! Questions: asked, answered once, given up.

use futures::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::probe::Probe;
use super::{begin, eventually, last_text, list, new_thread, start, text, turn};
use crate::harness::client::Client;
use crate::harness::db::{Database, on_both_databases};

on_both_databases!(
    a_question_is_seen_everywhere_and_answered_by_a_run,
    any_value_is_an_answer,
    several_questions_are_answered_by_name,
    what_is_not_open_cannot_be_answered,
    of_two_answers_at_once_one_counts,
    plain_input_gives_the_question_up,
    a_run_can_be_stopped_before_and_after_nodes,
    a_command_can_write_and_lead_elsewhere,
    a_review_takes_only_decisions_that_it_offers,
    a_question_outlives_a_restart,
);

async fn ask(client: &Client, thread: &str, probe: &Probe) -> Value {
    let body = json!({"agent_id": "asks", "input": "really?", "config": probe.config()});
    turn(client, thread, &body).await
}

fn resume(probe: &Probe, answer: impl Into<Value>) -> Value {
    json!({"command": {"resume": answer.into()}, "config": probe.config()})
}

async fn a_question_is_seen_everywhere_and_answered_by_a_run(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let paused = ask(&client, &thread, &probe).await;
    assert_eq!(paused["status"], "interrupted");
    let asked = &paused["interrupts"];
    assert_eq!(
        (&asked[0]["value"], &asked[0]["namespace"]),
        (&json!({"question": "really?"}), &json!([]))
    );
    assert!(Uuid::parse_str(asked[0]["id"].as_str().unwrap()).is_ok());
    let run = format!("{thread}/runs/{}", text(&paused, "run_id"));
    let seen = client.get(&thread).await.json(200);
    assert_eq!((&seen["status"], &seen["interrupts"]), (&json!("interrupted"), asked));
    assert_eq!(&client.get(&run).await.json(200)["interrupts"], asked);
    let newest = client.get(&format!("{thread}/history?limit=1")).await.json(200);
    assert_eq!((&newest[0]["interrupts"], &newest[0]["next"]), (asked, &json!(["ask"])));
    let found = client.post("/threads/search", &json!({"status": "interrupted"})).await.json(200);
    assert_eq!(found[0]["interrupts"], *asked);

    let answered = turn(&client, &thread, &resume(&probe, "yes")).await;
    assert_eq!(
        (&answered["status"], &answered["values"]),
        (&json!("success"), &json!({"answer": "yes"}))
    );
    assert_eq!(answered["interrupts"], Value::Null);
    assert_eq!(list(&answered["messages"]).len(), 1);
    let seen = client.get(&thread).await.json(200);
    assert_eq!((&seen["status"], &seen["interrupts"]), (&json!("idle"), &Value::Null));
    // The run that asked stays what it is; the one that answered tells how.
    assert_eq!(client.get(&run).await.json(200)["status"], "interrupted");
    assert_eq!(answered["run"]["command"]["resume"][asked[0]["id"].as_str().unwrap()], "yes");
}

async fn any_value_is_an_answer(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let stranger = Uuid::new_v4().to_string();
    for answer in [
        json!(null),
        json!(false),
        json!(0),
        json!(""),
        json!([]),
        json!({}),
        json!({"a": null}),
        json!({"a": 1, stranger: 2}),
        json!("\u{0}"),
    ] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        ask(&client, &thread, &probe).await;
        let answered = turn(&client, &thread, &resume(&probe, answer.clone())).await;
        assert_eq!(
            (&answered["status"], &answered["values"]["answer"]),
            (&json!("success"), &answer)
        );
    }
}

async fn several_questions_are_answered_by_name(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for together in [true, false] {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        let body = json!({"agent_id": "parallel", "config": probe.config()});
        let paused = turn(&client, &thread, &body).await;
        let asked = list(&paused["interrupts"]);
        assert_eq!(asked.len(), 2);
        let of = |node: &str| {
            let question = asked.iter().find(|one| one["value"]["from"] == node).unwrap();
            text(question, "id")
        };
        let (left, right) = (of("left"), of("right"));
        assert_ne!(left, right);
        let path = format!("{thread}/runs");
        for wrong in [json!("bare"), json!({"a": 1}), json!({})] {
            client.post(&path, &resume(&probe, wrong)).await.json(422);
        }
        assert_eq!(
            client.get(&thread).await.json(200)["interrupts"],
            paused["interrupts"],
            "nothing is consumed"
        );
        if together {
            let both = json!({left: "l", right: "r"});
            let done = turn(&client, &thread, &resume(&probe, both)).await;
            assert_eq!(done["values"], json!({"left": "l", "quiet": true, "right": "r"}));
        } else {
            let some = turn(&client, &thread, &resume(&probe, json!({right.clone(): "r"}))).await;
            assert_eq!(
                (&some["status"], list(&some["interrupts"]).len()),
                (&json!("interrupted"), 1)
            );
            assert_eq!(some["interrupts"][0]["id"], left);
            assert_eq!(client.get(&thread).await.json(200)["interrupts"], some["interrupts"]);
            let again = json!({right: "again"});
            client.post(&path, &resume(&probe, again)).await.json(422);
            let done = turn(&client, &thread, &resume(&probe, "l")).await;
            assert_eq!(done["values"], json!({"left": "l", "quiet": true, "right": "r"}));
        }
        let counts = probe.counts();
        assert!(counts.values().all(|times| *times == 1), "each once: {counts:?}");
    }
}

async fn what_is_not_open_cannot_be_answered(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let path = format!("{thread}/runs");
    let code = async |body: &Value, status: u16| {
        text(&client.post(&path, body).await.json(status), "code")
    };
    assert_eq!(code(&resume(&probe, "x"), 409).await, "nothing_to_resume");
    assert_eq!(
        text(&client.post("/runs", &resume(&probe, "x")).await.json(409), "code"),
        "nothing_to_resume"
    );
    ask(&client, &thread, &probe).await;
    let unknown = json!({Uuid::new_v4().to_string(): "x"});
    assert_eq!(code(&resume(&probe, unknown), 422).await, "invalid_argument");
    turn(&client, &thread, &resume(&probe, "yes")).await;
    assert_eq!(code(&resume(&probe, "again"), 409).await, "nothing_to_resume");

    let door = json!({"agent_id": "door", "input": "in", "config": probe.config()});
    begin(&client, &thread, &door).await;
    assert_eq!(code(&resume(&probe, "x"), 409).await, "thread_busy");
    probe.let_pass(1);
    eventually(&client, &thread, |thread| thread["status"] == "idle").await;
    assert_eq!(
        list(&client.get(&path).await.json(200)).len(),
        3,
        "nothing is left of those refused"
    );
    assert_eq!(probe.count("answered"), 1);
}

async fn of_two_answers_at_once_one_counts(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    for _ in 0..5 {
        let (probe, thread) = (Probe::new(), new_thread(&client).await);
        ask(&client, &thread, &probe).await;
        let path = format!("{thread}/runs");
        let answers = join_all((0..8).map(|number| {
            let (client, path, body) = (client.clone(), path.clone(), resume(&probe, number));
            async move { client.post(&path, &body).await.status }
        }))
        .await;
        let mut sorted = answers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [200, 409, 409, 409, 409, 409, 409, 409]);
        let winner = answers.iter().position(|status| *status == 200).unwrap();
        let left = eventually(&client, &thread, |thread| thread["status"] == "idle").await;
        assert_eq!((&left["values"]["answer"], probe.count("answered")), (&json!(winner), 1));
    }
}

async fn plain_input_gives_the_question_up(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    ask(&client, &thread, &probe).await;
    let heard = turn(&client, &thread, &json!({"agent_id": "echo", "input": "never mind"})).await;
    assert_eq!((&heard["status"], last_text(&heard)), (&json!("success"), "echo: never mind"));
    let seen = client.get(&thread).await.json(200);
    assert_eq!((&seen["status"], &seen["interrupts"]), (&json!("idle"), &Value::Null));
    client.post(&format!("{thread}/runs"), &resume(&probe, "late")).await.json(409);
    // An open call gets a result, so that the conversation stays whole.
    let thread = new_thread(&client).await;
    let body = json!({"agent_id": "human-in-the-loop", "input": "delete the file a.txt"});
    assert_eq!(turn(&client, &thread, &body).await["status"], "interrupted");
    let heard = turn(&client, &thread, &json!({"input": "hello"})).await;
    let results: Vec<_> =
        list(&heard["messages"]).iter().filter(|one| one["role"] == "tool").collect();
    assert_eq!(results.len(), 1);
    assert!(results[0]["content"].as_str().unwrap().to_lowercase().contains("not executed"));
}

async fn a_run_can_be_stopped_before_and_after_nodes(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({
        "agent_id": "walk", "input": "go", "config": probe.config(),
        "interrupt_before": ["step_2"], "interrupt_after": ["step_3"],
    });
    let paused = turn(&client, &thread, &body).await;
    assert_eq!(
        (&paused["status"], &paused["values"]["steps"]),
        (&json!("interrupted"), &json!(["1"]))
    );
    assert_eq!(list(&paused["interrupts"]).len(), 1);
    let newest = client.get(&format!("{thread}/history?limit=1")).await.json(200);
    assert_eq!(newest[0]["next"], json!(["step_2"]));
    assert_eq!(client.get(&thread).await.json(200)["status"], "interrupted");
    // Without input it goes on; breakpoints belong to a run, so this one names its own.
    let on = json!({"agent_id": "walk", "config": probe.config(), "interrupt_after": ["step_3"]});
    let paused = turn(&client, &thread, &on).await;
    assert_eq!(paused["values"]["steps"], json!(["1", "2", "3"]));
    let done = turn(&client, &thread, &resume(&probe, json!(null))).await;
    assert_eq!(
        (&done["status"], &done["values"]["steps"]),
        (&json!("success"), &json!(["1", "2", "3", "4"]))
    );

    let thread = new_thread(&client).await;
    let everywhere = json!({"agent_id": "walk", "config": probe.config(), "interrupt_before": "*"});
    for steps in 0..4 {
        let paused = turn(&client, &thread, &everywhere).await;
        let made = paused["values"]["steps"].as_array().map_or(0, Vec::len);
        assert_eq!((&paused["status"], made), (&json!("interrupted"), steps));
    }
    assert_eq!(turn(&client, &thread, &everywhere).await["status"], "success");
    for wrong in [json!(["*"]), json!("step_1"), json!(7)] {
        let body = json!({"agent_id": "walk", "interrupt_before": wrong});
        client.post(&format!("{thread}/runs"), &body).await.json(422);
    }
}

async fn a_command_can_write_and_lead_elsewhere(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let jump = json!({
        "agent_id": "walk", "config": probe.config(),
        "command": {"update": {"steps": ["by hand"], "k": 1}, "goto": "step_4"},
    });
    let done = turn(&client, &thread, &jump).await;
    assert_eq!(done["values"], json!({"k": 1, "steps": ["by hand", "4"]}));
    let nowhere =
        json!({"agent_id": "walk", "config": probe.config(), "command": {"goto": ["nowhere"]}});
    let refused = client.post(&format!("{thread}/runs"), &nowhere).await.json(422);
    assert_eq!(refused["metadata"]["field"], "command.goto");

    let thread = new_thread(&client).await;
    ask(&client, &thread, &probe).await;
    let both = json!({
        "config": probe.config(), "command": {"resume": "yes", "update": {"noted": true}},
    });
    let done = turn(&client, &thread, &both).await;
    assert_eq!(done["values"], json!({"answer": "yes", "noted": true}));
}

async fn a_review_takes_only_decisions_that_it_offers(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let thread = new_thread(&client).await;
    let body = json!({"agent_id": "human-in-the-loop", "input": "delete the files a.txt, b.txt"});
    let paused = turn(&client, &thread, &body).await;
    let review = &paused["interrupts"][0]["value"];
    assert_eq!((list(&paused["interrupts"]).len(), list(&review["action_requests"]).len()), (1, 2));
    let path = format!("{thread}/runs");
    let decide = |decisions: Value| json!({"command": {"resume": {"decisions": decisions}}});
    for wrong in [
        json!([]),
        json!([{"type": "approve"}]),
        json!([{"type": "approve"}, {"type": "maybe"}]),
        json!("approve"),
    ] {
        client.post(&path, &decide(wrong)).await.json(422);
    }
    client.post(&path, &json!({"command": {"resume": "approve"}})).await.json(422);
    assert_eq!(client.get(&thread).await.json(200)["interrupts"], paused["interrupts"]);
    let decisions = json!([{"type": "approve"}, {"type": "reject", "message": "keep it"}]);
    let done = turn(&client, &thread, &decide(decisions)).await;
    assert_eq!(done["status"], "success");
    let results: Vec<_> =
        list(&done["messages"]).iter().filter(|one| one["role"] == "tool").collect();
    assert_eq!(results[0]["content"], "Deleted a.txt.");
    assert_eq!(results.len(), 2);
}

async fn a_question_outlives_a_restart(database: Database) {
    let server = start(&database).await;
    let client = server.client();
    let (probe, thread) = (Probe::new(), new_thread(&client).await);
    let body = json!({"agent_id": "parallel", "config": probe.config()});
    let paused = turn(&client, &thread, &body).await;
    server.drain().await;
    let server = start(&database).await;
    let client = server.client();
    let seen = client.get(&thread).await.json(200);
    assert_eq!(
        (&seen["status"], &seen["interrupts"]),
        (&json!("interrupted"), &paused["interrupts"])
    );
    let ids = list(&seen["interrupts"]).iter().map(|one| (text(one, "id"), json!("late")));
    let both: serde_json::Map<_, _> = ids.collect();
    let done = turn(&client, &thread, &resume(&probe, both)).await;
    assert_eq!(done["values"], json!({"left": "late", "quiet": true, "right": "late"}));
    assert!(probe.counts().values().all(|times| *times == 1));
}
