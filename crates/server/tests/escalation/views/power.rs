//! Views that depend on the permissions of other users.

use crate::{
    model::{Kind, Model},
    rules::{Caller, Violation},
    world::Answer,
};

/// Checks who sees the log of a space and the deliveries of a sink, and which scripts an agent
/// receives.
pub(super) fn judge(
    model: &Model,
    caller: &Caller,
    route: &str,
    answer: &Answer,
) -> Vec<Violation> {
    let covers = |user| user == caller.subject || caller.perms.covers(model.perms(user));
    let agent = caller
        .cred
        .is_some_and(|cred| matches!(model.creds[cred].kind, Kind::Agent { .. }));
    let mut found = Vec::new();
    let mut broken = |rule, text: String| found.push(Violation { rule, text });
    match route {
        "/api/spaces/{id}/logs" => {
            let space = model
                .spaces
                .iter()
                .find(|space| answer.path.contains(&space.id));
            if let Some(space) = space.filter(|space| !covers(space.owner)) {
                broken(
                    "power.space",
                    format!("the log of a space of user {}", space.owner),
                );
            }
        }
        "/api/event-sinks/{id}/deliveries" => {
            let sink = model
                .sinks
                .iter()
                .find(|sink| answer.path.contains(&sink.id));
            if let Some(sink) = sink.filter(|sink| !covers(sink.owner)) {
                broken(
                    "power.sink",
                    format!("deliveries of a sink of user {}", sink.owner),
                );
            }
        }
        "/api/scripts" | "/api/scripts/{id}" if agent => {
            let given = model
                .scripts
                .iter()
                .filter(|script| answer.text.contains(&script.id));
            let given = given.filter(|script| script.global && script.saver != caller.subject);
            for script in given.filter(|script| !script.saver_perms.covers(caller.perms)) {
                let text = format!(
                    "an agent of user {} with {} was given a script saved by user {} with {}",
                    caller.subject, caller.perms, script.saver, script.saver_perms
                );
                broken("code.runs_for_stronger", text);
            }
        }
        _ => {}
    }
    found
}
