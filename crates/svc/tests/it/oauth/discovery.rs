//! How apps find the endpoints (groups 17 and 18 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::Flow;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";

#[tokio::test]
async fn every_discovery_path_returns_a_document_of_this_server() {
    let server = TestServer::start().await;
    let http = server.http();
    for path in [RESOURCE, &format!("{RESOURCE}/mcp")] {
        let answer = http.request("GET", path, &[], "").await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let document = answer.json();
        assert_eq!(document["resource"], format!("{}/mcp", server.url()));
        assert_eq!(document["authorization_servers"], json!([server.url()]));
        assert_eq!(document["scopes_supported"], json!(["mcp"]));
    }
    let search = http
        .request("GET", &format!("{RESOURCE}/mcp?tools=search"), &[], "")
        .await;
    let search = search.expect(200).json();
    assert_eq!(
        search["resource"],
        format!("{}/mcp?tools=search", server.url())
    );
    let refused = http
        .request("POST", "/mcp?tools=search", &[], "{}")
        .await
        .expect(401);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("/mcp?tools=search\""), "{challenge}");
    for path in [SERVER, &format!("{SERVER}/mcp")] {
        let document = http.request("GET", path, &[], "").await.expect(200).json();
        assert_eq!(document["issuer"], server.url());
        assert_eq!(
            document["code_challenge_methods_supported"],
            json!(["S256"])
        );
        assert_eq!(
            document["authorization_response_iss_parameter_supported"],
            true
        );
        assert_eq!(document["client_id_metadata_document_supported"], true);
        for endpoint in ["authorize", "token", "register"] {
            let address = format!("{}/{endpoint}", server.url());
            assert!(document.to_string().contains(&address), "{address}");
        }
    }
    http.request("HEAD", SERVER, &[], "").await.expect(200);
    let endpoints = ["/token", "/register", "/revoke", "/device_authorization"];
    for path in [SERVER, RESOURCE].into_iter().chain(endpoints) {
        let headers = [
            ("origin", "http://localhost:6274"),
            ("access-control-request-method", "POST"),
        ];
        let answer = http
            .request("OPTIONS", path, &headers, "")
            .await
            .expect(204);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
    }
    // A page of another site can also read why its request was refused.
    for path in endpoints {
        let headers = [
            ("origin", "http://localhost:6274"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let answer = http.request("POST", path, &headers, "").await.expect(400);
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, Some("*"), "{path}");
    }
    // A browser gets an error in JSON and not a page.
    let html = [("accept", "text/html")];
    for path in ["/.well-known/openid-configuration", "/.well-known/x"] {
        let answer = http.request("GET", path, &html, "").await.expect(404);
        assert_eq!(answer.json()["status"], 404, "{path}");
    }
}

#[tokio::test]
async fn a_page_of_another_site_may_request_tokens_because_cookies_are_ignored() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let headers = [
        ("origin", "http://localhost:6274"),
        ("sec-fetch-site", "cross-site"),
        ("cookie", flow.cookie.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let answer = flow
        .http()
        .request("POST", "/token", &headers, "grant_type=x&client_id=y")
        .await;
    assert_eq!(answer.expect(400).json()["error"], "unsupported_grant_type");
    assert_eq!(answer_header(&flow, "/token").await, "*");
}

async fn answer_header(flow: &Flow, path: &str) -> String {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer = flow.http().request("POST", path, &headers, "").await;
    answer
        .header("access-control-allow-origin")
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn the_issuer_is_the_public_url_and_never_a_host_name_of_the_request() {
    let server = TestServer::builder()
        .config("public_url = \"https://svc.example.com/\"")
        .start()
        .await;
    let http = server.http();
    for host in ["svc.example.com", "127.0.0.1:1"] {
        let headers = [("host", host), ("x-forwarded-host", "evil.test")];
        let document = http
            .request("GET", SERVER, &headers, "")
            .await
            .expect(200)
            .json();
        assert_eq!(document["issuer"], "https://svc.example.com", "{host}");
    }
    // Without a public URL, only requests of this machine get the documents.
    let server = TestServer::start().await;
    let forwarded = [("x-forwarded-for", "192.0.2.1")];
    server
        .http()
        .request("GET", SERVER, &forwarded, "")
        .await
        .expect(404);
    let refused = server
        .http()
        .request("POST", "/mcp", &forwarded, "{}")
        .await
        .expect(401);
    assert_eq!(
        refused.header("www-authenticate"),
        Some(r#"Bearer realm="svc""#)
    );
    // The public URL must use HTTPS, except on a loopback address.
    let plain = TestServer::builder()
        .config("public_url = \"http://svc.example.com\"")
        .start()
        .await;
    plain
        .http()
        .request("GET", SERVER, &[], "")
        .await
        .expect(404);
}

#[tokio::test]
async fn oauth_can_be_switched_off() {
    let server = TestServer::builder()
        .config_table("oauth", "enabled = false")
        .start()
        .await;
    let http = server.http();
    for path in [SERVER, RESOURCE, "/authorize?client_id=x"] {
        http.request("GET", path, &[], "").await.expect(404);
    }
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    http.request("POST", "/token", &headers, "a=b")
        .await
        .expect(404);
    let refused = http.request("POST", "/mcp", &[], "{}").await.expect(401);
    assert_eq!(
        refused.header("www-authenticate"),
        Some(r#"Bearer realm="svc""#)
    );
}
