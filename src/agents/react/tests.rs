//! The demo agents, run in memory.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::react::React;
use crate::agents::registry::{Agent, Registry};
use crate::domain::checkpoint::Answers;
use crate::domain::message::{Message, Role, ToolStatus};
use crate::domain::ports::BoxFuture;
use crate::domain::state::State;
use crate::engine::memory::World;
use crate::engine::{Begin, Ended, Outcome, Update, drive};
use crate::models::{ChatDelta, ChatModel, ChatRequest, ChatStream, ModelError};

fn agent(id: &str) -> Arc<Agent> {
    Registry::demo().get(id).unwrap()
}

/// A world whose callers send these settings and offer these tools.
struct Caller {
    world: World,
    configurable: Value,
    tools: Vec<Value>,
}

impl Default for Caller {
    fn default() -> Self {
        Self { world: World::new(), configurable: json!({}), tools: Vec::new() }
    }
}

impl Caller {
    async fn drive(&self, agent: &Agent, begin: Begin) -> Outcome {
        let mut run = self.world.run();
        run.configurable = Arc::new(self.configurable.as_object().cloned().unwrap());
        run.client_tools = self.tools.clone().into();
        drive(&agent.graph, begin, &run).await.unwrap()
    }
}

async fn say(world: &Caller, agent: &Agent, text: &str) -> Outcome {
    let id = format!("said-{}", text.len());
    let input = Some(Update::new().message(Message::user(id, text)));
    world.drive(agent, Begin { at: world.world.newest(), input, ..Begin::default() }).await
}

async fn answer(world: &Caller, agent: &Agent, outcome: &Outcome, value: Value) -> Outcome {
    let Ended::Paused(interrupts) = &outcome.how else { panic!("{:?}", outcome.how) };
    let answers = Answers::from([(interrupts[0].id, value)]);
    world.drive(agent, Begin { at: world.world.newest(), answers, ..Begin::default() }).await
}

fn asked(outcome: &Outcome) -> Value {
    match &outcome.how {
        Ended::Paused(interrupts) => interrupts[0].value.clone(),
        other => panic!("{other:?}"),
    }
}

fn texts(state: &State) -> Vec<(Role, String)> {
    state.messages().iter().map(|message| (message.role, message.text())).collect()
}

const SUNNY: &str = "It's sunny in San Francisco, but you better look out if you're a Gemini 😈.";

#[tokio::test]
async fn a_question_about_the_weather_takes_one_call() {
    let (world, agent) = (Caller::default(), agent("react"));
    let outcome = say(&world, &agent, "What is the weather in sf?").await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(
        texts(&outcome.state),
        [
            (Role::User, "What is the weather in sf?".to_owned()),
            (Role::Assistant, String::new()),
            (Role::Tool, SUNNY.to_owned()),
            (Role::Assistant, "It's sunny in San Francisco.".to_owned()),
        ]
    );
    let calls = &outcome.state.messages()[1].tool_calls;
    assert_eq!((&*calls[0].name, &calls[0].args), ("get_weather", &json!({"location": "sf"})));
}

#[tokio::test]
async fn parallel_calls_are_answered_in_their_order() {
    let (world, agent) = (Caller::default(), agent("react"));
    let outcome = say(&world, &agent, "weather in sf and Oslo").await;
    let last = outcome.state.messages().pop().unwrap();
    assert_eq!(last.text(), "It's sunny in San Francisco. It's cloudy in Oslo.");
}

#[tokio::test]
async fn a_deletion_waits_for_a_decision() {
    let (world, agent) = (Caller::default(), agent("human-in-the-loop"));
    let outcome = say(&world, &agent, "delete the file a.txt").await;
    let review = asked(&outcome);
    assert_eq!(review["action_requests"][0]["name"], "delete_file");
    assert_eq!(review["action_requests"][0]["args"], json!({"path": "a.txt"}));
    assert_eq!(
        review["review_configs"],
        json!([{"action_name": "delete_file",
                "allowed_decisions": ["approve", "edit", "reject", "respond"]}])
    );
    let approved = json!({"decisions": [{"type": "approve"}]});
    let outcome = answer(&world, &agent, &outcome, approved).await;
    assert_eq!(outcome.how, Ended::Done);
    let messages = outcome.state.messages();
    assert_eq!(messages[2].text(), "Deleted a.txt.");
    let kept = &messages[2].metadata.as_ref().unwrap()["decision"];
    assert_eq!((&kept["type"], &kept["by"]), (&json!("approve"), &json!("default")));
    assert!(kept["at"].as_str().unwrap().starts_with("2023-11-14T22:13:20"), "{kept}");
    assert_eq!(messages[3].text(), "Deleted a.txt.");
}

