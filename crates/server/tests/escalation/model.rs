//! The test's model of users, credentials and resources.
//!
//! The model must not use the rules of the product: permissions are a bit set defined here, and
//! `rules` and `views` repeat the rules about changes and views.

mod apps;
mod factors;
mod perms;

pub use self::{
    apps::{App, Device, Grant, Question},
    factors::{AuthApp, Challenge, Enrolment, Factors, Identity, Passkey, PendingLogin, Purpose},
    perms::{PERMISSIONS, Perms},
};

use std::collections::{BTreeMap, BTreeSet};

/// Indexes of the built-in roles, which come first in every sequence.
pub const ROLE_USER: usize = 0;
pub const ROLE_ADMIN: usize = 1;

pub type UserIx = usize;
pub type CredIx = usize;

pub struct User {
    pub id: String,
    pub name: String,
    pub active: bool,
    pub deleted: bool,
    pub roles: Vec<usize>,
    pub groups: Vec<usize>,
    pub password: String,
    /// Users who know the password.
    pub known_by: BTreeSet<UserIx>,
    pub factors: Factors,
}

pub struct Role {
    pub id: String,
    pub name: String,
    pub perms: Perms,
    pub requires_factor: bool,
    pub deleted: bool,
}

pub struct Group {
    pub id: String,
    pub name: String,
    pub deleted: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Kind {
    Session {
        id: String,
    },
    Token {
        id: String,
        scopes: Vec<String>,
    },
    Agent {
        space: usize,
    },
    /// The access token of a connected app.
    App {
        grant: usize,
        scopes: Vec<String>,
    },
    /// A code that an app exchanges for its first tokens. Requests cannot use it as a credential.
    Code {
        app: usize,
        scopes: Vec<String>,
    },
    /// A token that an app exchanges for its next tokens. Requests cannot use it as a credential.
    Refresh {
        grant: usize,
    },
}

impl Kind {
    /// Whether requests can use this kind as a credential.
    pub fn is_for_requests(&self) -> bool {
        !matches!(self, Self::Code { .. } | Self::Refresh { .. })
    }

    /// Whether the credential has scopes.
    pub fn is_scoped(&self) -> bool {
        match self {
            Self::Token { scopes, .. } => !scopes.is_empty(),
            Self::App { .. } => true,
            _ => false,
        }
    }
}

pub struct Cred {
    pub value: String,
    /// The user whom the credential authenticates.
    pub subject: UserIx,
    /// The user who received the credential.
    pub holder: UserIx,
    pub kind: Kind,
    /// In milliseconds of the server's clock.
    pub expires_at: Option<i64>,
    /// The token with which this credential was created.
    pub parent: Option<CredIx>,
    /// The creator of an agent token, if not the owner of the space. The token ends when the
    /// creator loses the permission to create it.
    pub creator: Option<UserIx>,
    /// A session that may only set up a second factor.
    pub enrolling: bool,
    /// The account at the provider with which the session was opened.
    pub identity: Option<usize>,
    /// Revoked, replaced or logged out.
    pub ended: bool,
}

impl Cred {
    /// A credential that its own user holds.
    pub fn new(value: String, user: UserIx, kind: Kind) -> Self {
        Self {
            value,
            subject: user,
            holder: user,
            kind,
            expires_at: None,
            parent: None,
            creator: None,
            enrolling: false,
            identity: None,
            ended: false,
        }
    }
}

pub struct Space {
    pub id: String,
    pub name: String,
    pub owner: UserIx,
    pub stopped: bool,
    pub deleted: bool,
    pub startup: Option<usize>,
    /// The template from which the space was created.
    pub template: Option<usize>,
}

pub struct Script {
    pub id: String,
    pub kind: &'static str,
    pub global: bool,
    pub owner: UserIx,
    /// The user who saved the current source, and their permissions at that time.
    pub saver: UserIx,
    pub saver_perms: Perms,
    /// The global library that the source imports.
    pub imports: Option<usize>,
    pub name: String,
    pub deleted: bool,
}

pub struct Sink {
    pub id: String,
    pub global: bool,
    pub owner: UserIx,
    pub kind: &'static str,
    pub script: Option<usize>,
    pub deleted: bool,
}

pub struct Template {
    pub id: String,
    /// The user who saved the template last, and their permissions at that time.
    pub saver: UserIx,
    pub saver_perms: Perms,
    /// Has a health check.
    pub check: bool,
    /// Has a startup script.
    pub script: bool,
    pub deleted: bool,
}

pub struct Method {
    pub name: String,
    pub owner: UserIx,
    pub space: usize,
    pub shared: bool,
    /// `None` if the method was published without a list of groups.
    pub groups: Option<Vec<usize>>,
}

pub struct Event {
    pub id: String,
}

/// Code that one user chose and that runs as another user.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Control {
    pub author: UserIx,
    pub runs_as: UserIx,
}

