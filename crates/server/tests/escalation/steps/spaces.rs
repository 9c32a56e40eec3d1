//! Requests about spaces and templates.

use serde_json::{Value, json};

use super::{Act, Draft, Plan, bare, plan};

pub fn new_space(draft: &mut Draft<'_>) -> Option<Plan> {
    let name = draft.name('p');
    let startup = if draft.rng.percent(50) {
        draft.startup()
    } else {
        None
    };
    let template = match draft.rng.percent(30) {
        true => draft.rng.pick(&draft.model.live_templates()),
        false => None,
    };
    let mut body = json!({"name": name});
    if startup.is_some() {
        body["startup_script_id"] = draft.script_id(startup);
    }
    if let Some(template) = template {
        body["template_id"] = json!(draft.model.templates[template].id);
    }
    plan(
        "/api/spaces",
        body,
        Act::NewSpace {
            name,
            startup,
            template,
        },
    )
}

pub fn patch_space(draft: &mut Draft<'_>) -> Option<Plan> {
    let space = draft.space()?;
    let path = format!("/api/spaces/{}", draft.model.spaces[space].id);
    if draft.rng.percent(50) {
        let startup = draft.startup();
        let body = json!({"startup_script_id": draft.script_id(startup)});
        return plan(path, body, Act::PatchSpace { space, startup });
    }
    let startup = draft.model.spaces[space].startup;
    let body = json!({"health_check": draft.health_check()});
    plan(path, body, Act::PatchSpace { space, startup })
}

pub fn delete_space(draft: &mut Draft<'_>) -> Option<Plan> {
    let space = draft.space()?;
    let path = format!("/api/spaces/{}", draft.model.spaces[space].id);
    bare(path, Act::DeleteSpace { space })
}

pub fn start_space(draft: &mut Draft<'_>) -> Option<Plan> {
    let space = draft.space()?;
    let path = format!("/api/spaces/{}/start", draft.model.spaces[space].id);
    bare(path, Act::StartSpace { space })
}

pub fn stop_space(draft: &mut Draft<'_>) -> Option<Plan> {
    let space = draft.space()?;
    let path = format!("/api/spaces/{}/stop", draft.model.spaces[space].id);
    bare(path, Act::StopSpace { space })
}

pub fn rotate_agent(draft: &mut Draft<'_>) -> Option<Plan> {
    let space = draft.space()?;
    let path = format!("/api/spaces/{}/agent-token", draft.model.spaces[space].id);
    bare(path, Act::RotateAgent { space })
}

/// Returns the body, whether it sets a health check, and whether it sets (`true`) or removes
/// (`false`) the startup script. `None`: the startup script stays unchanged.
fn template_body(draft: &mut Draft<'_>) -> (Value, bool, Option<bool>) {
    let startup = draft
        .model
        .live_scripts(|script| script.kind == "startup" && script.global);
    let startup = draft.rng.pick(&startup);
    let mut body = json!({"custom_fields": {"a": "b"}});
    let script = draft.rng.percent(40).then_some(startup.is_some());
    if script.is_some() {
        body["startup_script_id"] = draft.script_id(startup);
    }
    let check = draft.rng.percent(50);
    if check {
        body["health_check"] = draft.health_check();
    }
    (body, check, script)
}

pub fn new_template(draft: &mut Draft<'_>) -> Option<Plan> {
    let (mut body, check, script) = template_body(draft);
    body["name"] = json!(draft.name('a'));
    plan("/api/templates", body, Act::NewTemplate { check, script })
}

pub fn patch_template(draft: &mut Draft<'_>) -> Option<Plan> {
    let template = draft.rng.pick(&draft.model.live_templates())?;
    let path = format!("/api/templates/{}", draft.model.templates[template].id);
    let (body, check, script) = template_body(draft);
    plan(
        path,
        body,
        Act::PatchTemplate {
            template,
            check,
            script,
        },
    )
}

pub fn delete_template(draft: &mut Draft<'_>) -> Option<Plan> {
    let template = draft.rng.pick(&draft.model.live_templates())?;
    let path = format!("/api/templates/{}", draft.model.templates[template].id);
    bare(path, Act::DeleteTemplate { template })
}
