//! For tests of other crates: runs statements that the store has no function for. The product is
//! built without this module, so that no other crate can run SQL.

use std::path::Path;

use super::{StoreError, Tx, migrations};

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

/// Holds the write lock of a database until dropped. Meanwhile the server of the database cannot
/// write.
pub struct WriteLock(#[expect(dead_code, reason = "held")] rusqlite::Connection);

/// Takes the write lock of the database in a file that a server uses.
///
/// # Panics
///
/// If the file is not a database, or its server does not release the lock.
pub fn lock_writes(file: &Path) -> WriteLock {
    let connection = rusqlite::Connection::open(file).expect("the file is a database");
    let limit = std::time::Duration::from_secs(10);
    connection.busy_timeout(limit).expect("a limit is accepted");
    let locked = connection.execute_batch("BEGIN IMMEDIATE");
    locked.expect("the server releases the lock");
    WriteLock(connection)
}

/// Creates a database in a file on which no migration has run.
///
/// # Panics
///
/// If the file cannot be created or holds a database already.
pub fn create_file(file: &Path) {
    edit_file(file, migrations::STEPS_TABLE);
}

/// Runs statements in a transaction.
pub fn execute_script(tx: &mut Tx<'_>, sql: &str) -> Result<(), StoreError> {
    tx.execute_script(sql)
}
