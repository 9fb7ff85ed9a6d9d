//! Long-term memory as nodes and tools see it: the items of the run's owner.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::clock::Clock;
use crate::domain::error::Result;
use crate::domain::ids::Owner;
use crate::domain::item::{self, Condition, Item, Labels};
use crate::domain::json;
use crate::domain::page::Page;
use crate::domain::ports::{BoxFuture, Memory};
use crate::executor::port::Memories;
use crate::storage::Store;

/// The memories of all owners.
pub struct StoredMemories {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
}

impl Memories for StoredMemories {
    fn of(&self, owner: &Owner) -> Arc<dyn Memory> {
        Arc::new(OwnersMemory {
            store: self.store.clone(),
            clock: self.clock.clone(),
            owner: owner.clone(),
        })
    }
}

struct OwnersMemory {
    store: Store,
    clock: Arc<dyn Clock>,
    owner: Owner,
}

impl Memory for OwnersMemory {
    fn get<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Item>>> {
        Box::pin(self.store.item_get(&self.owner, namespace, key))
    }

    fn put<'a>(
        &'a self,
        namespace: &'a Labels,
        key: &'a str,
        value: Map<String, Value>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            Labels::new("namespace", namespace.0.clone())?;
            item::check_key(key)?;
            json::refuse_nul_in("value", &value)?;
            let now = self.clock.now();
            self.store.item_put(&self.owner, namespace, key, &value, now).await
        })
    }

    fn delete<'a>(&'a self, namespace: &'a Labels, key: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.store.item_delete(&self.owner, namespace, key))
    }

    fn search<'a>(
        &'a self,
        prefix: &'a Labels,
        conditions: &'a [Condition],
        page: Page,
    ) -> BoxFuture<'a, Result<Vec<Item>>> {
        Box::pin(self.store.item_search(&self.owner, prefix, conditions, page))
    }
}
