//! From JSON to the domain and back, without a server.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::app::{Finished, Pause, StartRun, Started, ThreadTarget, ThreadView};
use crate::domain::checkpoint::{
    self, Due, Frontier, Place, Snapshot, Source, TaskOutcome, TaskRecord,
};
use crate::domain::error::{Error, Fault, Result};
use crate::domain::ids::{
    AgentId, CheckpointId, InterruptId, Namespace, Owner, RunId, RunKey, TaskId, ThreadId,
    ThreadKey,
};
use crate::domain::item::Test;
use crate::domain::run::{self, RunSpec};
use crate::domain::state::{Change, Op, State};
use crate::domain::{interrupt, thread};
use crate::http::{FromQuery, Query};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn wrong<T: DeserializeOwned>(value: Value) -> String {
    let wrong = serde_path_to_error::deserialize::<_, T>(value).err().unwrap();
    format!("{}: {}", wrong.path(), wrong.inner())
}

fn start(body: Value) -> Result<StartRun> {
    read::<RunCreate>(body).start(None)
}

fn thread() -> ThreadId {
    ThreadId(Uuid::from_u128(1))
}

fn field(result: Result<StartRun>) -> String {
    let error: Error = result.err().unwrap();
    assert_eq!(error.fault, Fault::Invalid);
    error.field.unwrap()
}

#[test]
fn a_run_of_nothing_has_the_defaults_of_a_stateless_one() {
    let start =
        start(json!({"input": null, "command": null, "metadata": null, "webhook": null})).unwrap();
    assert!(matches!(start.target, ThreadTarget::Stateless));
    assert_eq!(start.pause, Pause::Abandon);
    assert_eq!(
        start.spec,
        RunSpec { on_completion: run::OnCompletion::Delete, ..RunSpec::default() }
    );
    assert_eq!((start.agent, start.delay), (None, None));
}

#[test]
fn a_run_on_a_thread_keeps_it() {
    let thread = thread();
    let start = start(json!({"thread_id": thread.0})).unwrap();
    assert!(matches!(start.target, ThreadTarget::Existing(id) if id == thread));
    assert_eq!(start.spec.on_completion, run::OnCompletion::Keep);
    let ensured =
        read::<RunCreate>(json!({"if_not_exists": "create"})).start(Some(thread)).unwrap();
    assert!(matches!(ensured.target, ThreadTarget::Ensured(id, _) if id == thread));
    assert!(ensured.spec.make_thread);
}

#[test]
fn the_thread_of_the_path_and_of_the_body_must_be_one() {
    let body = || read::<RunCreate>(json!({"thread_id": thread().0}));
    assert!(body().start(Some(thread())).is_ok());
    assert_eq!(field(body().start(Some(ThreadId(Uuid::from_u128(2))))), "thread_id");
}

#[test]
fn agent_and_assistant_are_one_field() {
    assert_eq!(start(json!({"assistant_id": "a"})).unwrap().agent.as_deref(), Some("a"));
    assert_eq!(
        start(json!({"agent_id": "b", "assistant_id": "a"})).unwrap().agent.as_deref(),
        Some("b")
    );
}

#[test]
fn everything_a_run_can_be_told_arrives() {
    let at = Uuid::from_u128(9);
    let start = start(json!({
        "agent_id": "steps", "input": {"k": [1]}, "messages": [{"role": "user", "content": "x"}],
        "metadata": {"m": 1}, "config": {"tags": ["t"], "recursion_limit": 7, "configurable": {"n": 2}},
        "webhook": "https://example.org", "on_completion": "keep", "on_disconnect": "continue",
        "stream_mode": ["values", "custom"], "stream_subgraphs": true, "checkpoint": {"checkpoint_id": at, "x": 1},
        "interrupt_before": "*", "interrupt_after": ["n"], "durability": "exit", "multitask_strategy": "rollback",
        "after_seconds": 1.5, "unknown": {},
    }))
    .unwrap();
    let spec = start.spec;
    assert_eq!(start.agent.as_deref(), Some("steps"));
    assert_eq!(start.metadata["m"], 1);
    assert_eq!(start.delay, Some(std::time::Duration::from_millis(1500)));
    assert_eq!(spec.input, Some(json!({"k": [1]})));
    assert_eq!(spec.messages.len(), 1);
    assert_eq!(spec.config.tags, ["t"]);
    assert_eq!(spec.config.recursion_limit, Some(7));
    assert_eq!(spec.config.configurable["n"], 2);
    assert_eq!(spec.webhook.as_deref(), Some("https://example.org"));
    assert_eq!(spec.on_completion, run::OnCompletion::Keep);
    assert_eq!(spec.on_disconnect, run::OnDisconnect::Continue);
    assert_eq!(spec.stream_modes, ["values", "custom"]);
    assert!(spec.stream_subgraphs);
    assert_eq!(spec.checkpoint_id, Some(CheckpointId(at)));
    assert_eq!(spec.interrupt_before, run::Breakpoints::All);
    assert_eq!(spec.interrupt_after, run::Breakpoints::Nodes(vec!["n".to_owned()]));
    assert_eq!(spec.durability, run::Durability::Exit);
    assert_eq!(spec.multitask, run::Multitask::Rollback);
}

