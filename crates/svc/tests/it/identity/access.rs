//! Every route with every kind of credential, against a table.
//!
//! A route without a row in the table fails the test, so that no route gets its permissions by
//! accident.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_testkit::{Answer, TestServer, fixture};

/// Credentials in the order of the columns below.
const CREDENTIALS: [&str; 10] = [
    "none",
    "bad",
    "expired",
    "revoked",
    "methods",
    "mcp",
    "powerless",
    "admin",
    "foreign cookie",
    "agent",
];

/// `1` is status 401, `3` is status 403, `o` is any other status: the credential is accepted. The
/// columns, in groups:
/// - no credential, and a bad, an expired and a revoked token;
/// - tokens of an administrator, with only the scope `methods` and with only the scope `mcp`;
/// - unrestricted tokens, of a user without permissions and of an administrator;
/// - an administrator's cookie in a request that a page of another site sent;
/// - the agent token of an administrator's space.
#[rustfmt::skip]
const EXPECTED: &[(&str, &str, &str)] = &[
    ("GET",    "/healthz",                      "oooo 33 oo o o"),
    ("GET",    "/readyz",                       "oooo 33 oo o o"),
    ("GET",    "/metrics",                      "o111 33 3o o o"), // loopback needs no credential
    ("GET",    "/api/openapi.json",             "oooo 33 oo o o"),
    ("GET",    "/",                             "oooo 33 oo o o"),
    ("GET",    "/api/docs",                     "oooo 33 oo o o"),
    ("GET",    "/web/{*path}",                  "oooo 33 oo o o"),
    ("GET",    "/{*path}",                      "oooo 33 oo o o"),
    // The endpoints of OAuth ignore credentials, except `/authorize`, which is a page.
    ("GET",    "/authorize",                    "oooo 33 oo o o"),
    ("GET",    "/.well-known/oauth-protected-resource", "oooo oo oo o o"),
    ("GET",    "/.well-known/oauth-protected-resource/mcp", "oooo oo oo o o"),
    ("GET",    "/.well-known/oauth-authorization-server", "oooo oo oo o o"),
    ("GET",    "/.well-known/oauth-authorization-server/mcp", "oooo oo oo o o"),
    ("POST",   "/token", "oooo oo oo o o"),
    ("POST",   "/register", "oooo oo oo o o"),
    ("POST",   "/revoke", "oooo oo oo o o"),
    ("POST",   "/device_authorization", "oooo oo oo o o"),
    ("OPTIONS", "/.well-known/oauth-protected-resource", "oooo oo oo o o"),
    ("OPTIONS", "/.well-known/oauth-protected-resource/mcp", "oooo oo oo o o"),
    ("OPTIONS", "/.well-known/oauth-authorization-server", "oooo oo oo o o"),
    ("OPTIONS", "/.well-known/oauth-authorization-server/mcp", "oooo oo oo o o"),
    ("OPTIONS", "/token", "oooo oo oo o o"),
    ("OPTIONS", "/register", "oooo oo oo o o"),
    ("OPTIONS", "/revoke", "oooo oo oo o o"),
    ("OPTIONS", "/device_authorization", "oooo oo oo o o"),
    ("GET",    "/api/auth/oidc/{name}/start",   "oooo 33 oo o o"),
    ("GET",    "/api/auth/oidc/{name}/callback", "oooo 33 oo o o"),
    ("POST",   "/api/auth/oidc/{name}/backchannel-logout", "oooo oo oo o o"),
    ("POST",   "/in/{token}",                   "oooo oo oo o o"), // the source verifies the request
    ("POST",   "/api/auth/setup",               "oooo 33 oo 3 3"),
    ("POST",   "/api/auth/login",               "oooo 33 oo 3 3"),
    ("POST",   "/api/auth/sign-in",             "oooo 33 oo 3 3"), // only from loopback, as in this test
    ("POST",   "/api/auth/logout",              "1111 33 oo 3 3"),
    ("GET",    "/api/auth/me",                  "1111 33 oo o o"),
    ("GET",    "/api/auth/state",               "oooo 33 oo o o"),
    ("POST",   "/api/auth/password",            "1111 33 oo 3 3"),
    ("POST",   "/api/auth/second-factor",       "oooo 33 oo 3 3"),
    ("GET",    "/api/auth/second-factor",       "1111 33 oo o 3"),
    ("POST",   "/api/auth/totp",                "1111 33 oo 3 3"),
    ("POST",   "/api/auth/totp/confirm",        "1111 33 oo 3 3"),
    ("POST",   "/api/auth/totp/remove",         "1111 33 oo 3 3"),
    ("POST",   "/api/auth/passkeys/challenge",  "oooo 33 oo 3 3"),
    ("POST",   "/api/auth/passkeys/login",      "oooo 33 oo 3 3"),
    ("POST",   "/api/auth/passkeys/begin",      "1111 33 oo 3 3"),
    ("POST",   "/api/auth/passkeys",            "1111 33 oo 3 3"),
    ("PATCH",  "/api/auth/passkeys/{id}",       "1111 33 oo 3 3"),
    ("POST",   "/api/auth/passkeys/{id}/remove", "1111 33 oo 3 3"),
    ("POST",   "/api/auth/recovery-codes",      "1111 33 oo 3 3"),
    ("GET",    "/api/auth/sessions",            "1111 33 oo o 3"),
    ("DELETE", "/api/auth/sessions",            "1111 33 oo 3 3"),
    ("DELETE", "/api/auth/sessions/{id}",       "1111 33 oo 3 3"),
    ("GET",    "/api/auth/oidc",                "oooo 33 oo o o"),
    ("POST",   "/api/auth/oidc/{name}/link",    "1111 33 33 3 3"), // sessions only
    ("GET",    "/api/auth/identities",          "1111 33 oo o 3"),
    ("POST",   "/api/auth/identities/{id}/remove", "1111 33 33 3 3"), // this request lacks the password
    ("DELETE", "/api/auth/identities/{id}",     "1111 33 oo 3 3"),
    ("GET",    "/api/users",                    "1111 33 3o o 3"),
    ("POST",   "/api/users",                    "1111 33 3o 3 3"),
    ("GET",    "/api/users/{id}",               "1111 33 3o o 3"),
    ("PATCH",  "/api/users/{id}",               "1111 33 3o 3 3"),
    ("DELETE", "/api/users/{id}",               "1111 33 3o 3 3"),
    ("GET",    "/api/users/{id}/access",        "1111 33 3o o 3"),
    ("DELETE", "/api/users/{id}/second-factor", "1111 33 3o 3 3"),
    ("GET",    "/api/groups",                   "1111 33 3o o 3"),
    ("POST",   "/api/groups",                   "1111 33 3o 3 3"),
    ("GET",    "/api/groups/{id}",              "1111 33 3o o 3"),
    ("GET",    "/api/groups/{id}/methods",      "1111 33 3o o 3"),
    ("PATCH",  "/api/groups/{id}",              "1111 33 3o 3 3"),
    ("DELETE", "/api/groups/{id}",              "1111 33 3o 3 3"),
    ("GET",    "/api/roles",                    "1111 33 3o o 3"),
    ("POST",   "/api/roles",                    "1111 33 3o 3 3"),
    ("GET",    "/api/roles/{id}",               "1111 33 3o o 3"),
    ("PATCH",  "/api/roles/{id}",               "1111 33 3o 3 3"),
    ("DELETE", "/api/roles/{id}",               "1111 33 3o 3 3"),
    ("GET",    "/api/permissions",              "1111 33 oo o 3"),
    ("GET",    "/api/tokens",                   "1111 33 oo o 3"),
    ("POST",   "/api/tokens",                   "1111 33 oo 3 3"),
    ("GET",    "/api/tokens/{id}",              "1111 33 oo o 3"),
    ("DELETE", "/api/tokens/{id}",              "1111 33 oo 3 3"),
    ("GET",    "/api/spaces",                   "1111 33 3o o o"),
    ("POST",   "/api/spaces",                   "1111 33 3o 3 3"),
    ("GET",    "/api/spaces/{id}",              "1111 33 3o o o"),
    ("PATCH",  "/api/spaces/{id}",              "1111 33 3o 3 3"), // own space: see the last test
    ("DELETE", "/api/spaces/{id}",              "1111 33 3o 3 3"),
    ("POST",   "/api/spaces/{id}/start",        "1111 33 3o 3 3"),
    ("POST",   "/api/spaces/{id}/stop",         "1111 33 3o 3 3"),
    ("POST",   "/api/spaces/{id}/agent-token",  "1111 33 3o 3 3"),
    ("GET",    "/api/spaces/{id}/logs",         "1111 33 3o o 3"),
    ("GET",    "/api/templates",                "1111 33 3o o o"),
    ("POST",   "/api/templates",                "1111 33 3o 3 3"),
    ("GET",    "/api/templates/{id}",           "1111 33 3o o o"),
    ("PATCH",  "/api/templates/{id}",           "1111 33 3o 3 3"),
    ("DELETE", "/api/templates/{id}",           "1111 33 3o 3 3"),
    ("GET",    "/api/scripts",                  "1111 33 oo o o"),
    ("POST",   "/api/scripts",                  "1111 33 oo 3 o"),
    ("POST",   "/api/scripts/check",            "1111 33 oo 3 o"),
    ("POST",   "/api/scripts/run",              "1111 33 oo 3 o"),
    ("GET",    "/api/scripts/{id}",             "1111 33 oo o o"),
    ("PATCH",  "/api/scripts/{id}",             "1111 33 oo 3 o"),
    ("DELETE", "/api/scripts/{id}",             "1111 33 oo 3 o"),
    ("POST",   "/api/scripts/{id}/run",         "1111 33 oo 3 o"),
    ("GET",    "/api/servers",                  "1111 33 3o o o"),
    ("GET",    "/api/diagnostics",              "1111 33 3o o o"),
    ("GET",    "/api/stats",                    "1111 33 oo o o"),
    ("GET",    "/api/stats/activity",           "1111 33 oo o o"),
    ("GET",    "/api/stats/calls",              "1111 33 oo o o"),
    ("GET",    "/api/stats/quotas",             "1111 33 oo o 3"),
    ("GET",    "/api/methods",                  "1111 o3 oo o o"),
    ("POST",   "/api/methods/call",             "1111 o3 oo 3 o"),
    ("GET",    "/api/methods/{name}/stats",     "1111 33 oo o o"),
    ("GET",    "/api/calls",                    "1111 33 oo o o"),
    ("GET",    "/api/calls/summary",            "1111 33 oo o o"),
    ("GET",    "/api/calls/stream",             "1111 33 oo o o"),
    ("GET",    "/api/calls/{id}",               "1111 33 oo o o"),
    ("GET",    "/api/openrpc.json",             "1111 33 oo o o"),
    ("POST",   "/mcp",                          "1111 3o 3o 3 o"),
    ("GET",    "/mcp",                          "1111 3o 3o 3 o"), // a foreign read is rejected too
    ("POST",   "/api/events/emit",              "1111 33 3o 3 o"),
    ("GET",    "/api/events",                   "1111 33 oo o o"),
    ("GET",    "/api/events/stream",            "1111 33 oo o o"),
    ("GET",    "/api/events/histogram",         "1111 33 oo o o"),
    ("GET",    "/api/events/{id}",              "1111 33 oo o o"),
    ("GET",    "/api/events/{id}/deliveries",   "1111 33 oo o o"),
    ("GET",    "/api/event-sinks",              "1111 33 3o o o"),
    ("POST",   "/api/event-sinks",              "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/preview",      "1111 33 3o 3 o"),
    ("GET",    "/api/event-sinks/{id}",         "1111 33 3o o o"),
    ("PATCH",  "/api/event-sinks/{id}",         "1111 33 3o 3 o"),
    ("DELETE", "/api/event-sinks/{id}",         "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/{id}/test",    "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/{id}/rotate-secret", "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/{id}/replay",  "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/{id}/backtest", "1111 33 3o 3 o"),
    ("POST",   "/api/event-sinks/{id}/resend",  "1111 33 3o 3 o"),
    ("GET",    "/api/event-sinks/{id}/stats",   "1111 33 3o o o"),
    ("GET",    "/api/event-sinks/{id}/deliveries", "1111 33 3o o o"),
    ("POST",   "/api/event-sinks/{id}/deliveries/{n}/resend", "1111 33 3o 3 o"),
    ("GET",    "/api/sources",                  "1111 33 3o o 3"),
    ("POST",   "/api/sources",                  "1111 33 3o 3 3"),
    ("GET",    "/api/sources/{id}",             "1111 33 3o o 3"),
    ("PATCH",  "/api/sources/{id}",             "1111 33 3o 3 3"),
    ("DELETE", "/api/sources/{id}",             "1111 33 3o 3 3"),
    ("POST",   "/api/sources/{id}/rotate",      "1111 33 3o 3 3"),
    ("POST",   "/api/sources/{id}/test",        "1111 33 3o 3 3"),
    ("GET",    "/api/sources/{id}/requests",    "1111 33 3o o 3"),
    ("GET",    "/api/schedules",                "1111 33 3o o 3"),
    ("POST",   "/api/schedules",                "1111 33 3o 3 3"),
    ("GET",    "/api/schedules/preview",        "1111 33 3o o 3"),
    ("GET",    "/api/schedules/{id}",           "1111 33 3o o 3"),
    ("PATCH",  "/api/schedules/{id}",           "1111 33 3o 3 3"),
    ("DELETE", "/api/schedules/{id}",           "1111 33 3o 3 3"),
    ("GET",    "/api/schedules/{id}/next",      "1111 33 3o o 3"),
    ("POST",   "/api/schedules/{id}/run",       "1111 33 3o 3 3"),
    ("GET",    "/api/oauth/requests/{id}",      "1111 33 33 o 3"),
    ("POST",   "/api/oauth/requests/{id}",      "1111 33 oo 3 3"),
    ("GET",    "/api/oauth/devices/{user_code}", "1111 33 33 o 3"),
    ("POST",   "/api/oauth/devices/{user_code}", "1111 33 oo 3 3"),
    ("GET",    "/api/oauth/grants",             "1111 33 oo o 3"),
    ("DELETE", "/api/oauth/grants/{id}",        "1111 33 oo 3 3"),
    ("GET",    "/api/oauth/clients",            "1111 33 3o o 3"),
    ("POST",   "/api/oauth/clients",            "1111 33 3o 3 3"),
    ("GET",    "/api/oauth/clients/{id}",       "1111 33 3o o 3"),
    ("PATCH",  "/api/oauth/clients/{id}",       "1111 33 3o 3 3"),
    ("DELETE", "/api/oauth/clients/{id}",       "1111 33 3o 3 3"),
    ("GET",    "/api/oidc/providers",           "1111 33 3o o 3"),
    ("POST",   "/api/oidc/providers",           "1111 33 3o 3 3"),
    ("GET",    "/api/oidc/providers/{id}",      "1111 33 3o o 3"),
    ("PATCH",  "/api/oidc/providers/{id}",      "1111 33 3o 3 3"),
    ("DELETE", "/api/oidc/providers/{id}",      "1111 33 3o 3 3"),
    ("GET",    "/api/oidc/providers/{id}/check", "1111 33 3o o 3"),
    ("GET",    "/api/audit",                    "1111 33 3o o o"),
    ("GET",    "/agent/link",                   "1111 33 33 3 o"),
];

