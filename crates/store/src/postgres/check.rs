//! Checks that a database can be used.

use super::{Connection, Server, single_text};
use crate::error::OpenError;

/// The oldest release of PostgreSQL that works, as its `server_version_num`.
const VERSION_MIN: u32 = 130_000;

impl Server {
    /// Checks the first connection of a store.
    pub(crate) fn check(&self, connection: &Connection) -> Result<(), OpenError> {
        let messages = connection
            .wait(connection.client.simple_query("SHOW server_version_num"))
            .map_err(OpenError::from)?;
        check_version(single_text(&messages).unwrap_or_default())?;
        let messages = connection
            .wait(connection.client.simple_query("SHOW synchronous_commit"))
            .map_err(OpenError::from)?;
        if single_text(&messages) == Some("off") {
            tracing::warn!(target: crate::LOG_TARGET,
                "`synchronous_commit` is off in the database: acknowledged changes may be lost if the database crashes"
            );
        }
        Ok(())
    }
}

fn check_version(found: &str) -> Result<(), OpenError> {
    match found.parse::<u32>() {
        Ok(version) if version >= VERSION_MIN => Ok(()),
        _ => Err(OpenError::PostgresTooOld {
            found: found.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_before_13_are_refused_by_their_number() {
        for found in ["130000", "150004", "180001"] {
            check_version(found).expect(found);
        }
        for found in ["120022", "90624", "", "devel"] {
            let refused = check_version(found).expect_err(found).to_string();
            assert!(refused.contains(found), "{refused}");
            assert!(refused.contains("13 or newer"), "{refused}");
        }
    }
}
