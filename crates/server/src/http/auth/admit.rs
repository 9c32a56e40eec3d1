//! Decides whether a known caller may use a route: scopes of the token, second factor, agents and
//! scripts, permissions.

use http::Method;
use svc_core::Scopes;

use super::{Gate, Head, Rule, challenge};
use crate::{
    http::{
        error::ApiError,
        failures,
        rule::{Agents, Needs, Scripts},
    },
    identity::{Caller, Credential},
};

/// Decides whether a known caller may use a route.
pub(super) fn admit(
    gate: &Gate,
    caller: Caller,
    rule: Option<Rule>,
    head: Head<'_>,
) -> Result<Caller, ApiError> {
    let path = head.uri.path();
    let needs = rule.map(|rule| rule.needs);
    check_scopes(&caller, head.method, path)
        .map_err(|error| challenge(gate, head, error, Some("insufficient_scope")))?;
    check_enrolment(&caller, needs)?;
    check_code(&caller, rule, path)?;
    let caller = caller.with_needs(needs.map(Needs::permissions).unwrap_or_default());
    // The agent of a stopped space may open its link. The link is then refused with a reason, so
    // that the agent waits.
    if !matches!(needs, Some(Needs::Agent)) {
        // No challenge: a new token of the same user would lack the permission too.
        caller.check_admission()?;
    }
    Ok(caller)
}

fn check_scopes(caller: &Caller, method: &Method, path: &str) -> Result<(), ApiError> {
    let Some(scopes) = caller.credential.scopes() else {
        return Ok(());
    };
    if scopes.permit(method.as_str(), path) {
        return Ok(());
    }
    let held = join_scopes(scopes);
    Err(ApiError::new(
        failures::SCOPE_DENIED,
        format!("this token is limited to {held} and does not reach {method} {path}"),
    ))
}

/// If a role requires a second factor and the session has none, the session may only set one up.
fn check_enrolment(caller: &Caller, needs: Option<Needs>) -> Result<(), ApiError> {
    let is_enrolling = matches!(caller.credential, Credential::Enrolment { .. });
    if !is_enrolling
        || matches!(
            needs,
            Some(Needs::Nothing | Needs::Loopback | Needs::Enrolling)
        )
    {
        return Ok(());
    }
    Err(ApiError::new(
        failures::SECOND_FACTOR_REQUIRED,
        "a role of yours requires a second factor; sign in with a browser and set one up first",
    ))
}

fn join_scopes(scopes: &Scopes) -> String {
    scopes
        .as_slice()
        .iter()
        .map(|scope| format!("`{scope}`"))
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Decides whether an agent or a script may use a route.
fn check_code(caller: &Caller, rule: Option<Rule>, path: &str) -> Result<(), ApiError> {
    // An unknown path changes nothing.
    let Some(rule) = rule else {
        return Ok(());
    };
    let denied = |detail: &str| Err(ApiError::new(failures::AGENT_DENIED, detail));
    if caller.credential == Credential::Script && rule.scripts == Scripts::Never {
        return Err(ApiError::new(
            failures::SCRIPT_DENIED,
            "a script on the server may not use this route; use an API token",
        ));
    }
    match (&caller.credential, rule.needs) {
        (Credential::Agent { .. }, Needs::Agent) => Ok(()),
        (_, Needs::Agent) => denied("only an agent token opens a link"),
        (Credential::Agent { space_id, .. }, _) => match rule.agents {
            Agents::AsOwner | Agents::OwnRecords => Ok(()),
            Agents::Never => denied("an agent token may not use this route; use an API token"),
            Agents::OwnSpace if path.split('/').nth(3) == Some(&space_id.to_string()) => Ok(()),
            Agents::OwnSpace => denied("an agent token manages its own space only"),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_joined_in_words() {
        let scopes = Scopes::parse(&["methods", "mcp"]);
        let scopes = scopes.expect("both exist");
        assert_eq!(join_scopes(&scopes), "`methods` and `mcp`");
    }
}
