//! Commands and agents behind an HTTP proxy. Only the proxy resolves the name of the server.

use serde_json::json;
use svc_testkit::{
    ADMIN_PASSWORD, Cli, TempDir, TestAuthority, TestProxy, TestServer, fixture, get_eventually,
    result,
};

use crate::SOON;

const HOST: &str = "svc.example.test";

/// A server with a public name, and a proxy that resolves this name to the server.
async fn start() -> (TestServer, TestProxy) {
    let server = TestServer::builder()
        .config(&format!("public_url = \"https://{HOST}\""))
        .start()
        .await;
    let proxy = TestProxy::start_for(HOST, server.address()).await;
    (server, proxy)
}

fn url_of(server: &TestServer, scheme: &str) -> String {
    let (_, port) = server.url().rsplit_once(':').unwrap();
    format!("{scheme}://{HOST}:{port}")
}

/// Fails unless every request to the proxy asked for a tunnel to the server.
#[track_caller]
fn expect_tunnels(proxy: &TestProxy, url: &str) {
    let (_, target) = url.split_once("://").unwrap();
    let requests = proxy.requests();
    assert!(!requests.is_empty(), "the proxy was not used");
    for request in requests {
        assert_eq!(request.line, format!("CONNECT {target} HTTP/1.1"));
    }
}

#[tokio::test]
async fn a_login_with_a_code_a_command_and_a_logout_go_through_the_proxy() {
    let (server, proxy) = start().await;
    let url = url_of(&server, "http");
    let variable = format!("http://ann:p%40ss@{}", proxy.address());
    let cli = || server.anonymous_cli().env("HTTP_PROXY", &variable);
    let mut login = cli().spawn(&["login", &url, "--device"]);
    let code = get_eventually("svc login shows the code", SOON, || async {
        let log = login.stderr();
        let is_code = |line: &&str| line.len() == 9 && line.contains('-');
        log.lines().map(str::trim).find(is_code).map(str::to_owned)
    })
    .await;
    let ann = server.user("ann").await;
    let cookie = ann.login().await;
    let headers = [
        ("cookie", cookie.as_str()),
        ("content-type", "application/json"),
    ];
    let path = format!("/api/oauth/devices/{code}");
    let body = json!({"approve": true}).to_string();
    let approved = server.http().request("POST", &path, &headers, body).await;
    approved.expect(204);
    let ended = login.wait_for_exit(SOON).await;
    assert!(ended.success(), "{}", login.stderr());
    let me = cli().run(&["whoami", "-o", "json"]).await.expect(0).json();
    assert_eq!(me["username"], "ann");
    cli().run(&["logout"]).await.expect(0);
    let tokens = ann.get("/api/tokens").await.expect(200).text();
    assert!(!tokens.contains("cli@"), "{tokens}");
    expect_tunnels(&proxy, &url);
    for request in proxy.requests() {
        // `ann:p@ss` in base64.
        let given = request.header("proxy-authorization");
        assert_eq!(given, "Basic YW5uOnBAc3M=");
        assert_eq!(
            request.header("authorization"),
            "",
            "a token was sent to the proxy"
        );
    }
}

#[tokio::test]
async fn tls_is_between_the_command_and_the_server() {
    let authority = TestAuthority::new("private");
    let certificate = authority.server(&[HOST]);
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cert, key, ca) = (path("cert.pem"), path("key.pem"), path("ca.pem"));
    std::fs::write(&cert, &certificate.certificate).unwrap();
    std::fs::write(&key, &certificate.key).unwrap();
    std::fs::write(&ca, authority.pem()).unwrap();
    let server = TestServer::builder()
        .config(&format!("public_url = \"https://{HOST}\""))
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    let (_, address) = server.url().split_once("://").unwrap();
    let proxy = TestProxy::start_for(HOST, address.parse().unwrap()).await;
    let url = url_of(&server, "https");
    let cli = || {
        let cli = server.anonymous_cli();
        // An address without a scheme is accepted too. `HTTP_PROXY` is only for servers with
        // `http`.
        cli.env("https_proxy", proxy.address().to_string())
            .env("HTTP_PROXY", "http://127.0.0.1:9")
    };
    let login = ["login", &url, "--username", "admin", "--password-stdin"];
    let login = [&login[..], &["--ca-file", &ca]].concat();
    cli().input(ADMIN_PASSWORD).run(&login).await.expect(0);
    let me = cli().run(&["whoami", "-o", "json"]).await.expect(0).json();
    assert_eq!(me["username"], "admin");
    expect_tunnels(&proxy, &url);
}

