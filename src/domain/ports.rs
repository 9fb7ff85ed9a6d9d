//! What nodes and tools may ask of the world. The engine is given these; it owns none of them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::error::Result;
use crate::domain::event::RunEvent;
use crate::domain::ids::Namespace;
use crate::domain::item::{Condition, Item, Labels};
use crate::domain::page::Page;

/// A boxed future, so that ports can be used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Long-term memory of the run's owner.
pub trait Memory: Send + Sync {
    fn get<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Item>>>;

    fn put<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
        value: Map<String, Value>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Whether there was something to delete.
    fn delete<'a>(&'a self, namespace: &'a Labels, key: &'a str) -> BoxFuture<'a, Result<bool>>;

    fn search<'a>(
        &'a self,
        prefix: &'a Labels,
        conditions: &'a [Condition],
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Item>>>;
}

/// Where a run's events go.
pub trait Emitter: Send + Sync {
    /// Takes the event; waits while the log is too far behind.
    fn emit<'a>(&'a self, namespace: &'a Namespace, event: RunEvent) -> BoxFuture<'a, ()>;
}

/// The passing of time, so that tests can do without it.
pub trait Timer: Send + Sync {
    fn sleep(&self, span: Duration) -> BoxFuture<'static, ()>;
}
