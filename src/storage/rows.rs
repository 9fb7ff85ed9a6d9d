//! Many rows as one statement's table `m`: arrays through `unnest` on Postgres, lists of values on
//! SQLite. A round trip, or a hop to SQLite's thread, costs as much as the work of many rows.

use std::borrow::Cow;
use std::fmt::Write as _;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::domain::clock::Ts;
use crate::domain::error::Result;
use crate::storage::db::Tx;
use crate::storage::dialect::Both;
use crate::storage::error::fail;

#[cfg(test)]
mod tests;

/// SQLite's lists have this many rows at most, and a power of two: so few texts are prepared.
const CHUNK: usize = 64;

/// What a column of `m` holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Big,
    Int,
    Text,
    Id,
    Time,
}

impl Kind {
    fn postgres(self) -> &'static str {
        match self {
            Self::Big => "bigint[]",
            Self::Int => "integer[]",
            Self::Text => "text[]",
            Self::Id => "uuid[]",
            Self::Time => "timestamptz[]",
        }
    }
}

/// A value of a row.
pub(super) enum Cell<'a> {
    Big(i64),
    Int(i32),
    Text(Option<Cow<'a, str>>),
    Id(Option<Uuid>),
    Time(Ts),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(Cow::Borrowed(text)))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(Cow::Owned(text)))
    }
}

impl From<Option<String>> for Cell<'_> {
    fn from(text: Option<String>) -> Self {
        Self::Text(text.map(Cow::Owned))
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::Borrowed))
    }
}

impl From<Uuid> for Cell<'_> {
    fn from(id: Uuid) -> Self {
        Self::Id(Some(id))
    }
}

impl From<Option<Uuid>> for Cell<'_> {
    fn from(id: Option<Uuid>) -> Self {
        Self::Id(id)
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Big(number)
    }
}

impl From<i32> for Cell<'_> {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<Ts> for Cell<'_> {
    fn from(at: Ts) -> Self {
        Self::Time(at)
    }
}

/// A statement over the rows of `m`.
pub(super) struct OverRows {
    columns: &'static [(&'static str, Kind)],
    sql: Both,
}

impl OverRows {
    /// A statement that reads the same on both databases.
    pub(super) const fn new(columns: &'static [(&'static str, Kind)], sql: &'static str) -> Self {
        Self { columns, sql: Both { pg: sql, lite: sql } }
    }

    /// One that differs between them.
    pub(super) const fn differing(columns: &'static [(&'static str, Kind)], sql: Both) -> Self {
        Self { columns, sql }
    }

    /// No rows yet.
    pub(super) const fn rows<'a>(&'static self) -> Rows<'a> {
        Rows { over: self, cells: Vec::new() }
    }

    /// The text for Postgres, of any number of rows.
    pub(super) fn postgres(&self) -> String {
        let mut text = String::from("with m (");
        self.push_names(&mut text);
        text.push_str(") as (select * from unnest(");
        for (at, (_, kind)) in (1..).zip(self.columns) {
            let comma = if at == 1 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _written = write!(text, "{comma}${at}::{}", kind.postgres());
        }
        text.push_str(")) ");
        text.push_str(self.sql.pg);
        text
    }

    /// The text for SQLite, of so many rows.
    pub(super) fn sqlite(&self, rows: usize) -> String {
        let mut text = String::from("with m (");
        self.push_names(&mut text);
        text.push_str(") as (values ");
        for row in 0..rows {
            text.push_str(if row == 0 { "(" } else { ", (" });
            for column in 0..self.columns.len() {
                text.push_str(if column == 0 { "?" } else { ", ?" });
            }
            text.push(')');
        }
        text.push_str(") ");
        text.push_str(self.sql.lite);
        text
    }

    fn push_names(&self, text: &mut String) {
        for (at, (name, _)) in self.columns.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            text.push_str(name);
        }
    }
}

/// Rows on their way to a statement. Without any, nothing is sent.
pub(super) struct Rows<'a> {
    over: &'static OverRows,
    /// Row by row, all columns of each.
    cells: Vec<Cell<'a>>,
}

