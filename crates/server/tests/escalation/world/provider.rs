//! An OpenID Connect provider that does not exist. The test invents its answers and passes them to
//! the code of the server that handles answers.

use serde_json::json;
use svc_core::oidc::Claims;
use svc_server::identity::{ClientDetails, ExternalAccount};
use svc_store::{
    oidc::{identities, providers::ProviderRow},
    records,
};

use super::World;

impl World {
    pub(super) async fn add_provider(&mut self) {
        let body = json!({"name": "corp", "issuer": "https://corp.example", "client_id": "svc"});
        self.as_root("POST", "/api/oidc/providers", body).await;
        let reading = self
            .app
            .store
            .read(|tx| records::find_named::<ProviderRow>(tx, &(), "corp"));
        self.provider = reading.await.expect("read");
    }

    fn account(&self, sub: &str) -> ExternalAccount {
        ExternalAccount {
            provider: self.provider.clone().expect("added at the start"),
            sub: sub.to_owned(),
            sid: None,
            claims: Claims::new(),
        }
    }

    /// Links an account to the user of a session, as if the provider had confirmed the account.
    /// Returns the id of the stored identity.
    pub async fn link(&self, cookie: &str, sub: &str) -> Result<String, String> {
        let caller = self.app.directory.authenticate(cookie, self.clock_now());
        let caller = caller.map_err(|error| error.to_string())?;
        let session = caller.session_id().ok_or("not a session")?;
        let account = self.account(sub);
        let issuer = account.provider.issuer.clone();
        let linking = self.app.identity.link_external(&caller, session, account);
        linking.await.map_err(|error| error.to_string())?;
        let sub = sub.to_owned();
        let reading = self
            .app
            .store
            .read(move |tx| identities::find_subject(tx, &issuer, &sub));
        let linked = reading.await.expect("read").expect("linked");
        Ok(linked.id.to_string())
    }

    /// Signs in with an account, as if the provider had confirmed the account. Returns the cookie
    /// of the session and the id of its user.
    pub async fn sign_in_with_account(&self, sub: &str) -> Result<(String, String), String> {
        let client = ClientDetails {
            address: [10, 0, 0, 1].into(),
            user_agent: String::new(),
        };
        let signing_in = self.app.identity.log_in_external(self.account(sub), client);
        let session = signing_in.await.map_err(|error| error.to_string())?;
        Ok((session.cookie, session.user.id.to_string()))
    }
}
