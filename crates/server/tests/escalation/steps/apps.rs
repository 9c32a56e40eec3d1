//! Requests about connected apps and device logins.

use serde_json::{Value, json};

use super::{Act, Draft, Plan, bare, plan};
use crate::model::{CredIx, Kind};

/// The redirect address of the apps. No program listens there.
pub const CALLBACK: &str = "http://127.0.0.1:5000/callback";
/// The proof key of every app, and its S256 challenge (RFC 7636, appendix B).
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The app of `svc login`.
const COMMAND_LINE: &str = "svc-cli";

pub fn new_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let body = json!({"name": draft.world.name("app"), "redirect_uris": [CALLBACK]});
    plan("/api/oauth/clients", body, Act::NewApp)
}

pub fn block_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let app = draft.rng.pick(&draft.model.live_apps())?;
    let blocked = draft.rng.percent(50);
    let path = format!("/api/oauth/clients/{}", draft.model.apps[app].id);
    plan(
        path,
        json!({"blocked": blocked}),
        Act::BlockApp { app, blocked },
    )
}

pub fn delete_app(draft: &mut Draft<'_>) -> Option<Plan> {
    let app = draft.rng.pick(&draft.model.live_apps())?;
    let path = format!("/api/oauth/clients/{}", draft.model.apps[app].id);
    bare(path, Act::DeleteApp { app })
}

/// Usually decides the newest request, which was created for this step.
pub fn decide(draft: &mut Draft<'_>) -> Option<Plan> {
    let all: Vec<_> = (0..draft.model.questions.len()).collect();
    let question = match draft.rng.percent(70) {
        true => all.last().copied(),
        false => draft.rng.pick(&all),
    }?;
    let approve = draft.rng.percent(90);
    let path = format!("/api/oauth/requests/{}", draft.model.questions[question].id);
    plan(
        path,
        json!({"approve": approve}),
        Act::Decide { question, approve },
    )
}

/// A request to `/token`, with an authorization code, a refresh token or a device code.
pub fn token(draft: &mut Draft<'_>) -> Option<Plan> {
    if draft.rng.percent(25) {
        return poll(draft);
    }
    let held: Vec<_> = (0..draft.model.creds.len())
        .filter(|&cred| {
            let record = &draft.model.creds[cred];
            !record.ended && record.holder == draft.person && !record.kind.is_for_requests()
        })
        .collect();
    let cred = draft.rng.pick(&held)?;
    exchange(draft, cred)
}

fn exchange(draft: &mut Draft<'_>, cred: CredIx) -> Option<Plan> {
    let record = &draft.model.creds[cred];
    let value = record.value.as_str();
    let (app, mut fields) = match record.kind {
        Kind::Code { app, .. } => (
            app,
            vec![
                ("grant_type", "authorization_code"),
                ("code", value),
                ("code_verifier", VERIFIER),
            ],
        ),
        Kind::Refresh { grant } => (
            draft.model.grants[grant].app,
            vec![("grant_type", "refresh_token"), ("refresh_token", value)],
        ),
        _ => return None,
    };
    // Sometimes another app presents the code or token, as a thief would.
    let app = match draft.rng.percent(10) {
        true => draft.rng.pick(&draft.model.live_apps()).unwrap_or(app),
        false => app,
    };
    fields.push(("client_id", &draft.model.apps[app].client_id));
    plan("/token", form(&fields), Act::Exchange { cred })
}

fn poll(draft: &mut Draft<'_>) -> Option<Plan> {
    let device = own_device(draft)?;
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        (
            "device_code",
            draft.model.devices[device].device_code.as_str(),
        ),
        ("client_id", COMMAND_LINE),
    ];
    plan("/token", form(&fields), Act::Poll { device })
}

pub fn revoke(draft: &mut Draft<'_>) -> Option<Plan> {
    let tokens: Vec<_> = (0..draft.model.creds.len())
        .filter(|&cred| {
            let record = &draft.model.creds[cred];
            let is_token = matches!(record.kind, Kind::App { .. } | Kind::Refresh { .. });
            is_token && record.holder == draft.person
        })
        .collect();
    let cred = draft.rng.pick(&tokens)?;
    let (Kind::App { grant, .. } | Kind::Refresh { grant }) = draft.model.creds[cred].kind else {
        return None;
    };
    let app = draft.model.grants[grant].app;
    let fields = [
        ("token", draft.model.creds[cred].value.as_str()),
        ("client_id", &draft.model.apps[app].client_id),
    ];
    plan("/revoke", form(&fields), Act::Revoke { cred })
}

pub fn end_grant(draft: &mut Draft<'_>) -> Option<Plan> {
    let grant = draft.rng.pick(&draft.model.live_grants())?;
    let path = format!("/api/oauth/grants/{}", draft.model.grants[grant].id);
    bare(path, Act::EndGrant { grant })
}

pub fn start_device(_: &mut Draft<'_>) -> Option<Plan> {
    let fields = [("client_id", COMMAND_LINE), ("machine", "lab")];
    plan("/device_authorization", form(&fields), Act::StartDevice)
}

/// A user approves only their own machines. By approving the machine of another user, they would
/// willingly give their permissions to that user.
pub fn decide_device(draft: &mut Draft<'_>) -> Option<Plan> {
    let device = own_device(draft)?;
    let approve = draft.rng.percent(90);
    let code = &draft.model.devices[device].user_code;
    let path = format!("/api/oauth/devices/{code}");
    plan(
        path,
        json!({"approve": approve}),
        Act::DecideDevice { device, approve },
    )
}

fn own_device(draft: &mut Draft<'_>) -> Option<usize> {
    let devices = &draft.model.devices;
    let own: Vec<_> = (0..devices.len())
        .filter(|&device| devices[device].holder == draft.person && !devices[device].ended)
        .collect();
    draft.rng.pick(&own)
}

/// The body of a form.
pub fn form(fields: &[(&str, &str)]) -> Value {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    Value::String(form.finish())
}
