//! Grants: the apps that users have connected to their accounts.

use serde_json::json;
use svc_core::{GrantId, UserId};
use svc_protocol::api;
use svc_store::{
    Page, PageRequest,
    oauth::{clients::ClientRow, grants::GrantRow},
    records,
    zone_changes::ZoneChange,
};

use super::{OAuth, clients::summary};
use crate::{
    identity::{Caller, find_endable},
    records::Result,
};

impl OAuth {
    /// The grants of the caller or, with the permission `manage_users`, of any user.
    pub async fn list_grants(
        &self,
        caller: &Caller,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<api::Grants> {
        let (identity, now) = (&self.identity, self.clock.now());
        let reading = identity.read_credentials(caller, user, move |tx, owner| {
            let page = records::list_unexpired::<GrantRow>(tx, &owner.id, now, page)?;
            let mut grants = Vec::new();
            for grant in page.items {
                let Some(client) = records::find::<ClientRow>(tx, grant.client_id)? else {
                    continue;
                };
                grants.push(api::Grant {
                    id: grant.id,
                    user_id: grant.user_id,
                    username: owner.username.clone(),
                    app: summary(&client),
                    scopes: grant.scopes,
                    redirect_host: grant.redirect_host,
                    created_at: grant.created_at,
                    last_used_at: grant.last_used_at,
                    expires_at: grant.expires_at,
                });
            }
            Ok(Page {
                items: grants,
                next_cursor: page.next_cursor,
            })
        });
        Ok(reading.await?.into_list())
    }

    /// Disconnects an app from the account of a user. The app's next request is refused.
    pub async fn delete_grant(&self, caller: &Caller, id: GrantId) -> Result<()> {
        self.identity
            .change(caller, move |tx, caller| {
                let grant = find_endable::<GrantRow>(tx, caller, id, |grant| grant.user_id)?;
                records::delete::<GrantRow>(tx, id)?;
                let detail = json!({"user_id": grant.user_id, "client_id": grant.client_id});
                tx.audit(caller, "oauth.revoked", ("oauth_grant", id), detail)?;
                tx.affects(ZoneChange::User(grant.user_id));
                Ok(())
            })
            .await
    }
}
