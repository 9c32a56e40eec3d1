//! Functions for the routes without a module of their own, and generic functions for the operations
//! of all resources.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use svc_core::{OidcProviderId, SpaceId, UserId};
use svc_protocol::{
    api::{self, Listing},
    document,
    problem::Problem,
};
use uuid::Uuid;

use super::{
    Client, Credential,
    query::{page_path, with_query},
};
use crate::{
    error::Error,
    resource::{Action, Resource},
};

const METHODS: &str = "/api/methods";

/// The result of a login with the right password.
pub enum LoginStep {
    /// The client uses the session.
    SignedIn(Client),
    /// The login needs a second factor: [`Client::complete_login`].
    SecondFactor(Client, api::PendingLogin),
}

impl Client {
    // all resources

    /// One page of a list. `query` selects records; `()` selects all of them.
    pub async fn list<L: Listing>(
        &self,
        page: &api::PageQuery,
        query: &impl Serialize,
    ) -> Result<L, Error> {
        self.get(&page_path(L::PATH, page, query)).await
    }

    /// The records of all pages of a list.
    pub async fn list_all<L: Listing>(
        &self,
        query: &impl Serialize,
    ) -> Result<Vec<L::Item>, Error> {
        let mut page = api::PageQuery::default();
        let mut all = Vec::new();
        loop {
            let (mut items, next) = self.list::<L>(&page, query).await?.into_page();
            all.append(&mut items);
            match next {
                // A cursor that repeats would make this loop endless.
                Some(next) if page.cursor.as_ref() != Some(&next) => page.cursor = Some(next),
                _ => return Ok(all),
            }
        }
    }

    /// Tests an OpenID Connect provider.
    pub async fn check_oidc_provider(&self, id: OidcProviderId) -> Result<api::OidcCheck, Error> {
        self.get(&format!("/api/oidc/providers/{id}/check")).await
    }

    pub async fn create<R: Resource>(&self, new: &R::New) -> Result<R, Error> {
        self.send_json(Method::POST, R::PATH, new).await
    }

    pub async fn read_one<R: Resource>(&self, id: Uuid) -> Result<R, Error> {
        self.get(&format!("{}/{id}", R::PATH)).await
    }

    pub async fn update<R: Resource>(&self, id: Uuid, patch: &R::Patch) -> Result<R, Error> {
        let path = format!("{}/{id}", R::PATH);
        self.send_json(Method::PATCH, &path, patch).await
    }

    pub async fn delete<R: Resource>(&self, id: Uuid) -> Result<(), Error> {
        let path = format!("{}/{id}", R::PATH);
        self.send(Method::DELETE, &path, None).await.map(drop)
    }

    /// Acts on a record.
    pub async fn act<A: Action>(&self, record: &A::Of, action: &A) -> Result<A::Answer, Error> {
        let path = format!("{}/{}/{}", A::Of::PATH, record.id(), A::NAME);
        self.send_json(Method::POST, &path, action).await
    }

    /// The record with this id or, if the text is not an id, with this name.
    pub async fn find<R: Resource>(&self, name_or_id: &str) -> Result<R, Error> {
        if let Ok(id) = Uuid::parse_str(name_or_id) {
            return self.read_one(id).await;
        }
        let mut all = self.list_all::<R::List>(&()).await?.into_iter();
        let found = all.find(|record| record.name() == name_or_id);
        found.ok_or_else(|| not_found_error(R::KIND, name_or_id))
    }

    // auth

    /// Logs in with a password.
    pub async fn login(self, login: &api::Login) -> Result<LoginStep, Error> {
        let answer = self.post_body("/api/auth/login", login).await?;
        match document::read_json(&answer.body) {
            Ok(api::LoginResult::Pending { second_factor }) => {
                Ok(LoginStep::SecondFactor(self, second_factor))
            }
            _ => self.with_session(&answer.headers).map(LoginStep::SignedIn),
        }
    }

    /// The second step of a login. The returned client uses the session.
    pub async fn complete_login(self, login: &api::SecondFactorLogin) -> Result<Self, Error> {
        let answer = self.post_body("/api/auth/second-factor", login).await?;
        self.with_session(&answer.headers)
    }

    fn with_session(self, headers: &HeaderMap) -> Result<Self, Error> {
        let session = headers
            .get_all(header::SET_COOKIE)
            .iter()
            .filter_map(|cookie| cookie.to_str().ok())
            .find_map(|cookie| {
                let (name, value) = cookie.split(';').next()?.split_once('=')?;
                let is_session =
                    api::SESSION_COOKIES.contains(&name.trim()) && !value.trim().is_empty();
                // The cookie is sent back under the same name.
                is_session.then(|| format!("{}={}", name.trim(), value.trim()))
            });
        match session {
            Some(session) => Ok(self.with_credential(Credential::Session(session))),
            None => Err(self
                .transport
                .unexpected("the login succeeded, but the answer has no session cookie")),
        }
    }

    /// Removes the second factors of another user.
    pub async fn reset_second_factor(&self, user: UserId) -> Result<(), Error> {
        let path = format!("/api/users/{user}/second-factor");
        self.send(Method::DELETE, &path, None).await.map(drop)
    }

    /// Creates the first administrator, with the setup token of the one-time URL that a server
    /// without users prints when it starts.
    pub async fn setup(&self, setup: &api::Setup) -> Result<(), Error> {
        self.post_body("/api/auth/setup", setup).await.map(drop)
    }

