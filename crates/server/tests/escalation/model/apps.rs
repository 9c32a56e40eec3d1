//! Connected apps and device logins.

use super::{Cred, CredIx, Kind, Model, UserIx, indexes};

/// An app that users may connect.
pub struct App {
    pub id: String,
    pub client_id: String,
    pub blocked: bool,
    pub deleted: bool,
}

/// A request of an app for a user's approval.
pub struct Question {
    pub id: String,
    pub app: usize,
    pub scopes: Vec<String>,
    /// The session in which the user was asked. `None` if the request had no valid session.
    pub asked: Option<CredIx>,
    pub answered: bool,
}

/// An app that a user connected.
pub struct Grant {
    pub id: String,
    pub app: usize,
    pub subject: UserIx,
    pub ended: bool,
}

/// A machine that waits for the approval of its device login.
pub struct Device {
    pub user_code: String,
    pub device_code: String,
    /// The user of the machine.
    pub holder: UserIx,
    pub approved_by: Option<UserIx>,
    /// Declined, or already exchanged for a token.
    pub ended: bool,
}

impl Model {
    pub(super) fn grant_allows(&self, cred: &Cred) -> bool {
        match cred.kind {
            Kind::App { grant, .. } | Kind::Refresh { grant } => !self.grants[grant].ended,
            _ => true,
        }
    }

    /// Whether a code or a refresh token may still be exchanged.
    pub fn gives_token(&self, cred: CredIx) -> bool {
        let cred = &self.creds[cred];
        let app = match cred.kind {
            Kind::Code { app, .. } => app,
            Kind::Refresh { grant } => self.grants[grant].app,
            _ => return false,
        };
        let app = &self.apps[app];
        let expired = cred.expires_at.is_some_and(|at| at <= self.now);
        !cred.ended
            && !expired
            && !app.blocked
            && !app.deleted
            && self.works(cred.subject)
            && self.grant_allows(cred)
    }

    pub fn live_apps(&self) -> Vec<usize> {
        indexes(&self.apps, |app| !app.deleted)
    }

    pub fn live_grants(&self) -> Vec<usize> {
        indexes(&self.grants, |grant| !grant.ended)
    }

    /// Ends the grants of an app.
    pub fn end_grants(&mut self, app: usize) {
        let of_app = self.grants.iter_mut().filter(|grant| grant.app == app);
        of_app.for_each(|grant| grant.ended = true);
    }
}
