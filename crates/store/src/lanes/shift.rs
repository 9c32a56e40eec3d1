//! Moves the stored times of lanes, after the clock of the embedded database was set.

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// Moves every time that a lane or a delivery waits for, by a number of milliseconds. Only for the
/// embedded database.
pub(crate) fn shift_times(tx: &mut Tx<'_>, by: i64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE lanes SET next_at = MAX(next_at + ?1, 0), rate_until = MAX(rate_until + ?1, 0),
             lease_until = CASE WHEN lease_until > 0 THEN MAX(lease_until + ?1, 1) ELSE 0 END,
             failing_since = failing_since + ?1",
        values![by],
    )?;
    tx.execute(
        "UPDATE deliveries SET retry_at = MAX(retry_at + ?1, 0)
         WHERE state = 'pending' AND retry_at > 0",
        values![by],
    )
}
