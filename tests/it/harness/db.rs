//! A database for each test: an SQLite file, or a Postgres database of its own.

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

/// A fresh database; it goes when this is dropped.
pub struct Database {
    pub url: String,
    _folder: Option<TempDir>,
}

impl Database {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let url = format!("sqlite://{}/runloom.db", folder.path().display());
        Self { url, _folder: Some(folder) }
    }

    /// A new database on the server of `TEST_DATABASE_URL`, which `scripts/test` starts.
    pub async fn postgres() -> Self {
        let server = std::env::var("TEST_DATABASE_URL")
            .expect("TEST_DATABASE_URL names a Postgres server (scripts/test starts one)");
        let name = format!("runloom_{}", uuid::Uuid::new_v4().simple());
        let mut connection = PgConnection::connect(&server).await.expect("Postgres answers");
        let create = format!("create database {name}");
        sqlx::query(AssertSqlSafe(create))
            .execute(&mut connection)
            .await
            .expect("a database is made");
        let (host, _) = server.rsplit_once('/').expect("the URL names a database");
        Self { url: format!("{host}/{name}"), _folder: None }
    }
}

/// Makes `sqlite::NAME` and `postgres::NAME` of each async test, which is given a [`Database`].
macro_rules! on_both_databases {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::db::Database::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::db::Database::postgres().await).await;
            })*
        }
    };
}

pub(crate) use on_both_databases;
