//! Apps: finds the app of a `client_id`, and lets administrators add, block and delete apps.

use std::net::IpAddr;

use serde_json::json;
use svc_core::{
    OAuthClientId, Timestamp, UserId,
    credential::CredentialKind,
    name::check_free_name,
    network::row_network,
    oauth::{ClientKind, RedirectUri, host_of, usable_uris},
};
use svc_crypto::is_equal;
use svc_protocol::api;
use svc_store::{
    PageRequest, StoreError, Tx,
    oauth::{self as rows, clients::ClientRow},
    records,
};
use uuid::Uuid;

use super::{
    OAuth,
    error::OAuthError,
    known_apps::{self, KnownApp},
};
use crate::{
    identity::{Caller, Secret, hash_secret},
    records::{RecordError, Result},
};

/// The maximum number of apps that no user has connected. Blocked apps and apps that administrators
/// added do not count. Beyond it, the network that added the most of these apps loses its oldest
/// ones: if new apps were rejected instead, a stranger could keep out all other apps.
pub const UNUSED_MAX: u32 = 1_000;

/// How an app identifies itself in a request for tokens.
#[derive(Clone, Default)]
pub struct Presented {
    pub client_id: String,
    /// `None` if the request has no secret. Only apps that administrators added may have one.
    pub secret: Option<String>,
}

impl OAuth {
    /// The app with this `client_id`, for `/authorize`. Reads the document of the app if the server
    /// has no copy or the copy is old.
    pub(super) async fn find_client(
        &self,
        client_id: &str,
        asking: IpAddr,
    ) -> Result<ClientRow, OAuthError> {
        let id = client_id.to_owned();
        let known = self
            .store
            .read(move |tx| rows::clients::find_presented(tx, &id))
            .await?;
        let client = match known {
            Some(known) if known.kind != ClientKind::Metadata => known,
            Some(known) if known.fresh_until > self.clock.now() => known,
            known => self.learn_client(client_id, known, asking).await?,
        };
        self.check_policy(&client)?;
        Ok(client)
    }

    /// Refuses an app that an administrator blocked or that the policy excludes.
    pub(super) fn check_policy(&self, client: &ClientRow) -> Result<(), OAuthError> {
        if client.blocked {
            return Err(OAuthError::refused(
                "unauthorized_client",
                format!("an administrator blocked the app `{}`", client.name),
            ));
        }
        if self.permits(client) {
            return Ok(());
        }
        let text = "this server accepts apps of certain hosts only; ask an administrator (`oauth.client_hosts`)";
        Err(OAuthError::refused("unauthorized_client", text))
    }

    fn permits(&self, client: &ClientRow) -> bool {
        let hosts = &self.policy.client_hosts;
        match client.kind {
            ClientKind::Builtin | ClientKind::Manual => true,
            // Apps that registered before `registration` was switched off stay valid.
            ClientKind::Registered => hosts.is_empty(),
            ClientKind::Metadata => {
                let host = host_of(&client.client_id).unwrap_or_default();
                hosts.is_empty()
                    || hosts
                        .iter()
                        .any(|allowed| host == allowed || host.ends_with(&format!(".{allowed}")))
            }
        }
    }

    async fn learn_client(
        &self,
        client_id: &str,
        known: Option<ClientRow>,
        asking: IpAddr,
    ) -> Result<ClientRow, OAuthError> {
        let now = self.clock.now();
        let described = match known_apps::find(client_id) {
            Some(app) if app.kind == ClientKind::Builtin => from_known(app, now),
            copy if host_of(client_id).is_some() => {
                match (self.read_document(client_id, asking).await, known, copy) {
                    (Ok(document), ..) => ClientRow {
                        name: document.name,
                        redirect_uris: document.redirect_uris,
                        fresh_until: document.fresh_until,
                        ..new_client(client_id, ClientKind::Metadata, now)
                    },
                    // The site may be down for a while: the last copy stays valid.
                    (Err(OAuthError::Refused { .. }), Some(known), _) => return Ok(known),
                    (Err(OAuthError::Refused { .. }), None, Some(copy)) => from_known(copy, now),
                    (Err(error), ..) => return Err(error),
                }
            }
            _ => {
                return Err(OAuthError::invalid_client(format!(
                    "the app `{}` is not known here; let it register again",
                    client_id.chars().take(100).collect::<String>()
                )));
            }
        };
        let described = ClientRow {
            network: row_network(asking),
            ..described
        };
        let stored = self
            .store
            .write(move |tx| {
                let stored = rows::clients::put_document(tx, &described)?;
                rows::clients::delete_oldest_unused(tx, UNUSED_MAX)?;
                Ok(stored)
            })
            .await?;
        Ok(stored)
    }

