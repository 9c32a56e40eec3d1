//! The rules for second factors and for accounts at a provider.

use super::changes::Judge;
use crate::{
    model::UserIx,
    steps::{CodeProof, FactorAct},
};

impl Judge<'_> {
    pub(super) fn judge_factor(&mut self, act: &FactorAct) {
        let (model, subject) = (self.model, self.caller.subject);
        match act {
            FactorAct::BeginApp { right } => self.proof(*right, "the setup of an app was begun"),
            FactorAct::BeginPasskey { right } => {
                self.proof(*right, "the setup of a passkey was begun")
            }
            FactorAct::RenewCodes { right } => self.proof(*right, "recovery codes were renewed"),
            FactorAct::ConfirmApp { right, .. } => {
                self.require(*right, "credential.enrolment", || {
                    "an app was added without its code, or after the end of its setup".to_owned()
                });
            }
            FactorAct::AddPasskey { right, .. } => {
                self.require(*right, "credential.enrolment", || {
                    "a passkey was added without a valid challenge for it".to_owned()
                });
            }
            FactorAct::RemoveApp { right } => {
                self.proof(*right, "an app was removed");
                self.last_factor(subject, model.passkeys_of(subject).is_empty());
            }
            FactorAct::RemovePasskey { passkey, right } => {
                self.proof(*right, "a passkey was removed");
                self.own(model.passkeys[*passkey].user, "a passkey was removed");
                let has_app = model.users[subject].factors.app.is_some();
                let is_last = !has_app && model.passkeys_of(subject).len() == 1;
                self.last_factor(subject, is_last);
            }
            FactorAct::RenamePasskey { passkey } => {
                self.own(model.passkeys[*passkey].user, "a passkey was renamed");
            }
            FactorAct::Reset { user } => {
                self.require(*user != subject, "credential.factor", || {
                    format!("user {user} reset their own second factor without the password")
                });
                self.power(*user, "power.user", "the reset of a second factor");
            }
            FactorAct::Challenge { pending } => {
                let valid = pending.is_none_or(|pending| model.pending_is_valid(pending));
                self.require(valid, "credential.second_factor", || {
                    "a login that ended got a challenge".to_owned()
                });
            }
            FactorAct::Complete { pending, proof } => {
                let user = model.pending[*pending].user;
                let right = model.pending_is_valid(*pending) && self.code_is_right(user, proof);
                self.require(right, "credential.second_factor", || {
                    format!("a login of user {user} was completed without a valid code")
                });
            }
            FactorAct::PasskeyLogin { right, passkey, .. } => {
                self.require(*right, "credential.second_factor", || {
                    let user = model.passkeys[*passkey].user;
                    format!("a login of user {user} with an invalid answer of a passkey")
                });
            }
            FactorAct::Unlink { identity, right } => {
                self.proof(*right, "an account was unlinked");
                self.own(model.identities[*identity].user, "an account was unlinked");
            }
            FactorAct::UnlinkOther { identity } => {
                let user = model.identities[*identity].user;
                self.require(user != subject, "credential.factor", || {
                    format!("user {user} unlinked an own account without the password")
                });
                let may = self.caller.perms.has("manage_users");
                self.require(may, "view.credential", || {
                    format!("an account of user {user} was unlinked without manage_users")
                });
                self.power(user, "power.user", "the end of a linked account");
            }
            FactorAct::Require { role, .. } => {
                self.role_change(*role, model.roles[*role].perms);
            }
        }
    }

    /// To change how they sign in, users must send their password.
    fn proof(&mut self, right: bool, what: &str) {
        self.require(right, "credential.factor", || {
            format!("{what} without the password")
        });
    }

    fn own(&mut self, owner: UserIx, what: &str) {
        let subject = self.caller.subject;
        self.require(owner == subject, "view.credential", || {
            format!("{what}: of user {owner}, by user {subject}")
        });
    }

    fn last_factor(&mut self, user: UserIx, is_last: bool) {
        let required = self.model.requires_factor(user);
        self.require(!(is_last && required), "credential.last_factor", || {
            format!("user {user} removed the last factor, which a role requires")
        });
    }

    fn code_is_right(&self, user: UserIx, proof: &CodeProof) -> bool {
        let factors = &self.model.users[user].factors;
        match proof {
            CodeProof::App { step } => factors
                .app
                .as_ref()
                .is_some_and(|app| app.last_step < *step),
            CodeProof::Recovery { code } => factors.codes.contains(code),
            CodeProof::Wrong => false,
        }
    }
}
