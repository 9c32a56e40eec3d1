//! Effects of requests about second factors and linked accounts.

use std::collections::BTreeSet;

use super::{add_session, expiry};
use crate::{
    model::{AuthApp, Challenge, CredIx, Enrolment, Model, Passkey, Purpose, UserIx},
    rules::Caller,
    steps::{CodeProof, FactorAct},
    world::Answer,
};

/// Applies the effect of an accepted request to the model. Returns the new credential, if the
/// answer contains one.
pub fn apply(
    model: &mut Model,
    caller: &Caller,
    act: FactorAct,
    answer: &Answer,
) -> Option<CredIx> {
    let (subject, person) = (caller.subject, caller.person);
    match act {
        FactorAct::BeginApp { .. } => {
            model.users[subject].factors.enrolment = Some(Enrolment {
                secret: answer.str("secret"),
                holder: person,
                expires_at: expiry(&answer.json["expires_at"]).unwrap_or_default(),
            });
        }
        FactorAct::ConfirmApp { step, .. } => {
            let factors = &mut model.users[subject].factors;
            if let Some(enrolment) = factors.enrolment.take() {
                factors.app = Some(AuthApp {
                    secret: enrolment.secret,
                    last_step: step,
                    holder: enrolment.holder,
                });
            }
            set_codes(model, caller, answer);
            model.complete_enrolment(subject, caller.cred);
        }
        FactorAct::RemoveApp { .. } => {
            let factors = &mut model.users[subject].factors;
            (factors.app, factors.enrolment) = (None, None);
            model.remove_leftovers(subject);
        }
        FactorAct::BeginPasskey { .. } => {
            add_challenge(model, Purpose::Register(subject), person, answer);
        }
        FactorAct::AddPasskey {
            challenge, seed, ..
        } => {
            model.challenges[challenge].ended = true;
            let id = answer.json["passkey"]["id"].as_str();
            model.passkeys.push(Passkey {
                id: id.unwrap_or_default().to_owned(),
                user: subject,
                holder: person,
                seed,
                counter: 1,
                deleted: false,
            });
            set_codes(model, caller, answer);
            model.complete_enrolment(subject, caller.cred);
        }
        FactorAct::RenamePasskey { .. } => {}
        FactorAct::RemovePasskey { passkey, .. } => {
            model.passkeys[passkey].deleted = true;
            model.remove_leftovers(subject);
        }
        FactorAct::RenewCodes { .. } => set_codes(model, caller, answer),
        FactorAct::Reset { user } => model.reset_factors(user),
        FactorAct::Challenge { pending } => {
            let purpose = match pending {
                Some(pending) => Purpose::SecondFactor(model.pending[pending].user),
                None => Purpose::Login,
            };
            add_challenge(model, purpose, person, answer);
        }
        FactorAct::Complete { pending, proof } => {
            let user = model.pending[pending].user;
            model.pending[pending].ended = true;
            use_code(model, user, proof);
            return Some(add_session(model, caller, user, answer));
        }
        FactorAct::PasskeyLogin {
            passkey,
            challenge,
            pending,
            counter,
            ..
        } => {
            model.challenges[challenge].ended = true;
            if let Some(pending) = pending {
                model.pending[pending].ended = true;
            }
            model.passkeys[passkey].counter = counter;
            let user = model.passkeys[passkey].user;
            return Some(add_session(model, caller, user, answer));
        }
        FactorAct::Unlink { identity, .. } | FactorAct::UnlinkOther { identity } => {
            model.end_identity(identity);
        }
        FactorAct::Require { role, required } => model.roles[role].requires_factor = required,
    }
    None
}

/// Recovery codes of the answer replace the earlier codes. An answer without codes changes nothing.
fn set_codes(model: &mut Model, caller: &Caller, answer: &Answer) {
    let codes = answer.json["recovery_codes"].as_array();
    let codes = codes.into_iter().flatten().filter_map(|code| code.as_str());
    let codes: Vec<_> = codes.map(str::to_owned).collect();
    let factors = &mut model.users[caller.subject].factors;
    if !codes.is_empty() {
        factors.used_codes.append(&mut factors.codes);
        factors.codes = codes;
        factors.codes_known_by = BTreeSet::from([caller.person]);
    }
}

fn add_challenge(model: &mut Model, purpose: Purpose, holder: UserIx, answer: &Answer) {
    model.challenges.push(Challenge {
        text: answer.str("challenge"),
        purpose,
        holder,
        expires_at: expiry(&answer.json["expires_at"]).unwrap_or_default(),
        ended: false,
    });
}

fn use_code(model: &mut Model, user: UserIx, proof: CodeProof) {
    let factors = &mut model.users[user].factors;
    match proof {
        CodeProof::App { step } => {
            if let Some(app) = &mut factors.app {
                app.last_step = step;
            }
        }
        CodeProof::Recovery { code } => {
            factors.codes.retain(|other| *other != code);
            factors.used_codes.push(code);
        }
        CodeProof::Wrong => {}
    }
}
