//! The engines that the store's tests run on. The tests in [`on_each_engine`] run on both engines.

use svc_testkit::{TestDatabase, TestPostgres};
use tempfile::TempDir;

use super::{DatabaseUrl, OpenError, Store, StoreError, StoreOptions, Tx, value::Value};

/// A fresh database of one engine.
pub(crate) enum TestEngine {
    Embedded(TempDir),
    Postgres(TestDatabase),
}

impl TestEngine {
    pub(crate) fn embedded() -> Self {
        Self::Embedded(tempfile::tempdir().expect("a temporary folder"))
    }

    /// If PostgreSQL is not installed, prints a message and returns `None`.
    pub(crate) fn postgres() -> Option<Self> {
        Some(Self::Postgres(TestPostgres::find()?.database()))
    }

    pub(crate) async fn open(&self) -> Store {
        self.open_with(StoreOptions::default()).await
    }

    pub(crate) async fn open_with(&self, options: StoreOptions) -> Store {
        self.try_open(options).await.expect("the store opens")
    }

    pub(crate) async fn try_open(&self, options: StoreOptions) -> Result<Store, OpenError> {
        match self {
            Self::Embedded(folder) => Store::open_with(folder.path(), options),
            Self::Postgres(database) => {
                let url = DatabaseUrl::parse(&database.url).expect("a URL");
                Store::connect(url, options).await
            }
        }
    }
}

/// The plan of a query. PostgreSQL reads small tables as a whole and sorts few rows, so this is turned off.
pub(crate) fn explain(tx: &mut Tx<'_>, sql: &str, values: &[Value]) -> Result<String, StoreError> {
    if tx.is_shared() {
        for off in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
            tx.execute_script(&format!("SET LOCAL {off} = off"))?;
        }
        let plan: Vec<String> = tx.list(&format!("EXPLAIN {sql}"), values)?;
        return Ok(plan.join("\n"));
    }
    let plan = tx.query(&format!("EXPLAIN QUERY PLAN {sql}"), values)?;
    let steps = plan.iter().map(|row| row.get("detail"));
    Ok(steps.collect::<Result<Vec<String>, _>>()?.join("\n"))
}

/// Makes each of these functions a test on each engine. The functions take a [`TestEngine`].
macro_rules! on_each_engine {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(&$crate::engines::TestEngine::embedded()).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test]
                async fn $name() {
                    if let Some(engine) = $crate::engines::TestEngine::postgres() {
                        super::$name(&engine).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_each_engine;
