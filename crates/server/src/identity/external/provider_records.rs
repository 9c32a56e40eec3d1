//! The records of providers: who may change them, and what their deletion ends.

use serde_json::json;
use svc_core::{OidcProviderId, UserId};
use svc_store::{
    Tx,
    oidc::{
        identities,
        providers::{self, ProviderRow},
    },
    records,
};

use super::{linking::remove, mapping};
use crate::{
    identity::{Identity, caller::Caller, lapsed::remove_lapsed},
    records::{RecordError, check_name_free},
};

/// Removes a provider with its identities. Returns their users.
fn remove_provider(tx: &mut Tx<'_>, provider: OidcProviderId) -> Result<Vec<UserId>, RecordError> {
    let mut users = Vec::new();
    for known in identities::list_of_provider(tx, provider)? {
        remove(tx, &known)?;
        users.push(known.user_id);
    }
    records::delete::<ProviderRow>(tx, provider)?;
    Ok(users)
}

impl Identity {
    /// Creates or replaces a provider. `before` is the provider as the caller saw it.
    pub async fn save_provider(
        &self,
        caller: &Caller,
        before: Option<ProviderRow>,
        after: ProviderRow,
    ) -> Result<ProviderRow, RecordError> {
        let action = match before {
            Some(_) => "oidc.provider_updated",
            None => "oidc.provider_created",
        };
        self.change(caller, move |tx, caller| {
            mapping::check_may_give(tx, caller, &after)?;
            match before {
                Some(before) => {
                    mapping::check_may_take(tx, caller, &before)?;
                    if records::find::<ProviderRow>(tx, before.id)?.as_ref() != Some(&before) {
                        return Err(RecordError::conflict(
                            "conflict",
                            "the provider was changed meanwhile; read it again",
                        ));
                    }
                    records::replace(tx, &after)?;
                }
                None => insert_provider(tx, &after)?,
            }
            tx.audit(
                caller,
                action,
                ("oidc_provider", after.id),
                json!({"name": after.name, "issuer": after.issuer, "client_id": after.client_id,
                "enabled": after.enabled, "create_users": after.create_users,
                "required_claims": after.required_claims, "groups_claim": after.groups_claim,
                "mappings": after.mappings}),
            )?;
            Ok(after)
        })
        .await
    }

    /// Deletes a provider. The sessions that were opened with the provider end, and users lose the
    /// groups and roles that it gave.
    pub async fn delete_provider(
        &self,
        caller: &Caller,
        id: OidcProviderId,
    ) -> Result<(), RecordError> {
        self.change(caller, move |tx, caller| {
            let provider = records::find::<ProviderRow>(tx, id)?
                .ok_or_else(|| RecordError::not_found("provider", id))?;
            mapping::check_may_take(tx, caller, &provider)?;
            let users = remove_provider(tx, id)?;
            let detail = json!({"name": provider.name, "users": users.len()});
            tx.audit(
                caller,
                "oidc.provider_deleted",
                ("oidc_provider", id),
                detail,
            )?;
            remove_lapsed(tx, &users)?;
            tx.affects_users(users);
            Ok(())
        })
        .await
    }
}

/// The maximum number of providers.
const PROVIDERS_MAX: u64 = 20;

fn insert_provider(tx: &mut Tx<'_>, provider: &ProviderRow) -> Result<(), RecordError> {
    if records::count::<ProviderRow>(tx, &())? >= PROVIDERS_MAX {
        return Err(RecordError::conflict(
            "too_many_providers",
            format!("there are {PROVIDERS_MAX} providers already; delete one first"),
        ));
    }
    check_name_free(tx, provider)?;
    if let Some(other) = providers::find_by_issuer(tx, &provider.issuer)? {
        return Err(RecordError::conflict(
            "name_taken",
            format!(
                "the provider `{}` has the issuer `{}` already; change that provider instead",
                other.name, other.issuer
            ),
        ));
    }
    Ok(records::insert(tx, provider)?)
}
