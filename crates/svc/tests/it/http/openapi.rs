//! `GET /api/openapi.json` tested by independent judges: a linter, a generator of types, and a
//! property-based tester that compares the document with the running server. Its text is compared
//! with a file.

mod difference;
mod snapshot;

use svc_testkit::TestServer;

use crate::judge::Judge;

#[tokio::test]
async fn the_document_passes_a_linter_and_a_generator_of_types() {
    let judge = Judge::Node("openapi.mjs", &[]);
    if judge.install().is_none() {
        return;
    }
    let server = TestServer::start().await;
    let url = server.url().to_owned();
    judge.ask(&server, &[("SVC_URL", &url)]).await;
}

#[tokio::test]
async fn answers_to_random_requests_are_as_the_document_says() {
    let judge = Judge::Python("openapi");
    if judge.install().is_none() {
        return;
    }
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let url = server.url().to_owned();
    let variables = [("SVC_URL", url.as_str()), ("SVC_TOKEN", &admin.token)];
    judge.ask(&server, &variables).await;
}

#[tokio::test]
async fn the_page_of_the_document_needs_no_credential_and_no_other_host() {
    let server = TestServer::start().await;
    let page = server.http().request("GET", "/api/docs", &[], "").await;
    let page = page.expect(200);
    let kind = page.header("content-type").unwrap_or_default();
    assert_eq!(kind, "text/html; charset=utf-8");
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
}
