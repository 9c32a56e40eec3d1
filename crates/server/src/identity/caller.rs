//! The caller of a request: the user and the credential.

use std::sync::Arc;

use svc_core::{
    GrantId, GroupId, Permission, Permissions, QuotaOverrides, Quotas, Scopes, SessionId, SpaceId,
    Timestamp, TokenId, TraceContext, UserId, UserName,
    event::{Actor, ActorKind},
    journal::{CallCredential, CallCredentialKind},
    space::StopReason,
    visibility::{Owner, Viewer},
};
use svc_protocol::api;
use svc_store::{Hash, agent_tokens::OwnedAgentToken, users::Profile};
use uuid::Uuid;

use crate::records::{RecordError, Result};

/// A user as held by the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    pub id: UserId,
    pub name: UserName,
    pub active: bool,
    pub created_at: Timestamp,
    /// The union of the permissions of the user's roles.
    pub permissions: Permissions,
    pub role_names: Vec<String>,
    pub groups: Vec<GroupId>,
    /// In the order of `groups`.
    pub group_names: Vec<String>,
    /// Quotas that differ from the server's defaults.
    pub quota_overrides: QuotaOverrides,
    /// Whether a login with the password also needs a second factor.
    pub has_second_factor: bool,
}

impl User {
    pub fn has_role(&self, name: &str) -> bool {
        self.role_names.iter().any(|role| role == name)
    }

    /// The quotas of this user on a server with these defaults.
    pub fn quotas(&self, defaults: &Quotas) -> Quotas {
        defaults.with(&self.quota_overrides)
    }

    pub fn as_owner(&self) -> Owner<'_> {
        Owner {
            id: self.id,
            name: &self.name,
        }
    }

    pub fn viewer(&self) -> Viewer<'_> {
        Viewer {
            id: self.id,
            permissions: self.permissions,
            groups: &self.groups,
        }
    }
}

impl From<Profile> for User {
    fn from(profile: Profile) -> Self {
        let (groups, group_names) = profile.groups.into_iter().unzip();
        Self {
            id: profile.id,
            name: profile.username,
            active: profile.active,
            created_at: profile.created_at,
            permissions: profile.permissions,
            role_names: profile.roles,
            groups,
            group_names,
            quota_overrides: profile.quotas,
            has_second_factor: profile.has_second_factor,
        }
    }
}

impl From<&User> for api::User {
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            username: user.name.clone(),
            roles: user.role_names.clone(),
            groups: user.group_names.clone(),
            active: user.active,
            created_at: user.created_at,
            quotas: user.quota_overrides.clone(),
            second_factor: user.has_second_factor,
            last_seen_at: None,
        }
    }
}

/// How a caller was authenticated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credential {
    Token {
        id: TokenId,
        scopes: Scopes,
        expires_at: Option<Timestamp>,
    },
    Session {
        id: SessionId,
    },
    /// A session that may only set up a second factor: a role of the user requires one, and the
    /// user has none.
    Enrolment {
        id: SessionId,
    },
    /// An app that the user connected. Its token always has scopes.
    App {
        grant_id: GrantId,
        scopes: Scopes,
    },
    Agent {
        space_id: SpaceId,
        /// Whether the space was stopped on request. Its agent may then only ask for a link, and
        /// the server refuses the link with this reason.
        stopped: bool,
    },
    /// A script that the server runs for the user. Its requests are made in process; no request
    /// from outside gets this credential.
    Script,
    /// The server process itself, at its start. No request gets this credential.
    Process,
}

impl Credential {
    /// The credential of an agent token. It is marked as stopped while the space is stopped on
    /// request.
    pub fn agent(token: &OwnedAgentToken) -> Self {
        Self::Agent {
            space_id: token.space_id,
            stopped: token.stop_reason == Some(StopReason::Requested),
        }
    }

    /// `token`, `session`, `enrolment`, `app`, `agent`, `script` or `process`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Token { .. } => "token",
            Self::Session { .. } => "session",
            Self::Enrolment { .. } => "enrolment",
            Self::App { .. } => "app",
            Self::Agent { .. } => "agent",
            Self::Script => "script",
            Self::Process => "process",
        }
    }

    /// The credential as the call journal shows it; `None` for a credential that makes no calls.
    pub fn in_journal(&self) -> Option<CallCredential> {
        let (kind, id) = match self {
            Self::Token { id, .. } => (CallCredentialKind::Token, id.0),
            Self::Session { id } => (CallCredentialKind::Session, id.0),
            Self::App { grant_id, .. } => (CallCredentialKind::App, grant_id.0),
            Self::Agent { space_id, .. } => (CallCredentialKind::Agent, space_id.0),
            Self::Script => (CallCredentialKind::Script, Uuid::nil()),
            Self::Enrolment { .. } | Self::Process => return None,
        };
        Some(CallCredential { kind, id })
    }

    /// The scopes of an API token or of a connected app. Other credentials have no scopes.
    pub fn scopes(&self) -> Option<&Scopes> {
        match self {
            Self::Token { scopes, .. } | Self::App { scopes, .. } => Some(scopes),
            Self::Session { .. }
            | Self::Enrolment { .. }
            | Self::Agent { .. }
            | Self::Script
            | Self::Process => None,
        }
    }
}