#[derive(Default)]
pub struct Model {
    pub now: i64,
    pub users: Vec<User>,
    pub roles: Vec<Role>,
    pub groups: Vec<Group>,
    pub creds: Vec<Cred>,
    pub spaces: Vec<Space>,
    pub scripts: Vec<Script>,
    pub sinks: Vec<Sink>,
    pub templates: Vec<Template>,
    pub methods: Vec<Method>,
    pub events: Vec<Event>,
    pub apps: Vec<App>,
    pub questions: Vec<Question>,
    pub grants: Vec<Grant>,
    pub devices: Vec<Device>,
    pub passkeys: Vec<Passkey>,
    pub challenges: Vec<Challenge>,
    pub pending: Vec<PendingLogin>,
    pub identities: Vec<Identity>,
    pub controls: BTreeSet<Control>,
    /// The owner of each marker. `views` explains markers.
    pub owners: BTreeMap<String, UserIx>,
}

impl Model {
    /// The permissions of a user's roles, also of an inactive user.
    pub fn perms(&self, user: UserIx) -> Perms {
        // A deleted user holds nothing. Users who manage global sinks also manage those that a
        // deleted user left.
        if self.users[user].deleted {
            return Perms::default();
        }
        let roles = self.users[user].roles.iter().map(|&role| &self.roles[role]);
        let held = roles.filter(|role| !role.deleted).map(|role| role.perms);
        held.fold(Perms::default(), Perms::union).closed()
    }

    pub fn works(&self, user: UserIx) -> bool {
        self.users[user].active && !self.users[user].deleted
    }

    /// Whether the server must still accept a credential.
    pub fn is_alive(&self, cred: CredIx) -> bool {
        let cred = &self.creds[cred];
        let expired = cred.expires_at.is_some_and(|at| at <= self.now);
        !cred.ended
            && !expired
            && cred.kind.is_for_requests()
            && self.works(cred.subject)
            && self.space_allows(cred)
            && self.grant_allows(cred)
            && cred
                .parent
                .is_none_or(|parent| self.is_alive_itself(parent))
    }

    /// Whether a token itself is still valid. Unlike `is_alive`, does not check the user: a token
    /// and its parent have the same user.
    fn is_alive_itself(&self, cred: CredIx) -> bool {
        let cred = &self.creds[cred];
        let expired = cred.expires_at.is_some_and(|at| at <= self.now);
        !cred.ended
            && !expired
            && cred
                .parent
                .is_none_or(|parent| self.is_alive_itself(parent))
    }

    fn space_allows(&self, cred: &Cred) -> bool {
        match cred.kind {
            Kind::Agent { space } => !self.spaces[space].stopped && !self.spaces[space].deleted,
            _ => true,
        }
    }

    pub fn is_of_stopped_space(&self, cred: CredIx) -> bool {
        match self.creds[cred].kind {
            Kind::Agent { space } => self.spaces[space].stopped && !self.spaces[space].deleted,
            _ => false,
        }
    }