#[test]
fn a_command_answers_or_steers() {
    let resumed = start(json!({"command": {"resume": {"decisions": []}}})).unwrap();
    assert_eq!(resumed.pause, Pause::Resume(json!({"decisions": []})));
    let null = start(json!({"command": {"resume": null}})).unwrap();
    assert_eq!(null.pause, Pause::Resume(Value::Null));
    let spelled_out =
        start(json!({"command": {"resume": null, "update": {"k": 1}, "goto": null}})).unwrap();
    assert_eq!(spelled_out.pause, Pause::Abandon);
    assert_eq!(spelled_out.spec.command.unwrap().update.unwrap()["k"], 1);
    for (goto, nodes) in [
        (json!("a"), vec!["a"]),
        (json!(["a", {"node": "b", "input": 1}]), vec!["a", "b"]),
        (json!({"node": "c"}), vec!["c"]),
    ] {
        let command = start(json!({"command": {"goto": goto}})).unwrap().spec.command.unwrap();
        assert_eq!(command.goto.iter().map(|goto| &*goto.node).collect::<Vec<_>>(), nodes);
    }
}

#[test]
fn wrong_types_are_told_with_their_place() {
    for (body, told) in [
        (json!({"stream_mode": ["values", "tools"]}), "stream_mode[1]: unknown variant `tools`"),
        (json!({"stream_mode": "tools"}), "stream_mode: unknown variant `tools`"),
        (
            json!({"stream_mode": 5}),
            "stream_mode: invalid type: integer `5`, expected one, or a list",
        ),
        (
            json!({"interrupt_before": "x"}),
            "interrupt_before: invalid value: string \"x\", expected \"*\" or",
        ),
        (json!({"interrupt_after": [1]}), "interrupt_after[0]: invalid type"),
        (json!({"interrupt_after": ["*"]}), "interrupt_after: \"*\" stands alone"),
        (json!({"thread_id": "x"}), "thread_id: UUID parsing failed"),
        (json!({"config": {"recursion_limit": 1.5}}), "config.recursion_limit: invalid type"),
        (json!({"config": {"tags": [1]}}), "config.tags[0]: invalid type"),
        (json!({"command": {"goto": [1]}}), "command.goto[0]: expected the name of a node"),
        (json!({"command": {"update": []}}), "command.update: invalid type"),
        (json!({"multitask_strategy": "queue"}), "multitask_strategy: unknown variant `queue`"),
        (json!({"messages": {}}), "messages: invalid type"),
        (json!({"checkpoint": {}}), "checkpoint: missing field `checkpoint_id`"),
    ] {
        let said = wrong::<RunCreate>(body);
        assert!(said.starts_with(told), "{said}");
    }
}

#[test]
fn what_is_out_of_range_is_refused_by_name() {
    assert_eq!(field(start(json!({"config": {"recursion_limit": 0}}))), "config.recursion_limit");
    for seconds in [-1.0, 1e9, 1e300] {
        assert_eq!(field(start(json!({"after_seconds": seconds}))), "after_seconds");
    }
    assert_eq!(field(start(json!({"agent_id": "a\u{0}"}))), "agent_id");
    let page = |body: Value| read::<ThreadSearchRequest>(body).page().map(|page| page.limit);
    assert_eq!(page(json!({})).unwrap(), 10);
    assert_eq!(page(json!({"limit": 1000})).unwrap(), 1000);
    for limit in [0, -1, 1001] {
        assert_eq!(page(json!({"limit": limit})).unwrap_err().field.as_deref(), Some("limit"));
    }
    assert!(page(json!({"offset": -1})).is_err());
    assert_eq!(read::<StoreListNamespacesRequest>(json!({})).page().unwrap().limit, 100);
}

