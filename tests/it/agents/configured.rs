//! Agents of the configuration, and what is wrong with them.

use std::process::Command;

use serde_json::json;

use super::{configured, results, turn, write};

#[tokio::test]
async fn an_agent_is_listed_and_hands_tasks_to_another() {
    let (process, _folder) = configured(
        r#"
        [agents.boss]
        name = "Boss"
        description = "Delegates"
        model = "scripted"
        subagents = ["worker"]
        metadata = { team = "care" }
        [agents.worker]
        model = "scripted"
        tools = ["get_weather"]
        "#,
    );
    let client = process.client();
    let boss = client.get("/agents/boss").await.json(200);
    assert_eq!(boss["name"], "Boss");
    assert_eq!(boss["metadata"], json!({"team": "care"}));
    let messages = turn(&client, "boss", "ask the subagent weather in Oslo").await;
    assert_eq!(results(&messages), [("It's cloudy in Oslo.".to_owned(), false)]);
    let failed = turn(&client, "boss", "ask the subagent fail").await;
    assert_eq!(results(&failed), [("the agent failed: scripted failure".to_owned(), true)]);
}

#[tokio::test]
async fn a_question_of_a_subagent_goes_through_and_comes_back() {
    let (process, _folder) = configured(
        r#"
        [agents.boss]
        model = "scripted"
        subagents = ["worker"]
        [agents.worker]
        model = "scripted"
        tools = ["delete_file"]
        review = { delete_file = ["approve"] }
        "#,
    );
    let client = process.client();
    let thread = client.post("/threads", &json!({})).await.json(200);
    let path = format!("/threads/{}/runs/wait", thread["thread_id"].as_str().unwrap());
    let body = json!({"agent_id": "boss", "input": "ask the subagent delete the file a.txt"});
    let asked = client.post(&path, &body).await.json(200);
    assert_eq!(asked["interrupts"][0]["value"]["action_requests"][0]["name"], "delete_file");
    let resume = json!({"decisions": [{"type": "approve"}]});
    let body = json!({"agent_id": "boss", "command": {"resume": resume}});
    let done = client.post(&path, &body).await.json(200);
    let results = results(done["messages"].as_array().unwrap());
    assert_eq!(results, [("Deleted a.txt.".to_owned(), false)]);
}

#[tokio::test]
async fn an_agent_whose_key_is_missing_says_so() {
    let (process, _folder) = configured(
        "[models.far]\nprovider = \"openai\"\napi_key_env = \"FAR_KEY\"\n\
         [agents.far]\nmodel = \"far:away\"\n",
    );
    let client = process.client();
    client.get("/agents/far").await.json(200);
    let body = json!({"agent_id": "far", "input": "hi"});
    let answer = client.post("/runs/wait", &body).await.json(503);
    assert!(answer["message"].as_str().unwrap().contains("FAR_KEY is not set"), "{answer}");
}

#[test]
fn check_finds_everything_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(
        folder.path(),
        r#"
        [http.broken]
        url = "https://shop.example/"
        parameters = { type = "no such type" }
        [agents.a]
        model = "scripted"
        tools = ["get_whether"]
        subagents = ["b"]
        [agents.b]
        model = "scripted"
        subagents = ["a"]
        [agents.c]
        subagents = ["nobody"]
        review = { delete_file = ["approve"] }
        "#,
    );
    let output = Command::new(env!("CARGO_BIN_EXE_runloom"))
        .args(["check", "--config", &file])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    for wrong in [
        "http.broken.parameters: this is no JSON Schema",
        "agents.a.tools: there is no tool `get_whether`",
        "agents.a.subagents: the agents ask each other in a circle",
        "agents.b.subagents: the agents ask each other in a circle",
        "agents.c.model: it is missing",
        "agents.c.subagents: there is no agent `nobody`",
        "agents.c.review: the agent has no tool `delete_file`",
    ] {
        assert!(told.contains(wrong), "{wrong} is not in {told}");
    }
}

#[test]
fn every_configuration_in_the_guide_is_right() {
    let guide = include_str!("../../../docs/agents.md");
    let blocks: Vec<&str> =
        guide.split("```toml").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 5);
    for block in blocks {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), block);
        let output = Command::new(env!("CARGO_BIN_EXE_runloom"))
            .args(["check", "--config", &file])
            .output()
            .unwrap();
        assert!(output.status.success(), "{block}{}", String::from_utf8_lossy(&output.stderr));
    }
}
