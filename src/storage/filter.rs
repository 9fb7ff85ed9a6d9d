//! Searches whose conditions are only known when they are asked: text and arguments grow together.

use serde_json::{Map, Value};
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, FromRow, Row};
use uuid::Uuid;

use crate::domain::error::Result;
use crate::domain::ids::Owner;
use crate::domain::json::{self, Leaf};
use crate::domain::page::Page;
use crate::storage::db::{Db, Pool};
use crate::storage::error::fail;

/// A value that a condition compares with.
#[derive(Clone)]
pub(super) enum Arg {
    Text(String),
    Uuid(Uuid),
    Json(Value),
}

/// A query under construction: of one owner's rows, then conditions, then order and page.
pub(super) struct Search {
    /// Up to and with `where`.
    select: &'static str,
    /// The column that names the owner.
    owner: &'static str,
    conditions: String,
    args: Vec<Arg>,
    is_postgres: bool,
    /// On SQLite, what the searched documents must have: which document, its row's key, the leaf.
    leaves: Vec<Demand>,
    /// The owner's index is not to be used: the rows come from a leaf.
    start_at_leaf: bool,
}

#[derive(Clone)]
struct Demand {
    subject: &'static str,
    key: &'static str,
    leaf: Leaf,
}

/// How many rows have a leaf, counted up to a limit.
const COUNT: &str = "select count(*) from (select 1 from leaves \
     where subject = $1 and path = $2 and kind = $3 and text = $4 limit $5)";
const ROWS_WITH: &str = "KEY in (select row_key from leaves \
     where subject = 'SUBJECT' and path = ? and kind = ? and text = ?)";
const ROW_HAS: &str = "exists (select 1 from leaves \
     where subject = 'SUBJECT' and path = ? and kind = ? and text = ? and row_key = KEY)";
/// A leaf that fewer rows have is where a search starts; of others, a page in order is found sooner.
const RARE: i64 = 1000;

impl Search {
    /// `select` ends with `where`; `owner` is the column that must be this one.
    pub(super) fn new(db: &Db, select: &'static str, owner: &'static str, value: &Owner) -> Self {
        Self {
            select,
            owner,
            conditions: String::new(),
            args: vec![Arg::Text(value.to_string())],
            is_postgres: db.is_postgres(),
            leaves: Vec::new(),
            start_at_leaf: false,
        }
    }