    /// Authenticates the app of a token request, inside the transaction of the request, and checks
    /// that the app may get tokens.
    pub(super) fn authenticate_client(
        &self,
        tx: &mut Tx<'_>,
        presented: &Presented,
    ) -> Result<ClientRow, OAuthError> {
        let client = Self::identify_client(tx, presented)?;
        self.check_policy(&client)?;
        Ok(client)
    }

    /// The app that sent a request. The server must know the app. If the app has a secret, the
    /// request must contain it. An app that gets no tokens any more is accepted: it may end the
    /// tokens that it has.
    pub(super) fn identify_client(
        tx: &mut Tx<'_>,
        presented: &Presented,
    ) -> Result<ClientRow, OAuthError> {
        let unknown = || OAuthError::invalid_client("the app is not known here");
        let client = rows::clients::find_presented(tx, &presented.client_id)?;
        let client = client.ok_or_else(unknown)?;
        if let Some(expected) = &client.secret_hash {
            let secret = presented.secret.as_deref().map(hash_secret);
            let is_right = secret.is_some_and(|secret| is_equal(secret, expected));
            if !is_right {
                return Err(OAuthError::invalid_client(
                    "the secret of the app is missing or wrong",
                ));
            }
        }
        Ok(client)
    }

    pub async fn list_clients(&self, reader: UserId, page: PageRequest) -> Result<api::Apps> {
        let reading = self.store.read_list(reader, move |tx| {
            let page = records::list::<ClientRow>(tx, &(), page)?;
            page.try_map(|client| counted(tx, client))
        });
        Ok(reading.await?.into_list())
    }

    /// Adds an app. Only this answer contains its secret.
    pub async fn create_client(&self, caller: &Caller, new: api::NewApp) -> Result<api::App> {
        check_free_name("app", &new.name)?;
        let invalid = |message| RecordError::new("invalid_redirect", message);
        for uri in &new.redirect_uris {
            RedirectUri::parse(uri).map_err(|error| {
                invalid(format!("the redirect address `{uri}` is refused: {error}"))
            })?;
        }
        let redirect_uris = usable_uris(&new.redirect_uris).map_err(invalid)?;
        let secret = match new.confidential {
            true => Some(Secret::new(CredentialKind::ClientSecret)?),
            false => None,
        };
        let now = self.clock.now();
        let client_id = format!("app-{}", Uuid::now_v7());
        let client = ClientRow {
            name: new.name,
            redirect_uris,
            secret_hash: secret.as_ref().map(|secret| secret.hash),
            ..new_client(&client_id, ClientKind::Manual, now)
        };
        let client = self
            .identity
            .change(caller, move |tx, caller| {
                records::insert(tx, &client)?;
                tx.audit(
                    caller,
                    "oauth.client_created",
                    ("oauth_client", client.id),
                    json!({"name": client.name, "redirect_uris": client.redirect_uris}),
                )?;
                Ok(client)
            })
            .await?;
        Ok(api::App {
            secret: secret.map(|secret| secret.text),
            ..shown(client)
        })
    }

    pub async fn get_client(&self, reader: UserId, id: OAuthClientId) -> Result<api::App> {
        let reading = self.store.read_list(reader, move |tx| {
            let client = records::get::<ClientRow>(tx, id)?;
            counted(tx, client)
        });
        Ok(reading.await?)
    }