/// An id that no record has.
const UNKNOWN_ID: &str = "01890000-0000-7000-8000-000000000000";

/// Replaces the placeholders in a path of the table. The response of an accepted stream would never
/// end, so the path of a stream gets an invalid pattern or code, which the server rejects with an
/// error.
fn concrete(path: &str) -> String {
    let path = path.replace("{id}", UNKNOWN_ID).replace("{n}", "1");
    let path = path.replace("{user_code}", "BCDFGHJK");
    let path = path.replace("{name}", "corp");
    let path = path.replace("{token}", "svc_src_unknown");
    let path = path.replace("{*path}", "nowhere");
    if path.ends_with("/stream") {
        format!("{path}?pattern=**&code=none")
    } else {
        path
    }
}

/// Headers that present each kind of credential.
type Credentials = BTreeMap<&'static str, Vec<(&'static str, String)>>;

async fn credentials(server: &mut TestServer) -> Credentials {
    let bearer = |token: &str| vec![("authorization", format!("Bearer {token}"))];
    let admin = server.admin().await;
    let powerless = server.user_with("nobody", &[], &[]).await;
    // Not `admin`: the requests of the test end the sessions of `admin`.
    let browser = server.user_with("browser", &["admin"], &[]).await;
    let space = admin.space("lab").await;
    let revoked = admin.new_token(&[]).await;
    admin
        .delete(&format!("/api/tokens/{}", revoked["id"].as_str().unwrap()))
        .await;
    let expired = admin.new_token(&[]).await;
    server.expire_token(expired["id"].as_str().unwrap()).await;
    let foreign = vec![
        ("cookie", browser.login().await),
        ("origin", "https://elsewhere.example".to_owned()),
    ];
    BTreeMap::from([
        ("none", vec![]),
        ("bad", bearer("svc_pat_0123456789")),
        ("expired", bearer(expired["token"].as_str().unwrap())),
        ("revoked", bearer(revoked["token"].as_str().unwrap())),
        ("methods", bearer(&admin.scoped(&["methods"]).await.token)),
        ("mcp", bearer(&admin.scoped(&["mcp"]).await.token)),
        ("powerless", bearer(&powerless.token)),
        ("admin", bearer(&admin.token)),
        ("foreign cookie", foreign),
        ("agent", bearer(&space.agent_token)),
    ])
}

