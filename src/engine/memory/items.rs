//! Long-term memory without a database.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::item::{Condition, Item, Labels};
use crate::domain::page::Page;
use crate::domain::ports::{BoxFuture, Memory};

/// A memory that lasts as long as the run; conditions of a search are not looked at.
#[derive(Default)]
pub(super) struct Items(Mutex<BTreeMap<(String, String), Item>>);

impl Items {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Item>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for Items {
    fn get<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Item>>> {
        let found = self.lock().get(&(namespace.path(), key.to_owned())).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn put<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
        value: Map<String, Value>,
    ) -> BoxFuture<'a, Result<()>> {
        let (labels, at) = (namespace.clone(), Ts(0));
        let item =
            Item { namespace: labels, key: key.to_owned(), value, created_at: at, updated_at: at };
        self.lock().insert((namespace.path(), key.to_owned()), item);
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a>(&'a self, namespace: &'a Labels, key: &'a str) -> BoxFuture<'a, Result<bool>> {
        let had = self.lock().remove(&(namespace.path(), key.to_owned())).is_some();
        Box::pin(std::future::ready(Ok(had)))
    }

    fn search<'a>(
        &'a self,
        prefix: &'a Labels,
        _conditions: &'a [Condition],
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Item>>> {
        let prefix = prefix.path();
        let items = self.lock();
        let below = items.iter().filter(|((path, _), _)| path.starts_with(&prefix));
        let found = below.map(|(_, item)| item.clone());
        let found = found.skip(page.offset as usize).take(page.limit as usize).collect();
        Box::pin(std::future::ready(Ok(found)))
    }
}
