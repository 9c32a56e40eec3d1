//! Who makes a request: the user, and the credential they came with.

use std::sync::Arc;

use svc_core::{
    GroupId, Permission, Permissions, QuotaOverrides, Quotas, Scopes, SessionId, SpaceId,
    Timestamp, TokenId, UserId, UserName,
    event::{Actor, ActorKind},
    visibility::Viewer,
};
use svc_protocol::api;

use crate::store::{Hash, users::Profile};

/// A user as the directory knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    pub id: UserId,
    pub name: UserName,
    pub active: bool,
    pub created_at: Timestamp,
    /// The union of what the roles hold.
    pub permissions: Permissions,
    pub role_names: Vec<String>,
    pub groups: Vec<GroupId>,
    /// In the order of `groups`.
    pub group_names: Vec<String>,
    /// Quotas that differ from the server's.
    pub quota_overrides: QuotaOverrides,
}

impl User {
    pub fn has_role(&self, name: &str) -> bool {
        self.role_names.iter().any(|role| role == name)
    }

    /// The quotas of this user on a server whose configuration says `defaults`.
    pub fn quotas(&self, defaults: &Quotas) -> Quotas {
        defaults.with(&self.quota_overrides)
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
        }
    }
}

/// What a caller presented.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credential {
    Token {
        id: TokenId,
        scopes: Scopes,
    },
    Session {
        id: SessionId,
    },
    Agent {
        space_id: SpaceId,
    },
    /// None: a script that the server runs for the user asks in process. Nothing that comes from
    /// outside is ever taken for it.
    Script,
}

impl Credential {
    /// `token`, `session`, `agent` or `script`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Token { .. } => "token",
            Self::Session { .. } => "session",
            Self::Agent { .. } => "agent",
            Self::Script => "script",
        }
    }
}

/// An authenticated user and the credential they came with.
#[derive(Clone, Debug)]
pub struct Caller {
    pub user: Arc<User>,
    pub credential: Credential,
    /// By which the directory finds the credential again.
    pub key: Hash,
}

impl Caller {
    /// The server process itself, acting for a user at its start. No credential leads here.
    pub fn process(user: Arc<User>) -> Self {
        let credential = Credential::Token {
            id: TokenId::NIL,
            scopes: Scopes::UNRESTRICTED,
        };
        Self {
            user,
            credential,
            key: Hash::default(),
        }
    }

    /// A script that the server runs for a user. No credential leads here.
    pub fn script(user: Arc<User>) -> Self {
        Self {
            user,
            credential: Credential::Script,
            key: Hash::default(),
        }
    }

    pub fn viewer(&self) -> Viewer<'_> {
        self.user.viewer()
    }

    /// Who is behind an event.
    pub fn actor(&self) -> Actor {
        let kind = match self.credential {
            Credential::Agent { .. } => ActorKind::Agent,
            Credential::Token { .. } | Credential::Session { .. } | Credential::Script => {
                ActorKind::User
            }
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

    /// `GET /api/auth/me`, on a server whose configuration says `quotas`.
    pub fn me(&self, quotas: &Quotas) -> api::Me {
        let (scopes, space_id) = match &self.credential {
            Credential::Token { scopes, .. } => (scopes.clone(), None),
            Credential::Session { .. } | Credential::Script => (Scopes::UNRESTRICTED, None),
            Credential::Agent { space_id } => (Scopes::UNRESTRICTED, Some(*space_id)),
        };
        api::Me {
            id: self.user.id,
            username: self.user.name.clone(),
            roles: self.user.role_names.clone(),
            groups: self.user.group_names.clone(),
            permissions: self.user.permissions,
            credential: self.credential.name().to_owned(),
            scopes,
            space_id,
            quotas: self.user.quotas(quotas),
        }
    }

    pub(super) fn session_id(&self) -> Option<SessionId> {
        match self.credential {
            Credential::Session { id } => Some(id),
            Credential::Token { .. } | Credential::Agent { .. } | Credential::Script => None,
        }
    }
}
