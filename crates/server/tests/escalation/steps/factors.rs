//! Requests about second factors, logins with second factors, and accounts at a provider.
//!
//! The *person* is the user who received the credential of a request. The *subject* is the user
//! whom the credential authenticates.

use serde_json::{Value, json};

use super::{Act, Draft, FactorAct, Plan, bare, plan};
use crate::{
    authenticator::{DeviceKey, app_code, step_at, wrong_code},
    model::{Challenge, Purpose, UserIx},
};

fn factor(path: impl Into<String>, body: Value, act: FactorAct) -> Option<Plan> {
    plan(path, body, Act::Factor(act))
}

impl Draft<'_> {
    /// A body with a password, and whether it is right. The right password of the subject is used
    /// only if the person knows it, and then not always.
    fn proof(&mut self) -> (Value, bool) {
        let subject = &self.model.users[self.subject];
        let right = subject.known_by.contains(&self.person) && self.rng.percent(85);
        let password = match right {
            true => subject.password.clone(),
            false => self.secret(),
        };
        (json!({ "password": password }), right)
    }

    /// A challenge that the person received. Usually the newest one.
    fn challenge(&mut self) -> Option<usize> {
        let challenges = &self.model.challenges;
        let held = |&at: &usize| challenges[at].holder == self.person;
        let held: Vec<_> = (0..challenges.len()).filter(held).collect();
        match self.rng.percent(80) {
            true => held.last().copied(),
            false => self.rng.pick(&held),
        }
    }

    fn answers(&self, challenge: &Challenge, purpose: Purpose) -> bool {
        !challenge.ended && challenge.purpose == purpose && self.model.now < challenge.expires_at
    }
}

pub fn begin_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let (body, right) = draft.proof();
    factor("/api/auth/totp", body, FactorAct::BeginApp { right })
}

pub fn confirm_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let enrolment = draft.model.users[draft.subject].factors.enrolment.as_ref();
    let now = draft.world.now();
    let step = step_at(now);
    let (code, right) = match enrolment {
        Some(enrolment) if enrolment.holder == draft.person && draft.rng.percent(85) => {
            let right = now < enrolment.expires_at;
            (app_code(&enrolment.secret, step), right)
        }
        Some(enrolment) => (wrong_code(&enrolment.secret, now), false),
        None => ("000000".to_owned(), false),
    };
    let body = json!({ "code": code });
    let act = FactorAct::ConfirmApp { right, step };
    factor("/api/auth/totp/confirm", body, act)
}

pub fn remove_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let (body, right) = draft.proof();
    factor(
        "/api/auth/totp/remove",
        body,
        FactorAct::RemoveApp { right },
    )
}

pub fn renew_codes(draft: &mut Draft<'_>) -> Option<Plan> {
    let (body, right) = draft.proof();
    factor(
        "/api/auth/recovery-codes",
        body,
        FactorAct::RenewCodes { right },
    )
}

pub fn reset(draft: &mut Draft<'_>) -> Option<Plan> {
    let user = draft.user();
    let path = format!("/api/users/{}/second-factor", draft.model.users[user].id);
    bare(path, Act::Factor(FactorAct::Reset { user }))
}

/// The second step of a login, with a code.
pub fn complete_login(draft: &mut Draft<'_>) -> Option<Plan> {
    let all = &draft.model.pending;
    let held: Vec<_> = (0..all.len())
        .filter(|&at| all[at].holder == draft.person)
        .collect();
    let pending = match draft.rng.percent(80) {
        true => held.last().copied(),
        false => draft.rng.pick(&held),
    }?;
    let user = all[pending].user;
    let (code, proof) = code(draft, user)?;
    let body = json!({"token": draft.model.pending[pending].token, "code": code});
    let act = FactorAct::Complete { pending, proof };
    factor("/api/auth/second-factor", body, act)
}

/// The kind of code that completes a login, or `Wrong` if the server must reject the code.
pub enum CodeProof {
    App { step: i64 },
    Recovery { code: String },
    Wrong,
}

/// A code that the person can know, or a wrong one.
fn code(draft: &mut Draft<'_>, user: UserIx) -> Option<(String, CodeProof)> {
    let factors = &draft.model.users[user].factors;
    let knows_codes = factors.codes_known_by.contains(&draft.person);
    let now = draft.world.now();
    match (draft.rng.below(10), &factors.app) {
        (0..=4, Some(app)) if app.holder == draft.person => {
            let step = step_at(now).max(app.last_step + 1);
            Some((app_code(&app.secret, step), CodeProof::App { step }))
        }
        // The code that was used last.
        (5, Some(app)) => Some((app_code(&app.secret, app.last_step), CodeProof::Wrong)),
        (6, Some(app)) => Some((wrong_code(&app.secret, now), CodeProof::Wrong)),
        (7, _) => {
            let code = factors.used_codes.last()?.clone();
            Some((code, CodeProof::Wrong))
        }
        // A recovery code of another user.
        (8, _) => {
            let other = draft.model.users.iter().find(|other| {
                other.factors.codes_known_by.contains(&draft.person)
                    && !other.factors.codes.is_empty()
                    && other.id != draft.model.users[user].id
            })?;
            Some((other.factors.codes[0].clone(), CodeProof::Wrong))
        }
        _ if knows_codes => {
            let code = factors.codes.first()?.clone();
            Some((code.clone(), CodeProof::Recovery { code }))
        }
        _ => None,
    }
}

pub fn begin_passkey(draft: &mut Draft<'_>) -> Option<Plan> {
    let (body, right) = draft.proof();
    factor(
        "/api/auth/passkeys/begin",
        body,
        FactorAct::BeginPasskey { right },
    )
}

