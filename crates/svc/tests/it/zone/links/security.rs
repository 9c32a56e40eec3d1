//! An agent that was given an `https` address of a server never links to an announced `http`
//! address.

use svc_testkit::{TestServer, fixture_file};

use super::*;

#[tokio::test]
async fn an_agent_that_uses_https_does_not_link_to_an_announced_http_address() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, 1).await;
    let [cert, key, ca] =
        ["cert.pem", "key.pem", "ca.pem"].map(|name| fixture_file(name).display().to_string());
    let secure = TestServer::builder()
        .database_url(&zone.database().url)
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    let ann = zone.server(0).user("ann").await;
    let space = ann.space("lab").await;
    let args = ["--url", secure.url(), "--ca-file", &ca];
    let agent = space.agent_with(&args).await;
    agent.register(fixture().plain("echo")).await.expect(0);
    let ignored = "ignored an announced server: the agent uses https";
    eventually("the agent knows the other server", SOON, || async {
        agent.log().contains(ignored)
    })
    .await;
    // This is a wait: by the time another agent has linked with http, the first agent would also
    // have linked to that server if the first agent did not ignore it.
    let open = ann.space("open").await;
    let open_agent = open.publish(fixture().plain("pid")).await;
    assert!(answers(&ann, "pid").await);
    assert_eq!(
        open_agent.status().await["links"].as_array().unwrap().len(),
        1
    );
    let links = agent.status().await["links"].clone();
    assert_eq!(links.as_array().unwrap().len(), 1, "{links}");
    assert!(links[0]["url"].as_str().unwrap().starts_with("https://"));
    assert!(is_unknown(&ann, "echo").await);
}
