//! Limits the requests of a user that change something. Each may write an audit entry, and wakes
//! other servers of the zone. The requests of a user's agents and scripts count for the user.
//! Deletions are not limited: there are at most as many as creations, and a leaked token must always
//! be revocable.

use std::time::Instant;

use http::Method;
use svc_core::Permission;
use svc_protocol::problem::CHANGES_SETTING;

use super::{Gate, Rule};
use crate::{
    http::{
        error::ApiError,
        rule::{Needs, Reply},
    },
    identity::Caller,
};

/// Routes that need one of these permissions only are for administrators, who may import thousands
/// of users. No other user can call them.
const ADMINISTRATIVE: [Permission; 4] = [
    Permission::ManageUsers,
    Permission::ManageGroups,
    Permission::ManageRoles,
    Permission::ManageTemplates,
];

/// Counts a request of a caller. Returns 429 if the user makes too many changes.
pub(super) fn count(
    gate: &Gate,
    caller: &Caller,
    rule: Rule,
    method: &Method,
) -> Result<(), ApiError> {
    if !is_limited(method, rule) {
        return Ok(());
    }
    let changes = match caller.session_id() {
        Some(_) => &gate.app.changes_of_sessions,
        None => &*gate.app.changes,
    };
    let taken = changes.take(caller.user.id, 1, Instant::now());
    taken.map_err(|over| {
        let limit = gate.app.limits.changes_per_second;
        let detail = format!(
            "you make more than {limit} changes per second (setting `{CHANGES_SETTING}`); \
             wait and try again"
        );
        ApiError::rate_limited(detail, over.retry_after).with_limit(limit.into(), CHANGES_SETTING)
    })
}

/// Whether a request of this route counts as a change of the caller's own records.
pub fn is_limited(method: &Method, rule: Rule) -> bool {
    let is_for_callers = match rule.needs {
        Needs::Any(permissions) => {
            let mut permissions = permissions.iter();
            !permissions.all(|permission| ADMINISTRATIVE.contains(permission))
        }
        Needs::Caller | Needs::Enrolling => true,
        _ => false,
    };
    let is_change = rule.reply == Reply::Change && *method != Method::DELETE;
    is_change && is_for_callers && !rule.has_own_limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::router::routes;

    /// A route that is added later is limited, unless it is listed here.
    #[test]
    fn every_route_that_changes_own_records_is_limited() {
        let is_change =
            |method: &Method| !matches!(*method, Method::GET | Method::OPTIONS | Method::DELETE);
        let routes = routes();
        let free = routes
            .iter()
            .filter(|route| is_change(&route.method) && !is_limited(&route.method, route.rule));
        let free: Vec<_> = free
            .map(|route| route.path)
            .filter(|path| !path.starts_with("/api/users") && !path.starts_with("/api/groups"))
            .filter(|path| !path.starts_with("/api/roles") && !path.starts_with("/api/oidc/"))
            .filter(|path| !path.starts_with("/api/templates"))
            .filter(|path| !path.starts_with("/api/oauth/clients"))
            .collect();
        let expected = [
            "/token",
            "/register",
            "/revoke",
            "/device_authorization",
            "/api/auth/oidc/{name}/backchannel-logout",
            "/in/{token}",
            "/api/auth/setup",
            "/api/auth/login",
            "/api/auth/sign-in",
            "/api/auth/second-factor",
            "/api/auth/passkeys/challenge",
            "/api/auth/passkeys/login",
            "/api/scripts/check",
            "/api/scripts/run",
            "/api/scripts/{id}/run",
            "/api/methods/call",
            "/mcp",
            "/api/events/emit",
            "/api/event-sinks/preview",
            "/api/event-sinks/{id}/test",
            "/api/event-sinks/{id}/backtest",
        ];
        assert_eq!(free, expected);
    }
}