#[tokio::test]
async fn each_decision_does_what_it_says() {
    let (world, agent) = (Caller::default(), agent("human-in-the-loop"));
    let outcome = say(&world, &agent, "delete the files a, b and c").await;
    let decisions = json!({"decisions": [
        {"type": "edit", "edited_action": {"name": "delete_file", "args": {"path": "x"}}},
        {"type": "reject", "message": "not this one"},
        {"type": "respond", "message": "It was gone already."},
    ]});
    let outcome = answer(&world, &agent, &outcome, decisions).await;
    let results: Vec<_> =
        outcome.state.messages().into_iter().filter(|one| one.role == Role::Tool).collect();
    assert_eq!(results[0].text(), "Deleted x.");
    assert_eq!(results[1].text(), "The call of delete_file was rejected: not this one");
    assert_eq!(results[1].status, Some(ToolStatus::Error));
    assert_eq!(results[2].text(), "It was gone already.");
}

#[tokio::test]
async fn the_mode_decides_what_is_asked_for() {
    let media = agent("video-mixcut");
    let said = "search ocean waves and trim the first 10 seconds";
    let world = Caller { configurable: json!({"approval_mode": "level:low"}), ..Caller::default() };
    let outcome = say(&world, &media, said).await;
    let names: Vec<_> = asked(&outcome)["action_requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|request| request["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["trim_video", "add_watermark"]);
    let outcome = say(&Caller::default(), &media, said).await;
    assert_eq!(outcome.how, Ended::Done);
}

#[tokio::test]
async fn a_subagent_runs_inside() {
    let (world, agent) = (Caller::default(), agent("subagents"));
    let outcome = say(&world, &agent, "ask the subagent weather in sf").await;
    assert_eq!(outcome.how, Ended::Done);
    assert_eq!(outcome.state.messages()[2].text(), "It's sunny in San Francisco.");
}

#[tokio::test]
async fn a_failing_model_fails_the_run_with_its_code() {
    let outcome = say(&Caller::default(), &agent("react"), "fail").await;
    let Ended::Failed(error) = outcome.how else { panic!("{:?}", outcome.how) };
    assert_eq!((&*error.code, &*error.message), ("ModelError", "scripted failure"));
}

#[tokio::test]
async fn open_calls_are_answered_before_the_model_goes_on() {
    let (world, agent) = (Caller::default(), agent("human-in-the-loop"));
    say(&world, &agent, "delete the file a.txt").await;
    let outcome = say(&world, &agent, "never mind").await;
    let messages = outcome.state.messages();
    let repaired = messages.iter().find(|one| one.role == Role::Tool).unwrap();
    assert_eq!(repaired.text(), "not executed");
    assert_eq!(messages.last().unwrap().text(), "You said: never mind");
}

#[tokio::test]
async fn a_call_of_a_client_tool_ends_the_run_until_its_result_comes() {
    let agent = agent("react");
    let tool = json!({"name": "clarify", "description": "asks the user"});
    let world = Caller { tools: vec![tool], ..Caller::default() };
    let outcome = say(&world, &agent, "please clarify").await;
    assert_eq!(outcome.how, Ended::Done);
    let call = outcome.state.messages().pop().unwrap().tool_calls.remove(0);
    assert_eq!(call.name, "clarify");
    let result = Message::tool("r", call.id, "clarify", "The blue one.");
    let input = Some(Update::new().message(result));
    let begin = Begin { at: world.world.newest(), input, ..Begin::default() };
    let outcome = world.drive(&agent, begin).await;
    assert_eq!(outcome.state.messages().pop().unwrap().text(), "The blue one.");
}

/// Answers with a fixed text.
struct Says(&'static str);

impl ChatModel for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let deltas = [Ok(ChatDelta::Text(self.0.to_owned()))];
        Box::pin(async move { Ok(Box::pin(futures::stream::iter(deltas)) as ChatStream) })
    }
}

#[tokio::test]
async fn a_structured_answer_is_a_value_and_must_follow_its_schema() {
    for (said, kept) in
        [(r#"{"n": 1}"#, Some(json!({"n": 1}))), (r#"{"n": "x"}"#, None), ("n", None)]
    {
        let mut react = React::new(Arc::new(Says(said)));
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        react.options.response_schema = Some(schema);
        let agent = react.agent("a", "A").unwrap();
        assert_eq!(
            agent.schemas.state["properties"]["structured_response"]["type"],
            json!("object")
        );
        let outcome = say(&Caller::default(), &agent, "go").await;
        assert_eq!(outcome.state.values().get("structured_response"), kept.as_ref());
        match outcome.how {
            Ended::Failed(error) => {
                assert_eq!((error.code.as_str(), kept), ("invalid_answer", None));
            }
            other => assert!(kept.is_some(), "{other:?}"),
        }
    }
}