fn a_run(status: run::RunStatus, spec: RunSpec) -> run::Run {
    run::Run {
        id: RunId(Uuid::from_u128(3)),
        key: RunKey(1),
        owner: Owner::default_owner(),
        thread_id: thread(),
        thread_key: None,
        agent_id: AgentId::new("echo"),
        status,
        attempt: 1,
        metadata: read(json!({"m": 1})),
        spec,
        error: None,
        interrupts: vec![an_interrupt()],
        base: None,
        head: None,
        result: None,
        cancel: None,
        created_at: Ts(1_764_576_000_000_000),
        updated_at: Ts(1_764_576_001_500_000),
        due_at: Ts(0),
    }
}

fn an_interrupt() -> interrupt::Interrupt {
    interrupt::Interrupt {
        id: InterruptId(Uuid::from_u128(4)),
        value: json!("sure?"),
        namespace: Namespace::root().child("n:1"),
        node: "n".to_owned(),
        task_id: None,
    }
}

fn a_thread() -> thread::Thread {
    thread::Thread {
        id: thread(),
        key: ThreadKey(1),
        owner: Owner::default_owner(),
        metadata: serde_json::Map::new(),
        status: thread::ThreadStatus::Idle,
        interrupts: Vec::new(),
        head: None,
        agent_id: None,
        created_at: Ts(0),
        updated_at: Ts(0),
    }
}

#[test]
fn a_run_echoes_what_was_asked_for() {
    let asked = json!({
        "input": "hi", "config": {"tags": ["t"]}, "stream_mode": "updates", "if_not_exists": "create",
        "thread_id": thread().0, "interrupt_before": ["n"], "command": {"update": {"k": 1}, "goto": "n"},
    });
    let spec = start(asked).unwrap().spec;
    let shown = serde_json::to_value(Run::from(a_run(run::RunStatus::Paused, spec))).unwrap();
    insta::assert_json_snapshot!(shown);
}

#[test]
fn creating_answers_pending_however_quick_it_was() {
    let started = Started {
        run: a_run(run::RunStatus::Paused, RunSpec::default()),
        thread: a_thread(),
        existing: false,
    };
    let run = Run::created(started);
    assert_eq!(run.status, RunStatus::Pending);
    assert!(run.interrupts.is_empty());
}

#[test]
fn the_inner_statuses_are_fewer_outside() {
    use RunStatus::{Error, Interrupted, Pending, Success, Timeout};

    let shown = run::RunStatus::ALL.map(RunStatus::from);
    assert_eq!(shown, [Pending, Pending, Success, Error, Timeout, Interrupted, Interrupted]);
    let filter = |status: &str| {
        let search = read::<RunSearchRequest>(json!({"status": status}));
        search.filter(|_| None).unwrap().status
    };
    assert_eq!(filter("pending"), [run::RunStatus::Pending, run::RunStatus::Running]);
    assert_eq!(filter("interrupted"), [run::RunStatus::Paused, run::RunStatus::Cancelled]);
    let query = RunListQuery::from_query(&Query::parse("status=success&limit=3")).unwrap();
    assert_eq!((query.status, query.limit), (vec![run::RunStatus::Success], 3));
    assert!(RunListQuery::from_query(&Query::parse("status=paused")).is_err());
}

#[test]
fn waiting_answers_the_run_and_beside_it_what_matters() {
    let mut run = a_run(run::RunStatus::Error, RunSpec::default());
    run.interrupts.clear();
    run.error = Some(run::RunError::new("ModelError", "scripted failure"));
    let result =
        run::RunResult { values: read(json!({"k": 1})), messages: vec![json!({"id": "a"})] };
    let shown = serde_json::to_value(RunWaitResponse::from(Finished { run, result })).unwrap();
    assert_eq!(shown["status"], "error");
    assert_eq!(shown["run"]["status"], "error");
    assert_eq!(shown["error"], json!({"code": "ModelError", "message": "scripted failure"}));
    assert_eq!(shown["values"], json!({"k": 1}));
    assert_eq!(shown["messages"], json!([{"id": "a"}]));
    assert_eq!(shown["run_id"], shown["run"]["run_id"]);
    assert!(shown.get("interrupts").is_none());
}

fn a_state() -> State {
    let mut state = State::default();
    let change = |channel: &str, op: Op| Change { channel: channel.into(), op };
    state.apply(&change("mood", Op::Set { value: json!("sunny").into() }));
    state.apply(&change("steps", Op::Push { value: json!(1).into() }));
    state.apply(&change("messages", Op::Put { key: "a".into(), value: json!({"id": "a"}).into() }));
    state
}

