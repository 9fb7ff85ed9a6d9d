//! Random histories: what storage rebuilds from changes equals a naive full copy at each checkpoint.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use runloom::domain::checkpoint::{Checkpoint, Frontier, Place, Put, Snapshot, Source};
use runloom::domain::clock::{Clock, Fixed, IdGen, Ts};
use runloom::domain::ids::{AgentId, CheckpointId, Namespace, Owner, RunId, ThreadId, ThreadKey};
use runloom::domain::run::{RunEnd, RunSpec};
use runloom::domain::state::{Change, Op, State};
use runloom::executor::port::{Claim, Commit, End, RunLedger};
use runloom::storage::{NewRun, NewThread, OnPause, Options, Store, Target};
use serde_json::{Map, json};

use crate::harness::db::{Database, on_both_databases};

on_both_databases!(a_rebuilt_state_is_what_was_written);

/// One thing that happens to the thread.
#[derive(Clone, Debug)]
enum Event {
    /// A run of some steps, each with changes, from the newest checkpoint or an older one.
    Run { from: Option<usize>, steps: Vec<Vec<Edit>> },
    /// The same, but undone.
    RolledBack { from: Option<usize>, steps: Vec<Vec<Edit>> },
    /// It goes on with a copy.
    Copy,
}

#[derive(Clone, Debug)]
enum Edit {
    Set(u8, u16),
    Unset(u8),
    Push(u16),
    Put(u8, u16),
    Drop(u8),
    Clear,
}

impl Edit {
    fn change(&self) -> Change {
        let value = |number: u16| Arc::new(json!(number));
        let key = |name: u8| Arc::from(format!("m{}", name % 5));
        let (channel, op) = match self {
            Self::Set(name, to) => (format!("v{}", name % 3), Op::Set { value: value(*to) }),
            Self::Unset(name) => (format!("v{}", name % 3), Op::Unset),
            Self::Push(what) => ("log".to_owned(), Op::Push { value: value(*what) }),
            Self::Put(name, what) => {
                ("messages".to_owned(), Op::Put { key: key(*name), value: value(*what) })
            }
            Self::Drop(name) => ("messages".to_owned(), Op::Drop { key: key(*name) }),
            Self::Clear => ("messages".to_owned(), Op::Clear),
        };
        Change { channel: channel.into(), op }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => (any::<u8>(), any::<u16>()).prop_map(|(name, to)| Edit::Set(name, to)),
        1 => any::<u8>().prop_map(Edit::Unset),
        3 => any::<u16>().prop_map(Edit::Push),
        4 => (any::<u8>(), any::<u16>()).prop_map(|(name, what)| Edit::Put(name, what)),
        2 => any::<u8>().prop_map(Edit::Drop),
        1 => Just(Edit::Clear),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let from = || prop::option::weighted(0.3, any::<usize>());
    let steps = || prop::collection::vec(prop::collection::vec(edit(), 0..5), 1..4);
    prop_oneof![
        6 => (from(), steps()).prop_map(|(from, steps)| Event::Run { from, steps }),
        2 => (from(), steps()).prop_map(|(from, steps)| Event::RolledBack { from, steps }),
        1 => Just(Event::Copy),
    ]
}

/// The thread, and what it should be.
struct World {
    store: Store,
    clock: Arc<Fixed>,
    owner: Owner,
    thread: ThreadId,
    key: ThreadKey,
    head: Option<CheckpointId>,
    /// In the order of writing.
    written: Vec<CheckpointId>,
    states: HashMap<CheckpointId, State>,
}

impl World {
    async fn new(store: &Store, clock: &Arc<Fixed>) -> Self {
        let (owner, thread) = (Owner::new("ann"), ThreadId(clock.uuid()));
        let new = NewThread {
            id: thread,
            owner: owner.clone(),
            metadata: Map::new(),
            created_at: clock.now(),
        };
        let made = store.thread_create(new).await.unwrap().unwrap();
        Self {
            store: store.clone(),
            clock: clock.clone(),
            owner,
            thread,
            key: made.key,
            head: None,
            written: Vec::new(),
            states: HashMap::new(),
        }
    }

    async fn claim(&self) -> Claim {
        let created = self.store.run_create(NewRun {
            id: RunId(self.clock.uuid()),
            owner: self.owner.clone(),
            target: Target::Existing(self.thread),
            agent_id: AgentId::new("echo"),
            spec: RunSpec::default(),
            metadata: Map::new(),
            on_pause: OnPause::Keep,
            idempotency: None,
            queued_runs_per_owner: None,
            queued_runs: None,
            created_at: self.clock.now(),
            due_at: self.clock.now(),
            claim_for: Some(("test".to_owned(), Duration::from_mins(1))),
        });
        created.await.unwrap().claim.unwrap()
    }