#[tokio::test]
async fn a_server_on_this_machine_and_hosts_of_no_proxy_are_reached_directly() {
    let (server, proxy) = start().await;
    let admin = server.admin().await;
    let variable = format!("http://{}", proxy.address());
    let cli = |url: &str, no_proxy: &str| {
        let cli = Cli::new(server.home()).env("ALL_PROXY", &variable);
        let cli = cli.env("SVC_URL", url).env("SVC_TOKEN", &admin.token);
        cli.env("NO_PROXY", no_proxy)
    };
    let (_, port) = server.url().rsplit_once(':').unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}");
        cli(&url, "").run(&["whoami"]).await.expect(0);
    }
    // Without the proxy, the name does not resolve.
    let url = url_of(&server, "http");
    let direct = cli(&url, "other.test, .example.test").run(&["whoami"]);
    assert_ne!(direct.await.code, 0);
    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
    cli(&url, "other.test").run(&["whoami"]).await.expect(0);
    expect_tunnels(&proxy, &url);
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_down_or_unusable_is_named_without_its_password() {
    let (server, _) = start().await;
    let refusing = TestProxy::start(true).await;
    let url = url_of(&server, "http");
    for (variable, why) in [
        (
            format!("http://ann:s3cret@{}", refusing.address()),
            "the proxy answered 403",
        ),
        (
            format!("http://ann:s3cret@{}", refusing.address()),
            "NO_PROXY are reached directly",
        ),
        (
            "http://ann:s3cret@127.0.0.1:9".to_owned(),
            "cannot connect to the proxy `127.0.0.1`, port 9",
        ),
        (
            "socks5://ann:s3cret@127.0.0.1:9".to_owned(),
            "`HTTP_PROXY` is not the address of a proxy",
        ),
    ] {
        let cli = server.anonymous_cli().env("HTTP_PROXY", &variable);
        let failed = cli.run(&["login", &url, "--device"]).await;
        assert_ne!(failed.code, 0, "{variable}");
        assert!(failed.stderr.contains(why), "{}", failed.stderr);
        assert!(!failed.stderr.contains("s3cret"), "{}", failed.stderr);
    }
}

#[tokio::test]
async fn mcp_over_stdio_goes_through_the_proxy() {
    let (server, proxy) = start().await;
    let ann = server.user("ann").await;
    let url = url_of(&server, "http");
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"}}});
    let bridge = Cli::new(server.home())
        .env("http_proxy", format!("http://{}", proxy.address()))
        .env("SVC_URL", &url)
        .env("SVC_TOKEN", &ann.token)
        .input(&format!("{request}\n"));
    let answered = bridge.run(&["mcp", "stdio"]).await.expect(0);
    assert!(answered.stdout.contains("serverInfo"), "{answered:?}");
    expect_tunnels(&proxy, &url);
}

#[tokio::test]
async fn an_agent_links_through_the_proxy_and_stays_callable() {
    let (server, proxy) = start().await;
    let ann = server.user("ann").await;
    let space = ann.space("work").await;
    let url = url_of(&server, "http");
    let mut command = space.agent_command(space.folder());
    command
        .args(["--listen", "127.0.0.1:0"])
        .env("SVC_URL", &url)
        .env("HTTP_PROXY", format!("http://{}", proxy.address()));
    let agent = space.spawn_command(space.folder(), command);
    agent.wait_until_linked().await;
    agent.register(fixture().plain("echo")).await.expect(0);
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    expect_tunnels(&proxy, &url);
}
