//! The rules for each kind of change.

use super::{Caller, Violation, end_of};
use crate::{
    model::{Kind, Model, Perms, UserIx},
    steps::{Act, UserChange},
    world::Answer,
};

/// Collects the violations of one successful change.
pub(super) struct Judge<'a> {
    pub(super) model: &'a Model,
    pub(super) caller: &'a Caller,
    found: Vec<Violation>,
}

impl Judge<'_> {
    pub(super) fn require(
        &mut self,
        holds: bool,
        rule: &'static str,
        text: impl FnOnce() -> String,
    ) {
        if !holds {
            self.found.push(Violation { rule, text: text() });
        }
    }

    /// Acting on another user, or for another user, requires all permissions of that user.
    pub(super) fn power(&mut self, user: UserIx, rule: &'static str, what: &str) {
        let other = self.model.perms(user);
        let caller = self.caller;
        let holds = user == caller.subject || caller.perms.covers(other);
        self.require(holds, rule, || {
            format!(
                "{what} of user {user} with {other} by a caller with {}",
                caller.perms
            )
        });
    }

    fn holds(&mut self, perms: Perms, rule: &'static str, what: &str) {
        let held = self.caller.perms;
        self.require(held.covers(perms), rule, || {
            format!("{what} {perms} by a caller with {held}")
        });
    }

    /// Decisions about apps require a session. A token may not make them.
    fn check_session(&mut self, what: &str) {
        let kind = self.caller.cred.map(|cred| &self.model.creds[cred].kind);
        let is_session = matches!(kind, Some(Kind::Session { .. }));
        self.require(is_session, "app.decided_by_token", || {
            format!("{what} without a session")
        });
    }

    fn check_decision(&mut self, question: usize) {
        self.check_session("an app was connected");
        let (model, caller) = (self.model, self.caller.cred);
        let question = &model.questions[question];
        // If the session that was asked has ended, another session may answer.
        let asked = question.asked.filter(|&asked| model.is_alive(asked));
        self.require(
            !question.answered && asked.is_none_or(|asked| Some(asked) == caller),
            "app.question",
            || "a question was answered twice, or by a session that was not asked".to_owned(),
        );
    }

    /// A code or a refresh token may be exchanged only while its grant is valid.
    fn check_exchange(&mut self, cred: usize) {
        let alive = self.model.gives_token(cred);
        self.require(alive, "app.token", || {
            let name = super::name_of(self.model, cred);
            format!("{name} has ended and gave a token")
        });
    }

    fn membership(&mut self, group: usize) {
        let member = self.model.users[self.caller.subject]
            .groups
            .contains(&group);
        let may = member || self.caller.perms.has("manage_groups");
        self.require(may, "power.group_membership", || {
            format!("membership of group {group} changed by a stranger without manage_groups")
        });
    }

    fn agent_token(&mut self) {
        let end = self.caller.cred.and_then(|cred| end_of(self.model, cred));
        self.require(end.is_none(), "credential.outlives_parent", || {
            "an expiring token made an agent token, which does not expire".to_owned()
        });
    }

    fn own_space(&mut self, space: usize) {
        let owner = self.model.spaces[space].owner;
        let may = owner == self.caller.subject || self.caller.perms.has("manage_spaces");
        self.require(may, "view.space", || {
            format!("space {space} of user {owner}")
        });
    }

    /// A script that runs for `owner` must be global or belong to `owner`.
    fn check_script_owner(&mut self, script: Option<usize>, owner: UserIx) {
        let Some(script) = script.map(|script| &self.model.scripts[script]) else {
            return;
        };
        self.require(
            script.global || script.owner == owner,
            "code.foreign_script",
            || format!("user {owner} uses a script of user {}", script.owner),
        );
    }

    fn managed_sink(&mut self, sink: usize) {
        let sink = &self.model.sinks[sink];
        let may = match sink.global {
            true => self.caller.perms.has("manage_global_event_sinks"),
            false => sink.owner == self.caller.subject,
        };
        self.require(may, "view.sink", || {
            format!("a sink of user {}", sink.owner)
        });
        self.power(sink.owner, "power.sink", "a sink");
    }

    /// A template's health check and startup script run for the owner of a new space.
    fn check_template(&mut self, template: usize, uses_script: bool) {
        let template = &self.model.templates[template];
        if template.check || uses_script && template.script {
            self.check_saver(template.saver, template.saver_perms, "a template");
        }
    }

    /// Shared code may run only for the user who saved it, and for users whose permissions the
    /// saver held when saving.
    fn check_saver(&mut self, saver: UserIx, held: Perms, what: &str) {
        let (subject, perms) = (self.caller.subject, self.caller.perms);
        let trusted = saver == subject || held.covers(perms);
        self.require(trusted, "code.runs_for_stronger", || {
            format!("{what} saved by user {saver} with {held} ran for user {subject} with {perms}")
        });
    }

    fn managed_script(&mut self, script: usize) {
        let script = &self.model.scripts[script];
        let may = match script.global {
            true => self.caller.perms.has("manage_scripts"),
            false => script.owner == self.caller.subject,
        };
        self.require(may, "power.script", || {
            format!("a script of user {}", script.owner)
        });
    }

    fn user_change(&mut self, change: &UserChange) {
        self.power(change.user, "power.user", "a change");
        let before = &self.model.users[change.user];
        for &role in change.roles.iter().flatten() {
            if !before.roles.contains(&role) {
                self.holds(
                    self.model.roles[role].perms,
                    "power.grant",
                    "a role was granted with",
                );
            }
        }
        if let Some(groups) = &change.groups {
            let joined = groups.iter().filter(|group| !before.groups.contains(group));
            let left = before.groups.iter().filter(|group| !groups.contains(group));
            let left = left.filter(|&&group| !self.model.groups[group].deleted);
            let changed: Vec<_> = joined.chain(left).copied().collect();
            changed.into_iter().for_each(|group| self.membership(group));
        }
    }

    pub(super) fn role_change(&mut self, role: usize, after: Perms) {
        let before = self.model.roles[role].perms;
        let changed = Perms(before.0 ^ after.0);
        self.holds(changed, "power.role", "a role gained or lost");
        for user in self.model.live_users() {
            if self.model.users[user].roles.contains(&role) {
                self.power(user, "power.role", "a role");
            }
        }
    }

    fn group_members(&mut self, group: usize) {
        for user in self.model.live_users() {
            if self.model.users[user].groups.contains(&group) {
                self.power(user, "power.group", "a group");
            }
        }
    }

    fn check_new_script(&mut self, global: bool) {
        let may = !global || self.caller.perms.has("manage_scripts");
        self.require(may, "power.script", || "a new global script".to_owned());
    }

    /// A script must run as its caller. Its global parts must obey [`Self::check_saver`].
    fn check_run(&mut self, parts: [Option<usize>; 2], answer: &Answer) {
        if !answer.json["error"].is_null() || answer.json["result"]["isError"] == true {
            return;
        }
        let (model, subject) = (self.model, self.caller.subject);
        let actor = find_actor(answer);
        self.require(
            actor == model.users[subject].id,
            "code.runs_as_another",
            || {
                format!(
                    "a script run by user {subject} acted as `{actor}`: {}",
                    answer.text
                )
            },
        );
        for part in parts.into_iter().flatten().map(|part| &model.scripts[part]) {
            if part.global {
                self.check_saver(part.saver, part.saver_perms, "a script");
            }
        }
    }
}

