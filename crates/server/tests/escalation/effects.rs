//! Applies successful requests to the model: the test's own record of users, credentials and other
//! objects of the server.

mod apps;
mod factors;

use std::collections::BTreeSet;

use serde_json::Value;
use svc_core::Timestamp;

use crate::{
    model::{
        Control, Cred, CredIx, Event, Factors, Group, Kind, Model, PendingLogin, Role, Script,
        Sink, Space, Template, User, UserIx,
    },
    rules::Caller,
    steps::{Act, UserChange},
    world::Answer,
};

const SESSION_DAYS: i64 = 30;
/// In milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Applies a change. Returns the new credential, if the answer contains one.
pub fn apply(model: &mut Model, caller: &Caller, act: Act, answer: &Answer) -> Option<CredIx> {
    let created = apply_act(model, caller, act, answer);
    model.end_lost_agent_tokens();
    created
}

fn apply_act(model: &mut Model, caller: &Caller, act: Act, answer: &Answer) -> Option<CredIx> {
    let subject = caller.subject;
    match act {
        Act::Factor(act) => return factors::apply(model, caller, act, answer),
        Act::Other
        | Act::Never(_)
        | Act::RunScript { .. }
        | Act::RunDraft { .. }
        | Act::Call { .. } => {}
        Act::Login { user, .. } => {
            let pending = &answer.json["second_factor"];
            if let Some(token) = pending["token"].as_str() {
                model.pending.push(PendingLogin {
                    token: token.to_owned(),
                    user,
                    holder: caller.person,
                    expires_at: expiry(&pending["expires_at"]).unwrap_or_default(),
                    ended: false,
                });
                return None;
            }
            let new = add_session(model, caller, user, answer);
            model.creds[new].enrolling = model.requires_factor(user);
            return Some(new);
        }
        Act::Logout => {
            let session = caller.cred.filter(|&cred| is_session(model, cred));
            if let Some(cred) = session {
                model.creds[cred].ended = true;
            }
        }
        Act::ChangePassword { password, .. } => {
            set_password(model, subject, password, caller.person);
            model.end_begun(subject);
            model.end_sessions(subject, caller.cred);
        }
        Act::EndSession { cred } | Act::DeleteToken { cred } => model.creds[cred].ended = true,
        Act::Decide { .. } | Act::Exchange { .. } | Act::Poll { .. } => {
            return apps::apply(model, caller, act, answer);
        }
        Act::EndOtherSessions => model.end_sessions(subject, caller.cred),
        Act::NewUser {
            name,
            password,
            roles,
            groups,
            active,
        } => {
            model.users.push(User {
                id: answer.str("id"),
                name,
                active,
                deleted: false,
                roles,
                groups,
                password,
                known_by: BTreeSet::from([caller.person]),
                factors: Factors::default(),
            });
        }
        Act::PatchUser(change) => patch_user(model, caller.person, change),
        Act::DeleteUser { user } => delete_user(model, user),
        Act::NewGroup { name } => {
            model.groups.push(Group {
                id: answer.str("id"),
                name,
                deleted: false,
            });
        }
        Act::RenameGroup { group, name } => model.groups[group].name = name,
        Act::DeleteGroup { group } => {
            model.groups[group].deleted = true;
            for user in &mut model.users {
                user.groups.retain(|&member| member != group);
            }
        }
        Act::NewRole { name, perms } => {
            model.roles.push(Role {
                id: answer.str("id"),
                name,
                perms,
                requires_factor: false,
                deleted: false,
            });
        }
        Act::PatchRole { role, perms } => model.roles[role].perms = perms,
        Act::DeleteRole { role } => {
            model.roles[role].deleted = true;
            for user in &mut model.users {
                user.roles.retain(|&held| held != role);
            }
        }
        Act::NewToken { scopes, .. } => {
            let kind = Kind::Token {
                id: answer.str("id"),
                scopes,
            };
            let expires_at = expiry(&answer.json["expires_at"]);
            let value = answer.str("token");
            let new = add_cred(model, caller, value, subject, kind, expires_at);
            model.creds[new].parent = caller
                .cred
                .filter(|&cred| matches!(model.creds[cred].kind, Kind::Token { .. }));
            return Some(new);
        }
        Act::NewSpace {
            name,
            startup,
            template,
        } => {
            let space = model.spaces.len();
            model.spaces.push(Space {
                id: answer.str("id"),
                name,
                owner: subject,
                stopped: false,
                deleted: false,
                startup: startup_of(model, answer).or(startup),
                template,
            });
            let kind = Kind::Agent { space };
            let value = answer.str("agent_token");
            return Some(add_cred(model, caller, value, subject, kind, None));
        }
        Act::PatchSpace { space, startup } => {
            model.spaces[space].startup = startup;
            let runs_as = model.spaces[space].owner;
            control(model, caller.person, runs_as);
        }
        Act::DeleteSpace { space } => model.spaces[space].deleted = true,
        Act::StartSpace { space } => model.spaces[space].stopped = false,
        Act::StopSpace { space } => model.spaces[space].stopped = true,
        Act::RotateAgent { space } => {
            let kind = Kind::Agent { space };
            let old = model.creds.iter_mut().filter(|cred| cred.kind == kind);
            old.for_each(|cred| cred.ended = true);
            let owner = model.spaces[space].owner;
            let value = answer.str("agent_token");
            let new = add_cred(model, caller, value, owner, kind, None);
            // An agent token that rotates itself passes its creator on to the new token.
            let inherited = caller.cred.and_then(|cred| model.creds[cred].creator);
            model.creds[new].creator = inherited.or((subject != owner).then_some(subject));
            return Some(new);
        }
        act => resource(model, caller, act, answer),
    }
    None
}

