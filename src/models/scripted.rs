//! A model that needs no network: fixed rules, streamed like a real one.
//!
//! It reads the last user message and answers by the first rule that fits
//! (`rules`); ids derive from the call's seed, so that a second attempt answers the same.

mod rules;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::Value;
use uuid::Uuid;

use crate::domain::message::Usage;
use crate::domain::ports::BoxFuture;
use crate::models::chat::{ChatDelta, ChatModel, ChatRequest, ChatStream, ModelError, ModelFault};

/// The model `scripted`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripted;

/// What a rule answers.
#[derive(Clone, PartialEq, Debug)]
enum Answer {
    Text(String),
    /// Lines that come this far apart.
    Lines(Vec<String>, Duration),
    Thought {
        reasoning: String,
        text: String,
    },
    Calls(Vec<(String, Value)>),
    Failure,
}

impl ChatModel for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let answer = rules::answer(&request);
        Box::pin(async move {
            if answer == Answer::Failure {
                return Err(ModelError::new(ModelFault::Refused, "scripted failure"));
            }
            Ok(speak(answer, request))
        })
    }
}

/// A delta and how long to wait before it.
type Timed = (Duration, ChatDelta);

fn speak(answer: Answer, request: ChatRequest) -> ChatStream {
    let mut deltas = deltas(answer, request.seed);
    let usage = usage(&request, &deltas);
    deltas.push((Duration::ZERO, ChatDelta::Usage(usage)));
    let timer = request.timer;
    let spoken = stream::iter(deltas).then(move |(wait, delta)| {
        let waited = (!wait.is_zero()).then(|| timer.sleep(wait));
        async move {
            if let Some(waited) = waited {
                waited.await;
            }
            Ok(delta)
        }
    });
    Box::pin(spoken)
}

fn deltas(answer: Answer, seed: Uuid) -> Vec<Timed> {
    let at_once = |delta| (Duration::ZERO, delta);
    let spoken = |text: &str| words::pieces(text).map(ChatDelta::Text).map(at_once).collect();
    let stop = |reason: &str| at_once(ChatDelta::Stop(reason.to_owned()));
    match answer {
        Answer::Text(text) => [spoken(&text), vec![stop("stop")]].concat(),
        Answer::Lines(lines, apart) => {
            let last = lines.len().saturating_sub(1);
            let lines = lines.into_iter().enumerate().map(|(at, line)| {
                let wait = if at == 0 { Duration::ZERO } else { apart };
                let line = if at == last { line } else { format!("{line}\n") };
                (wait, ChatDelta::Text(line))
            });
            lines.chain([stop("stop")]).collect()
        }
        Answer::Thought { reasoning, text } => {
            let thought: Vec<Timed> =
                words::pieces(&reasoning).map(ChatDelta::Reasoning).map(at_once).collect();
            [thought, spoken(&text), vec![stop("stop")]].concat()
        }
        Answer::Calls(calls) => {
            let calls = calls.into_iter().enumerate().flat_map(|(index, (name, args))| {
                let begun = ChatDelta::ToolCall { index, id: call_id(seed, index), name };
                let args = args.to_string();
                let fragments: Vec<_> = words::fragments(&args).collect();
                let fragments = fragments
                    .into_iter()
                    .map(move |fragment| ChatDelta::ToolArgs { index, fragment });
                std::iter::once(begun).chain(fragments)
            });
            calls.map(at_once).chain([stop("tool_calls")]).collect()
        }
        Answer::Failure => Vec::new(),
    }
}

/// The id of the `index`-th call of an answer.
fn call_id(seed: Uuid, index: usize) -> String {
    format!("call_{}", Uuid::new_v5(&seed, format!("call:{index}").as_bytes()).simple())
}

/// One token a word.
fn usage(request: &ChatRequest, deltas: &[Timed]) -> Usage {
    let words = |text: &str| text.split_whitespace().count() as u64;
    let input = request.messages.iter().map(|message| words(&message.text())).sum();
    let mut reasoning = 0;
    let output = deltas
        .iter()
        .map(|(_, delta)| match delta {
            ChatDelta::Text(text) | ChatDelta::ToolArgs { fragment: text, .. } => words(text),
            ChatDelta::Reasoning(text) => {
                reasoning += words(text);
                words(text)
            }
            ChatDelta::ToolCall { .. } => 1,
            ChatDelta::Signature(_) | ChatDelta::Usage(_) | ChatDelta::Stop(_) => 0,
        })
        .sum();
    Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        total_tokens: Some(input + output),
        reasoning_tokens: (reasoning > 0).then_some(reasoning),
        ..Usage::default()
    }
}
