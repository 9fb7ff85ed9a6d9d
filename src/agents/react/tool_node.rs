//! The node `tool_node`: executes the calls of the newest message, all at once, and asks for those
//! that need a decision.
//!
//! Calls that need none are executed before anything is asked, and their results are kept over
//! the pause ([`Cx::once`]), so that they run exactly once. What is executed is what was stored:
//! the arguments in the message, or those of a person's edit.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::Map;

use crate::agents::react::{React, Subagent, calling, is_clients, policy::Mode, results};
use crate::agents::review::{ActionRequest, Decision, Review, ReviewConfig};
use crate::domain::event::Cause;
use crate::domain::message::{Message, ToolCall};
use crate::domain::ports::BoxFuture;
use crate::domain::state::State;
use crate::domain::tool::Risk;
use crate::engine::{Cx, Halt, Update};
use crate::tools::tool::check_args;
use crate::tools::{Call, Failure, Progress};

pub(super) async fn run(agent: Arc<React>, state: State, cx: Cx) -> Result<Update, Halt> {
    let Some(message) = calling(&state) else { return Ok(Update::new()) };
    let agent = agent.loaded().await;
    let mode = Mode::read(cx.configurable())?;
    let calls: Vec<Planned> = message
        .tool_calls
        .iter()
        .filter(|call| !is_clients(&message, &call.id))
        .enumerate()
        .map(|(place, call)| Planned::new(&agent, mode, place, call, &cx))
        .collect();
    let (asked, free): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.review.is_some());
    let node = Node { agent: &agent, state: &state, cx: &cx };
    let done = join_all(free.iter().map(|call| node.run_once(call))).await;
    let decided = decide(&asked, &cx);
    let done: Vec<Message> = done.into_iter().collect::<Result<_, _>>()?;
    let decisions = decided?;
    let reviewed = asked.iter().zip(decisions).map(|(call, decision)| node.settle(call, decision));
    let reviewed: Vec<Message> = join_all(reviewed).await.into_iter().collect::<Result<_, _>>()?;
    let invalid =
        results::of_invalid_calls(&message, |ordinal| cx.message_id(calls.len() + ordinal));
    let mut all: Vec<Message> = done.into_iter().chain(reviewed).collect();
    let place = |result: &Message| calls.iter().position(|call| call.is_answered_by(result));
    all.sort_by_key(place);
    Ok(Update::new().messages(all).messages(invalid))
}

/// A call to be executed.
struct Planned<'a> {
    call: &'a ToolCall,
    /// The id of its result.
    result_id: String,
    idempotency_key: String,
    /// What is asked before it is executed.
    review: Option<(ActionRequest, ReviewConfig)>,
}

impl<'a> Planned<'a> {
    fn new(agent: &React, mode: Mode, place: usize, call: &'a ToolCall, cx: &Cx) -> Self {
        let tool = agent.tools.get(&call.name);
        let risk = tool.as_ref().map_or(Risk::None, |tool| tool.risk());
        let spec = agent.spec(&call.name);
        let description = spec.as_ref().map(|spec| spec.description.clone()).unwrap_or_default();
        let allowed = spec.and_then(|_| agent.policy.asks(mode, &call.name, risk));
        let review = allowed.map(|allowed_decisions| {
            let (name, args) = (call.name.clone(), call.args.clone());
            let config = ReviewConfig { action_name: call.name.clone(), allowed_decisions };
            (ActionRequest { name, args, description }, config)
        });
        Self {
            call,
            result_id: cx.message_id(place),
            idempotency_key: cx.idempotency_key(place),
            review,
        }
    }

    fn is_answered_by(&self, result: &Message) -> bool {
        result.tool_call_id.as_deref() == Some(&self.call.id)
    }
}

/// Asks for all of them at once; the decisions come in the order of the calls.
fn decide(asked: &[&Planned], cx: &Cx) -> Result<Vec<Decision>, Halt> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut review = Review::default();
    for (request, config) in asked.iter().filter_map(|call| call.review.as_ref()) {
        review.action_requests.push(request.clone());
        if !review.review_configs.contains(config) {
            review.review_configs.push(config.clone());
        }
    }
    let answer = cx.interrupt(serde_json::to_value(&review)?)?;
    Ok(review.decisions(&answer)?)
}

