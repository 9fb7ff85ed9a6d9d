//! Answers to questions, and messages in between. CDDL, section 10.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::error::Refusal;
use super::super::wire::{
    ErrorCode, Goto, InputInjectParams, InputMessage, InputRespondEntry, InputRespondParams,
    InputRole, NamespacePath, OneOrMany,
};
use super::run::accepted;
use super::{On, Outcome};
use crate::app::{Pause, StartRun, ThreadTarget};
use crate::domain::error::Error;
use crate::domain::interrupt::Interrupt;
use crate::domain::run::{self, RunCommand, RunSpec};

/// Answers one question or several in one run. What is not named stays open.
pub(super) async fn respond(on: &On, mut params: InputRespondParams) -> Outcome {
    let answers = answers(&mut params)?;
    let thread = on.app.thread_get(&on.who, on.thread).await?.thread;
    let mut resume = Map::new();
    for answer in answers {
        let asked = find(&thread.interrupts, &answer.namespace, &answer.interrupt_id)?;
        if resume.insert(asked.id.to_string(), answer.response).is_some() {
            let why = format!("interrupt {} is answered twice", asked.id);
            return Err(Refusal::new(ErrorCode::InvalidArgument, why));
        }
    }
    let goto = params.goto.map(OneOrMany::into_vec).unwrap_or_default();
    let command = RunCommand {
        update: params.update,
        goto: goto.into_iter().map(Into::into).collect(),
        ..RunCommand::default()
    };
    let spec = RunSpec {
        command: Some(command),
        config: params.config.unwrap_or_default().read()?,
        ..RunSpec::default()
    };
    let start = StartRun {
        target: ThreadTarget::Existing(on.thread),
        agent: None,
        spec,
        metadata: params.metadata.unwrap_or_default(),
        pause: Pause::Resume(Value::Object(resume)),
        idempotency: None,
        delay: None,
    };
    let started = on.app.run_start(&on.who, start).await.map_err(|error| match error.code {
        // Somebody else answered first.
        "thread_busy" => Refusal { code: ErrorCode::NoSuchInterrupt, error },
        _ => error.into(),
    })?;
    accepted(&started)
}

/// Leaves a message for the run under way.
pub(super) async fn inject(on: &On, params: InputInjectParams) -> Outcome {
    if !params.namespace.is_empty() {
        let why = "messages can be injected into the root graph only: namespace must be []";
        return Err(Refusal::new(ErrorCode::NotSupported, why));
    }
    let InputMessage { role, content, name, extra } = params.message;
    let mut message = extra;
    let role = match role {
        InputRole::User => "user",
        InputRole::System => "system",
    };
    message.insert("role".to_owned(), role.into());
    message.insert("content".to_owned(), content.into());
    message.extend(name.map(|name| ("name".to_owned(), name.into())));
    let started = on.app.thread_inject(&on.who, on.thread, message.into()).await?;
    accepted(&started)
}

/// The single form and the list are one from here on.
fn answers(params: &mut InputRespondParams) -> Result<Vec<InputRespondEntry>, Refusal> {
    if let Some(responses) = params.responses.take() {
        if responses.is_empty() {
            let why = "params.responses must have at least one entry";
            return Err(Error::invalid("params.responses", why).into());
        }
        return Ok(responses);
    }
    let missing = |name: &str| {
        let at = format!("params.{name}");
        Error::invalid(&at, format!("{at} is missing"))
    };
    Ok(vec![InputRespondEntry {
        namespace: params.namespace.take().ok_or_else(|| missing("namespace"))?,
        interrupt_id: params.interrupt_id.take().ok_or_else(|| missing("interruptId"))?,
        response: params.response.take().ok_or_else(|| missing("response"))?,
    }])
}

fn find<'a>(
    open: &'a [Interrupt],
    namespace: &NamespacePath,
    id: &str,
) -> Result<&'a Interrupt, Refusal> {
    let uuid = Uuid::try_parse(id).ok();
    let found = open.iter().find(|asked| uuid == Some(asked.id.0)).ok_or_else(|| {
        Refusal::new(ErrorCode::NoSuchInterrupt, format!("interrupt {id} is not open"))
    })?;
    if *found.namespace.0 != **namespace {
        let why = format!("interrupt {id} is in namespace {:?}", found.namespace.0);
        return Err(Refusal::new(ErrorCode::NoSuchNamespace, why));
    }
    Ok(found)
}

impl From<Goto> for run::Goto {
    fn from(goto: Goto) -> Self {
        match goto {
            Goto::Node(node) => Self { node, input: None },
            Goto::Send(send) => Self { node: send.node, input: send.input },
        }
    }
}
