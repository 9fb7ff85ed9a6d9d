use std::sync::Arc;

use futures::TryStreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Scripted, words};
use crate::domain::message::{Message, ToolCall};
use crate::domain::ports::{BoxFuture, Timer};
use crate::domain::tool::{ToolSpec, no_parameters};
use crate::models::chat::{ChatDelta, ChatModel, ChatOptions, ChatRequest, ModelError};

struct NoTime;

impl Timer for NoTime {
    fn sleep(&self, _: std::time::Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), parameters: no_parameters() }
}

fn request(messages: Vec<Message>, tools: &[&str]) -> ChatRequest {
    ChatRequest {
        messages,
        tools: tools.iter().map(|name| tool(name)).collect(),
        client_tools: Vec::new(),
        options: ChatOptions::default(),
        seed: Uuid::from_u128(7),
        timer: Arc::new(NoTime),
    }
}

async fn deltas(request: ChatRequest) -> Result<Vec<ChatDelta>, ModelError> {
    Scripted.stream(request).await?.try_collect().await
}

/// The whole text, and the calls with their arguments.
async fn answer(request: ChatRequest) -> (String, Vec<(String, Value)>) {
    let (mut text, mut calls) = (String::new(), Vec::<(String, String)>::new());
    for delta in deltas(request).await.unwrap() {
        match delta {
            ChatDelta::Text(piece) => text.push_str(&piece),
            ChatDelta::ToolCall { name, .. } => calls.push((name, String::new())),
            ChatDelta::ToolArgs { index, fragment } => calls[index].1.push_str(&fragment),
            _ => {}
        }
    }
    let parsed = calls.into_iter().map(|(name, args)| (name, serde_json::from_str(&args).unwrap()));
    (text, parsed.collect())
}

async fn to(said: &str, tools: &[&str]) -> (String, Vec<(String, Value)>) {
    answer(request(vec![Message::user("u", said)], tools)).await
}

#[tokio::test]
async fn the_weather_is_asked_for_once_a_place_in_its_spelling() {
    let (_, calls) = to("What is the Weather in sf and New York?", &["get_weather"]).await;
    assert_eq!(
        calls,
        [
            ("get_weather".to_owned(), json!({"location": "sf"})),
            ("get_weather".to_owned(), json!({"location": "New York"})),
        ]
    );
}

#[tokio::test]
async fn a_rule_needs_the_tools_that_it_would_call() {
    let (text, calls) = to("weather in sf", &[]).await;
    assert_eq!((text.as_str(), calls.len()), ("You said: weather in sf", 0));
}

#[tokio::test]
async fn results_are_related_by_their_first_clauses() {
    let call = |id: &str| ToolCall { id: id.into(), name: "get_weather".into(), args: json!({}) };
    let mut asked = Message::assistant("a", "");
    asked.tool_calls = vec![call("c1"), call("c2"), call("c3")];
    let sunny = "It's sunny in San Francisco, but you better look out if you're a Gemini 😈.";
    let messages = vec![
        Message::user("u", "weather in sf and x"),
        asked,
        Message::tool("t2", "c2", "get_weather", "Deleted a.txt. Really."),
        Message::tool("t1", "c1", "get_weather", sunny),
        Message::tool("t3", "c3", "get_weather", r#"{"Recall":[1,2]}"#),
    ];
    let (text, _) = answer(request(messages, &["get_weather"])).await;
    assert_eq!(text, r#"It's sunny in San Francisco. Deleted a.txt. {"Recall":[1,2]}"#);
}

#[tokio::test]
async fn a_count_is_one_number_a_line() {
    assert_eq!(to("Count from 3 to 5", &[]).await.0, "3\n4\n5");
    assert_eq!(to("count from 2 to 0", &[]).await.0, "2\n1\n0");
}

#[tokio::test]
async fn thinking_comes_before_the_answer() {
    let all =
        deltas(request(vec![Message::user("u", "think about two cats.")], &[])).await.unwrap();
    let reasoning: String = all
        .iter()
        .filter_map(|delta| match delta {
            ChatDelta::Reasoning(piece) => Some(piece.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(reasoning, "Thinking about two cats…");
    assert!(matches!(all[0], ChatDelta::Reasoning(_)));
    assert!(matches!(all.last(), Some(ChatDelta::Usage(_))));
}

#[tokio::test]
async fn the_code_word_is_remembered() {
    let messages = |said: &str| {
        vec![
            Message::user("1", said),
            Message::assistant("2", "ok"),
            Message::user("3", "What is the code word?"),
        ]
    };
    let (told, _) = answer(request(messages("the code word is \"tulip\"!"), &[])).await;
    let (untold, _) = answer(request(messages("hello"), &[])).await;
    assert_eq!((told.as_str(), untold.as_str()), ("tulip", "I do not know."));
}

#[tokio::test]
async fn files_and_mail_and_subagents_become_calls() {
    let (_, calls) = to("Please delete the files /a.txt, b and c.md.", &["delete_file"]).await;
    let paths: Vec<_> = calls.iter().map(|(_, args)| args["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/a.txt", "b", "c.md"]);
    let (_, calls) = to("email ann@example.com, please", &["send_email"]).await;
    assert_eq!(calls[0].1["to"], "ann@example.com");
    assert_eq!(calls[0].1["body"], "email ann@example.com, please");
    let (_, calls) = to("Ask the subagent weather in sf", &["task"]).await;
    assert_eq!(calls[0].1, json!({"description": "weather in sf"}));
}

#[tokio::test]
async fn a_search_is_followed_by_the_cut() {
    let said = "搜索海浪视频并裁剪前10秒";
    let tools = ["search_media_by_semantics", "trim_video", "add_watermark"];
    let (_, calls) = to(said, &tools).await;
    assert_eq!(calls, [("search_media_by_semantics".to_owned(), json!({"query": "海浪"}))]);
    let mut asked = Message::assistant("a", "");
    asked.tool_calls =
        vec![ToolCall { id: "c".into(), name: calls[0].0.clone(), args: calls[0].1.clone() }];
    let found = r#"{"Recall":[{"file_id":"vod-file-001"}]}"#;
    let result = Message::tool("t", "c", "search_media_by_semantics", found);
    let (_, calls) = answer(request(vec![Message::user("u", said), asked, result], &tools)).await;
    assert_eq!(
        calls,
        [
            ("trim_video".to_owned(), json!({"file_id": "vod-file-001", "start": 0, "end": 10})),
            ("add_watermark".to_owned(), json!({"file_id": "vod-file-001", "text": "runloom"})),
        ]
    );
}

#[tokio::test]
async fn a_client_tool_is_called_by_its_name() {
    let mut asked = request(vec![Message::user("u", "please Clarify this")], &["get_weather"]);
    asked.client_tools = vec![tool("clarify")];
    let (_, calls) = answer(asked).await;
    assert_eq!(calls, [("clarify".to_owned(), json!({"question": "please Clarify this"}))]);
}

#[tokio::test]
async fn fail_is_a_model_error() {
    let error = deltas(request(vec![Message::user("u", "fail")], &[])).await.unwrap_err();
    assert_eq!(error.message, "scripted failure");
}

#[test]
fn keywords_are_whole_words() {
    assert!(words::has("do a Search now", "search"));
    assert!(!words::has("researching", "search"));
    assert_eq!(words::pieces("a  b c").collect::<String>(), "a  b c");
}