struct Node<'a> {
    agent: &'a React,
    state: &'a State,
    cx: &'a Cx,
}

impl Node<'_> {
    /// Executes a call that needs no decision; not again after a pause.
    async fn run_once(&self, planned: &Planned<'_>) -> Result<Message, Halt> {
        let args = planned.call.args.as_object().cloned().unwrap_or_default();
        self.cx.once(&planned.call.id, self.execute(planned, args)).await
    }

    /// Does what was decided about a call. The result tells what that was.
    async fn settle(&self, planned: &Planned<'_>, decision: Decision) -> Result<Message, Halt> {
        let args = planned.call.args.as_object().cloned().unwrap_or_default();
        let (call, id) = (planned.call, &planned.result_id);
        let result = match &decision {
            Decision::Approve => self.execute(planned, args).await?,
            Decision::Edit { args } => self.execute(planned, args.clone()).await?,
            Decision::Reject { message } => {
                self.told(planned, results::rejected(id, call, message.as_deref())).await
            }
            Decision::Respond { message } => {
                self.told(planned, results::responded(id, call, message)).await
            }
        };
        Ok(results::with_decision(result, &decision, self.cx))
    }

    /// Shows a result that no tool made.
    async fn told(&self, planned: &Planned<'_>, result: Message) -> Message {
        let call = planned.call;
        let shown = self.cx.tool(&*call.id, &*call.name, call.args.clone()).await;
        shown.finish(&result).await;
        result
    }

    async fn execute(
        &self,
        planned: &Planned<'_>,
        args: Map<String, serde_json::Value>,
    ) -> Result<Message, Halt> {
        let call = planned.call;
        let shown = self.cx.tool(&*call.id, &*call.name, args.clone().into()).await;
        let outcome = match self.agent.subagents.iter().find(|sub| sub.spec.name == call.name) {
            Some(subagent) => self.ask_subagent(call, subagent, &args).await?,
            None => self.call_tool(planned, args, &shown).await,
        };
        let result = results::of(&planned.result_id, call, outcome);
        shown.finish(&result).await;
        Ok(result)
    }

    async fn call_tool(
        &self,
        planned: &Planned<'_>,
        args: Map<String, serde_json::Value>,
        shown: &crate::engine::ToolCall,
    ) -> Result<String, Failure> {
        let name = &planned.call.name;
        let (cx, progress) = (self.cx, Shown(shown));
        let output = self.agent.tools.call(
            name,
            Call {
                id: &planned.call.id,
                args,
                owner: cx.owner(),
                thread_id: cx.thread_id(),
                run_id: cx.run_id(),
                state: self.state,
                memory: cx.memory(),
                configurable: cx.configurable(),
                idempotency_key: planned.idempotency_key.clone(),
                progress: &progress,
            },
        );
        output.await.map(|output| output.content)
    }

    /// Runs another agent's graph on the task; its last words are the result, and so is its
    /// failure.
    async fn ask_subagent(
        &self,
        call: &ToolCall,
        subagent: &Subagent,
        args: &Map<String, serde_json::Value>,
    ) -> Result<Result<String, Failure>, Halt> {
        if let Err(wrong) = check_args(&subagent.spec, args) {
            return Ok(Err(wrong));
        }
        let text = |name| args.get(name).and_then(serde_json::Value::as_str);
        let Some(graph) = subagent.graph(text("agent")) else {
            return Ok(Err(Failure::new("there is no such agent")));
        };
        let id = format!("{}:task", call.id);
        let task = text("description").unwrap_or_default();
        let input = Update::new().message(Message::user(id, task));
        let cause = Cause::ToolCall { call_id: call.id.as_str().into() };
        match self.cx.run_subgraph(graph, &*call.id, input, cause).await {
            Ok(state) => {
                let last = state.messages().pop();
                Ok(Ok(last.map(|message| message.text()).unwrap_or_default()))
            }
            Err(halt) => match halt.failure() {
                Some(error) => {
                    Ok(Err(Failure::new(format!("the agent failed: {}", error.message))))
                }
                None => Err(halt),
            },
        }
    }
}

/// A tool's output goes where its call is shown.
struct Shown<'a>(&'a crate::engine::ToolCall);

impl Progress for Shown<'_> {
    fn write<'a>(&'a self, text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.0.output(text))
    }
}
