//! A test's hand inside of its agents: it sees what they do, and holds them up.
//!
//! A run names its probe in `config.configurable.probe`, so that probes reach into every server of
//! a test, those that are killed and restarted too.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use runloom::engine::Cx;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use uuid::Uuid;

/// How long anything may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

static PROBES: LazyLock<Mutex<HashMap<String, Arc<Inner>>>> = LazyLock::new(Mutex::default);

/// Made by a test, found by its agents.
#[derive(Clone)]
pub(super) struct Probe {
    name: String,
    inner: Arc<Inner>,
}

struct Inner {
    arrived: watch::Sender<usize>,
    passes: Semaphore,
    counts: Mutex<BTreeMap<String, usize>>,
    active: Mutex<Active>,
}

#[derive(Default)]
struct Active {
    now: usize,
    most: usize,
}

impl Probe {
    pub(super) fn new() -> Self {
        let inner = Arc::new(Inner {
            arrived: watch::Sender::new(0),
            passes: Semaphore::new(0),
            counts: Mutex::default(),
            active: Mutex::default(),
        });
        let name = Uuid::new_v4().to_string();
        lock(&PROBES).insert(name.clone(), inner.clone());
        Self { name, inner }
    }

    /// The probe of the run that a node belongs to.
    pub(super) fn of(cx: &Cx) -> Self {
        let name: String = cx.setting("probe").expect("the run names a probe");
        let inner = lock(&PROBES).get(&name).expect("the probe is there").clone();
        Self { name, inner }
    }

    /// The `config` of a run that this probe is to see.
    pub(super) fn config(&self) -> Value {
        json!({"configurable": {"probe": self.name}})
    }

    /// The same with a setting of the agent's.
    pub(super) fn config_with(&self, setting: &str, value: impl Into<Value>) -> Value {
        json!({"configurable": {"probe": self.name, setting: value.into()}})
    }

    /// Waits until so many nodes have arrived at the door.
    pub(super) async fn arrived(&self, times: usize) {
        let mut arrived = self.inner.arrived.subscribe();
        let enough = arrived.wait_for(|seen| *seen >= times);
        timeout(PATIENCE, enough).await.expect("it gets there in time").expect("the probe is kept");
    }

    /// Lets so many nodes pass the door.
    pub(super) fn let_pass(&self, times: usize) {
        self.inner.passes.add_permits(times);
    }

    /// How often something was done.
    pub(super) fn count(&self, what: &str) -> usize {
        lock(&self.inner.counts).get(what).copied().unwrap_or(0)
    }

    /// Everything that was done, and how often.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        lock(&self.inner.counts).clone()
    }

    /// The most nodes that were at work at one time.
    pub(super) fn most_at_once(&self) -> usize {
        lock(&self.inner.active).most
    }

    /// A node waits at the door.
    pub(super) async fn wait(&self) {
        self.inner.arrived.send_modify(|arrived| *arrived += 1);
        self.inner.passes.acquire().await.expect("the door stays").forget();
    }

    /// A node does something that is to be counted.
    pub(super) fn note(&self, what: &str) {
        *lock(&self.inner.counts).entry(what.to_owned()).or_default() += 1;
    }

    /// A node is at work until the answer is dropped.
    pub(super) fn at_work(&self) -> AtWork {
        let mut active = lock(&self.inner.active);
        active.now += 1;
        active.most = active.most.max(active.now);
        AtWork(self.inner.clone())
    }
}

pub(super) struct AtWork(Arc<Inner>);

impl Drop for AtWork {
    fn drop(&mut self) {
        lock(&self.0.active).now -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no node panics while it holds it")
}
