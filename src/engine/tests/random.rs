//! Graphs and histories that nobody thought of: determinism, fan-in, crashes and rebuilt states.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::executor::block_on;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::domain::Ts;
use crate::domain::checkpoint::Answers;
use crate::domain::ids::{CheckpointId, Namespace};
use crate::domain::{IdGen, Message};
use crate::engine::memory::World;
use crate::engine::tests::crash::{Brings, survive};
use crate::engine::tests::log;
use crate::engine::{ALL_MESSAGES, Channel, Ended, Graph, START, Update, update};

/// A graph without loops: edges and joins lead to later nodes only.
#[derive(Clone, Debug)]
struct Plan {
    nodes: Vec<Planned>,
    /// Sources and target.
    joins: Vec<(BTreeSet<usize>, usize)>,
}

#[derive(Clone, Debug)]
struct Planned {
    /// One edge comes from the start (0) or an earlier node (its number plus one).
    from: usize,
    /// Another edge leads this many nodes further, if there are so many.
    skips: usize,
    asks: bool,
    /// How often it gives way to others before it is done.
    yields: usize,
}

fn plans() -> impl Strategy<Value = Plan> {
    let node = (any::<prop::sample::Index>(), 0..4_usize, prop::bool::weighted(0.2), 0..3_usize);
    let join = (btree_set(0..6_usize, 1..3), 1..7_usize);
    (vec(node, 1..7), vec(join, 0..3)).prop_map(|(nodes, joins)| {
        let planned = nodes.into_iter().enumerate().map(|(place, (from, skips, asks, yields))| {
            Planned { from: from.index(place + 1), skips, asks, yields }
        });
        let nodes: Vec<_> = planned.collect();
        let fits = |(sources, target): &(BTreeSet<usize>, usize)| {
            *target < nodes.len() && sources.last().is_some_and(|last| last < target)
        };
        let joins = joins.into_iter().filter(fits).collect();
        Plan { nodes, joins }
    })
}

impl Plan {
    /// What follows node `place` by edges, in order.
    fn edges_from(&self, place: usize) -> Vec<usize> {
        let mut targets = Vec::new();
        if let Some(far) = Some(place + self.nodes[place].skips).filter(|far| *far > place) {
            targets.extend((far < self.nodes.len()).then_some(far));
        }
        let led = (0..self.nodes.len()).filter(|to| self.nodes[*to].from == place + 1);
        targets.extend(led);
        targets
    }

    fn entry(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|to| self.nodes[*to].from == 0).collect()
    }

    fn graph(&self) -> Arc<Graph> {
        let name = |place: usize| format!("n{place}");
        let mut builder = Graph::builder("random").channel("ran", Channel::append());
        for (place, node) in self.nodes.iter().enumerate() {
            let Planned { asks, yields, .. } = *node;
            builder = builder.node(&name(place), move |_state, cx| async move {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                cx.custom(None, place).await;
                let answer = if asks { cx.interrupt(place)? } else { Value::Null };
                Ok(Update::new().push("ran", place).set(&format!("by n{place}"), answer))
            });
        }
        for to in self.entry() {
            builder = builder.edge(START, &name(to));
        }
        for from in 0..self.nodes.len() {
            for to in self.edges_from(from) {
                builder = builder.edge(&name(from), &name(to));
            }
        }
        for (sources, target) in &self.joins {
            let sources: Vec<String> = sources.iter().map(|source| name(*source)).collect();
            builder = builder.join(sources.iter().map(String::as_str), &name(*target));
        }
        builder.build().unwrap()
    }

    /// In which order the nodes run: told step by step, without the engine.
    fn expected(&self) -> Vec<usize> {
        let (mut ran, mut due) = (Vec::new(), self.entry());
        let mut arrived = vec![BTreeSet::new(); self.joins.len()];
        while !due.is_empty() {
            let mut next = Vec::new();
            for place in due {
                ran.push(place);
                next.extend(self.edges_from(place));
                for ((sources, target), arrived) in self.joins.iter().zip(&mut arrived) {
                    if sources.contains(&place) && arrived.insert(place) && arrived == sources {
                        arrived.clear();
                        next.push(*target);
                    }
                }
            }
            let mut seen = BTreeSet::new();
            next.retain(|place| seen.insert(*place));
            due = next;
        }
        ran
    }
}

/// Runs the graph to its end, answering what it asks; the first run dies at `deaths`.
fn conversation(graph: &Arc<Graph>, mut deaths: &[(usize, bool)]) -> Option<(Value, Vec<Value>)> {
    let (world, mut lines) = (World::new(), Vec::new());
    let mut brings = Brings { input: Some(Update::new()), ..Brings::default() };
    loop {
        let (outcome, attempts) = block_on(survive(&world, graph, &brings, deaths))?;
        (deaths, brings.input) = (&[], None);
        lines.extend(log::valid(&world, &attempts));
        match outcome.how {
            Ended::Paused(open) => {
                let answers: Answers =
                    open.iter().map(|asked| (asked.id, asked.value.clone())).collect();
                brings.answers.extend(answers);
            }
            how => {
                assert_eq!(how, Ended::Done);
                return Some((json!(outcome.state.to_object()), lines));
            }
        }
    }
}

