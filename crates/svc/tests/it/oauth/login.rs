//! `svc login` in a browser and with a code (group 26 of the attacks in docs/AUTH.md). Requests of
//! the test simulate the browser. The tests of the web interface use a real browser.

use serde_json::json;
use svc_testkit::{Http, Process, TempDir, TestAuthority, TestServer, get_eventually};

use super::{Flow, fields_of, text};
use crate::SOON;

/// The first line that a login prints and that starts with `start`.
async fn line(login: &Process, start: &str) -> String {
    get_eventually("svc login prints the line", SOON, || async {
        let log = login.stderr();
        let found = log
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with(start));
        found.map(str::to_owned)
    })
    .await
}

/// The code that a login shows.
async fn shown_code(login: &Process) -> String {
    get_eventually("svc login shows the code", SOON, || async {
        let log = login.stderr();
        let is_code = |line: &&str| line.len() == 9 && line.contains('-');
        let found = log.lines().map(str::trim).find(is_code);
        found.map(str::to_owned)
    })
    .await
}

#[tokio::test]
async fn a_login_in_the_browser_creates_a_token_that_is_revoked_if_its_code_is_used_again() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    // The command `true` replaces the browser. The login also prints the address.
    let cli = || server.anonymous_cli().env("BROWSER", "true");
    let mut login = cli().spawn(&["login", server.url(), "--browser"]);
    let address = line(&login, server.url()).await;
    let (_, query) = address.split_once('?').unwrap();
    let path = format!("/authorize?{query}");
    let cookie = [("cookie", flow.cookie.as_str())];
    let answer = flow
        .http()
        .request("GET", &path, &cookie, "")
        .await
        .expect(303);
    let target = answer.header("location").unwrap();
    let request = target.strip_prefix("/connect?request=").unwrap();
    let shown = flow
        .page("GET", &format!("/api/oauth/requests/{request}"), json!({}))
        .await;
    assert_eq!(shown.expect(200).json()["scopes"], json!(["cli"]));
    let decided = flow.decide(request, true).await.expect(200).json();
    let back = text(&decided, "redirect_to");
    let (origin, rest) = back.split_at(back.find("/callback").unwrap());
    let port = Http::to_url(origin);
    // Requests of other programs to the port change nothing.
    for (path, host) in [
        ("/favicon.ico", None),
        ("/callback?code=x&state=wrong", None),
        (rest, Some("evil.test")),
    ] {
        let headers: Vec<_> = host.map(|host| ("host", host)).into_iter().collect();
        port.request("GET", path, &headers, "").await.expect(404);
    }
    let page = port.request("GET", rest, &[], "").await.expect(200);
    assert!(page.text().contains("logged in"), "{}", page.text());
    assert!(
        login.wait_for_exit(SOON).await.success(),
        "{}",
        login.stderr()
    );
    let me = cli().run(&["whoami", "-o", "json"]).await.expect(0).json();
    assert_eq!(me["username"], "ann");
    // If the code is used again, another program may have the token. The server revokes it.
    let code = super::field(&fields_of(back), "code");
    flow.exchange(&code, &[("client_id", "svc-cli")])
        .await
        .expect(400);
    let whoami = cli().run(&["whoami"]).await;
    assert_ne!(whoami.code, 0, "{}", whoami.stdout);
    let admin = server.admin().await;
    let audit = admin.get("/api/audit?action=oauth.code_reused");
    let audit = audit.await.expect(200).json();
    assert_eq!(audit["audit"][0]["target_type"], "token");
}

#[tokio::test]
async fn a_login_with_a_code_waits_for_the_user_and_a_logout_revokes_its_token() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let cli = || server.anonymous_cli();
    let mut login = cli().spawn(&["login", server.url(), "--device"]);
    line(&login, "open ").await;
    let code = shown_code(&login).await;
    let path = format!("/api/oauth/devices/{code}");
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(204);
    assert!(
        login.wait_for_exit(SOON).await.success(),
        "{}",
        login.stderr()
    );
    let me = cli().run(&["whoami", "-o", "json"]).await.expect(0).json();
    assert_eq!(me["username"], "ann");
    cli().run(&["logout"]).await.expect(0);
    let tokens = flow.user.get("/api/tokens").await.expect(200).text();
    assert!(!tokens.contains("cli@"), "{tokens}");
}

#[tokio::test]
async fn two_logins_at_once_save_two_contexts() {
    let server = TestServer::start().await;
    let (ann, ben) = (
        Flow::new(&server, "ann").await,
        Flow::new(&server, "ben").await,
    );
    let start = |name: &str| {
        let args = ["login", server.url(), "--device", "--name", name];
        server.anonymous_cli().spawn(&args)
    };
    let mut logins = [("ann", &ann, start("ann")), ("ben", &ben, start("ben"))];
    for (_, flow, login) in &logins {
        let path = format!("/api/oauth/devices/{}", shown_code(login).await);
        flow.page("POST", &path, json!({"approve": true}))
            .await
            .expect(204);
    }
    for (_, _, login) in &mut logins {
        let ended = login.wait_for_exit(SOON).await;
        assert!(ended.success(), "{}", login.stderr());
    }
    for (name, ..) in &logins {
        let whoami = ["--context", *name, "whoami", "-o", "json"];
        let me = server.anonymous_cli().run(&whoami).await.expect(0).json();
        assert_eq!(me["username"], *name);
    }
}

#[tokio::test]
async fn a_declined_login_and_a_server_without_oauth_are_explained() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let mut login = server
        .anonymous_cli()
        .spawn(&["login", server.url(), "--device"]);
    let code = shown_code(&login).await;
    let path = format!("/api/oauth/devices/{code}");
    flow.page("POST", &path, json!({"approve": false}))
        .await
        .expect(204);
    let status = login.wait_for_exit(SOON).await;
    assert!(!status.success());
    assert!(login.stderr().contains("declined"), "{}", login.stderr());

    let off = TestServer::builder()
        .config_table("oauth", "enabled = false")
        .start()
        .await;
    let output = off
        .anonymous_cli()
        .run(&["login", off.url(), "--browser"])
        .await
        .expect(2);
    assert!(output.stderr.contains("--username"), "{}", output.stderr);
}

#[tokio::test]
async fn a_login_accepts_a_private_certificate_authority() {
    let authority = TestAuthority::new("private");
    let certificate = authority.server(&["127.0.0.1"]);
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cert, key, ca) = (path("cert.pem"), path("key.pem"), path("ca.pem"));
    std::fs::write(&cert, &certificate.certificate).unwrap();
    std::fs::write(&key, &certificate.key).unwrap();
    std::fs::write(&ca, authority.pem()).unwrap();
    let server = TestServer::builder()
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    let login = ["login", server.url(), "--device"];
    let unknown = server.anonymous_cli().run(&login).await;
    assert_ne!(unknown.code, 0);
    assert!(unknown.stderr.contains("--ca-file"), "{}", unknown.stderr);
    let login =
        server
            .anonymous_cli()
            .spawn(&["login", server.url(), "--device", "--ca-file", &ca]);
    shown_code(&login).await;
}