    /// All permissions that a user can exercise through credentials, passwords and code.
    pub fn authority(&self, person: UserIx) -> Perms {
        let mut held = Perms::default();
        for (index, cred) in self.creds.iter().enumerate() {
            if cred.holder == person && (self.is_alive(index) || self.gives_token(index)) {
                held = held.union(self.perms(cred.subject));
            }
        }
        for (index, user) in self.users.iter().enumerate() {
            let by_password = user.known_by.contains(&person) && self.passes_factor(person, index);
            if self.works(index) && (by_password || self.passes_alone(person, index)) {
                held = held.union(self.perms(index));
            }
        }
        for device in &self.devices {
            let approved_by = device.approved_by.filter(|&user| self.works(user));
            if let Some(user) = approved_by.filter(|_| device.holder == person && !device.ended) {
                held = held.union(self.perms(user));
            }
        }
        for control in &self.controls {
            if control.author == person && self.works(control.runs_as) {
                held = held.union(self.perms(control.runs_as));
            }
        }
        held.closed()
    }

    pub fn sees_method(&self, user: UserIx, method: &Method) -> bool {
        if method.owner == user {
            return true;
        }
        let in_group = |groups: &Vec<usize>| {
            let mut groups = groups.iter().filter(|&&group| !self.groups[group].deleted);
            groups.any(|group| self.users[user].groups.contains(group))
        };
        method.shared
            && self.perms(user).has("use_methods")
            && method.groups.as_ref().is_none_or(in_group)
    }

    pub fn end_sessions(&mut self, user: UserIx, keep: Option<CredIx>) {
        for (index, cred) in self.creds.iter_mut().enumerate() {
            let is_session = matches!(cred.kind, Kind::Session { .. });
            if is_session && cred.subject == user && Some(index) != keep {
                cred.ended = true;
            }
        }
    }

    /// Ends agent tokens whose creator no longer has the permission to create them.
    pub fn end_lost_agent_tokens(&mut self) {
        let lost: Vec<_> = (0..self.creds.len())
            .filter(|&cred| {
                let Cred {
                    creator, subject, ..
                } = self.creds[cred];
                creator.is_some_and(|creator| {
                    let held = self.perms(creator);
                    let may = held.has("manage_spaces") && held.covers(self.perms(subject));
                    !self.works(creator) || !may
                })
            })
            .collect();
        lost.into_iter()
            .for_each(|cred| self.creds[cred].ended = true);
    }

    pub fn live_users(&self) -> Vec<UserIx> {
        indexes(&self.users, |user| !user.deleted)
    }

    pub fn live_roles(&self) -> Vec<usize> {
        indexes(&self.roles, |role| !role.deleted)
    }

    pub fn live_groups(&self) -> Vec<usize> {
        indexes(&self.groups, |group| !group.deleted)
    }

    pub fn live_spaces(&self) -> Vec<usize> {
        indexes(&self.spaces, |space| !space.deleted)
    }

    pub fn live_scripts(&self, wanted: impl Fn(&Script) -> bool) -> Vec<usize> {
        indexes(&self.scripts, |script| !script.deleted && wanted(script))
    }

    pub fn live_sinks(&self) -> Vec<usize> {
        indexes(&self.sinks, |sink| !sink.deleted)
    }

    pub fn live_templates(&self) -> Vec<usize> {
        indexes(&self.templates, |template| !template.deleted)
    }

    /// The users for whom a script runs although they did not start it: the owners of spaces that
    /// run it at their start, and of sinks that run it.
    pub fn runs_for(&self, script: usize) -> Vec<UserIx> {
        let spaces = self.spaces.iter().filter(|space| !space.deleted);
        let spaces = spaces.filter(|space| space.startup == Some(script));
        let sinks = self.sinks.iter().filter(|sink| !sink.deleted);
        let sinks = sinks.filter(|sink| sink.script == Some(script));
        let users = spaces
            .map(|space| space.owner)
            .chain(sinks.map(|sink| sink.owner));
        let users: BTreeSet<_> = users.collect();
        users.into_iter().collect()
    }
}

fn indexes<T>(records: &[T], wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    (0..records.len())
        .filter(|&index| wanted(&records[index]))
        .collect()
}
