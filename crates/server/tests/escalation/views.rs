//! The rules for views: which data a user may see.
//!
//! The names of records (except users, apps and passkeys), the source texts of scripts and the
//! payloads of events contain a marker, `zqzq<kind><number>z`. No answer may contain the marker of
//! something that the caller must not see.

mod power;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    model::{Kind, Model},
    rules::{Caller, Violation},
    steps::Draft,
    world::Answer,
};

/// The beginning of every marker: long enough that random texts, such as challenges, do not contain
/// it by chance.
pub const MARKER: &str = "zqzq";

type ReadGenerator = fn(&mut Draft<'_>) -> Option<String>;

/// Every tested reading route. Each requires a credential.
#[rustfmt::skip]
pub const READS: &[(&str, ReadGenerator)] = &[
    ("/metrics", |_| fixed("/metrics")),
    ("/api/auth/me", |_| fixed("/api/auth/me")),
    ("/api/auth/second-factor", |_| fixed("/api/auth/second-factor")),
    ("/api/auth/sessions", |draft| of_user(draft, "/api/auth/sessions")),
    ("/api/auth/identities", |draft| of_user(draft, "/api/auth/identities")),
    ("/api/users", |_| fixed("/api/users")),
    ("/api/users/{id}", |draft| user(draft, "")),
    ("/api/users/{id}/access", |draft| user(draft, "/access")),
    ("/api/groups", |_| fixed("/api/groups")),
    ("/api/groups/{id}", |draft| group(draft, "")),
    ("/api/groups/{id}/methods", |draft| group(draft, "/methods")),
    ("/api/roles", |_| fixed("/api/roles")),
    ("/api/roles/{id}", role),
    ("/api/permissions", |_| fixed("/api/permissions")),
    ("/api/tokens", |draft| of_user(draft, "/api/tokens")),
    ("/api/tokens/{id}", token),
    ("/api/spaces", |_| fixed("/api/spaces")),
    ("/api/spaces/{id}", |draft| space(draft, "")),
    ("/api/spaces/{id}/logs", |draft| space(draft, "/logs")),
    ("/api/templates", |_| fixed("/api/templates")),
    ("/api/templates/{id}", template),
    ("/api/scripts", |_| fixed("/api/scripts")),
    ("/api/scripts/{id}", script),
    ("/api/servers", |_| fixed("/api/servers")),
    ("/api/diagnostics", |_| fixed("/api/diagnostics")),
    ("/api/stats", |_| fixed("/api/stats?scope=server")),
    ("/api/stats/activity", |_| fixed("/api/stats/activity")),
    ("/api/stats/calls", |_| fixed("/api/stats/calls?scope=server&range=24h")),
    ("/api/stats/quotas", |draft| of_user(draft, "/api/stats/quotas")),
    ("/api/methods", |_| fixed("/api/methods")),
    ("/api/methods/{name}/stats", method_stats),
    ("/api/openrpc.json", |_| fixed("/api/openrpc.json")),
    ("/api/calls", |_| fixed("/api/calls")),
    ("/api/calls/summary", |_| fixed("/api/calls/summary?by=credential")),
    ("/api/events", |_| fixed("/api/events")),
    ("/api/events/histogram", |_| fixed("/api/events/histogram")),
    ("/api/events/{id}", |draft| event(draft, "")),
    ("/api/events/{id}/deliveries", |draft| event(draft, "/deliveries")),
    ("/api/event-sinks", |_| fixed("/api/event-sinks")),
    ("/api/event-sinks/{id}", |draft| sink(draft, "")),
    ("/api/event-sinks/{id}/stats", |draft| sink(draft, "/stats")),
    ("/api/event-sinks/{id}/deliveries", |draft| sink(draft, "/deliveries")),
    ("/api/audit", |_| fixed("/api/audit")),
    ("/api/oauth/grants", |draft| of_user(draft, "/api/oauth/grants")),
    ("/api/oauth/clients", |_| fixed("/api/oauth/clients")),
    ("/api/oauth/clients/{id}", app),
    ("/api/oauth/requests/{id}", question),
];

/// Reading routes that are not tested here: routes without records of users (pages, health,
/// documents), streams, which have their own tests, and routes whose comment gives the reason.
pub const EXCLUDED_READS: &[&str] = &[
    "/healthz",
    "/readyz",
    "/api/openapi.json",
    "/api/docs",
    "/",
    "/web/{*path}",
    "/{*path}",
    "/api/auth/state",
    "/mcp",
    "/api/events/stream",
    "/api/calls/stream",
    // The ids of calls are not in the model. The same rule is tested with `/api/calls`. No space of
    // the model answers, so no payloads are recorded: `svc/tests/it/calls/journal/payloads.rs`
    // tests payloads.
    "/api/calls/{id}",
    "/agent/link",
    // A sequence sends this request whenever it connects an app.
    "/authorize",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    // Any signed-in user may type the code of any device. The number of attempts is limited.
    "/api/oauth/devices/{user_code}",
    // These routes need a provider, which `crates/svc/tests/it/oidc` starts.
    "/api/auth/oidc",
    "/api/auth/oidc/{name}/start",
    "/api/auth/oidc/{name}/callback",
    "/api/oidc/providers",
    "/api/oidc/providers/{id}",
    "/api/oidc/providers/{id}/check",
    // The model has no sources and schedules. Only their owner sees them.
    "/api/sources",
    "/api/sources/{id}",
    "/api/sources/{id}/requests",
    "/api/schedules",
    "/api/schedules/preview",
    "/api/schedules/{id}",
    "/api/schedules/{id}/next",
];

/// A request for the list of the caller, or for the list of a random user.
fn of_user(draft: &mut Draft<'_>, path: &str) -> Option<String> {
    let user = draft.rng.pick(&draft.model.live_users())?;
    Some(match draft.rng.percent(50) {
        true => format!("{path}?user={}", draft.model.users[user].id),
        false => path.to_owned(),
    })
}

fn token(draft: &mut Draft<'_>) -> Option<String> {
    let creds = draft.model.creds.iter();
    let ids = creds.filter_map(|cred| match &cred.kind {
        Kind::Token { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let id = draft.rng.pick(&ids.collect::<Vec<_>>())?;
    Some(format!("/api/tokens/{id}"))
}

fn app(draft: &mut Draft<'_>) -> Option<String> {
    let app = draft.rng.pick(&draft.model.live_apps())?;
    Some(format!("/api/oauth/clients/{}", draft.model.apps[app].id))
}

fn method_stats(draft: &mut Draft<'_>) -> Option<String> {
    let methods: Vec<_> = (0..draft.model.methods.len()).collect();
    let method = &draft.model.methods[draft.rng.pick(&methods)?];
    let owner = &draft.model.users[method.owner].name;
    let name = &method.name;
    Some(match draft.rng.percent(50) {
        true => format!("/api/methods/user.{owner}.{name}/stats?range=24h"),
        false => format!("/api/methods/{name}/stats"),
    })
}

fn question(draft: &mut Draft<'_>) -> Option<String> {
    let questions: Vec<_> = (0..draft.model.questions.len()).collect();
    let question = draft.rng.pick(&questions)?;
    let id = &draft.model.questions[question].id;
    Some(format!("/api/oauth/requests/{id}"))
}

fn fixed(path: &str) -> Option<String> {
    Some(path.to_owned())
}

fn user(draft: &mut Draft<'_>, rest: &str) -> Option<String> {
    let user = draft.rng.pick(&draft.model.live_users())?;
    Some(format!("/api/users/{}{rest}", draft.model.users[user].id))
}

fn group(draft: &mut Draft<'_>, rest: &str) -> Option<String> {
    let group = draft.rng.pick(&draft.model.live_groups())?;
    let id = &draft.model.groups[group].id;
    Some(format!("/api/groups/{id}{rest}"))
}

fn role(draft: &mut Draft<'_>) -> Option<String> {
    let role = draft.rng.pick(&draft.model.live_roles())?;
    Some(format!("/api/roles/{}", draft.model.roles[role].id))
}

fn space(draft: &mut Draft<'_>, rest: &str) -> Option<String> {
    let space = draft.rng.pick(&draft.model.live_spaces())?;
    Some(format!(
        "/api/spaces/{}{rest}",
        draft.model.spaces[space].id
    ))
}

fn template(draft: &mut Draft<'_>) -> Option<String> {
    let template = draft.rng.pick(&draft.model.live_templates())?;
    Some(format!(
        "/api/templates/{}",
        draft.model.templates[template].id
    ))
}

fn script(draft: &mut Draft<'_>) -> Option<String> {
    let script = draft.rng.pick(&draft.model.live_scripts(|_| true))?;
    Some(format!("/api/scripts/{}", draft.model.scripts[script].id))
}

fn event(draft: &mut Draft<'_>, rest: &str) -> Option<String> {
    let events: Vec<_> = (0..draft.model.events.len()).collect();
    let event = draft.rng.pick(&events)?;
    Some(format!(
        "/api/events/{}{rest}",
        draft.model.events[event].id
    ))
}

fn sink(draft: &mut Draft<'_>, rest: &str) -> Option<String> {
    let sink = draft.rng.pick(&draft.model.live_sinks())?;
    Some(format!(
        "/api/event-sinks/{}{rest}",
        draft.model.sinks[sink].id
    ))
}

/// All markers in a text.
pub fn markers(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices(MARKER).map(|(at, _)| at);
    let marker = |at: usize| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let word = &rest[..end.unwrap_or(rest.len())];
        let digits = word.get(MARKER.len() + 1..word.len().saturating_sub(1))?;
        let numbered = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (numbered && word.ends_with('z')).then_some(word)
    };
    starts.filter_map(marker).collect()
}

/// Reports markers in an answer that the caller must not see. Markers in `sent`, the caller's own
/// request, are allowed.
pub fn judge_markers(
    model: &Model,
    caller: &Caller,
    path: &str,
    sent: &str,
    answer: &Answer,
) -> Vec<Violation> {
    let known = markers(sent);
    let shown = markers(&answer.text).into_iter();
    let hidden =
        shown.filter(|marker| !known.contains(marker) && !sees(model, caller, path, marker));
    hidden
        .map(|marker| Violation {
            rule: "view.record",
            text: format!(
                "`{marker}` was shown to user {} with {}",
                caller.subject, caller.perms
            ),
        })
        .collect()
}

/// Whether the caller may see a marker, by its kind.
fn sees(model: &Model, caller: &Caller, path: &str, marker: &str) -> bool {
    let is_owner = model.owners.get(marker) == Some(&caller.subject);
    let has = |permissions: &[&str]| caller.perms.has_any(permissions);
    match marker.as_bytes()[MARKER.len()] {
        // Space names and events are in the history, in streams, and in everything that global
        // sinks receive.
        b'p' => is_owner || has(&["manage_spaces", "view_audit", "manage_global_event_sinks"]),
        b'e' => is_owner || has(&["view_audit", "manage_global_event_sinks"]),
        // Names of own scripts and sinks, which are also in the audit log.
        b's' | b'k' => is_owner || has(&["view_audit"]),
        // Names of tokens, which are also in the audit log.
        b'o' => is_owner || has(&["view_audit", "manage_users"]),
        // Sources of own scripts.
        b'c' => is_owner,
        // Global scripts.
        b't' => true,
        b'l' => has(&["manage_global_event_sinks", "view_audit"]),
        b'a' => has(&[
            "use_spaces",
            "manage_spaces",
            "manage_templates",
            "view_audit",
        ]),
        b'g' => {
            let group = model.groups.iter().position(|group| group.name == marker);
            let shares = |group| {
                let own = model
                    .methods
                    .iter()
                    .filter(|method| method.owner == caller.subject);
                own.flat_map(|method| &method.groups)
                    .flatten()
                    .any(|&other| other == group)
            };
            let member = |group| model.users[caller.subject].groups.contains(&group);
            has(&["manage_groups", "manage_users", "view_audit"])
                || group.is_some_and(|group| member(group) || shares(group))
        }
        b'r' => {
            let mut roles = model.users[caller.subject].roles.iter();
            has(&["manage_roles", "manage_users", "view_audit"])
                || roles.any(|&role| model.roles[role].name == marker)
        }
        b'm' => {
            let access = path.starts_with("/api/users/") && path.ends_with("/access");
            let limited = path.starts_with("/api/groups/") && path.ends_with("/methods");
            let method = model.methods.iter().find(|method| method.name == marker);
            // The call journal and the metrics have the names of all methods that were called.
            let counted = path.starts_with("/api/calls") || path == "/metrics";
            access
                || limited && has(&["manage_users"])
                || counted && has(&["view_audit"])
                || method.is_some_and(|method| model.sees_method(caller.subject, method))
        }
        _ => false,
    }
}

/// Checks the owners of records in an answer.
pub fn judge_read(model: &Model, caller: &Caller, route: &str, answer: &Answer) -> Vec<Violation> {
    let id = model.users[caller.subject].id.as_str();
    let all = |permission| caller.perms.has(permission);
    let own = |record: &Value| record["owner_id"] == id;
    let mut found = Vec::new();
    let mut each = |list: &str, allowed: &dyn Fn(&Value) -> bool| {
        let one = std::slice::from_ref(&answer.json);
        let records = answer.json[list].as_array().map_or(one, Vec::as_slice);
        for record in records.iter().filter(|record| !allowed(record)) {
            let text = format!("{route} showed {record} to user {} ({id})", caller.subject);
            found.push(Violation {
                rule: "view.list",
                text,
            });
        }
    };
    match route {
        "/api/spaces" | "/api/spaces/{id}" => {
            each("spaces", &|record| own(record) || all("manage_spaces"));
        }
        "/api/scripts" | "/api/scripts/{id}" => {
            each("scripts", &|record| {
                own(record) || record["owner"] == "global"
            });
        }
        "/api/event-sinks" | "/api/event-sinks/{id}" => {
            each("event_sinks", &|record| match record["owner"].as_str() {
                Some("global") => all("manage_global_event_sinks"),
                _ => own(record),
            })
        }
        "/api/events" | "/api/events/{id}" => {
            each("events", &|record| own(record) || all("view_audit"));
        }
        "/api/calls" => {
            each("calls", &|record| {
                own(record) || record["caller_id"] == id || all("view_audit")
            });
        }
        "/api/calls/summary" => {
            // Owners see who called their methods, but not with which credential. The model does not
            // keep deleted methods, whose calls stay in the journal.
            each("groups", &|record| {
                record["credential"].is_null() || record["caller_id"] == id || all("view_audit")
            });
        }
        "/api/methods/{name}/stats" => each("", &|record| own(record) || all("view_audit")),
        "/api/tokens" => each("tokens", &|record| {
            has_credential(model, caller, record) || all("manage_users")
        }),
        "/api/auth/sessions" => each("sessions", &|record| {
            has_credential(model, caller, record) || all("manage_users")
        }),
        "/api/oauth/grants" => {
            each("grants", &|record| {
                record["user_id"] == id || all("manage_users")
            });
        }
        "/api/auth/identities" => {
            each("identities", &|record| {
                let mut known = model.identities.iter();
                let is_own = known.any(|known| {
                    record["id"] == known.id.as_str()
                        && known.user == caller.subject
                        && !known.ended
                });
                is_own || all("manage_users")
            });
        }
        "/api/auth/second-factor" => {
            each("passkeys", &|record| {
                let own = model.passkeys_of(caller.subject);
                own.iter()
                    .any(|&key| record["id"] == model.passkeys[key].id.as_str())
            });
        }
        "/api/auth/me" => each("", &|record| record["id"] == id),
        "/api/stats" | "/api/stats/calls" => each("", &|_| all("view_audit")),
        "/api/stats/quotas" => each("", &|record| record["user_id"] == id || all("manage_users")),
        _ => {}
    }
    found.extend(power::judge(model, caller, route, answer));
    found
}

fn has_credential(model: &Model, caller: &Caller, record: &Value) -> bool {
    model.creds.iter().any(|cred| {
        let id = match &cred.kind {
            Kind::Session { id } | Kind::Token { id, .. } => id.as_str(),
            _ => return false,
        };
        cred.subject == caller.subject && record["id"] == id
    })
}
