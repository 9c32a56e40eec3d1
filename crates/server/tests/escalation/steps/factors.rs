//! Second factors. The model has no authenticator, so no factor is ever in use. The test checks
//! only who may begin to set up a factor, and who may reset the factors of other users.

use serde_json::json;

use super::{Act, Draft, Plan, bare, plan};

pub fn begin_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let subject = &draft.model.users[draft.subject];
    let right = subject.known_by.contains(&draft.person);
    let password = if right {
        subject.password.clone()
    } else {
        draft.secret()
    };
    let body = json!({"password": password});
    plan("/api/auth/totp", body, Act::BeginFactor { right })
}

pub fn complete_login(_: &mut Draft<'_>) -> Option<Plan> {
    let token = format!("svc_lgn_{}", "0".repeat(72));
    plan(
        "/api/auth/second-factor",
        json!({"token": token, "code": "000000"}),
        Act::Never("a pending login is invented"),
    )
}

pub fn reset(draft: &mut Draft<'_>) -> Option<Plan> {
    let user = draft.user();
    let path = format!("/api/users/{}/second-factor", draft.model.users[user].id);
    bare(path, Act::ResetFactor { user })
}
