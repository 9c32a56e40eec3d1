//! Where the browser may be sent (groups 1 to 3 and 13 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::{Flow, register, text};

#[tokio::test]
async fn an_address_that_the_app_did_not_list_gets_an_error_page_and_no_redirect() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    for address in [
        "http://127.0.0.1:51234/callback/",
        "http://127.0.0.1:51234/callback?x=1",
        "http://127.0.0.1:51234/other",
        "http://localhost.evil.test/callback",
        "http://127.0.0.1@evil.test/callback",
        "http://127.0.0.1:80@evil.test/callback",
        "http://127.0.0.1:51234/%2e/callback",
        "HTTP://127.0.0.1:51234/callback",
        "http://localhost:51234/callback",
        "http://[::1]:51234/callback",
        "https://127.0.0.1:51234/callback",
        "https://evil.test/callback",
        "javascript:alert(1)",
        "http://127.0.0.1:51234/callback#x",
        "http://127.0.0.1:51234/\r\nx",
    ] {
        let answer = flow
            .authorize(&[("redirect_uri", address)])
            .await
            .expect(400);
        assert_eq!(answer.header("location"), None, "{address}");
        let page = answer.text();
        assert!(page.contains("cannot be connected"), "{page}");
        assert!(!page.contains("<script"), "{page}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
    for client in ["", "nobody", "<script>alert(1)</script>"] {
        let answer = flow.authorize(&[("client_id", client)]).await.expect(400);
        assert_eq!(answer.header("location"), None);
        assert!(!answer.text().contains("<script"), "{}", answer.text());
    }
    let twice = format!("/authorize?{}&state=x", flow.query(&[]));
    let answer = flow
        .http()
        .request("GET", &twice, &[], "")
        .await
        .expect(400);
    assert!(answer.text().contains("given twice"), "{}", answer.text());
}

#[tokio::test]
async fn apps_on_the_users_machine_may_use_any_port() {
    let server = TestServer::start().await;
    let mut flow = Flow::new(&server, "ann").await;
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let listed = format!("http://{host}:1234/callback");
        let app = register(&flow.http(), json!({"redirect_uris": [listed]})).await;
        flow.client_id = text(&app.expect(201).json(), "client_id").to_owned();
        for port in ["", ":1", ":61234"] {
            let address = format!("http://{host}{port}/callback");
            flow.ask(&[("redirect_uri", &address)]).await;
        }
    }
    // An app that listed only one address may omit `redirect_uri`.
    flow.ask(&[("redirect_uri", "")]).await;
    // The known apps list their addresses without a port. If the server cannot read their
    // documents, it uses built-in copies.
    flow.client_id = "https://claude.ai/oauth/claude-code-client-metadata".to_owned();
    for address in [
        "http://localhost:50000/callback",
        "http://127.0.0.1:60000/callback",
    ] {
        flow.ask(&[("redirect_uri", address)]).await;
    }
    let other = [("redirect_uri", "http://localhost:50000/other")];
    flow.authorize(&other).await.expect(400);
}

/// What widely used apps send, with the redirect addresses that they use.
#[tokio::test]
async fn the_requests_of_known_apps_are_accepted() {
    // There is no proxy at this address. So the server cannot read the documents of the apps, and
    // uses its built-in copies.
    let server = TestServer::builder()
        .config_table("webhooks", "proxy = \"http://127.0.0.1:9\"")
        .start()
        .await;
    let mut flow = Flow::new(&server, "ann").await;
    let resource = format!("{}/mcp", server.url());
    for (client_id, name, address, scope) in [
        (
            "https://claude.ai/oauth/mcp-oauth-client-metadata",
            "Claude",
            "https://claude.ai/api/mcp/auth_callback",
            "mcp offline_access",
        ),
        (
            "https://claude.ai/oauth/mcp-oauth-client-metadata",
            "Claude",
            "https://claude.com/api/mcp/auth_callback",
            "mcp",
        ),
        (
            "https://claude.ai/oauth/claude-code-client-metadata",
            "Claude Code",
            "http://localhost:54545/callback",
            "mcp",
        ),
        (
            "https://chatgpt.com/oauth/client.json",
            "ChatGPT",
            "https://chatgpt.com/connector_platform_oauth_redirect",
            "mcp",
        ),
        (
            "https://chatgpt.com/oauth/codex/client.json",
            "Codex",
            "http://127.0.0.1:1455/callback",
            "openid profile email offline_access",
        ),
        (
            "https://vscode.dev/oauth/client-metadata.json",
            "Visual Studio Code",
            "http://127.0.0.1:33418/",
            "mcp",
        ),
        (
            "https://vscode.dev/oauth/client-metadata.json",
            "Visual Studio Code",
            "https://insiders.vscode.dev/redirect",
            "",
        ),
    ] {
        flow.client_id = client_id.to_owned();
        let fields = [
            ("redirect_uri", address),
            ("scope", scope),
            ("resource", resource.as_str()),
            ("prompt", "consent"),
        ];
        let request = flow.ask(&fields).await;
        let path = format!("/api/oauth/requests/{request}");
        let shown = flow.page("GET", &path, json!({})).await.expect(200).json();
        assert_eq!(shown["app"]["name"], name);
        assert_eq!(shown["app"]["kind"], "metadata");
        assert_eq!(shown["scopes"], json!(["mcp"]));
        let decided = flow.decide(&request, true).await.expect(200).json();
        let target = text(&decided, "redirect_to");
        assert!(target.starts_with(&format!("{address}?code=")), "{target}");
        let code = super::field(&super::fields_of(target), "code");
        let fields = [("redirect_uri", address), ("resource", &resource)];
        let tokens = flow.exchange(&code, &fields).await.expect(200).json();
        // Some apps renew without `resource` and `scope`.
        flow.refresh(text(&tokens, "refresh_token"), &[])
            .await
            .expect(200);
    }
}

#[tokio::test]
async fn a_registration_keeps_the_usable_addresses_and_is_refused_without_one() {
    let server = TestServer::start().await;
    let http = server.http();
    // Cursor registers three addresses in one request.
    let cursor = json!({
        "client_name": "Cursor",
        "redirect_uris": [
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback",
            "http://localhost:8787/callback",
        ],
        "application_type": "web",
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = register(&http, cursor.clone()).await.expect(201).json();
    assert_eq!(registered["redirect_uris"], cursor["redirect_uris"]);
    assert_eq!(registered["token_endpoint_auth_method"], "none");
    let mixed =
        json!({"redirect_uris": ["myapp://x", "https://app.example/cb", "data:text/html,x"]});
    let registered = register(&http, mixed).await.expect(201).json();
    assert_eq!(
        registered["redirect_uris"],
        json!(["https://app.example/cb"])
    );
    for bad in [
        json!([]),
        json!(["javascript:alert(1)"]),
        json!(["http://app.example/cb"]),
        json!(["https://user@app.example/cb"]),
        json!(["https://app.example/cb#x"]),
        json!(vec!["https://app.example/cb"; 11]),
    ] {
        let answer = register(&http, json!({"redirect_uris": bad}))
            .await
            .expect(400);
        assert_eq!(answer.json()["error"], "invalid_redirect_uri", "{bad}");
    }
    for body in ["", "[]", "{\"redirect_uris\": 1}"] {
        let headers = [("content-type", "application/json")];
        let answer = http.request("POST", "/register", &headers, body).await;
        assert_eq!(
            answer.expect(400).json()["error"],
            "invalid_client_metadata"
        );
    }
}
