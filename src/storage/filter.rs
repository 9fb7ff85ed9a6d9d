//! Searches whose conditions are only known when they are asked: text and arguments grow together.

use serde_json::{Map, Value};
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::domain::error::Result;
use crate::domain::json;
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

/// A query under construction: `select … where` first, then conditions, then order and page.
pub(super) struct Search {
    sql: String,
    args: Vec<Arg>,
    is_postgres: bool,
}

impl Search {
    /// `select` ends with a `where` clause that has one condition, on `first`.
    pub(super) fn new(db: &Db, select: &str, first: Arg) -> Self {
        Self { sql: select.to_owned(), args: vec![first], is_postgres: db.is_postgres() }
    }

    /// Adds a condition; each `?` in it stands for the next of `args`.
    pub(super) fn and(&mut self, condition: &str, args: impl IntoIterator<Item = Arg>) {
        self.sql.push_str(" and ");
        let mut args = args.into_iter();
        for part in condition.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(before) => {
                    self.sql.push_str(before);
                    self.args.extend(args.next());
                    self.sql.push('$');
                    self.sql.push_str(&self.args.len().to_string());
                }
                None => self.sql.push_str(part),
            }
        }
    }

    /// The document in `column` contains `pattern`. On SQLite this only narrows, by the leaves of
    /// `subject`, whose rows `key` names: the caller verifies with [`json::contains`].
    pub(super) fn containing(
        &mut self,
        column: &str,
        subject: &str,
        key: &str,
        pattern: &Map<String, Value>,
    ) {
        if pattern.is_empty() {
            return;
        }
        if self.is_postgres {
            self.and(&format!("{column} @> ?"), [Arg::Json(Value::Object(pattern.clone()))]);
            return;
        }
        for leaf in json::required_leaves(pattern) {
            let condition = format!(
                "{key} in (select row_key from leaves where subject = '{subject}' \
                 and path = ? and kind = ? and text = ?)"
            );
            let args = [leaf.path, leaf.kind.to_string(), leaf.text].map(Arg::Text);
            self.and(&condition, args);
        }
    }

    /// Fetches a page in this order. Rows that `keep` refuses do not count.
    pub(super) async fn page<R, T>(
        self,
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
        let (limit, mut skip) = (page.limit as usize, page.offset as usize);
        let mut found = Vec::new();
        let (mut start, mut chunk) = (0_usize, skip + limit);
        loop {
            let sql = format!("{} order by {order} limit {chunk} offset {start}", self.sql);
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
