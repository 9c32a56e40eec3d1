//! Links accounts at a sign-in provider to users, and signs in with such accounts. The steps begin
//! after the answer of the provider, which the test invents.

use super::{Failure, Sequence};
use crate::{
    model::{Cred, CredIx, Identity, Kind},
    rng::Rng,
    rules::Violation,
};

/// The lifetime of a session, in milliseconds.
const SESSION: i64 = 30 * 24 * 60 * 60 * 1_000;

impl Sequence<'_> {
    /// Links an account, or signs in with one.
    pub(super) async fn use_provider(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        self.model.now = self.world.now();
        let creds = 0..self.model.creds.len();
        let sessions: Vec<_> = creds
            .filter(|&cred| {
                let record = &self.model.creds[cred];
                let is_session = matches!(record.kind, Kind::Session { .. });
                is_session && !record.enrolling && self.model.is_alive(cred)
            })
            .collect();
        match (rng.pick(&sessions), rng.percent(30)) {
            (Some(session), true) => self.link(rng, session).await,
            _ => self.sign_in(rng).await,
        }
    }

    /// Links an account to the user of a session: usually a new account, sometimes an account that
    /// was linked before.
    pub(super) async fn link(&mut self, rng: &mut Rng, session: CredIx) -> Result<(), Failure> {
        let caller = self.caller(session);
        let all: Vec<_> = (0..self.model.identities.len()).collect();
        let known = rng.pick(&all).filter(|_| rng.percent(20));
        let sub = match known {
            Some(known) => self.model.identities[known].sub.clone(),
            None => self.world.name("sub"),
        };
        let taken = self.model.identities.iter();
        let is_taken = taken
            .filter(|other| !other.ended)
            .any(|other| other.sub == sub);
        let linked = self
            .world
            .link(&self.model.creds[session].value, &sub)
            .await;
        self.log.push(format!(
            "person {} links account `{sub}` to user {}: {linked:?}",
            caller.person, caller.subject
        ));
        let Ok(id) = linked else { return Ok(()) };
        if is_taken {
            return self.fail_on_first(vec![Violation {
                rule: "identity.taken",
                text: format!("account `{sub}` was linked a second time"),
            }]);
        }
        // The account belongs to the person who linked it first.
        let holder = known.map_or(caller.person, |known| self.model.identities[known].holder);
        self.model.identities.push(Identity {
            id,
            sub,
            user: caller.subject,
            holder,
            ended: false,
        });
        Ok(())
    }

    /// Signs in with an account that is linked, or was linked earlier.
    async fn sign_in(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        let all: Vec<_> = (0..self.model.identities.len()).collect();
        let Some(drawn) = rng.pick(&all) else {
            return Ok(());
        };
        let (sub, holder) = {
            let drawn = &self.model.identities[drawn];
            (drawn.sub.clone(), drawn.holder)
        };
        let owner = self
            .model
            .identities
            .iter()
            .position(|linked| !linked.ended && linked.sub == sub)
            .filter(|&linked| self.model.works(self.model.identities[linked].user));
        let opened = self.world.sign_in_with_account(&sub).await;
        let shown = opened.as_ref().map(|(_, user)| user);
        self.log.push(format!(
            "person {holder} signs in with account `{sub}`: {shown:?}"
        ));
        let Ok((cookie, user)) = opened else {
            return Ok(());
        };
        let is_owner = |identity: usize| {
            let linked = &self.model.identities[identity];
            self.model.users[linked.user].id == user
        };
        let Some(identity) = owner.filter(|&identity| is_owner(identity)) else {
            return self.fail_on_first(vec![Violation {
                rule: "identity.sign_in",
                text: format!("account `{sub}` opened a session of user `{user}`"),
            }]);
        };
        let subject = self.model.identities[identity].user;
        self.model.creds.push(Cred {
            holder,
            expires_at: Some(self.model.now + SESSION),
            identity: Some(identity),
            ..Cred::new(cookie, subject, Kind::Session { id: String::new() })
        });
        self.read_session_id(self.model.creds.len() - 1);
        Ok(())
    }
}
