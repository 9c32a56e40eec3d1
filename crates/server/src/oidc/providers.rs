//! Providers, as administrators manage them.

use std::collections::BTreeMap;

use svc_core::{OidcProviderId, UserId, UserName, name::check_free_name};
use svc_protocol::api;
use svc_store::{
    PageRequest, StoreError, Tx,
    oidc::{self as rows, providers::ProviderRow},
    records,
};
use uuid::Uuid;

use super::{Oidc, OidcError, endpoints::unusable, requests::check_address};
use crate::{
    identity::Caller,
    records::{RecordError, Result},
    secrets::SecretOf,
};

/// The maximum size of a client id and of a client secret, in bytes.
const CLIENT_MAX: usize = 1_024;
const ISSUER_MAX: usize = 1_024;
const SCOPES_MAX: usize = 20;
const MAPPINGS_MAX: usize = 200;
/// The maximum number of required claims, and of accepted values for each claim.
const REQUIRED_MAX: usize = 20;
/// The maximum size of a scope, and of the name, path or value of a claim, in bytes.
const CLAIM_MAX: usize = 255;

impl Oidc {
    pub async fn list_providers(
        &self,
        reader: UserId,
        page: PageRequest,
    ) -> Result<api::OidcProviders> {
        let reading = self.store.read_list(reader, move |tx| {
            let page = records::list::<ProviderRow>(tx, &(), page)?;
            page.try_map(|provider| counted(tx, provider))
        });
        Ok(reading.await?.into_list())
    }

    pub async fn get_provider(
        &self,
        reader: UserId,
        id: OidcProviderId,
    ) -> Result<api::OidcProvider> {
        let reading = self.store.read_list(reader, move |tx| {
            let provider = records::get::<ProviderRow>(tx, id)?;
            counted(tx, provider)
        });
        Ok(reading.await?)
    }

    pub(super) async fn provider(&self, id: OidcProviderId) -> Result<ProviderRow> {
        let reading = self.store.read(move |tx| records::get(tx, id));
        Ok(reading.await?)
    }

    pub async fn create_provider(
        &self,
        caller: &Caller,
        new: api::NewOidcProvider,
    ) -> Result<api::OidcProvider> {
        // The rule for user names applies, because the name is a part of URLs.
        let name = UserName::parse(&new.name).map_err(|error| {
            let message = error.to_string().replace("user name", "provider name");
            RecordError::new("invalid_name", message)
        })?;
        check_length("issuer", &new.issuer, ISSUER_MAX)?;
        check_address(&new.issuer)
            .and_then(|()| match new.issuer.contains('?') {
                true => Err("an issuer has no query".to_owned()),
                false => Ok(()),
            })
            .map_err(|why| invalid(format!("the issuer is not valid: {why}")))?;
        let id = OidcProviderId(Uuid::now_v7());
        let provider = ProviderRow {
            id,
            label: new.label.unwrap_or_else(|| name.to_string()),
            name: name.to_string(),
            issuer: new.issuer,
            client_id: new.client_id,
            sealed_secret: self.seal(id, new.client_secret)?,
            scopes: new.scopes.unwrap_or_else(default_scopes),
            enabled: new.enabled,
            create_users: new.create_users,
            required_claims: new.required_claims,
            groups_claim: new.groups_claim,
            mappings: new.mappings,
            created_at: self.clock.now(),
        };
        check(&provider)?;
        let saved = self.identity.create_provider(caller, provider).await?;
        Ok(shown(saved, 0))
    }

    pub async fn patch_provider(
        &self,
        caller: &Caller,
        id: OidcProviderId,
        patch: api::OidcProviderPatch,
    ) -> Result<api::OidcProvider> {
        let api::OidcProviderPatch {
            label,
            client_id,
            client_secret,
            scopes,
            enabled,
            create_users,
            required_claims,
            groups_claim,
            mappings,
        } = patch;
        let secret = client_secret.map(|secret| self.seal(id, secret));
        let secret = secret.transpose()?;
        let patched = move |before: &ProviderRow| {
            let kept = before.clone();
            let after = ProviderRow {
                sealed_secret: secret.unwrap_or(kept.sealed_secret),
                label: label.unwrap_or(kept.label),
                client_id: client_id.unwrap_or(kept.client_id),
                scopes: scopes.unwrap_or(kept.scopes),
                enabled: enabled.unwrap_or(kept.enabled),
                create_users: create_users.unwrap_or(kept.create_users),
                required_claims: required_claims.unwrap_or(kept.required_claims),
                groups_claim: groups_claim.unwrap_or(kept.groups_claim),
                mappings: mappings.unwrap_or(kept.mappings),
                ..kept
            };
            check(&after)?;
            Ok(after)
        };
        self.identity.patch_provider(caller, id, patched).await?;
        self.forget(id);
        self.get_provider(caller.user.id, id).await
    }

    pub async fn delete_provider(&self, caller: &Caller, id: OidcProviderId) -> Result<()> {
        self.identity.delete_provider(caller, id).await?;
        self.forget(id);
        Ok(())
    }