    /// The steps as checkpoints behind `from`, and the states that they should have.
    async fn puts(
        &self,
        run: RunId,
        from: Option<CheckpointId>,
        steps: &[Vec<Edit>],
    ) -> Vec<(Put, State)> {
        let root = Namespace::root();
        let base: Option<Snapshot> = match from {
            Some(at) => self.store.snapshot(self.key, &root, Some(at)).await.unwrap(),
            None => None,
        };
        let (mut place, mut fork) =
            base.as_ref().map_or((Place::FIRST, None), |base| (base.next, base.fork));
        let (mut parent, mut state) = (
            base.as_ref().map(|base| base.checkpoint.id),
            base.map(|base| base.state).unwrap_or_default(),
        );
        let mut puts = Vec::new();
        for edits in steps {
            let changes: Vec<Change> = edits.iter().map(Edit::change).collect();
            changes.iter().for_each(|change| state.apply(change));
            let checkpoint = Checkpoint {
                id: CheckpointId(self.clock.uuid()),
                parent,
                namespace: root.clone(),
                place,
                source: Source::Loop,
                run_id: Some(run),
                created_at: self.clock.now(),
                metadata: Map::new(),
                frontier: Frontier::default(),
            };
            (parent, place) = (Some(checkpoint.id), place.following());
            puts.push((Put { checkpoint, changes, fork: fork.take() }, state.clone()));
        }
        puts
    }

    async fn run(&mut self, from: Option<usize>, steps: &[Vec<Edit>], how: RunEnd) {
        let from = match from {
            Some(any) if !self.written.is_empty() => Some(self.written[any % self.written.len()]),
            _ => self.head,
        };
        let claim = self.claim().await;
        let puts = self.puts(claim.run.id, from, steps).await;
        let head = puts.last().map(|(put, _)| put.checkpoint.id);
        let commit = |puts, end| Commit {
            fence: claim.fence,
            run_id: claim.run.id,
            puts,
            tasks: Vec::new(),
            segment: None,
            trim_log_below: None,
            end,
            at: self.clock.now(),
        };
        let all = puts.iter().map(|(put, _)| put.clone()).collect();
        self.store.commit(commit(all, None)).await.unwrap();
        let end = End {
            how: how.clone(),
            head,
            values: None,
            result: None,
            webhook: None,
            deletes_thread: false,
        };
        self.store.commit(commit(Vec::new(), Some(end))).await.unwrap();
        if how == RunEnd::RolledBack {
            return;
        }
        self.head = head;
        for (put, state) in puts {
            self.written.push(put.checkpoint.id);
            self.states.insert(put.checkpoint.id, state);
        }
    }

    async fn copy(&mut self) {
        let id = ThreadId(self.clock.uuid());
        let now = self.clock.now();
        let copy =
            self.store.thread_copy(&self.owner, self.thread, id, now).await.unwrap().unwrap();
        assert!(self.store.thread_delete(&self.owner, self.thread).await.unwrap());
        assert!(
            self.store.history(self.key, &Namespace::root(), None, 10).await.unwrap().is_empty()
        );
        (self.thread, self.key) = (id, copy.key);
    }

    /// Everything that can be read is what it should be.
    async fn check(&self) {
        let root = Namespace::root();
        let newest = self.store.snapshot(self.key, &root, None).await.unwrap();
        assert_eq!(newest.as_ref().map(|newest| newest.checkpoint.id), self.head);
        let history = self.store.history(self.key, &root, None, 1000).await.unwrap();
        let ids: Vec<_> = history.iter().rev().map(|entry| entry.checkpoint.id).collect();
        assert_eq!(ids, self.written);
        for entry in history {
            let id = entry.checkpoint.id;
            assert_eq!(entry.state, self.states[&id], "as part of the history");
            let alone = self.store.snapshot(self.key, &root, Some(id)).await.unwrap().unwrap();
            assert_eq!(alone.state, self.states[&id], "on its own");
        }
    }
}

async fn a_rebuilt_state_is_what_was_written(database: Database) {
    let clock = Arc::new(Fixed::at(Ts(1_700_000_000_000_000)));
    let options = Options { url: database.url.clone(), max_connections: 4, clock: clock.clone() };
    let store = Store::open(options).await.unwrap();
    store.migrate().await.unwrap();
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    for _ in 0..12 {
        let events = prop::collection::vec(event(), 1..14).new_tree(&mut runner).unwrap().current();
        let mut world = World::new(&store, &clock).await;
        for event in &events {
            match event {
                Event::Run { from, steps } => world.run(*from, steps, RunEnd::Success).await,
                Event::RolledBack { from, steps } => {
                    world.run(*from, steps, RunEnd::RolledBack).await
                }
                Event::Copy => world.copy().await,
            }
        }
        world.check().await;
    }
}
