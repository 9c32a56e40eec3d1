//! Recovery for users who lost the device of their second factor: recovery codes, and a reset by an
//! administrator or on the server's machine.

use std::net::IpAddr;

use serde_json::json;
use svc_core::{
    UserId,
    totp::{RECOVERY_CODE_BYTES, format_recovery_code},
};
use svc_crypto::random;
use svc_protocol::api;
use svc_store::{
    Hash, Store, StoreError, Tx,
    audit::{self, Entry},
    records, second_factors as rows,
    users::UserRow,
    zone_changes::ZoneChange,
};

use super::{RECOVERY_CODES, SecondFactors, no_factor};
use crate::{
    identity::{Actor, Caller, hash_secret},
    records::{RecordError, Result, tell_zone},
};

/// New recovery codes. The type has no `Debug`, because the codes are secrets.
pub(super) struct NewCodes(Vec<String>);

impl NewCodes {
    pub(super) fn draw() -> Result<Self> {
        let codes = (0..RECOVERY_CODES).map(|_| {
            Ok(format_recovery_code(
                &random::bytes::<RECOVERY_CODE_BYTES>()?
            ))
        });
        Ok(Self(codes.collect::<Result<_, RecordError>>()?))
    }

    pub(super) fn shown(&self) -> api::RecoveryCodes {
        api::RecoveryCodes {
            recovery_codes: self.0.clone(),
        }
    }

    /// Replaces the codes of a user.
    pub(super) fn store(&self, tx: &mut Tx<'_>, user: UserId) -> Result<(), StoreError> {
        let hashes: Vec<Hash> = self.0.iter().map(|code| hash_secret(code)).collect();
        rows::recovery_codes::set(tx, user, &hashes)
    }
}

impl SecondFactors {
    /// Creates new recovery codes. Earlier codes become invalid.
    pub async fn renew_recovery_codes(
        &self,
        caller: &Caller,
        proof: api::PasswordProof,
        address: IpAddr,
    ) -> Result<api::RecoveryCodes> {
        let codes = NewCodes::draw()?;
        let shown = codes.shown();
        let action = "second_factor.recovery_codes_renewed";
        let (identity, given) = (&self.identity, (Some(proof.password), address));
        let changing = identity.change_with_proof(caller, given, move |tx, caller| {
            let user = caller.user.id;
            if !rows::exists(tx, user)? {
                return Err(no_factor());
            }
            codes.store(tx, user)?;
            tx.audit(caller, action, ("user", user), json!({}))?;
            Ok(())
        });
        changing.await?;
        Ok(shown)
    }

    /// Removes the second factors of another user.
    pub async fn reset(&self, caller: &Caller, id: UserId) -> Result<()> {
        let changing = self.identity.change(caller, move |tx, caller| {
            records::get::<UserRow>(tx, id)?;
            Actor::read(tx, caller)?.check_user(tx, id)?;
            if id == caller.user.id {
                return Err(RecordError::new(
                    "own_account",
                    "to remove your own second factors, enter your password on the page “Account”",
                ));
            }
            rows::delete_of_user(tx, id)?;
            tx.audit(caller, "second_factor.reset", ("user", id), json!({}))?;
            tx.affects(ZoneChange::User(id));
            Ok(())
        });
        changing.await
    }
}

/// Removes the second factors of a user directly in the database, without a request to a server.
/// For the case that the last administrator has lost the device of their second factor. Returns
/// whether the user exists.
pub async fn reset_on_host(store: &Store, username: &str) -> Result<bool, StoreError> {
    let username = username.to_owned();
    let at = svc_clock::now();
    store
        .write(move |tx| {
            let Some(user) = records::find_named::<UserRow>(tx, &(), &username)? else {
                return Ok(false);
            };
            rows::delete_of_user(tx, user.id)?;
            let (target, detail) = (("user", user.id.to_string()), json!({"on_host": true}));
            let entry = Entry::by_system(at, "second_factor.reset", target, detail);
            audit::append(tx, &entry)?;
            // Running servers of the zone read this change.
            tell_zone(tx, &[ZoneChange::User(user.id)])?;
            Ok(true)
        })
        .await
}
