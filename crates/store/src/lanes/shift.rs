//! Moves the stored times of lanes and deliveries, after the system clock was set.

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

/// Adds `by` milliseconds to the times of all lanes and to the retry times of waiting deliveries.
/// Only for the embedded database.
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
