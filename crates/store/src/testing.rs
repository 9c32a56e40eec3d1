//! For tests of other crates: runs statements that the store has no function for. The product is
//! built without this module, so that no other crate can run SQL.

use std::path::Path;

use super::{StoreError, Tx};

/// Runs statements on the database in a file while no server uses it.
///
/// # Panics
///
/// If the file is not a database or the statements do not fit its schema.
pub fn edit_file(file: &Path, sql: &str) {
    rusqlite::Connection::open(file)
        .expect("the file is a database")
        .execute_batch(sql)
        .expect("the statements fit the schema");
}

/// Runs statements in a transaction.
pub fn execute_script(tx: &mut Tx<'_>, sql: &str) -> Result<(), StoreError> {
    tx.execute_script(sql)
}