#[test]
fn a_thread_shows_its_messages_beside_its_values() {
    let new = ThreadView { thread: a_thread(), state: State::default() };
    let shown = serde_json::to_value(Thread::from(new)).unwrap();
    assert_eq!((&shown["values"], &shown["messages"]), (&json!({}), &json!([])));
    assert_eq!(shown["created_at"], "1970-01-01T00:00:00.000000Z");
    assert!(shown.get("interrupts").is_none());
    let used = ThreadView { thread: a_thread(), state: a_state() };
    let shown = serde_json::to_value(Thread::from(used)).unwrap();
    assert_eq!(shown["values"], json!({"mood": "sunny", "steps": [1]}));
    assert_eq!(shown["messages"], json!([{"id": "a"}]));
}

#[test]
fn an_entry_of_the_history_shows_what_was_due_and_asked() {
    let asks = TaskOutcome::Asks { interrupts: vec![an_interrupt()] };
    let snapshot = Snapshot {
        checkpoint: checkpoint::Checkpoint {
            id: CheckpointId(Uuid::from_u128(5)),
            parent: Some(CheckpointId(Uuid::from_u128(6))),
            namespace: Namespace::root(),
            place: Place { branch: 0, step: 3 },
            source: Source::Loop,
            run_id: Some(RunId(Uuid::from_u128(3))),
            created_at: Ts(0),
            metadata: read(json!({"note": "mine"})),
            frontier: Frontier {
                due: vec![Due { node: "n".into(), ..Due::default() }],
                ..Frontier::default()
            },
        },
        state: a_state(),
        tasks: vec![TaskRecord {
            task_id: TaskId(Uuid::nil()),
            node: "n".to_owned(),
            outcome: asks,
        }],
        next: Place { branch: 0, step: 4 },
        fork: None,
    };
    insta::assert_json_snapshot!(serde_json::to_value(ThreadState::from(snapshot)).unwrap());
}

#[test]
fn filters_are_equality_or_operators() {
    let conditions =
        |filter: Value| read::<StoreSearchRequest>(json!({"filter": filter})).conditions();
    let tests = |filter: Value| -> Vec<Test> {
        conditions(filter).unwrap().into_iter().map(|condition| condition.test).collect()
    };
    assert_eq!(tests(json!({"k": "v"})), [Test::Eq(json!("v"))]);
    assert_eq!(tests(json!({"k": {"a": 1}})), [Test::Eq(json!({"a": 1}))]);
    assert_eq!(tests(json!({"k": {}})), [Test::Eq(json!({}))]);
    assert_eq!(tests(json!({"k": null})), [Test::Eq(Value::Null)]);
    assert_eq!(
        tests(json!({"k": {"$gte": 1, "$lt": 5}})),
        [Test::Gte(json!(1)), Test::Lt(json!(5))]
    );
    assert_eq!(tests(json!({"k": {"$in": [1, 2]}})), [Test::In(vec![json!(1), json!(2)])]);
    assert_eq!(tests(Value::Null), []);
    for (filter, field) in [
        (json!({"k": {"$regex": "x"}}), "filter.k.$regex"),
        (json!({"k": {"$eq": 1, "other": 2}}), "filter.k.other"),
        (json!({"k": {"$in": 1}}), "filter.k.$in"),
        (json!({"k": "a\u{0}"}), "filter"),
    ] {
        assert_eq!(conditions(filter).unwrap_err().field.as_deref(), Some(field));
    }
}

#[test]
fn a_namespace_repeats_in_the_query() {
    let item = |query: &str| ItemQuery::from_query(&Query::parse(query));
    assert_eq!(item("key=k&namespace=a&namespace=b%20c").unwrap().namespace.0, ["a", "b c"]);
    assert_eq!(item("key=k").unwrap().namespace.0, Vec::<String>::new());
    assert_eq!(item("key=").unwrap().key, "");
    for query in ["namespace=a", ""] {
        assert_eq!(item(query).err().unwrap().field.as_deref(), Some("key"), "{query}");
    }
}

#[test]
fn queries_are_as_strict_as_bodies() {
    let cancel = |query: &str| CancelQuery::from_query(&Query::parse(query));
    assert!(cancel("wait=true&action=rollback").unwrap().wait);
    assert!(!cancel("").unwrap().wait);
    assert_eq!(cancel("wait=maybe").err().unwrap().field.as_deref(), Some("wait"));
    assert_eq!(cancel("action=stop").err().unwrap().field.as_deref(), Some("action"));
    let history = |query: &str| HistoryQuery::from_query(&Query::parse(query));
    assert_eq!(history("").unwrap().limit, 10);
    assert_eq!(history("limit=0").err().unwrap().field.as_deref(), Some("limit"));
    assert_eq!(history("limit=x").err().unwrap().field.as_deref(), Some("limit"));
    assert_eq!(history("before=x").err().unwrap().field.as_deref(), Some("before"));
}