/// One change of a history, by whom it is made upon which checkpoint.
#[derive(Clone, Debug)]
enum Edit {
    Say(u8, u8),
    Forget(u8),
    ForgetAll,
    Add(u8),
    Anew(Vec<u8>),
    Set(u8),
    Unset,
}

fn edits() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (0..6_u8, any::<u8>()).prop_map(|(id, text)| Edit::Say(id, text)),
        2 => (0..6_u8).prop_map(Edit::Forget),
        1 => Just(Edit::ForgetAll),
        3 => any::<u8>().prop_map(Edit::Add),
        1 => vec(any::<u8>(), 0..3).prop_map(Edit::Anew),
        2 => any::<u8>().prop_map(Edit::Set),
        1 => Just(Edit::Unset),
    ]
}

/// A state as one would keep it without changes: a copy for every checkpoint.
#[derive(Clone, PartialEq, Default, Debug)]
struct Copy {
    said: Vec<(String, String)>,
    list: Vec<u8>,
    value: Option<u8>,
}

impl Copy {
    fn make(&mut self, edit: &Edit) {
        match edit {
            Edit::Say(id, text) => {
                let (id, text) = (id.to_string(), text.to_string());
                match self.said.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, said)) => *said = text,
                    None => self.said.push((id, text)),
                }
            }
            Edit::Forget(id) => self.said.retain(|(known, _)| *known != id.to_string()),
            Edit::ForgetAll => self.said.clear(),
            Edit::Add(entry) => self.list.push(*entry),
            Edit::Anew(list) => self.list.clone_from(list),
            Edit::Set(value) => self.value = Some(*value),
            Edit::Unset => self.value = None,
        }
    }

    fn of(state: &crate::domain::State) -> Self {
        let said = state.messages().into_iter().map(|message| (message.id.clone(), message.text()));
        Self {
            said: said.collect(),
            list: state.get_as("list").unwrap_or_default(),
            value: state.get_as("value"),
        }
    }
}

fn as_update(edits: &[Edit]) -> Update {
    edits.iter().fold(Update::new(), |update, edit| match edit {
        Edit::Say(id, text) => update.message(Message::user(id.to_string(), text.to_string())),
        Edit::Forget(id) => update.remove_message(&id.to_string()),
        Edit::ForgetAll => update.remove_message(ALL_MESSAGES),
        Edit::Add(entry) => update.push("list", *entry),
        Edit::Anew(list) => update.replace("list", list.clone()),
        Edit::Set(value) => update.set("value", *value),
        Edit::Unset => update.clear("value"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_random_graph_runs_as_its_edges_and_joins_say(plan in plans()) {
        let (state, _) = conversation(&plan.graph(), &[]).unwrap();
        prop_assert_eq!(&state["ran"], &json!(plan.expected()));
    }

    #[test]
    fn how_long_tasks_take_changes_nothing(plan in plans(), yields in vec(0..4_usize, 6)) {
        let mut other = plan.clone();
        for (node, yields) in other.nodes.iter_mut().zip(yields) {
            node.yields = yields;
        }
        prop_assert_eq!(conversation(&plan.graph(), &[]), conversation(&other.graph(), &[]));
    }

    #[test]
    fn a_random_graph_survives_random_crashes(
        plan in plans(),
        deaths in vec((1..12_usize, any::<bool>()), 1..4),
    ) {
        let graph = plan.graph();
        if let Some(survived) = conversation(&graph, &deaths) {
            prop_assert_eq!(survived, conversation(&graph, &[]).unwrap());
        }
    }

    #[test]
    fn a_state_rebuilt_from_changes_is_the_copy_that_was_not_kept(
        steps in vec((any::<prop::sample::Index>(), any::<bool>(), vec(edits(), 0..5)), 1..30),
    ) {
        let (world, root) = (World::new(), Namespace::root());
        let graph = Graph::builder("history")
            .channel("list", Channel::append())
            .node("n", |_state, _cx| async move { Ok(()) })
            .edge(START, "n")
            .build()
            .unwrap();
        let mut copies: BTreeMap<CheckpointId, Copy> = BTreeMap::new();
        let mut made: Vec<CheckpointId> = Vec::new();
        for (old, branches, edits) in steps {
            let newest = made.last().copied();
            let upon = if branches && newest.is_some() { Some(*old.get(&made)) } else { newest };
            let at = upon.and_then(|upon| world.saver.snapshot(&root, Some(upon)));
            let id = CheckpointId(world.clock.uuid());
            let put = update::revise(&graph, at, as_update(&edits), None, id, Ts(0)).unwrap();
            world.saver.keep(put);
            let mut copy = upon.map(|upon| copies[&upon].clone()).unwrap_or_default();
            for edit in &edits {
                copy.make(edit);
            }
            copies.insert(id, copy);
            made.push(id);
        }
        for (id, copy) in copies {
            let rebuilt = world.saver.snapshot(&root, Some(id)).unwrap();
            prop_assert_eq!(Copy::of(&rebuilt.state), copy);
        }
        let places = world.saver.history(&root);
        let places: BTreeSet<_> = places.iter().map(|put| put.checkpoint.place).collect();
        prop_assert_eq!(places.len(), made.len(), "every checkpoint has a place of its own");
    }
}
