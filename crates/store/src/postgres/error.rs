//! Errors of the driver, converted to those of the store.

use std::error::Error;

use tokio_postgres::error::SqlState;

use crate::{connection::Access, error::StoreError};

/// A statement of [`Access::ReadPoint`] exceeded its time. The database may be slow, so this is an
/// outage too.
pub(super) const POINT_TIMEOUT: &str = "a small read took too long";

pub(super) fn translate(error: &tokio_postgres::Error, access: Access) -> StoreError {
    let Some(known) = error.as_db_error() else {
        return if error.is_closed() || is_io(error) {
            StoreError::Unavailable(text(error))
        } else {
            StoreError::Database(text(error))
        };
    };
    let code = known.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        return StoreError::Unique(known.constraint().unwrap_or_default().to_owned());
    }
    if *code == SqlState::FOREIGN_KEY_VIOLATION {
        return StoreError::ForeignKey;
    }
    if *code == SqlState::QUERY_CANCELED && access == Access::ReadPoint {
        return StoreError::Unavailable(POINT_TIMEOUT.to_owned());
    }
    if is_outage(code, access) {
        return StoreError::Unavailable(known.message().to_owned());
    }
    StoreError::Database(format!("{} ({})", known.message(), code.code()))
}

/// Whether the same transaction may succeed a moment later on another connection.
fn is_outage(code: &SqlState, access: Access) -> bool {
    // A standby rejects writes, but may be promoted soon.
    let standby = access == Access::Write && *code == SqlState::READ_ONLY_SQL_TRANSACTION;
    let transient = [
        SqlState::QUERY_CANCELED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    // Classes: connections, exhausted resources, operator intervention.
    let class = matches!(&code.code()[..2], "08" | "53" | "57");
    standby || class || transient.contains(code)
}

/// Whether a running database refused a connection, for example because of a wrong password. A
/// database that starts, stops or has lost its own connections (classes 57 and 08) counts as
/// unreachable instead.
pub(super) fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map(SqlState::code);
    code.is_some_and(|code| !matches!(&code[..2], "08" | "57"))
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The message with its cause, on one line.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    if let Some(known) = error.as_db_error() {
        return known.message().to_owned();
    }
    let mut cause = error.source();
    // If there is a cause, the driver's own text, such as "error connecting to server", is left
    // out: only the cause says what happened.
    let mut text = match cause {
        Some(_) => String::new(),
        None => error.to_string(),
    };
    while let Some(error) = cause {
        let more = error.to_string();
        match text.is_empty() {
            true => text = more,
            false if !text.contains(&more) => text = format!("{text}: {more}"),
            false => {}
        }
        cause = error.source();
    }
    text
}

/// A hint for a failure whose message does not say what to do.
pub(super) fn hint(why: &str) -> &'static str {
    if why.contains("peer certificate") {
        "; set `sslrootcert=<file>` in its URL to the authority that signed the certificate"
    } else if why.contains("does not support TLS") {
        "; enable TLS in the database, or add `sslmode=disable` to its URL on a network you trust"
    } else {
        ""
    }
}