    /// Adds a condition; each `?` in it stands for the next of `args`.
    pub(super) fn and(&mut self, condition: &str, args: impl IntoIterator<Item = Arg>) {
        self.conditions.push_str(" and ");
        let mut args = args.into_iter();
        for part in condition.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(before) => {
                    self.conditions.push_str(before);
                    self.args.extend(args.next());
                    self.conditions.push('$');
                    self.conditions.push_str(&self.args.len().to_string());
                }
                None => self.conditions.push_str(part),
            }
        }
    }

    /// The document in `column` contains `pattern`. On SQLite this only narrows, by the leaves of
    /// `subject`, whose rows `key` names: the caller verifies with [`json::contains`].
    pub(super) fn containing(
        &mut self,
        column: &str,
        subject: &'static str,
        key: &'static str,
        pattern: &Map<String, Value>,
    ) {
        if pattern.is_empty() {
            return;
        }
        if self.is_postgres {
            self.and(&format!("{column} @> ?"), [Arg::Json(Value::Object(pattern.clone()))]);
            return;
        }
        let leaves = json::required_leaves(pattern);
        self.leaves.extend(leaves.into_iter().map(|leaf| Demand { subject, key, leaf }));
    }

    /// On SQLite: starts from the rows with the rarest leaf if there are few, else keeps to the
    /// order of the page; the other leaves are looked up row by row.
    async fn narrow(&mut self, pool: &Pool<'_>, what: &'static str) -> Result<()> {
        let Pool::Lite(pool) = pool else { return Ok(()) };
        let mut demands = std::mem::take(&mut self.leaves);
        let mut rarest = None;
        for (place, Demand { subject, leaf, .. }) in demands.iter().enumerate() {
            let count = sqlx::query_scalar(COUNT).bind(subject).bind(&leaf.path);
            let count = count.bind(leaf.kind.to_string()).bind(&leaf.text).bind(RARE);
            let count: i64 = count.fetch_one(*pool).await.map_err(|error| fail(what, error))?;
            if count < RARE && rarest.is_none_or(|(_, least)| count < least) {
                rarest = Some((place, count));
            }
        }
        if let Some((place, _)) = rarest {
            self.start_at_leaf = true;
            self.demand(&demands.remove(place), ROWS_WITH);
        }
        for demand in &demands {
            self.demand(demand, ROW_HAS);
        }
        Ok(())
    }

    fn demand(&mut self, demand: &Demand, form: &str) {
        let condition = form.replace("KEY", demand.key).replace("SUBJECT", demand.subject);
        let leaf = demand.leaf.clone();
        let args = [leaf.path, leaf.kind.to_string(), leaf.text].map(Arg::Text);
        self.and(&condition, args);
    }

    /// Fetches a page in this order. Rows that `keep` refuses do not count.
    pub(super) async fn page<R, T>(
        mut self,
        pool: Pool<'_>,
        what: &'static str,
        order: &str,
        page: Page,
        mut keep: impl FnMut(R) -> Result<Option<T>>,
    ) -> Result<Vec<T>>
    where
        R: for<'r> FromRow<'r, sqlx::postgres::PgRow>
            + for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
            + Send
            + Unpin,
    {
        self.narrow(&pool, what).await?;
        let (limit, mut skip) = (page.limit as usize, page.offset as usize);
        let mut found = Vec::new();
        let (mut start, mut chunk) = (0_usize, skip + limit);
        loop {
            let sql = format!("{} order by {order} limit {chunk} offset {start}", self.text());
            let rows: Vec<R> = self.fetch(&pool, what, sql).await?;
            let last = rows.len() < chunk;
            for row in rows {
                let Some(kept) = keep(row)? else { continue };
                if skip > 0 {
                    skip -= 1;
                } else {
                    found.push(kept);
                    if found.len() == limit {
                        return Ok(found);
                    }
                }
            }
            if last {
                return Ok(found);
            }
            start += chunk;
            chunk = (chunk * 2).clamp(64, 4096);
        }
    }

    /// How the database would find a page: its own words.
    pub(super) async fn plan(mut self, pool: Pool<'_>, order: &str) -> Result<Vec<String>> {
        let what = "cannot explain the search";
        self.narrow(&pool, what).await?;
        let sql = format!("{} order by {order} limit 10", self.text());
        let failed = |error| fail(what, error);
        macro_rules! explain {
            ($pool:expr, $explain:literal, $column:literal) => {{
                let mut query = sqlx::query(AssertSqlSafe(format!("{} {sql}", $explain)));
                for arg in self.args.clone() {
                    query = match arg {
                        Arg::Text(text) => query.bind(text),
                        Arg::Uuid(id) => query.bind(id),
                        Arg::Json(value) => query.bind(Json(value)),
                    };
                }
                let rows = query.fetch_all($pool).await.map_err(failed)?;
                rows.iter().map(|row| row.try_get($column).map_err(failed)).collect()
            }};
        }
        match pool {
            Pool::Pg(pool) => explain!(pool, "explain", 0),
            Pool::Lite(pool) => explain!(pool, "explain query plan", 3),
        }
    }

    fn text(&self) -> String {
        // A plus sign keeps SQLite from using the column's index.
        let plus = if self.start_at_leaf { "+" } else { "" };
        format!("{}{plus}{} = $1{}", self.select, self.owner, self.conditions)
    }

    async fn fetch<R>(&self, pool: &Pool<'_>, what: &'static str, sql: String) -> Result<Vec<R>>
    where
        R: for<'r> FromRow<'r, sqlx::postgres::PgRow>
            + for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
            + Send
            + Unpin,
    {
        // Nothing of a caller's is in the text: values are arguments.
        macro_rules! fetch {
            ($pool:expr) => {{
                let mut query = sqlx::query_as::<_, R>(AssertSqlSafe(sql));
                for arg in self.args.clone() {
                    query = match arg {
                        Arg::Text(text) => query.bind(text),
                        Arg::Uuid(id) => query.bind(id),
                        Arg::Json(value) => query.bind(Json(value)),
                    };
                }
                query.fetch_all(*$pool).await
            }};
        }
        match pool {
            Pool::Pg(pool) => fetch!(pool),
            Pool::Lite(pool) => fetch!(pool),
        }
        .map_err(|error| fail(what, error))
    }
}