    pub async fn logout(&self) -> Result<(), Error> {
        let path = "/api/auth/logout";
        self.send(Method::POST, path, None).await.map(drop)
    }

    pub async fn me(&self) -> Result<api::Me, Error> {
        self.get("/api/auth/me").await
    }

    /// Counters of the caller's calls, methods, spaces and sinks.
    pub async fn stats(&self) -> Result<api::Stats, Error> {
        self.get("/api/stats").await
    }

    pub async fn change_password(&self, change: &api::ChangePassword) -> Result<(), Error> {
        self.post_body("/api/auth/password", change).await.map(drop)
    }

    // spaces

    /// Finds a space by id, by `name`, or by `owner/name`. If several spaces have the name, returns
    /// the caller's own space; if the caller has none, an error.
    pub async fn find_space(&self, reference: &str) -> Result<api::Space, Error> {
        if let Ok(id) = Uuid::parse_str(reference) {
            return self.read_one(id).await;
        }
        let (owner, name) = match reference.split_once('/') {
            Some((owner, name)) => (Some(owner), name),
            None => (None, reference),
        };
        let mut found = self.list_all::<api::Spaces>(&()).await?;
        found.retain(|space| {
            space.name.as_str() == name && owner.is_none_or(|owner| space.owner.as_str() == owner)
        });
        if found.len() > 1 {
            let me = self.me().await?;
            found.retain(|space| space.owner_id == me.id);
            if found.is_empty() {
                let detail =
                    format!("several spaces have the name `{name}`; use owner/name, or the id");
                let status = StatusCode::CONFLICT;
                return Err(problem(status, "ambiguous", "Conflict", detail));
            }
        }
        let space = found.pop();
        space.ok_or_else(|| not_found_error("space", reference))
    }

    pub async fn start_space(&self, id: SpaceId) -> Result<api::Space, Error> {
        self.post(&format!("/api/spaces/{id}/start")).await
    }

    pub async fn stop_space(&self, id: SpaceId) -> Result<api::Space, Error> {
        self.post(&format!("/api/spaces/{id}/stop")).await
    }

    /// Creates a new agent token. The old token is no longer valid.
    pub async fn renew_agent_token(&self, id: SpaceId) -> Result<api::AgentToken, Error> {
        self.post(&format!("/api/spaces/{id}/agent-token")).await
    }

    pub async fn space_logs(&self, id: SpaceId, query: &api::LogQuery) -> Result<api::Logs, Error> {
        let path = format!("/api/spaces/{id}/logs");
        self.get(&with_query(&path, query)).await
    }

    // methods

    pub async fn methods(&self, query: &api::MethodQuery) -> Result<api::Methods, Error> {
        self.get(&with_query(METHODS, query)).await
    }

    /// The same document as [`methods`](Self::methods), unparsed.
    pub async fn methods_raw(&self, query: &api::MethodQuery) -> Result<Bytes, Error> {
        let path = with_query(METHODS, query);
        Ok(self.send(Method::GET, &path, None).await?.body)
    }

    /// Posts a JSON-RPC body as it is, and returns the answer unparsed.
    pub async fn call_raw(&self, body: Vec<u8>) -> Result<(StatusCode, Bytes), Error> {
        self.call_raw_within(body, self.policy().call_timeout).await
    }

    pub async fn call_raw_within(
        &self,
        body: Vec<u8>,
        within: Duration,
    ) -> Result<(StatusCode, Bytes), Error> {
        let (headers, body) = (HeaderMap::new(), Some(body));
        let posted = self.send_raw(Method::POST, api::CALL_PATH, headers, body, Some(within));
        let answer = posted.await?;
        Ok((answer.status, answer.body))
    }

    /// Calls a method. A JSON-RPC error is part of the response, not an [`Error`].
    pub async fn call(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<api::CallResponse, Error> {
        let request = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1});
        let (status, body) = self.call_raw(self.write(&request)?).await?;
        if status != StatusCode::OK {
            return Err(self.problem(status, &body));
        }
        document::read_json(&body).map_err(|error| {
            self.transport
                .unexpected(format!("the answer is not a JSON-RPC response: {error}"))
        })
    }

    // operations

    /// The servers of the zone.
    pub async fn servers(&self) -> Result<api::Servers, Error> {
        self.get("/api/servers").await
    }

    /// The checks that the server makes of itself.
    pub async fn diagnostics(&self) -> Result<api::Diagnostics, Error> {
        self.get("/api/diagnostics").await
    }

    /// Whether the server is ready for requests.
    pub async fn is_ready(&self) -> bool {
        self.send(Method::GET, "/readyz", None).await.is_ok()
    }
}

/// The error for a name that does not exist: the same as the server's error for an id.
pub(super) fn not_found_error(kind: &str, name: &str) -> Error {
    let detail = format!("{kind} `{name}` does not exist, or you may not see it");
    problem(StatusCode::NOT_FOUND, "not_found", "Not Found", detail)
}

/// An error of this client, in the form of the server's own errors.
fn problem(status: StatusCode, code: &str, title: &str, detail: String) -> Error {
    Error::Problem {
        status,
        problem: Box::new(Problem::new(status.as_u16(), code, title, detail)),
    }
}
