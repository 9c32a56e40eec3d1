//! Second factors of users, logins that wait for one, and accounts at a provider.

use std::collections::BTreeSet;

use super::{CredIx, Kind, Model, UserIx, indexes};

/// The second factors of a user, except passkeys.
#[derive(Default)]
pub struct Factors {
    pub app: Option<AuthApp>,
    pub enrolment: Option<Enrolment>,
    /// Recovery codes that were not used.
    pub codes: Vec<String>,
    pub used_codes: Vec<String>,
    /// Users who know the recovery codes.
    pub codes_known_by: BTreeSet<UserIx>,
}

/// An authenticator app in use.
pub struct AuthApp {
    pub secret: String,
    /// The 30-second step of the last accepted code.
    pub last_step: i64,
    /// The user who has the app.
    pub holder: UserIx,
}

/// An app whose first code was not entered yet.
pub struct Enrolment {
    pub secret: String,
    /// The user who saw the secret.
    pub holder: UserIx,
    pub expires_at: i64,
}

pub struct Passkey {
    pub id: String,
    pub user: UserIx,
    /// The user who has the device.
    pub holder: UserIx,
    pub seed: u64,
    pub counter: u32,
    pub deleted: bool,
}

/// The purpose of a challenge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Register(UserIx),
    SecondFactor(UserIx),
    Login,
}

pub struct Challenge {
    pub text: String,
    pub purpose: Purpose,
    pub holder: UserIx,
    pub expires_at: i64,
    pub ended: bool,
}

/// A login whose password was correct and that waits for the second factor.
pub struct PendingLogin {
    pub token: String,
    pub user: UserIx,
    pub holder: UserIx,
    pub expires_at: i64,
    pub ended: bool,
}

/// An account at the provider that is linked to a user.
pub struct Identity {
    pub id: String,
    pub sub: String,
    pub user: UserIx,
    /// The user who has the account at the provider.
    pub holder: UserIx,
    pub ended: bool,
}

impl Model {
    pub fn has_factor(&self, user: UserIx) -> bool {
        self.users[user].factors.app.is_some() || !self.passkeys_of(user).is_empty()
    }

    /// Whether a role of a user requires a second factor.
    pub fn requires_factor(&self, user: UserIx) -> bool {
        let mut roles = self.users[user].roles.iter().map(|&role| &self.roles[role]);
        roles.any(|role| role.requires_factor && !role.deleted)
    }

    pub fn passkeys_of(&self, user: UserIx) -> Vec<usize> {
        indexes(&self.passkeys, |key| key.user == user && !key.deleted)
    }

    /// Passkeys that a person can use.
    pub fn passkeys_held_by(&self, person: UserIx) -> Vec<usize> {
        indexes(&self.passkeys, |key| key.holder == person && !key.deleted)
    }

    /// Whether a person who knows the password of a user can log in as this user.
    pub(super) fn passes_factor(&self, person: UserIx, user: UserIx) -> bool {
        let factors = &self.users[user].factors;
        let app = factors.app.as_ref();
        let mut keys = self.passkeys_of(user).into_iter();
        !self.has_factor(user)
            || app.is_some_and(|app| app.holder == person)
            || keys.any(|key| self.passkeys[key].holder == person)
            || !factors.codes.is_empty() && factors.codes_known_by.contains(&person)
    }

    /// Whether a person can log in as a user without the password: with a passkey, or with an
    /// account at the provider.
    pub(super) fn passes_alone(&self, person: UserIx, user: UserIx) -> bool {
        let mut keys = self.passkeys_held_by(person).into_iter();
        let mut linked = self.identities.iter().filter(|linked| !linked.ended);
        keys.any(|key| self.passkeys[key].user == user)
            || linked.any(|linked| linked.holder == person && linked.user == user)
    }

    pub fn pending_is_valid(&self, pending: usize) -> bool {
        let pending = &self.pending[pending];
        !pending.ended && self.now < pending.expires_at && self.works(pending.user)
    }

    pub fn end_pending(&mut self, user: UserIx) {
        let pending = self.pending.iter_mut();
        let of_user = pending.filter(|pending| pending.user == user);
        of_user.for_each(|pending| pending.ended = true);
    }

    /// Ends the logins, enrolments and challenges of a user that were not completed.
    pub fn end_begun(&mut self, user: UserIx) {
        self.end_pending(user);
        self.users[user].factors.enrolment = None;
        let challenges = self.challenges.iter_mut();
        let of_user = challenges.filter(|challenge| match challenge.purpose {
            Purpose::Register(of) | Purpose::SecondFactor(of) => of == user,
            Purpose::Login => false,
        });
        of_user.for_each(|challenge| challenge.ended = true);
    }

    /// Called after a factor was added: ends logins that wait for a factor, and other sessions that
    /// could only set up a factor. The session of the request becomes a full session.
    pub fn complete_enrolment(&mut self, user: UserIx, session: Option<CredIx>) {
        self.end_pending(user);
        for (index, cred) in self.creds.iter_mut().enumerate() {
            if cred.subject == user && cred.enrolling {
                cred.ended |= Some(index) != session;
                cred.enrolling = false;
            }
        }
    }

    /// Called after a factor was removed: ends logins that wait for a factor. If the user has no
    /// other factor, also ends the recovery codes and everything that was not completed.
    pub fn remove_leftovers(&mut self, user: UserIx) {
        self.end_pending(user);
        if !self.has_factor(user) {
            self.end_begun(user);
            let factors = &mut self.users[user].factors;
            factors.used_codes.append(&mut factors.codes);
        }
    }

    /// Removes all factors of a user.
    pub fn reset_factors(&mut self, user: UserIx) {
        for key in self.passkeys_of(user) {
            self.passkeys[key].deleted = true;
        }
        self.users[user].factors = Factors::default();
        self.end_begun(user);
    }

    /// Ends a linked account and the sessions that it opened.
    pub fn end_identity(&mut self, identity: usize) {
        self.identities[identity].ended = true;
        let opened = self.creds.iter_mut().filter(|cred| {
            cred.identity == Some(identity) && matches!(cred.kind, Kind::Session { .. })
        });
        opened.for_each(|cred| cred.ended = true);
    }
}