async fn try_route(
    server: &TestServer,
    credential: &[(&str, String)],
    method: &str,
    path: &str,
) -> Answer {
    let mut headers: Vec<_> = credential
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    if method != "GET" {
        headers.push(("content-type", "application/json"));
    }
    let body = if method == "GET" { "" } else { "{}" };
    server.http().request(method, path, &headers, body).await
}

#[tokio::test]
async fn s5_every_route_accepts_exactly_the_credentials_of_the_table() {
    let mut server = TestServer::start().await;
    let listed = server
        .anonymous_cli()
        .run(&["server", "routes", "-o", "json"])
        .await
        .expect(0)
        .json();
    let route = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("method"), text("path"))
    };
    let routes: Vec<_> = listed.as_array().unwrap().iter().map(route).collect();
    let rows: BTreeMap<_, _> = EXPECTED
        .iter()
        .map(|(method, path, row)| {
            (
                ((*method).to_owned(), (*path).to_owned()),
                row.replace(' ', ""),
            )
        })
        .collect();
    let without_row: Vec<_> = routes
        .iter()
        .filter(|route| !rows.contains_key(route))
        .collect();
    assert!(
        without_row.is_empty(),
        "routes without a row in this table: {without_row:?}"
    );
    let without_route: Vec<_> = rows.keys().filter(|row| !routes.contains(row)).collect();
    assert!(
        without_route.is_empty(),
        "rows without a route: {without_route:?}"
    );

    let credentials = credentials(&mut server).await;
    let mut wrong = Vec::new();
    for ((method, path), row) in &rows {
        for (credential, expected) in CREDENTIALS.iter().zip(row.chars()) {
            let answer =
                try_route(&server, &credentials[credential], method, &concrete(path)).await;
            let found = match answer.status {
                401 => '1',
                403 => '3',
                _ => 'o',
            };
            if found != expected {
                let body: String = answer.text().chars().take(120).collect();
                wrong.push(format!(
                    "{method} {path} as {credential}: {} instead of `{expected}`: {body}",
                    answer.status
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn s5_unknown_paths_and_methods_require_authentication_too() {
    let mut server = TestServer::start().await;
    let credentials = credentials(&mut server).await;
    for (path, expected) in [
        ("/api/nowhere", "1111 33 oo o o"),
        ("/api/methods/", "1111 33 oo o o"),
    ] {
        for (credential, expected) in CREDENTIALS.iter().zip(expected.replace(' ', "").chars()) {
            let status = try_route(&server, &credentials[credential], "GET", path)
                .await
                .status;
            let found = match status {
                401 => '1',
                403 => '3',
                404 => 'o',
                other => panic!("{path} as {credential}: {other}"),
            };
            assert_eq!(found, expected, "{path} as {credential}");
        }
    }
    try_route(&server, &credentials["admin"], "PUT", "/api/users")
        .await
        .expect(405);
    try_route(&server, &credentials["none"], "PUT", "/api/users")
        .await
        .expect(401);
}

#[tokio::test]
async fn s5_a_cookie_authorizes_changes_only_from_pages_of_this_server() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let cookie = ann.login().await;
    let own = server.url().to_owned();
    let write = |name: &'static str, value: String| {
        let (http, cookie) = (server.http(), cookie.clone());
        async move {
            let mut headers = vec![
                ("cookie", cookie.as_str()),
                ("content-type", "application/json"),
            ];
            if !name.is_empty() {
                headers.push((name, value.as_str()));
            }
            http.request("POST", "/api/tokens", &headers, r#"{"name":"x"}"#)
                .await
                .status
        }
    };
    assert_eq!(write("", String::new()).await, 201);
    assert_eq!(write("origin", own.clone()).await, 201);
    assert_eq!(write("sec-fetch-site", "same-origin".into()).await, 201);
    assert_eq!(write("sec-fetch-site", "none".into()).await, 201);
    assert_eq!(write("sec-fetch-site", "same-site".into()).await, 403);
    assert_eq!(write("sec-fetch-site", "cross-site".into()).await, 403);
    assert_eq!(write("origin", "null".into()).await, 403);
    assert_eq!(
        write("origin", "https://elsewhere.example".into()).await,
        403
    );
    assert_eq!(write("origin", format!("{own}0")).await, 403);
}

#[tokio::test]
async fn s5_an_agent_token_manages_its_own_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let agent = ann.with_token(&space.agent_token);
    agent.get(&space.path()).await.expect(200);
    agent
        .get(&format!("{}/logs", space.path()))
        .await
        .expect(200);
    let body = r#"{"health_check":{"type":"none"}}"#;
    agent.patch(&space.path(), body).await.expect(200);
}
