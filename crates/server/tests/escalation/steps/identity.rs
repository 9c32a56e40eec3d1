//! Requests about logins, users, groups, roles and tokens.

use serde_json::json;

use super::{Act, Draft, FactorAct, Plan, UserChange, bare, plan};
use crate::model::{Kind, PERMISSIONS, Perms, ROLE_ADMIN, ROLE_USER};

pub fn setup(draft: &mut Draft<'_>) -> Option<Plan> {
    let name = draft.world.name("u");
    let token = format!("svc_set_{}", "0".repeat(72));
    let body = json!({"setup_token": token, "username": name, "password": draft.secret()});
    plan(
        "/api/auth/setup",
        body,
        Act::Never("a server in use is set up again"),
    )
}

pub fn login(draft: &mut Draft<'_>) -> Option<Plan> {
    let known: Vec<_> = draft
        .model
        .live_users()
        .into_iter()
        .filter(|&user| draft.model.users[user].known_by.contains(&draft.person))
        .collect();
    let of = draft.rng.pick(&known)?;
    let password = draft.model.users[of].password.clone();
    let user = if draft.rng.percent(80) {
        of
    } else {
        draft.user()
    };
    let body = json!({"username": draft.model.users[user].name, "password": password});
    plan("/api/auth/login", body, Act::Login { user, password })
}

pub fn sign_in(_: &mut Draft<'_>) -> Option<Plan> {
    let body = json!({"token": format!("svc_sgn_{}", "0".repeat(72))});
    plan(
        "/api/auth/sign-in",
        body,
        Act::Never("a sign-in link is invented"),
    )
}

pub fn logout(_: &mut Draft<'_>) -> Option<Plan> {
    bare("/api/auth/logout", Act::Logout)
}

pub fn password(draft: &mut Draft<'_>) -> Option<Plan> {
    let subject = &draft.model.users[draft.subject];
    let right = subject.known_by.contains(&draft.person);
    let current = if right {
        subject.password.clone()
    } else {
        draft.secret()
    };
    let password = draft.secret();
    let body = json!({"current_password": current, "new_password": password});
    plan(
        "/api/auth/password",
        body,
        Act::ChangePassword { password, right },
    )
}

pub fn end_other_sessions(_: &mut Draft<'_>) -> Option<Plan> {
    bare("/api/auth/sessions", Act::EndOtherSessions)
}

pub fn end_session(draft: &mut Draft<'_>) -> Option<Plan> {
    let sessions: Vec<_> = (0..draft.model.creds.len())
        .filter(|&cred| matches!(draft.model.creds[cred].kind, Kind::Session { .. }))
        .collect();
    let cred = draft.rng.pick(&sessions)?;
    let Kind::Session { id } = &draft.model.creds[cred].kind else {
        return None;
    };
    bare(format!("/api/auth/sessions/{id}"), Act::EndSession { cred })
}

pub fn new_user(draft: &mut Draft<'_>) -> Option<Plan> {
    let name = draft.world.name("u");
    let password = draft.secret();
    let groups = draft.rng.some_of(&draft.model.live_groups(), 25);
    let active = draft.rng.percent(90);
    let mut body = json!({
        "username": name, "password": password, "groups": draft.group_names(&groups),
        "active": active,
    });
    // If the request names no roles, the new user gets the built-in role `user`.
    let roles = match draft.rng.percent(20) {
        true => vec![ROLE_USER],
        false => draft.role().into_iter().collect::<Vec<_>>(),
    };
    if roles != [ROLE_USER] {
        body["roles"] = json!(draft.role_names(&roles));
    }
    plan(
        "/api/users",
        body,
        Act::NewUser {
            name,
            password,
            roles,
            groups,
            active,
        },
    )
}

pub fn patch_user(draft: &mut Draft<'_>) -> Option<Plan> {
    let user = if draft.rng.percent(25) {
        draft.subject
    } else {
        draft.user()
    };
    let mut change = UserChange {
        user,
        roles: None,
        groups: None,
        active: None,
        password: None,
    };
    let mut body = json!({});
    match draft.rng.below(5) {
        0 => {
            let mut roles = draft.rng.some_of(&draft.model.users[user].roles, 70);
            roles.retain(|&role| !draft.model.roles[role].deleted);
            roles.extend(draft.role().filter(|role| !roles.contains(role)));
            body["roles"] = json!(draft.role_names(&roles));
            change.roles = Some(roles);
        }
        1 | 2 => {
            let mut groups = draft.rng.some_of(&draft.model.users[user].groups, 80);
            groups.retain(|&group| !draft.model.groups[group].deleted);
            groups.extend(draft.group().filter(|group| !groups.contains(group)));
            body["groups"] = json!(draft.group_names(&groups));
            change.groups = Some(groups);
        }
        3 => {
            let active = draft.rng.percent(60);
            body["active"] = json!(active);
            change.active = Some(active);
        }
        _ => {
            let password = draft.secret();
            body["password"] = json!(password);
            change.password = Some(password);
        }
    }
    let path = format!("/api/users/{}", draft.model.users[user].id);
    plan(path, body, Act::PatchUser(change))
}

