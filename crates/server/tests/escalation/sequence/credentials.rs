//! Checks of credentials: their holders, their power and their end.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Failure, Sequence};
use crate::{
    model::{CredIx, Perms},
    rng::Rng,
    rules::{self, Caller, Violation},
    views::READS,
    world::Answer,
};

impl Sequence<'_> {
    pub(super) fn authorities(&self) -> Vec<Perms> {
        (0..self.model.users.len())
            .map(|person| self.model.authority(person))
            .collect()
    }

    /// A request may not give any user a permission that its caller does not hold.
    pub(super) fn judge_growth(&self, caller: &Caller, before: &[Perms]) -> Vec<Violation> {
        let after = self.authorities();
        let grown = after.iter().enumerate().map(|(person, after)| {
            let before = before.get(person).copied().unwrap_or_default();
            (person, after.without(before))
        });
        grown
            .filter(|(_, grown)| !caller.perms.covers(*grown))
            .map(|(person, grown)| Violation {
                rule: "authority.growth",
                text: format!(
                    "person {person} gained {grown} by a caller with {}",
                    caller.perms
                ),
            })
            .collect()
    }

    /// To receive a credential of another user, the caller must hold all permissions of that user.
    /// An anonymous request presents a secret instead, such as a password or a code; other rules
    /// check it.
    pub(super) fn judge_new(
        &self,
        caller: &Caller,
        anonymous: bool,
        cred: CredIx,
    ) -> Vec<Violation> {
        let record = &self.model.creds[cred];
        let mut found = Vec::new();
        let other = self.model.perms(record.subject);
        if !anonymous && record.subject != caller.subject && !caller.perms.covers(other) {
            let text = format!(
                "a caller with {} received {}, who holds {other}",
                caller.perms,
                rules::name_of(&self.model, cred)
            );
            found.push(Violation {
                rule: "credential.beyond",
                text,
            });
        }
        let end = record
            .parent
            .and_then(|parent| rules::end_of(&self.model, parent));
        if end.is_some_and(|end| record.expires_at.is_none_or(|own| own > end)) {
            let text = "a token outlives the token with which it was created".to_owned();
            found.push(Violation {
                rule: "credential.outlives_parent",
                text,
            });
        }
        found
    }

    /// No answer may contain a credential, except the one that the request created. Refresh tokens,
    /// login tokens and device codes may be in the answers of the routes that issue them.
    pub(super) fn judge_leaks(&self, made: Option<CredIx>, answer: &Answer) -> Vec<Violation> {
        let expected = made.map(|cred| self.model.creds[cred].value.as_str());
        let mut kinds = vec![
            "svc_pat_", "svc_agt_", "svc_ses_", "svc_set_", "svc_oat_", "svc_oac_",
        ];
        if answer.path != "/token" {
            kinds.push("svc_ort_");
        }
        if answer.path != "/api/auth/login" {
            kinds.push("svc_lgn_");
        }
        if answer.path != "/device_authorization" {
            kinds.push("svc_odc_");
        }
        let texts = answer.cookie.iter().chain([&answer.text]);
        let leaks = texts.flat_map(|text| {
            kinds
                .iter()
                .flat_map(move |kind| text.match_indices(kind).map(move |(at, _)| &text[at..]))
        });
        leaks
            .filter(|found| expected.is_none_or(|value| !found.starts_with(value)))
            .map(|_| Violation {
                rule: "credential.leak",
                text: "an answer contains a credential that the request did not create".to_owned(),
            })
            .collect()
    }

    /// Sends a random read with a random ended credential. The server must reject it.
    pub(super) async fn try_ended_credential(&mut self, rng: &mut Rng) -> Result<(), Failure> {
        self.model.now = self.world.now();
        let ended: Vec<_> = (0..self.model.creds.len())
            .filter(|&cred| !self.model.is_alive(cred))
            .collect();
        let Some(cred) = rng.pick(&ended) else {
            return Ok(());
        };
        let caller = self.caller(cred);
        let (_, generate) = READS[rng.below(READS.len())];
        let path = generate(&mut self.draft(rng, &caller));
        let path = path.unwrap_or_else(|| "/api/auth/me".to_owned());
        let answer = self.send(&caller, false, ("GET", &path), None).await;
        self.fail_on_first(self.judge_ended(cred, &path, &answer))
    }

    fn judge_ended(&self, cred: CredIx, path: &str, answer: &Answer) -> Vec<Violation> {
        let stopped = self.model.is_of_stopped_space(cred);
        // The server knows the agent token of a stopped space, but refuses it with 403.
        if answer.status == 401 || stopped && answer.status == 403 {
            return Vec::new();
        }
        let rule = rules::ended_rule(&self.model, cred);
        let name = rules::name_of(&self.model, cred);
        let text = format!("{name} has ended; GET {path} answered {}", answer.status);
        vec![Violation { rule, text }]
    }

    /// Checks that every credential is accepted or rejected as the model says.
    pub(super) async fn check_credentials(&mut self) -> Result<(), Failure> {
        self.model.now = self.world.now();
        for cred in 0..self.model.creds.len() {
            let caller = self.caller(cred);
            let answer = self
                .send(&caller, false, ("GET", "/api/auth/me"), None)
                .await;
            if !self.model.is_alive(cred) {
                self.fail_on_first(self.judge_ended(cred, "/api/auth/me", &answer))?;
                continue;
            }
            let scoped = self.model.creds[cred].kind.is_scoped();
            let held = answer.json["permissions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let held: BTreeSet<_> = held.iter().filter_map(Value::as_str).collect();
            let as_expected = match scoped {
                true => answer.status == 403,
                false => {
                    answer.status == 200
                        && answer.json["id"] == self.model.users[caller.subject].id.as_str()
                        && Perms::of(&held.into_iter().collect::<Vec<_>>()).closed() == caller.perms
                }
            };
            if !as_expected {
                let name = rules::name_of(&self.model, cred);
                let text = format!(
                    "{name} with {}: {} {}",
                    caller.perms, answer.status, answer.text
                );
                self.fail_on_first(vec![Violation {
                    rule: "model.credential",
                    text,
                }])?;
            }
        }
        Ok(())
    }
}
