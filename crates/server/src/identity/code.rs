//! What code may not change, although its owner may.
//!
//! Code is the program of a space (with an agent token) and a script on the server. Both act as
//! their owner. The other spaces of the owner, and other users, must not depend on this code. So
//! code never changes a record that other spaces execute, or that acts for other users.
//!
//! Routes that start scripts or send events again are closed to all scripts: the row in the table ends
//! with `without_scripts`.
//!
//! The rule has two halves. The table in `http::router` closes routes whose records are all of this
//! kind (`Agents::Never`, `Agents::OwnSpace`). On routes with `Agents::OwnRecords`, the service that
//! owns the records calls [`Caller::reject_code`] for each record of this kind, in the transaction.

use super::caller::{Caller, Credential};
use crate::records::{RecordError, Result};

impl Caller {
    /// Rejects a change by code. `record` is what would change, such as "a startup script".
    pub fn reject_code(&self, record: &str) -> Result<()> {
        let (code, credential) = match self.credential {
            Credential::Agent { .. } => ("agent_denied", "an agent token"),
            Credential::Script => ("script_denied", "a script on the server"),
            Credential::Token { .. }
            | Credential::Session { .. }
            | Credential::Enrolment { .. }
            | Credential::App { .. }
            | Credential::Process => return Ok(()),
        };
        Err(RecordError::new(
            code,
            format!(
                "{credential} may not change {record}, because other spaces or other users run it; use an API token (make one with `svc token create`)"
            ),
        ))
    }
}