pub fn delete_user(draft: &mut Draft<'_>) -> Option<Plan> {
    let user = draft.user();
    let path = format!("/api/users/{}", draft.model.users[user].id);
    bare(path, Act::DeleteUser { user })
}

pub fn new_group(draft: &mut Draft<'_>) -> Option<Plan> {
    let name = draft.name('g');
    plan("/api/groups", json!({"name": name}), Act::NewGroup { name })
}

pub fn rename_group(draft: &mut Draft<'_>) -> Option<Plan> {
    let (group, name) = (draft.group()?, draft.name('g'));
    let path = format!("/api/groups/{}", draft.model.groups[group].id);
    plan(
        path,
        json!({"name": name}),
        Act::RenameGroup { group, name },
    )
}

pub fn delete_group(draft: &mut Draft<'_>) -> Option<Plan> {
    let group = draft.group()?;
    let path = format!("/api/groups/{}", draft.model.groups[group].id);
    bare(path, Act::DeleteGroup { group })
}

pub fn new_role(draft: &mut Draft<'_>) -> Option<Plan> {
    let (name, perms) = (draft.name('r'), draft.perms());
    let body = json!({"name": name, "permissions": perms.names()});
    plan("/api/roles", body, Act::NewRole { name, perms })
}

pub fn patch_role(draft: &mut Draft<'_>) -> Option<Plan> {
    let role = draft.role()?;
    let path = format!("/api/roles/{}", draft.model.roles[role].id);
    // Not for the built-in roles, because all sequences share them.
    if role > ROLE_ADMIN && draft.rng.percent(25) {
        let required = draft.rng.percent(70);
        let act = FactorAct::Require { role, required };
        let body = json!({"require_second_factor": required});
        return plan(path, body, Act::Factor(act));
    }
    let before = draft.model.roles[role].perms;
    let one = Perms(1 << draft.rng.below(PERMISSIONS.len()));
    let perms = match draft.rng.below(3) {
        0 => draft.perms(),
        1 => Perms(before.0 & !one.0),
        _ => before.union(one),
    };
    plan(
        path,
        json!({"permissions": perms.names()}),
        Act::PatchRole { role, perms },
    )
}

pub fn delete_role(draft: &mut Draft<'_>) -> Option<Plan> {
    let role = draft.role()?;
    let path = format!("/api/roles/{}", draft.model.roles[role].id);
    bare(path, Act::DeleteRole { role })
}

pub fn new_token(draft: &mut Draft<'_>) -> Option<Plan> {
    let scopes = match draft.rng.below(5) {
        0 => vec!["methods".to_owned()],
        1 => vec!["mcp".to_owned()],
        _ => vec![],
    };
    let days = draft
        .rng
        .percent(50)
        .then(|| 1 + draft.rng.below(20) as i64);
    let mut body = json!({"name": draft.name('o'), "scopes": scopes});
    if let Some(days) = days {
        body["expires_in_days"] = json!(days);
    }
    plan("/api/tokens", body, Act::NewToken { scopes })
}

pub fn delete_token(draft: &mut Draft<'_>) -> Option<Plan> {
    let tokens: Vec<_> = (0..draft.model.creds.len())
        .filter(|&cred| matches!(draft.model.creds[cred].kind, Kind::Token { .. }))
        .collect();
    let mut own = tokens.clone();
    own.retain(|&cred| draft.model.creds[cred].subject == draft.subject);
    let cred = if draft.rng.percent(60) {
        draft.rng.pick(&own)
    } else {
        draft.rng.pick(&tokens)
    }?;
    let Kind::Token { id, .. } = &draft.model.creds[cred].kind else {
        return None;
    };
    bare(format!("/api/tokens/{id}"), Act::DeleteToken { cred })
}
