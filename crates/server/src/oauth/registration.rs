//! Apps that register themselves (RFC 7591). They are public: they get no secret, and their names
//! are not verified.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{
    network::row_network,
    oauth::{ClientKind, clean_name, usable_uris},
};
use svc_store::{
    audit::{self, SYSTEM},
    oauth::{self as rows, clients::ClientRow},
    records,
};
use uuid::Uuid;

use super::{
    OAuth,
    clients::{UNUSED_MAX, new_client},
    error::OAuthError,
    take,
};

/// The description that an app sends. Other members of the request are ignored.
#[derive(Deserialize)]
pub struct NewRegistration {
    pub client_name: Option<String>,
    #[serde(default)]
    pub redirect_uris: Vec<String>,
}

/// The answer, with the addresses that were accepted.
#[derive(Serialize)]
pub struct Registered {
    client_id: String,
    client_id_issued_at: i64,
    client_name: String,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: &'static str,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    scope: &'static str,
}

impl OAuth {
    pub async fn register(
        &self,
        new: NewRegistration,
        address: IpAddr,
    ) -> Result<Registered, OAuthError> {
        if !self.policy.registration || !self.policy.client_hosts.is_empty() {
            return Err(OAuthError::refused(
                "access_denied",
                "apps may not register themselves here; ask an administrator to add the app",
            ));
        }
        take(&self.registrations, address)?;
        let redirect_uris = usable_uris(&new.redirect_uris)
            .map_err(|why| OAuthError::refused("invalid_redirect_uri", why))?;
        let now = self.clock.now();
        let client_id = format!("dyn-{}", Uuid::now_v7());
        let name = clean_name(new.client_name.as_deref());
        let client = ClientRow {
            name: name.unwrap_or_else(|| "an app without a name".to_owned()),
            redirect_uris,
            network: row_network(address),
            ..new_client(&client_id, ClientKind::Registered, now)
        };
        let entry = self.identity.entry_by(
            SYSTEM,
            "oauth.client_registered",
            ("oauth_client", client.id),
            json!({"name": client.name, "redirect_uris": client.redirect_uris, "address": address.to_string()}),
        );
        let stored = client.clone();
        self.store
            .write(move |tx| {
                records::insert(tx, &stored)?;
                rows::clients::delete_oldest_unused(tx, UNUSED_MAX)?;
                audit::append_by_action(tx, "registrations", &entry)
            })
            .await?;
        Ok(Registered {
            client_id,
            client_id_issued_at: now.0.div_euclid(1_000),
            client_name: client.name,
            redirect_uris: client.redirect_uris,
            token_endpoint_auth_method: "none",
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            scope: "mcp",
        })
    }
}