impl<'a> Rows<'a> {
    pub(super) fn push<const N: usize>(&mut self, row: [Cell<'a>; N]) {
        debug_assert_eq!(N, self.over.columns.len(), "a row has every column of its statement");
        self.cells.extend(row);
    }

    /// Executes the statement over all rows.
    pub(super) async fn execute(self, tx: &mut Tx, what: &'static str) -> Result<()> {
        if self.cells.is_empty() {
            return Ok(());
        }
        match tx {
            Tx::Pg(tx) => {
                let arguments = self.arrays().map_err(|error| fail(what, error))?;
                let query = sqlx::query_with(AssertSqlSafe(self.over.postgres()), arguments);
                query.execute(&mut **tx).await.map_err(|error| fail(what, error))?;
            }
            Tx::Lite(tx) => {
                for chunk in self.chunks() {
                    let (sql, arguments) = self.list(chunk).map_err(|error| fail(what, error))?;
                    let query = sqlx::query_with(AssertSqlSafe(sql), arguments);
                    query.execute(&mut **tx).await.map_err(|error| fail(what, error))?;
                }
            }
        }
        Ok(())
    }

    /// The same, with what it returns.
    pub(super) async fn fetch<T>(self, tx: &mut Tx, what: &'static str) -> Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        self.try_fetch(tx).await.map_err(|error| fail(what, error))
    }

    /// The same, for those to whom the database's own error says something.
    pub(super) async fn try_fetch<T>(self, tx: &mut Tx) -> Result<Vec<T>, sqlx::Error>
    where
        T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        if self.cells.is_empty() {
            return Ok(Vec::new());
        }
        match tx {
            Tx::Pg(tx) => {
                let sql = AssertSqlSafe(self.over.postgres());
                sqlx::query_as_with(sql, self.arrays()?).fetch_all(&mut **tx).await
            }
            Tx::Lite(tx) => {
                let mut found = Vec::new();
                for chunk in self.chunks() {
                    let (sql, arguments) = self.list(chunk)?;
                    let query = sqlx::query_as_with(AssertSqlSafe(sql), arguments);
                    found.extend(query.fetch_all(&mut **tx).await?);
                }
                Ok(found)
            }
        }
    }

    /// The rows as one array a column.
    fn arrays(&self) -> Result<PgArguments, sqlx::Error> {
        let mut arguments = PgArguments::default();
        let width = self.over.columns.len();
        for (at, (_, kind)) in self.over.columns.iter().enumerate() {
            let column = self.cells.iter().skip(at).step_by(width);
            let added = match kind {
                Kind::Big => arguments.add(column.map(Cell::big).collect::<Vec<_>>()),
                Kind::Int => arguments.add(column.map(Cell::int).collect::<Vec<_>>()),
                Kind::Text => arguments.add(column.map(Cell::text).collect::<Vec<_>>()),
                Kind::Id => arguments.add(column.map(Cell::id).collect::<Vec<_>>()),
                Kind::Time => arguments.add(column.map(Cell::time).collect::<Vec<_>>()),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok(arguments)
    }

    /// The cells in lists of a power of two of rows, the largest first.
    fn chunks(&self) -> Vec<&[Cell<'a>]> {
        let width = self.over.columns.len();
        let (mut rest, mut chunks) = (self.cells.as_slice(), Vec::new());
        while !rest.is_empty() {
            let rows = CHUNK.min(1 << (rest.len() / width).max(1).ilog2());
            let (chunk, after) = rest.split_at((rows * width).min(rest.len()));
            chunks.push(chunk);
            rest = after;
        }
        chunks
    }

    fn list(&self, chunk: &[Cell<'a>]) -> Result<(String, SqliteArguments), sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        for cell in chunk {
            let added = match cell {
                Cell::Big(number) => arguments.add(*number),
                Cell::Int(number) => arguments.add(*number),
                Cell::Text(text) => arguments.add(text.as_deref().map(str::to_owned)),
                Cell::Id(id) => arguments.add(*id),
                Cell::Time(at) => arguments.add(*at),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        Ok((self.over.sqlite(chunk.len() / self.over.columns.len()), arguments))
    }
}

impl Cell<'_> {
    fn big(&self) -> Option<i64> {
        if let Self::Big(number) = self { Some(*number) } else { None }
    }

    fn int(&self) -> Option<i32> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { text.as_deref() } else { None }
    }

    fn id(&self) -> Option<Uuid> {
        if let Self::Id(id) = self { *id } else { None }
    }

    fn time(&self) -> Option<Ts> {
        if let Self::Time(at) = self { Some(*at) } else { None }
    }
}
