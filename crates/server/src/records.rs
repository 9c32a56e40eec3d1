//! What all services of records have in common.

mod error;

use svc_store::{
    Tx,
    records::{Named, find_same_name},
};

pub use error::{RecordError, UNAUTHORIZED, whole_seconds};

/// Fails if another record of the same owner has the name.
pub fn check_name_free<R: Named>(tx: &mut Tx<'_>, record: &R) -> Result<(), RecordError> {
    match find_same_name(tx, record)? {
        Some(_) => Err(RecordError::name_taken(R::KIND, record.name())),
        None => Ok(()),
    }
}
