//! Long-term memory, as a caller uses it.

use serde_json::{Map, Value};

use crate::app::{App, Caller};
use crate::domain::error::{Error, Result};
use crate::domain::item::{self, Condition, Item, Labels};
use crate::domain::json;
use crate::domain::page::Page;

impl App {
    /// Creates or replaces the document.
    pub async fn item_put(
        &self,
        who: &Caller,
        namespace: &Labels,
        key: &str,
        value: &Map<String, Value>,
    ) -> Result<()> {
        item::check_key(key)?;
        json::refuse_nul_in("value", value)?;
        let now = self.0.clock.now();
        self.0.store.item_put(&who.owner, namespace, key, value, now).await
    }

    pub async fn item_get(&self, who: &Caller, namespace: &Labels, key: &str) -> Result<Item> {
        item::check_key(key)?;
        let found = self.0.store.item_get(&who.owner, namespace, key).await?;
        found.ok_or_else(|| missing(key))
    }

    pub async fn item_delete(&self, who: &Caller, namespace: &Labels, key: &str) -> Result<()> {
        item::check_key(key)?;
        let found = self.0.store.item_delete(&who.owner, namespace, key).await?;
        if found { Ok(()) } else { Err(missing(key)) }
    }

    /// The items below `prefix` that meet all conditions, newest update first.
    pub async fn item_search(
        &self,
        who: &Caller,
        prefix: &Labels,
        conditions: &[Condition],
        page: Page,
    ) -> Result<Vec<Item>> {
        self.0.store.item_search(&who.owner, prefix, conditions, page).await
    }

    /// Distinct namespaces in order; `*` stands for any one label.
    pub async fn item_namespaces(
        &self,
        who: &Caller,
        prefix: &[String],
        suffix: &[String],
        max_depth: Option<u32>,
        page: Page,
    ) -> Result<Vec<Labels>> {
        self.0.store.item_namespaces(&who.owner, prefix, suffix, max_depth, page).await
    }
}

fn missing(key: &str) -> Error {
    Error::not_found("item_not_found", format!("there is no item {key} in this namespace"))
}