impl Judge<'_> {
    fn judge(&mut self, act: &Act, answer: &Answer) {
        let (model, subject) = (self.model, self.caller.subject);
        match act {
            Act::Other
            | Act::Logout
            | Act::EndOtherSessions
            | Act::Emit
            | Act::NewGroup { .. }
            | Act::NewTemplate { .. }
            | Act::NewApp
            | Act::BlockApp { .. }
            | Act::DeleteApp { .. }
            | Act::Revoke { .. }
            | Act::StartDevice
            | Act::NewToken { .. } => {}
            Act::Decide { question, .. } => self.check_decision(*question),
            Act::DecideDevice { .. } => self.check_session("a login of a machine was approved"),
            Act::Exchange { cred } => self.check_exchange(*cred),
            Act::Poll { device, .. } => {
                let approved = model.devices[*device].approved_by;
                let works = approved.is_some_and(|user| model.works(user));
                self.require(works, "app.token", || {
                    "a machine got a token that no active user approved".to_owned()
                });
            }
            Act::EndGrant { grant } => {
                let owner = model.grants[*grant].subject;
                let may = owner == subject || self.caller.perms.has("manage_users");
                self.require(may, "view.grant", || {
                    format!("a grant of user {owner} was ended by user {subject}")
                });
                self.power(owner, "power.grant_of_app", "the end of a grant");
            }
            Act::Never(why) => self.require(false, "route.never", || (*why).to_owned()),
            Act::Login { user, password } => {
                let right = model.users[*user].password == *password && model.works(*user);
                self.require(right, "credential.login", || {
                    format!("login as user {user}")
                });
                let is_complete = answer.cookie.is_none() || !model.has_factor(*user);
                self.require(is_complete, "credential.second_factor", || {
                    format!("the password alone opened a session of user {user}")
                });
            }
            Act::ChangePassword { right, .. } => {
                self.require(*right, "credential.password", || {
                    "a password was changed without the current one".to_owned()
                });
            }
            Act::Factor(act) => self.judge_factor(act),
            Act::EndSession { cred } | Act::DeleteToken { cred } => {
                let owner = model.creds[*cred].subject;
                let may = owner == subject || self.caller.perms.has("manage_users");
                self.require(may, "view.credential", || {
                    format!("a credential of user {owner} was ended by user {subject}")
                });
                self.power(owner, "power.credential", "the end of a credential");
            }
            Act::NewUser { roles, groups, .. } => {
                for &role in roles {
                    self.holds(
                        model.roles[role].perms,
                        "power.grant",
                        "a user was made with",
                    );
                }
                groups.iter().for_each(|&group| self.membership(group));
            }
            Act::PatchUser(change) => self.user_change(change),
            Act::DeleteUser { user } => self.power(*user, "power.user", "the deletion"),
            Act::RenameGroup { group, .. } | Act::DeleteGroup { group } => {
                self.group_members(*group);
            }
            Act::NewRole { perms, .. } => self.holds(*perms, "power.grant", "a role was made with"),
            Act::PatchRole { role, perms } => self.role_change(*role, *perms),
            Act::DeleteRole { role } => self.role_change(*role, Perms::default()),
            Act::NewSpace {
                startup, template, ..
            } => {
                self.agent_token();
                self.check_script_owner(*startup, subject);
                if let Some(template) = template {
                    self.check_template(*template, startup.is_none());
                }
            }
            Act::PatchTemplate { template, .. } | Act::DeleteTemplate { template } => {
                let spaces = model.spaces.iter().filter(|space| !space.deleted);
                let of_it = spaces.filter(|space| space.template == Some(*template));
                for owner in of_it.map(|space| space.owner) {
                    self.power(owner, "power.template", "the template of a space");
                }
            }
            Act::PatchSpace { space, startup } => {
                self.own_space(*space);
                let owner = model.spaces[*space].owner;
                self.power(owner, "power.space_code", "code that runs in a space");
                self.check_script_owner(*startup, owner);
            }
            Act::DeleteSpace { space } | Act::StartSpace { space } | Act::StopSpace { space } => {
                self.own_space(*space);
                self.power(model.spaces[*space].owner, "power.space", "a space");
            }
            Act::RotateAgent { space } => {
                self.own_space(*space);
                self.agent_token();
                let owner = model.spaces[*space].owner;
                self.power(owner, "power.agent_token", "an agent token");
            }
            Act::NewScript { global, .. } => self.check_new_script(*global),
            Act::RunDraft { global, imports } => {
                self.check_new_script(*global);
                self.check_run([None, *imports], answer);
            }
            Act::PatchScript { script, .. } => {
                self.managed_script(*script);
                self.power(model.scripts[*script].owner, "power.script", "a script");
                for user in model.runs_for(*script) {
                    self.power(
                        user,
                        "power.script",
                        "a script that runs for a space or sink",
                    );
                }
            }
            Act::DeleteScript { script } => {
                self.managed_script(*script);
                self.power(model.scripts[*script].owner, "power.script", "a script");
            }
            Act::RunScript { script } => {
                self.check_run([Some(*script), model.scripts[*script].imports], answer);
            }
            Act::Call { method } => {
                let visible = model.sees_method(subject, &model.methods[*method]);
                let known = answer.json["error"]["code"] != -32601;
                self.require(visible || !known, "view.method", || {
                    format!("user {subject} reached method {method}: {}", answer.text)
                });
            }
            Act::NewSink { global, script, .. } => {
                let may = !global || self.caller.perms.has("manage_global_event_sinks");
                self.require(may, "power.sink", || "a new global sink".to_owned());
                self.check_script_owner(*script, subject);
            }
            Act::ManageSink { sink, script } => {
                self.managed_sink(*sink);
                self.check_script_owner(*script, model.sinks[*sink].owner);
            }
            Act::DeleteSink { sink } => self.managed_sink(*sink),
        }
    }
}

/// The id of the user for whom a script acted. Only tools are run, and each tool returns the answer
/// of `/api/auth/me`.
fn find_actor(answer: &Answer) -> String {
    let result = &answer.json["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let by_mcp: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let id = result["id"].as_str().or_else(|| by_mcp["id"].as_str());
    id.unwrap_or_default().to_owned()
}

/// Checks a successful change. `model` is the state before the change.
pub fn judge(model: &Model, caller: &Caller, act: &Act, answer: &Answer) -> Vec<Violation> {
    let mut judge = Judge {
        model,
        caller,
        found: Vec::new(),
    };
    judge.judge(act, answer);
    judge.judge_code(act);
    judge.found
}
