//! The rules, in the order in which they are tried.

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::message::{Message, Role};
use crate::models::chat::ChatRequest;
use crate::models::scripted::{Answer, words};

/// How far apart the numbers of a count come.
const COUNT_APART: Duration = Duration::from_millis(10);
/// A longer count is cut.
const COUNT_MOST: i64 = 100_000;

type Rule = fn(&Heard) -> Option<Answer>;

const RULES: &[Rule] =
    &[client_tool, fail, count, think, code_word, weather, delete_files, email, search, subagent];

/// What the model goes by.
struct Heard<'a> {
    request: &'a ChatRequest,
    /// The last user message.
    said: String,
    /// The messages before it.
    earlier: &'a [Message],
    /// The messages after it.
    since: &'a [Message],
}

/// The answer to a request.
pub(super) fn answer(request: &ChatRequest) -> Answer {
    let messages = request.messages.as_slice();
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let (earlier, said, since) = match last.and_then(|at| messages.split_at_checked(at)) {
        Some((earlier, [said, since @ ..])) => (earlier, said.text(), since),
        Some((_, [])) | None => (messages, String::new(), &[][..]),
    };
    let heard = Heard { request, said, earlier, since };
    let results = heard.results();
    if !results.is_empty() {
        return edit_hit(&heard).unwrap_or_else(|| relate(&results));
    }
    RULES
        .iter()
        .find_map(|rule| rule(&heard).filter(|answer| heard.offers_all(answer)))
        .unwrap_or_else(|| Answer::Text(format!("You said: {}", heard.said)))
}

impl Heard<'_> {
    /// The results of the newest calls since the user spoke, in call order.
    fn results(&self) -> Vec<&Message> {
        let Some(asked) = self.since.iter().rfind(|message| !message.tool_calls.is_empty()) else {
            return Vec::new();
        };
        let result = |id: &str| {
            self.since.iter().find(|message| message.tool_call_id.as_deref() == Some(id))
        };
        asked.tool_calls.iter().filter_map(|call| result(&call.id)).collect()
    }

    fn offers(&self, name: &str) -> bool {
        let request = self.request;
        request.tools.iter().chain(&request.client_tools).any(|tool| tool.name == name)
    }

    fn offers_all(&self, answer: &Answer) -> bool {
        match answer {
            Answer::Calls(calls) => calls.iter().all(|(name, _)| self.offers(name)),
            Answer::Text(_) | Answer::Lines(..) | Answer::Thought { .. } | Answer::Failure => true,
        }
    }
}

/// After tool results: the first clause of each.
fn relate(results: &[&Message]) -> Answer {
    let clauses: Vec<_> =
        results.iter().map(|message| words::first_clause(&message.text())).collect();
    Answer::Text(clauses.join(" "))
}

fn client_tool(heard: &Heard) -> Option<Answer> {
    let tool =
        heard.request.client_tools.iter().find(|tool| words::has(&heard.said, &tool.name))?;
    Some(Answer::Calls(vec![(tool.name.clone(), json!({"question": heard.said}))]))
}

fn fail(heard: &Heard) -> Option<Answer> {
    heard.said.trim().eq_ignore_ascii_case("fail").then_some(Answer::Failure)
}

fn count(heard: &Heard) -> Option<Answer> {
    let range = words::after(&heard.said, "count from")?;
    let first = words::first_number(words::before(range, "to"))?;
    let last = words::first_number(words::after(range, "to")?)?;
    let length = first.abs_diff(last).min(COUNT_MOST.unsigned_abs());
    let step = if last < first { -1 } else { 1 };
    let lines = (0..=i64::try_from(length).ok()?).map(|at| (first + step * at).to_string());
    Some(Answer::Lines(lines.collect(), COUNT_APART))
}

fn think(heard: &Heard) -> Option<Answer> {
    let topic = words::bare(words::after(&heard.said, "think about")?);
    Some(Answer::Thought {
        reasoning: format!("Thinking about {topic}…"),
        text: format!("I thought about {topic}."),
    })
}

fn code_word(heard: &Heard) -> Option<Answer> {
    words::after(&heard.said, "what is the code word")?;
    let users = heard.earlier.iter().rev().filter(|message| message.role == Role::User);
    let word = users.map(Message::text).find_map(|text| {
        let word = words::after(&text, "code word is")?.split_whitespace().next()?;
        Some(word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_owned())
    });
    Some(Answer::Text(word.unwrap_or_else(|| "I do not know.".to_owned())))
}

fn weather(heard: &Heard) -> Option<Answer> {
    let places = words::up_to(words::after(&heard.said, "weather in")?, &['.', '?', '!', ',']);
    calls("get_weather", "location", words::listed(places))
}

fn delete_files(heard: &Heard) -> Option<Answer> {
    let said = &heard.said;
    let files =
        words::after(said, "delete the files").or_else(|| words::after(said, "delete the file"))?;
    calls("delete_file", "path", words::listed(files))
}

fn email(heard: &Heard) -> Option<Answer> {
    let address = words::bare(words::after(&heard.said, "email")?.split_whitespace().next()?);
    if !address.contains('@') {
        return None;
    }
    let args = json!({"to": address, "subject": "Hello", "body": heard.said});
    Some(Answer::Calls(vec![("send_email".to_owned(), args)]))
}

fn search(heard: &Heard) -> Option<Answer> {
    let said = &heard.said;
    let chinese = || said.split_once("搜索").map(|(_, after)| after);
    let wanted = words::after(said, "search").or_else(chinese)?;
    let query = words::before(words::up_to(wanted, &['并']), "and").replace("视频", "");
    let args = json!({"query": words::bare(&query)});
    Some(Answer::Calls(vec![("search_media_by_semantics".to_owned(), args)]))
}

/// After the search of a message that also wants a cut: trims and marks the first hit.
fn edit_hit(heard: &Heard) -> Option<Answer> {
    let said = &heard.said;
    if !words::has(said, "trim") && !said.contains("裁剪") {
        return None;
    }
    let results = heard.results();
    let [found] = results.as_slice() else { return None };
    if found.name.as_deref() != Some("search_media_by_semantics") {
        return None;
    }
    let found: Value = serde_json::from_str(&found.text()).ok()?;
    let hit = found.pointer("/Recall/0/file_id")?;
    let end = words::first_number(said).unwrap_or(10);
    let answer = Answer::Calls(vec![
        ("trim_video".to_owned(), json!({"file_id": hit, "start": 0, "end": end})),
        ("add_watermark".to_owned(), json!({"file_id": hit, "text": "runloom"})),
    ]);
    heard.offers_all(&answer).then_some(answer)
}

fn subagent(heard: &Heard) -> Option<Answer> {
    let said = &heard.said;
    let task = words::after(said, "ask the subagent").or_else(|| words::after(said, "research"))?;
    calls("task", "description", vec![task.trim().to_owned()])
}

/// One call of `tool` for each value of its one argument; no value, no rule.
fn calls(tool: &str, argument: &str, values: Vec<String>) -> Option<Answer> {
    if values.iter().all(String::is_empty) {
        return None;
    }
    let call = |value| (tool.to_owned(), json!({argument: value}));
    Some(Answer::Calls(values.into_iter().map(call).collect()))
}