pub fn add_passkey(draft: &mut Draft<'_>) -> Option<Plan> {
    let challenge = draft.challenge()?;
    let record = &draft.model.challenges[challenge];
    let right = draft.answers(record, Purpose::Register(draft.subject));
    let text = record.text.clone();
    // A sequence may run several times in the same world. Each run must create different passkeys.
    let unique: u64 = draft.world.name("").parse().expect("a number");
    let seed = draft.rng.next() ^ unique;
    let body = DeviceKey::new(seed).create(&text);
    let act = FactorAct::AddPasskey {
        right,
        challenge,
        seed,
    };
    factor("/api/auth/passkeys", body, act)
}

/// A passkey: usually of the subject, otherwise of any user.
fn any_passkey(draft: &mut Draft<'_>) -> Option<usize> {
    let own = draft.model.passkeys_of(draft.subject);
    let all: Vec<_> = (0..draft.model.passkeys.len()).collect();
    match draft.rng.percent(70) {
        true => draft.rng.pick(&own),
        false => draft.rng.pick(&all),
    }
}

pub fn rename_passkey(draft: &mut Draft<'_>) -> Option<Plan> {
    let passkey = any_passkey(draft)?;
    let path = format!("/api/auth/passkeys/{}", draft.model.passkeys[passkey].id);
    let act = FactorAct::RenamePasskey { passkey };
    factor(path, json!({"name": "Other name"}), act)
}

pub fn remove_passkey(draft: &mut Draft<'_>) -> Option<Plan> {
    let passkey = any_passkey(draft)?;
    let (body, right) = draft.proof();
    let id = &draft.model.passkeys[passkey].id;
    let path = format!("/api/auth/passkeys/{id}/remove");
    factor(path, body, FactorAct::RemovePasskey { passkey, right })
}

/// The newest pending login of the person.
fn newest_pending(draft: &Draft<'_>) -> Option<usize> {
    let held = |&at: &usize| draft.model.pending[at].holder == draft.person;
    (0..draft.model.pending.len()).rev().find(held)
}

pub fn challenge(draft: &mut Draft<'_>) -> Option<Plan> {
    let pending = match draft.rng.percent(40) {
        true => newest_pending(draft),
        false => None,
    };
    let token = pending.map(|pending| &draft.model.pending[pending].token);
    let body = match token {
        Some(token) => json!({ "token": token }),
        None => json!({}),
    };
    let act = FactorAct::Challenge { pending };
    factor("/api/auth/passkeys/challenge", body, act)
}

/// A login with a passkey: without a password, or as the second step after a password.
pub fn passkey_login(draft: &mut Draft<'_>) -> Option<Plan> {
    let challenge = draft.challenge()?;
    let held = draft.model.passkeys_held_by(draft.person);
    let all: Vec<_> = (0..draft.model.passkeys.len()).collect();
    let passkey = match draft.rng.percent(75) {
        true => draft.rng.pick(&held),
        false => draft.rng.pick(&all),
    }?;
    let record = &draft.model.challenges[challenge];
    let pending = match record.purpose {
        Purpose::Login => None,
        _ => newest_pending(draft),
    };
    let key = &draft.model.passkeys[passkey];
    let (seed, user) = (key.seed, key.user);
    // A person without the device signs with another key. A person with the device sometimes does
    // so too.
    let signs = key.holder == draft.person && draft.rng.percent(90);
    let signer = match signs {
        true => seed,
        false => draft.rng.next(),
    };
    let verifies = draft.rng.percent(85);
    let rises = draft.rng.percent(90);
    let counter = key.counter + u32::from(rises);
    let is_for = match pending {
        Some(pending) => {
            let right_user = draft.model.pending[pending].user == user;
            let valid = right_user && draft.model.pending_is_valid(pending);
            valid && draft.answers(record, Purpose::SecondFactor(user))
        }
        None => verifies && draft.answers(record, Purpose::Login),
    };
    let right = signs && rises && is_for && !key.deleted && draft.model.works(user);
    let device = DeviceKey::new(seed);
    let mut body = device.get(&record.text, counter, verifies, &DeviceKey::new(signer));
    if let Some(pending) = pending {
        body["token"] = json!(draft.model.pending[pending].token);
    }
    let act = FactorAct::PasskeyLogin {
        right,
        passkey,
        challenge,
        pending,
        counter,
    };
    factor("/api/auth/passkeys/login", body, act)
}

/// A linked account: usually of the subject, otherwise of any user.
fn any_identity(draft: &mut Draft<'_>) -> Option<usize> {
    let all: Vec<_> = (0..draft.model.identities.len()).collect();
    let mut own = all.clone();
    own.retain(|&at| draft.model.identities[at].user == draft.subject);
    match draft.rng.percent(70) {
        true => draft.rng.pick(&own),
        false => draft.rng.pick(&all),
    }
}

pub fn unlink(draft: &mut Draft<'_>) -> Option<Plan> {
    let identity = any_identity(draft)?;
    let (body, right) = match draft.rng.percent(15) {
        // Every user of the model has a password, so a request without it is never enough.
        true => (json!({}), false),
        false => draft.proof(),
    };
    let id = &draft.model.identities[identity].id;
    let path = format!("/api/auth/identities/{id}/remove");
    factor(path, body, FactorAct::Unlink { identity, right })
}

pub fn unlink_other(draft: &mut Draft<'_>) -> Option<Plan> {
    let all: Vec<_> = (0..draft.model.identities.len()).collect();
    let identity = draft.rng.pick(&all)?;
    let path = format!(
        "/api/auth/identities/{}",
        draft.model.identities[identity].id
    );
    bare(path, Act::Factor(FactorAct::UnlinkOther { identity }))
}
