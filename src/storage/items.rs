//! Table `items`: long-term memory.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sqlx::FromRow;
use sqlx::types::Json;

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::domain::ids::Owner;
use crate::domain::item::{Condition, Item, Labels, Test};
use crate::domain::page::Page;
use crate::storage::db::{in_tx, on_db};
use crate::storage::error::fail;
use crate::storage::filter::{Arg, Search};
use crate::storage::{Store, docs};

const PUT: &str = "insert into items (owner, namespace, key, value, created_at, updated_at) \
     values ($1, $2, $3, $4, $5, $5) on conflict (owner, namespace, key) do update set \
     value = excluded.value, updated_at = excluded.updated_at, expires_at = null returning item_key";
const GET: &str = "select namespace, key, value, created_at, updated_at from items \
     where owner = $1 and namespace = $2 and key = $3";
const DELETE: &str =
    "delete from items where owner = $1 and namespace = $2 and key = $3 returning item_key";
const SEARCH: &str = "select namespace, key, value, created_at, updated_at from items where ";
const ORDER: &str = "updated_at desc, namespace, key";
/// The namespaces in a range, each found by one look into the index.
const NAMESPACES: &str = "with recursive found (namespace) as ( \
       select min(namespace) from items where owner = $1 and namespace >= $2 and namespace < $3 \
       union all \
       select (select min(i.namespace) from items i where i.owner = $1 \
         and i.namespace > found.namespace and i.namespace < $3) \
       from found where found.namespace is not null \
     ) select namespace from found where namespace is not null order by namespace";

#[derive(FromRow)]
struct ItemRow {
    namespace: String,
    key: String,
    value: Json<Map<String, Value>>,
    created_at: Ts,
    updated_at: Ts,
}

impl From<ItemRow> for Item {
    fn from(row: ItemRow) -> Self {
        Self {
            namespace: Labels::from_path(&row.namespace),
            key: row.key,
            value: row.value.0,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl Store {
    pub async fn item_put(
        &self,
        owner: &Owner,
        namespace: &Labels,
        key: &str,
        value: &Map<String, Value>,
        at: Ts,
    ) -> Result<()> {
        let mut tx = self.0.db.begin().await?;
        let item: i64 = in_tx!(&mut tx, c => sqlx::query_scalar(PUT).bind(owner.as_str())
            .bind(namespace.path()).bind(key).bind(Json(value)).bind(at).fetch_one(c).await)
        .map_err(|error| fail("cannot write the item", error))?;
        docs::reindex(&mut tx, docs::ITEM_VALUE, &[(item, value)]).await?;
        tx.commit().await
    }

    pub async fn item_get(
        &self,
        owner: &Owner,
        namespace: &Labels,
        key: &str,
    ) -> Result<Option<Item>> {
        let row: Option<ItemRow> = on_db!(self.0.db.reader(), c => sqlx::query_as(GET)
            .bind(owner.as_str()).bind(namespace.path()).bind(key).fetch_optional(c).await)
        .map_err(|error| fail("cannot read the item", error))?;
        Ok(row.map(Item::from))
    }

    /// Whether there was something to delete.
    pub async fn item_delete(&self, owner: &Owner, namespace: &Labels, key: &str) -> Result<bool> {
        let mut tx = self.0.db.begin().await?;
        let item: Option<i64> = in_tx!(&mut tx, c => sqlx::query_scalar(DELETE)
            .bind(owner.as_str()).bind(namespace.path()).bind(key).fetch_optional(c).await)
        .map_err(|error| fail("cannot delete the item", error))?;
        let Some(item) = item else { return Ok(false) };
        docs::unindex(&mut tx, docs::ITEM_VALUE, item).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Below the prefix; newest update first, ties by namespace and key. Without conditions, all.
    pub async fn item_search(
        &self,
        owner: &Owner,
        prefix: &Labels,
        conditions: &[Condition],
        page: Page,
    ) -> Result<Vec<Item>> {
        let search = self.items_below(owner, prefix, conditions);
        let keep = |row: ItemRow| {
            let holds = conditions.iter().all(|condition| condition.holds(&row.value.0));
            Ok(holds.then(|| Item::from(row)))
        };
        search.page(self.0.db.reader(), "cannot search items", ORDER, page, keep).await
    }

    fn items_below(&self, owner: &Owner, prefix: &Labels, conditions: &[Condition]) -> Search {
        let mut search = Search::new(&self.0.db, SEARCH, "owner", owner);
        if !prefix.0.is_empty() {
            let (from, until) = range(&prefix.path());
            search.and("namespace >= ? and namespace < ?", [Arg::Text(from), Arg::Text(until)]);
        }
        search.containing("value", docs::ITEM_VALUE, "item_key", &demanded(conditions));
        search
    }

    /// How the database would search: for tests and for whoever wonders.
    #[doc(hidden)]
    pub async fn item_search_plan(
        &self,
        owner: &Owner,
        prefix: &Labels,
        conditions: &[Condition],
    ) -> Result<Vec<String>> {
        self.items_below(owner, prefix, conditions).plan(self.0.db.reader(), ORDER).await
    }

    /// Distinct namespaces in order; `*` in prefix or suffix is any one label; deeper ones are cut
    /// to `max_depth` labels.
    pub async fn item_namespaces(
        &self,
        owner: &Owner,
        prefix: &[String],
        suffix: &[String],
        max_depth: Option<u32>,
        page: Page,
    ) -> Result<Vec<Labels>> {
        let fixed = prefix.iter().take_while(|label| *label != ANY).cloned().collect();
        let (from, until) = range(&Labels(fixed).path());
        let paths: Vec<String> = on_db!(self.0.db.reader(), c => sqlx::query_scalar(NAMESPACES)
            .bind(owner.as_str()).bind(from).bind(until).fetch_all(c).await)
        .map_err(|error| fail("cannot list namespaces", error))?;
        let depth = max_depth.map_or(usize::MAX, |depth| depth as usize);
        let found: BTreeSet<Labels> = paths
            .iter()
            .map(|path| Labels::from_path(path))
            .filter(|labels| begins(&labels.0, prefix) && ends(&labels.0, suffix))
            .map(|labels| Labels(labels.0.into_iter().take(depth).collect()))
            .collect();
        Ok(found.into_iter().skip(page.offset as usize).take(page.limit as usize).collect())
    }
}

/// Stands for any one label.
const ANY: &str = "*";

fn begins(labels: &[String], pattern: &[String]) -> bool {
    labels.len() >= pattern.len()
        && pattern.iter().zip(labels).all(|(want, have)| want == ANY || want == have)
}

fn ends(labels: &[String], pattern: &[String]) -> bool {
    labels.len() >= pattern.len()
        && pattern
            .iter()
            .rev()
            .zip(labels.iter().rev())
            .all(|(want, have)| want == ANY || want == have)
}

/// The paths that begin with `path`: from it, and before what follows them all.
fn range(path: &str) -> (String, String) {
    match path.strip_suffix('/') {
        // `0` is the character behind `/`.
        Some(stem) => (path.to_owned(), format!("{stem}0")),
        None => (String::new(), "\u{10ffff}".to_owned()),
    }
}

/// What every item that meets the conditions contains.
fn demanded(conditions: &[Condition]) -> Map<String, Value> {
    conditions
        .iter()
        .filter_map(|condition| match &condition.test {
            Test::Eq(value) => Some((condition.member.clone(), value.clone())),
            _ => None,
        })
        .collect()
}
