//! Effects of requests about connected apps and device logins.

use super::{DAY, add_cred};
use crate::{
    model::{App, Cred, CredIx, Device, Grant, Kind, Model},
    rules::Caller,
    steps::Act,
    world::Answer,
};

const HOUR: i64 = 60 * 60 * 1_000;
const CODE_LIFETIME: i64 = 60 * 1_000;
/// A refresh token that is not used for this time expires.
const IDLE: i64 = 30 * DAY;

/// Applies a change. Returns the new credential, if the answer contains one.
pub fn apply(model: &mut Model, caller: &Caller, act: Act, answer: &Answer) -> Option<CredIx> {
    match act {
        Act::NewApp => model.apps.push(App {
            id: answer.str("id"),
            client_id: answer.str("client_id"),
            blocked: false,
            deleted: false,
        }),
        Act::BlockApp { app, blocked } => {
            model.apps[app].blocked = blocked;
            if blocked {
                model.end_grants(app);
            }
        }
        Act::DeleteApp { app } => {
            model.apps[app].deleted = true;
            model.end_grants(app);
        }
        Act::Decide { question, approve } => {
            model.questions[question].answered = true;
            return approve.then(|| add_code(model, caller, question, answer));
        }
        Act::Exchange { cred } => return Some(exchange(model, cred, answer)),
        Act::Revoke { cred } => match model.creds[cred].kind {
            Kind::Refresh { grant } => model.grants[grant].ended = true,
            _ => model.creds[cred].ended = true,
        },
        Act::EndGrant { grant } => model.grants[grant].ended = true,
        Act::StartDevice => model.devices.push(Device {
            user_code: answer.str("user_code"),
            device_code: answer.str("device_code"),
            holder: caller.person,
            approved_by: None,
            ended: false,
        }),
        Act::DecideDevice { device, approve } => {
            let device = &mut model.devices[device];
            device.approved_by = approve.then_some(caller.subject);
            device.ended = !approve;
        }
        Act::Poll { device } => {
            let device = &mut model.devices[device];
            device.ended = true;
            let subject = device.approved_by.unwrap_or(caller.subject);
            let kind = Kind::Token {
                id: answer.str("token_id"),
                scopes: Vec::new(),
            };
            let lifetime = answer.json["expires_in"].as_i64().unwrap_or_default();
            let expires_at = Some(model.now + lifetime * 1_000);
            let value = answer.str("access_token");
            return Some(add_cred(model, caller, value, subject, kind, expires_at));
        }
        _ => {}
    }
    None
}

fn add_code(model: &mut Model, caller: &Caller, question: usize, answer: &Answer) -> CredIx {
    let question = &model.questions[question];
    let kind = Kind::Code {
        app: question.app,
        scopes: question.scopes.clone(),
    };
    let target = answer.str("redirect_to");
    let code = target
        .split(['?', '&'])
        .find_map(|pair| pair.strip_prefix("code="));
    let code = code.unwrap_or_default().to_owned();
    let expires_at = Some(model.now + CODE_LIFETIME);
    add_cred(model, caller, code, caller.subject, kind, expires_at)
}

/// Ends the exchanged credential, and adds the new access token and the new refresh token to the
/// model. Returns the access token.
fn exchange(model: &mut Model, spent: CredIx, answer: &Answer) -> CredIx {
    model.creds[spent].ended = true;
    let (subject, holder) = (model.creds[spent].subject, model.creds[spent].holder);
    let grant = match model.creds[spent].kind {
        Kind::Code { app, .. } => {
            model.grants.push(Grant {
                // The sequence reads the id from the list of grants later.
                id: String::new(),
                app,
                subject,
                ended: false,
            });
            model.grants.len() - 1
        }
        Kind::Refresh { grant } => grant,
        _ => panic!("only codes and refresh tokens are exchanged"),
    };
    let scopes = answer.str("scope");
    let scopes = scopes.split(' ').filter(|scope| !scope.is_empty());
    let scopes = scopes.map(str::to_owned).collect();
    let mut add = |field: &str, kind: Kind, lifetime: i64| {
        model.creds.push(Cred {
            holder,
            expires_at: Some(model.now + lifetime),
            ..Cred::new(answer.str(field), subject, kind)
        });
        model.creds.len() - 1
    };
    add("refresh_token", Kind::Refresh { grant }, IDLE);
    add("access_token", Kind::App { grant, scopes }, HOUR)
}
