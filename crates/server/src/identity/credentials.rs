//! Credentials of a user: sessions, tokens, grants of apps, and accounts at providers. Users list and
//! end their own. Callers with `manage_users` list those of every user, and end those of users who
//! hold no permission that the caller lacks.

use svc_core::UserId;
use svc_store::{
    StoreError, Tx,
    records::{self, Kept},
    users::UserRow,
};

use super::{Identity, caller::Caller, power::Actor};
use crate::records::{RecordError, Result};

impl Identity {
    /// Reads credentials of a user; of the caller if no user is named.
    pub async fn read_credentials<T: Send + 'static>(
        &self,
        caller: &Caller,
        user: Option<UserId>,
        read: impl FnOnce(&mut Tx<'_>, &UserRow) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T> {
        let user = user.unwrap_or(caller.user.id);
        caller.check_credentials_of(user)?;
        let reading = self.store.read_list(caller.user.id, move |tx| {
            let owner = records::get::<UserRow>(tx, user)?;
            read(tx, &owner)
        });
        Ok(reading.await?)
    }
}

/// Finds a credential that the caller may end. A credential that the caller may not see is not
/// found.
pub fn find_endable<R: Kept>(
    tx: &mut Tx<'_>,
    caller: &Caller,
    id: R::Id,
    user_of: fn(&R) -> UserId,
) -> Result<R> {
    let found = records::find::<R>(tx, id)?
        .filter(|record| caller.check_credentials_of(user_of(record)).is_ok())
        .ok_or_else(|| RecordError::not_found(R::KIND, id))?;
    Actor::read(tx, caller)?.check_user(tx, user_of(&found))?;
    Ok(found)
}