/// An authenticated user and the credential of the request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub user: Arc<User>,
    pub credential: Credential,
    /// The key of the credential in the directory.
    pub key: Hash,
    /// The permissions of the route. One of them is enough; empty if the route requires none.
    pub needs: &'static [Permission],
    /// The version of the directory from which the caller was resolved.
    pub version: u64,
    /// The trace that the request belongs to. Boxed, because most requests belong to none, and
    /// the future of a call must stay small.
    pub trace: Option<Box<TraceContext>>,
}

impl Caller {
    /// The server process itself, acting for a user at its start.
    pub fn process(user: Arc<User>) -> Self {
        Self::without_credential(user, Credential::Process)
    }

    /// A script that the server runs for a user.
    pub fn script(user: Arc<User>) -> Self {
        Self::without_credential(user, Credential::Script)
    }

    fn without_credential(user: Arc<User>, credential: Credential) -> Self {
        Self {
            user,
            credential,
            key: Hash::default(),
            needs: &[],
            version: 0,
            trace: None,
        }
    }

    /// The same caller on a route that requires one of these permissions.
    pub fn with_needs(self, needs: &'static [Permission]) -> Self {
        Self { needs, ..self }
    }

    /// Checks that the space of an agent token is not stopped, and that the user holds a permission
    /// of the route.
    pub fn check_admission(&self) -> Result<()> {
        if let Credential::Agent { stopped: true, .. } = self.credential {
            return Err(RecordError::new(
                "space_stopped",
                "the space of this agent token is stopped; start it with `svc space start`",
            ));
        }
        if self.needs.is_empty() || self.user.permissions.contains_any(self.needs) {
            return Ok(());
        }
        let names: Vec<_> = self.needs.iter().map(|p| format!("`{p}`")).collect();
        Err(RecordError::new(
            "permission_denied",
            format!(
                "this needs the permission {}; ask an administrator for a role with it",
                names.join(" or ")
            ),
        ))
    }

    pub fn viewer(&self) -> Viewer<'_> {
        self.user.viewer()
    }

    /// The actor of events that this caller causes.
    pub fn actor(&self) -> Actor {
        let kind = match self.credential {
            Credential::Agent { .. } => ActorKind::Agent,
            Credential::Token { .. }
            | Credential::Session { .. }
            | Credential::Enrolment { .. }
            | Credential::App { .. }
            | Credential::Script
            | Credential::Process => ActorKind::User,
        };
        Actor {
            id: Some(self.user.id),
            username: self.user.name.to_string(),
            kind,
        }
    }

    pub fn may(&self, permission: Permission) -> bool {
        self.user.permissions.contains(permission)
    }

    /// The only user whose events the caller sees; `None` if the caller sees all events.
    pub fn only_events_of(&self) -> Option<UserId> {
        (!self.may(Permission::ViewAudit)).then_some(self.user.id)
    }

    pub fn sees_events_of(&self, owner: UserId) -> bool {
        self.only_events_of().is_none_or(|only| only == owner)
    }

    /// Checks that the caller may see the credentials of a user. Every caller may see the caller's
    /// own credentials. A caller with `manage_users` may see the credentials of every user.
    pub fn check_credentials_of(&self, user: UserId) -> Result<()> {
        if user == self.user.id || self.may(Permission::ManageUsers) {
            return Ok(());
        }
        Err(RecordError::new(
            "permission_denied",
            "you see only your own data; to see the data of other users, you need the permission \
             `manage_users`",
        ))
    }

    /// The answer to `GET /api/auth/me` on a server with these default quotas.
    pub fn me(&self, quotas: &Quotas) -> api::Me {
        let scopes = self.credential.scopes().cloned();
        let space_id = match self.credential {
            Credential::Agent { space_id, .. } => Some(space_id),
            _ => None,
        };
        api::Me {
            id: self.user.id,
            username: self.user.name.clone(),
            roles: self.user.role_names.clone(),
            groups: self.user.group_names.clone(),
            permissions: self.user.permissions,
            credential: self.credential.name().to_owned(),
            scopes: scopes.unwrap_or_default(),
            space_id,
            quotas: self.user.quotas(quotas),
        }
    }

    /// The API token of the request and its expiry.
    pub fn token(&self) -> Option<(TokenId, Option<Timestamp>)> {
        match self.credential {
            Credential::Token { id, expires_at, .. } => Some((id, expires_at)),
            _ => None,
        }
    }

    /// The session of the request.
    pub fn session_id(&self) -> Option<SessionId> {
        match self.credential {
            Credential::Session { id } | Credential::Enrolment { id } => Some(id),
            _ => None,
        }
    }
}