/// Applies changes that never create a credential.
fn resource(model: &mut Model, caller: &Caller, act: Act, answer: &Answer) {
    let subject = caller.subject;
    match act {
        Act::NewTemplate { check, script } => {
            model.templates.push(Template {
                id: answer.str("id"),
                saver: subject,
                saver_perms: caller.perms,
                check,
                script: script.unwrap_or_default(),
                deleted: false,
            });
        }
        Act::PatchTemplate {
            template,
            check,
            script,
        } => {
            let record = &mut model.templates[template];
            (record.saver, record.saver_perms) = (subject, caller.perms);
            record.check |= check;
            record.script = script.unwrap_or(record.script);
        }
        Act::DeleteTemplate { template } => model.templates[template].deleted = true,
        Act::NewScript {
            name,
            kind,
            global,
            imports,
        } => {
            model.scripts.push(Script {
                id: answer.str("id"),
                kind,
                global,
                owner: subject,
                saver: subject,
                saver_perms: caller.perms,
                imports,
                name,
                deleted: false,
            });
        }
        Act::PatchScript { script, imports } => {
            for runs_as in model.runs_for(script) {
                control(model, caller.person, runs_as);
            }
            let record = &mut model.scripts[script];
            (record.saver, record.saver_perms) = (subject, caller.perms);
            record.imports = imports;
        }
        Act::DeleteScript { script } => model.scripts[script].deleted = true,
        Act::Emit => {
            model.events.push(Event {
                id: answer.str("event_id"),
            });
        }
        Act::NewSink {
            kind,
            global,
            script,
        } => {
            model.sinks.push(Sink {
                id: answer.str("id"),
                global,
                owner: subject,
                kind,
                script,
                deleted: false,
            });
        }
        Act::ManageSink { sink, script } => {
            model.sinks[sink].script = script;
            let runs_as = model.sinks[sink].owner;
            if model.sinks[sink].kind == "script" {
                control(model, caller.person, runs_as);
            }
        }
        Act::DeleteSink { sink } => model.sinks[sink].deleted = true,
        act => {
            apps::apply(model, caller, act, answer);
        }
    }
}

fn add_cred(
    model: &mut Model,
    caller: &Caller,
    value: String,
    subject: UserIx,
    kind: Kind,
    expires_at: Option<i64>,
) -> CredIx {
    model.creds.push(Cred {
        holder: caller.person,
        expires_at,
        ..Cred::new(value, subject, kind)
    });
    model.creds.len() - 1
}

fn add_session(model: &mut Model, caller: &Caller, user: UserIx, answer: &Answer) -> CredIx {
    let value = answer.cookie.clone().unwrap_or_default();
    let expires_at = Some(model.now + SESSION_DAYS * DAY);
    let kind = Kind::Session { id: String::new() };
    add_cred(model, caller, value, user, kind, expires_at)
}

fn control(model: &mut Model, author: UserIx, runs_as: UserIx) {
    model.controls.insert(Control { author, runs_as });
}

fn is_session(model: &Model, cred: CredIx) -> bool {
    matches!(model.creds[cred].kind, Kind::Session { .. })
}

fn set_password(model: &mut Model, user: UserIx, password: String, knows: UserIx) {
    model.users[user].password = password;
    model.users[user].known_by = BTreeSet::from([knows]);
}

fn patch_user(model: &mut Model, person: UserIx, change: UserChange) {
    let user = change.user;
    if let Some(roles) = change.roles {
        model.users[user].roles = roles;
    }
    if let Some(groups) = change.groups {
        model.users[user].groups = groups;
    }
    if let Some(active) = change.active {
        if !active {
            model.end_sessions(user, None);
        }
        model.users[user].active = active;
    }
    if let Some(password) = change.password {
        set_password(model, user, password, person);
        model.end_begun(user);
        model.end_sessions(user, None);
    }
}

fn delete_user(model: &mut Model, user: UserIx) {
    model.users[user].deleted = true;
    let linked = model.identities.iter_mut();
    let own = linked.filter(|linked| linked.user == user);
    own.for_each(|linked| linked.ended = true);
    let scripts = model.scripts.iter_mut();
    let own = scripts.filter(|script| script.owner == user && !script.global);
    own.for_each(|script| script.deleted = true);
    let sinks = model.sinks.iter_mut();
    let own = sinks.filter(|sink| sink.owner == user && !sink.global);
    own.for_each(|sink| sink.deleted = true);
}

/// The startup script of a new space, which may come from its template.
fn startup_of(model: &Model, answer: &Answer) -> Option<usize> {
    let id = answer.str("startup_script_id");
    model.scripts.iter().position(|script| script.id == id)
}

fn expiry(at: &Value) -> Option<i64> {
    let at: Option<Timestamp> = serde_json::from_value(at.clone()).ok()?;
    at.map(|at| at.0)
}
