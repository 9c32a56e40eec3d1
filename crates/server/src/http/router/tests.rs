use super::*;

/// Changing routes that code may use without a check of the record: they change no record that
/// other spaces execute or that acts for other users.
const HARMLESS: [(&str, &str); 7] = [
    // Run once, as the caller.
    ("POST", "/api/scripts/check"),
    ("POST", "/api/scripts/run"),
    ("POST", "/api/scripts/{id}/run"),
    ("POST", "/api/methods/call"),
    ("POST", "/mcp"),
    // Store or render data.
    ("POST", "/api/events/emit"),
    ("POST", "/api/event-sinks/preview"),
];

/// A new changing route must be closed to code, or check each record with `Caller::reject_code`, or
/// be added to [`HARMLESS`] with a reason.
#[test]
fn every_changing_route_says_what_code_may_cause() {
    let changing = routes().into_iter().filter(|route| {
        let is_change = !matches!(route.method, Method::GET | Method::OPTIONS);
        // These routes ignore credentials.
        is_change && !matches!(route.rule.needs, Needs::AnySite)
    });
    let mut open: Vec<_> = changing
        .filter(|route| route.rule.agents == Agents::AsOwner)
        .map(|route| (route.method.to_string(), route.path))
        .collect();
    open.sort();
    let mut expected = HARMLESS.map(|(method, path)| (method.to_owned(), path));
    expected.sort();
    assert_eq!(open, expected);
}

/// Routes that an agent may use and a script may not: a script could start others, or itself,
/// without end. The tests in `scripts` send these requests as a script.
#[test]
fn a_script_may_not_use_the_routes_that_start_scripts() {
    let is_open = |agents: Agents| agents.for_scripts() == Scripts::AsUser;
    let closed: Vec<_> = routes()
        .into_iter()
        .filter(|route| is_open(route.rule.agents) && route.rule.scripts == Scripts::Never)
        .map(|route| route.path)
        .collect();
    let expected = [
        "/api/scripts/check",
        "/api/scripts/run",
        "/api/scripts/{id}/run",
        "/api/event-sinks/{id}/replay",
        "/api/event-sinks/{id}/resend",
        "/api/event-sinks/{id}/deliveries/{n}/resend",
    ];
    assert_eq!(closed, expected);
}