    /// Blocks or unblocks an app. Blocking ends its grants.
    pub async fn patch_client(
        &self,
        caller: &Caller,
        id: OAuthClientId,
        patch: api::AppPatch,
    ) -> Result<api::App> {
        let changing = self.identity.change(caller, move |tx, caller| {
            let mut client = records::get::<ClientRow>(tx, id)?;
            let Some(blocked) = patch.blocked.filter(|&blocked| blocked != client.blocked) else {
                return Ok(None);
            };
            client.blocked = blocked;
            records::replace(tx, &client)?;
            let (action, users) = match blocked {
                true => (
                    "oauth.client_blocked",
                    rows::grants::delete_of_client(tx, id)?,
                ),
                false => ("oauth.client_unblocked", Vec::new()),
            };
            let detail = json!({"name": client.name, "grants": users.len()});
            tx.audit(caller, action, ("oauth_client", id), detail)?;
            tx.affects_users(users);
            Ok(Some(client))
        });
        match changing.await? {
            // An app that is blocked, or was until now, has no grants.
            Some(client) => Ok(shown(client)),
            None => self.get_client(caller.user.id, id).await,
        }
    }

    /// Deletes an app with its grants. A blocked app that no administrator added cannot be deleted:
    /// the block is part of the record, and without the record the app could be connected again.
    pub async fn delete_client(&self, caller: &Caller, id: OAuthClientId) -> Result<()> {
        let target = ("oauth_client", id);
        self.identity
            .change(caller, move |tx, caller| {
                let client = records::get::<ClientRow>(tx, id)?;
                if client.blocked && client.kind != ClientKind::Manual {
                    return Err(RecordError::new(
                        "conflict",
                        "the app is blocked, and the block would be lost; unblock it first",
                    ));
                }
                let users = rows::grants::delete_of_client(tx, id)?;
                records::delete::<ClientRow>(tx, id)?;
                let detail = json!({"name": client.name, "grants": users.len()});
                tx.audit(caller, "oauth.client_deleted", target, detail)?;
                tx.affects_users(users);
                Ok(())
            })
            .await
    }
}

/// An app with the number of its grants.
fn counted(tx: &mut Tx<'_>, client: ClientRow) -> Result<api::App, StoreError> {
    Ok(api::App {
        grants: rows::grants::count_of_client(tx, client.id)?,
        ..shown(client)
    })
}

/// A record without name, addresses and secret.
pub fn new_client(client_id: &str, kind: ClientKind, now: Timestamp) -> ClientRow {
    ClientRow {
        id: OAuthClientId(Uuid::now_v7()),
        client_id: client_id.to_owned(),
        kind,
        name: String::new(),
        redirect_uris: Vec::new(),
        secret_hash: None,
        fresh_until: now,
        blocked: false,
        created_at: now,
        last_used_at: None,
        network: String::new(),
    }
}

/// The record of a known app. If it has a document, the document is read at the next use.
fn from_known(app: &KnownApp, now: Timestamp) -> ClientRow {
    ClientRow {
        name: app.name.to_owned(),
        redirect_uris: app.redirect_uris.iter().map(ToString::to_string).collect(),
        ..new_client(app.client_id, app.kind, now)
    }
}

/// An app as users see it.
pub fn summary(client: &ClientRow) -> api::AppSummary {
    let host = match client.kind {
        ClientKind::Metadata => host_of(&client.client_id).map(str::to_owned),
        ClientKind::Builtin | ClientKind::Registered | ClientKind::Manual => None,
    };
    api::AppSummary {
        id: client.id,
        client_id: client.client_id.clone(),
        name: client.name.clone(),
        kind: client.kind,
        host,
    }
}

fn shown(client: ClientRow) -> api::App {
    api::App {
        summary: summary(&client),
        secret: None,
        confidential: client.secret_hash.is_some(),
        redirect_uris: client.redirect_uris,
        blocked: client.blocked,
        created_at: client.created_at,
        last_used_at: client.last_used_at,
        grants: 0,
    }
}
