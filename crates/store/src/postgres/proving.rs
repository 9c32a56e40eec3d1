//! A schema of its own for a run of `svc prove`: creates it, ends the connections of its servers,
//! and removes it.

use futures_util::future::{Either, select};
use thiserror::Error;
use tokio_postgres::{Client, error::SqlState};

use super::{
    address::DatabaseUrl,
    connect::{Connector, drive},
    error,
};

/// The maximum length of the name of a schema. PostgreSQL cuts names after 63 bytes.
const NAME_MAX: usize = 40;
/// The pattern of `LIKE` for the application names of svc servers.
const SERVERS: &str = "svc%";

#[derive(Debug, Error)]
pub enum ProvingError {
    #[error(
        "`{0}` cannot be the name of the schema: use at most {NAME_MAX} characters, only lowercase \
         letters, digits and `_`, and do not begin with a digit or `pg_`"
    )]
    Name(String),
    #[error("the database URL must not have `options` or `application_name`")]
    Options,
    #[error("the schema `{0}` exists already")]
    Exists(String),
    #[error("{0} connections of svc servers use this database")]
    InUse(i64),
    #[error("cannot connect to the database: {0}")]
    Unreachable(String),
    #[error("the database refused a statement: {0}")]
    Database(String),
}

impl From<tokio_postgres::Error> for ProvingError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error::text(&error))
    }
}

/// A schema that [`create`](Self::create) has created.
pub struct ProvingSchema {
    connector: Connector,
    name: String,
}

impl ProvingSchema {
    /// Creates the schema. An existing schema is refused, and so is a database that svc servers use:
    /// servers of one database share locks, also in different schemas.
    pub async fn create(url: DatabaseUrl, name: &str) -> Result<Self, ProvingError> {
        if !is_name(name) {
            return Err(ProvingError::Name(name.to_owned()));
        }
        if url.has_options() {
            return Err(ProvingError::Options);
        }
        let schema = Self {
            connector: Connector::new(url),
            name: name.to_owned(),
        };
        schema
            .with_client(async |client| {
                let in_use = client
                    .query_one(
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND application_name LIKE $1 AND pid <> pg_backend_pid()",
                        &[&SERVERS],
                    )
                    .await?
                    .get::<_, i64>(0);
                if in_use > 0 {
                    return Err(ProvingError::InUse(in_use));
                }
                // `is_name` admits no character that needs quotes.
                let created = client.batch_execute(&format!("CREATE SCHEMA {name}")).await;
                created.map_err(|error| match error.code() {
                    Some(code) if *code == SqlState::DUPLICATE_SCHEMA => {
                        ProvingError::Exists(name.to_owned())
                    }
                    _ => error.into(),
                })
            })
            .await?;
        Ok(schema)
    }

    /// The application name that the servers of the run must use.
    pub fn application_name(&self) -> String {
        format!("svc-{}", self.name)
    }

    /// Ends the connections of the servers of the run. Returns their number.
    pub async fn end_connections(&self) -> Result<usize, ProvingError> {
        let name = self.application_name();
        self.with_client(async |client| {
            let ended = client
                .query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name = $1",
                    &[&name],
                )
                .await?;
            Ok(ended.len())
        })
        .await
    }

    /// Removes the schema and everything in it.
    pub async fn remove(&self) -> Result<(), ProvingError> {
        self.end_connections().await?;
        self.with_client(async |client| {
            let drop = format!(
                "SET client_min_messages = warning; DROP SCHEMA {} CASCADE",
                self.name
            );
            Ok(client.batch_execute(&drop).await?)
        })
        .await
    }

    /// Opens a connection for one piece of work.
    async fn with_client<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, ProvingError>,
    ) -> Result<T, ProvingError> {
        let opened = self.connector.connect().await;
        let (client, messages) =
            opened.map_err(|error| ProvingError::Unreachable(error.to_string()))?;
        let working = std::pin::pin!(work(&client));
        let driving = std::pin::pin!(drive(messages));
        match select(working, driving).await {
            Either::Left((done, _)) => done,
            // The connection has ended, so the work ends with an error.
            Either::Right(((), working)) => working.await,
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
    name.len() <= NAME_MAX
        && name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && !name.starts_with("pg_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes() {
        for name in ["svc_prove_1", "_a", "prove"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "1a",
            "A",
            "a-b",
            "a\"b",
            "a b",
            "pg_x",
            "ä",
            &"a".repeat(41),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