    fn seal(&self, id: OidcProviderId, secret: Option<String>) -> Result<Option<Vec<u8>>> {
        let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
            return Ok(None);
        };
        check_length("client secret", &secret, CLIENT_MAX)?;
        Ok(Some(
            self.secrets
                .seal(SecretOf::OidcProvider(id), secret.as_bytes()),
        ))
    }

    pub(super) fn client_secret(
        &self,
        provider: &ProviderRow,
    ) -> Result<Option<String>, OidcError> {
        let Some(sealed) = &provider.sealed_secret else {
            return Ok(None);
        };
        let of = SecretOf::OidcProvider(provider.id);
        let secret = self.secrets.open(of, sealed);
        let secret = secret
            .map_err(|error| unusable(provider, format!("{error}; set its client secret again")))?;
        Ok(Some(String::from_utf8_lossy(&secret).into_owned()))
    }
}

fn default_scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).to_vec()
}

/// A provider with the number of its identities.
fn counted(tx: &mut Tx<'_>, provider: ProviderRow) -> Result<api::OidcProvider, StoreError> {
    let count = rows::identities::count_of_provider(tx, provider.id)?;
    Ok(shown(provider, count))
}

fn shown(provider: ProviderRow, identities: u64) -> api::OidcProvider {
    api::OidcProvider {
        id: provider.id,
        name: provider.name,
        label: provider.label,
        issuer: provider.issuer,
        client_id: provider.client_id,
        has_secret: provider.sealed_secret.is_some(),
        scopes: provider.scopes,
        enabled: provider.enabled,
        create_users: provider.create_users,
        required_claims: provider.required_claims,
        groups_claim: provider.groups_claim,
        mappings: provider.mappings,
        identities,
        created_at: provider.created_at,
    }
}

/// Checks the fields that can be changed.
fn check(provider: &ProviderRow) -> Result<()> {
    check_free_name("label", &provider.label)?;
    check_length("client id", &provider.client_id, CLIENT_MAX)?;
    let is_scope = |scope: &String| {
        !scope.is_empty()
            && scope.len() <= CLAIM_MAX
            && scope
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
    };
    if provider.scopes.len() > SCOPES_MAX || !provider.scopes.iter().all(is_scope) {
        return Err(invalid(format!(
            "`scopes` may have at most {SCOPES_MAX} scopes, each of 1 to {CLAIM_MAX} visible ASCII characters without `\"` and `\\`"
        )));
    }
    if !provider.scopes.iter().any(|scope| scope == "openid") {
        return Err(invalid("`scopes` must contain `openid`"));
    }
    check_required(&provider.required_claims)?;
    if provider.create_users && provider.required_claims.is_empty() {
        return Err(invalid(
            "with `create_users`, `required_claims` must say which accounts get a user, such as {\"groups\": [\"staff\"]}; to admit every account of the provider, require its issuer as the claim `iss`",
        ));
    }
    if let Some(claim) = &provider.groups_claim {
        check_length("`groups_claim`", claim, CLAIM_MAX)?;
    }
    check_mappings(provider)
}

fn check_required(required: &BTreeMap<String, Vec<String>>) -> Result<()> {
    if required.len() > REQUIRED_MAX {
        return Err(invalid(format!(
            "`required_claims` has at most {REQUIRED_MAX} claims"
        )));
    }
    for (claim, values) in required {
        check_length("name of a required claim", claim, CLAIM_MAX)?;
        if values.is_empty() || values.len() > REQUIRED_MAX {
            return Err(invalid(format!(
                "the required claim `{claim}` needs 1 to {REQUIRED_MAX} accepted values"
            )));
        }
        for value in values {
            check_length("value of a required claim", value, CLAIM_MAX)?;
        }
    }
    Ok(())
}

fn check_mappings(provider: &ProviderRow) -> Result<()> {
    let mappings = &provider.mappings;
    if mappings.len() > MAPPINGS_MAX {
        return Err(invalid(format!(
            "`mappings` has at most {MAPPINGS_MAX} entries"
        )));
    }
    if !mappings.is_empty() && provider.groups_claim.is_none() {
        return Err(invalid(
            "`mappings` need `groups_claim`, the claim whose values they map",
        ));
    }
    for mapping in mappings {
        check_length("value of a mapping", &mapping.value, CLAIM_MAX)?;
        if mapping.group.is_some() == mapping.role.is_some() {
            return Err(invalid(format!(
                "the mapping of `{}` needs either `group` or `role`",
                mapping.value
            )));
        }
    }
    Ok(())
}

fn check_length(what: &str, text: &str, max: usize) -> Result<()> {
    match text.len() {
        1.. if text.len() <= max => Ok(()),
        0 => Err(invalid(format!("the {what} is empty"))),
        length => Err(invalid(format!(
            "the {what} has {length} bytes; at most {max} are allowed"
        ))),
    }
}

fn invalid(message: impl Into<String>) -> RecordError {
    RecordError::new("invalid", message)
}
