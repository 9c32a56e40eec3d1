//! The records of providers: who may change them, and what their deletion ends.

use serde_json::json;
use svc_core::{OidcProviderId, UserId};
use svc_protocol::api::NewOidcProvider;
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
    identity::{Change, Identity, caller::Caller, lapsed::remove_lapsed},
    records::{RecordError, Result, check_limit, check_name_free, settings_of},
};

/// Removes a provider with its identities. Returns their users.
fn remove_provider(tx: &mut Tx<'_>, provider: OidcProviderId) -> Result<Vec<UserId>> {
    let mut users = Vec::new();
    for known in identities::list_of_provider(tx, provider)? {
        remove(tx, &known)?;
        users.push(known.user_id);
    }
    records::delete::<ProviderRow>(tx, provider)?;
    Ok(users)
}

impl Identity {
    pub async fn create_provider(
        &self,
        caller: &Caller,
        provider: ProviderRow,
    ) -> Result<ProviderRow> {
        self.change(caller, move |tx, caller| {
            mapping::check_may_give(tx, caller, &provider)?;
            insert_provider(tx, &provider)?;
            audit(tx, caller, "oidc.provider_created", &provider)?;
            Ok(provider)
        })
        .await
    }

    /// `patched` makes the changed provider of the stored one.
    pub async fn patch_provider(
        &self,
        caller: &Caller,
        id: OidcProviderId,
        patched: impl FnOnce(&ProviderRow) -> Result<ProviderRow> + Send + 'static,
    ) -> Result<ProviderRow> {
        self.change(caller, move |tx, caller| {
            let before = records::get::<ProviderRow>(tx, id)?;
            let after = patched(&before)?;
            mapping::check_may_give(tx, caller, &after)?;
            mapping::check_may_take(tx, caller, &before)?;
            if after != before {
                records::replace(tx, &after)?;
                audit(tx, caller, "oidc.provider_updated", &after)?;
            }
            Ok(after)
        })
        .await
    }

    /// Deletes a provider. The sessions that were opened with the provider end, and users lose the
    /// groups and roles that it gave.
    pub async fn delete_provider(&self, caller: &Caller, id: OidcProviderId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let provider = records::get::<ProviderRow>(tx, id)?;
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

fn audit(
    tx: &mut Change<'_, '_>,
    caller: &Caller,
    action: &'static str,
    provider: &ProviderRow,
) -> Result<()> {
    let detail = settings_of(provider, NewOidcProvider::MEMBERS, &[]);
    Ok(tx.audit(caller, action, ("oidc_provider", provider.id), detail)?)
}

fn insert_provider(tx: &mut Tx<'_>, provider: &ProviderRow) -> Result<()> {
    let has = records::count::<ProviderRow>(tx, &())?;
    check_limit(has, PROVIDERS_MAX, "providers", "too_many_providers")?;
    check_name_free(tx, provider)?;
    if let Some(other) = providers::find_by_issuer(tx, &provider.issuer)? {
        return Err(RecordError::new(
            "name_taken",
            format!(
                "the provider `{}` has the issuer `{}` already; change that provider instead",
                other.name, other.issuer
            ),
        ));
    }
    Ok(records::insert(tx, provider)?)
}
