//! The steps of a browser that connects an app. [`CHANGES`] does not contain all of them.

use serde_json::json;

use super::{Failure, Sequence};
use crate::{
    model::{App, CredIx, Kind, Question},
    rng::Rng,
    rules::Caller,
    steps::{
        CHANGES,
        apps::{CALLBACK, CHALLENGE},
    },
    world::Auth,
};

impl Sequence<'_> {
    /// Adds an app that every user may connect.
    pub(super) async fn add_app(&mut self) {
        let body = json!({"name": self.world.name("app"), "redirect_uris": [CALLBACK]});
        let answer = self.world.as_root("POST", "/api/oauth/clients", body).await;
        self.model.apps.push(App {
            id: answer.str("id"),
            client_id: answer.str("client_id"),
            blocked: false,
            deleted: false,
        });
    }

    /// An app sends the browser of the caller to `/authorize`.
    pub(super) async fn ask(&mut self, rng: &mut Rng, caller: &Caller) {
        let Some(app) = rng.pick(&self.model.live_apps()) else {
            return;
        };
        let scope = if rng.percent(70) { "mcp" } else { "methods" };
        let client_id = &self.model.apps[app].client_id;
        let path = format!(
            "/authorize?response_type=code&client_id={client_id}&code_challenge={CHALLENGE}\
             &code_challenge_method=S256&scope={scope}"
        );
        let session = caller.cred.filter(|&cred| self.is_session(cred));
        let auth = match session {
            Some(cred) => Auth::Cred(&self.model.creds[cred]),
            None => Auth::Nothing,
        };
        let answer = self.world.send("GET", &path, &auth, None).await;
        // For a blocked app, the answer has another location.
        if let Some(id) = answer.location.strip_prefix("/connect?request=") {
            self.model.questions.push(Question {
                id: id.to_owned(),
                app,
                scopes: vec![scope.to_owned()],
                asked: session
                    .filter(|&cred| self.model.is_alive(cred) && !self.model.creds[cred].enrolling),
                answered: false,
            });
        }
    }

    /// Connects an app to the account of a user.
    pub(super) async fn connect(&mut self, rng: &mut Rng, session: CredIx) -> Result<(), Failure> {
        let caller = self.caller(session);
        self.ask(rng, &caller).await;
        for route in ["/api/oauth/requests/{id}", "/token"] {
            let row = CHANGES.iter().find(|row| row.1 == route);
            let (method, route, _, generate) = row.expect("a route of the table");
            let caller = self.caller(session);
            if let Some(plan) = generate(&mut self.draft(rng, &caller)) {
                self.request(caller, (method, route), plan).await?;
            }
        }
        Ok(())
    }

    /// Reads the id of a new grant, with which the grant can be ended.
    pub(super) async fn read_grant_id(&mut self, cred: CredIx) {
        let Kind::App { grant, .. } = self.model.creds[cred].kind else {
            return;
        };
        if !self.model.grants[grant].id.is_empty() {
            return;
        }
        let user = &self.model.users[self.model.creds[cred].subject].id;
        let path = format!("/api/oauth/grants?user={user}");
        let answer = self.world.send("GET", &path, &Auth::Root, None).await;
        let grants = answer.json["grants"].as_array();
        let mut ids = grants
            .into_iter()
            .flatten()
            .filter_map(|grant| grant["id"].as_str());
        let known = |id: &str| self.model.grants.iter().any(|grant| grant.id == id);
        let new = ids.find(|id| !known(id)).unwrap_or_default().to_owned();
        self.model.grants[grant].id = new;
    }

    fn is_session(&self, cred: CredIx) -> bool {
        matches!(self.model.creds[cred].kind, Kind::Session { .. })
    }
}
