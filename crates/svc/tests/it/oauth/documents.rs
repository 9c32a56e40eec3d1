//! Apps that publish a document about themselves (groups 10 and 11 of the attacks in docs/AUTH.md).

use serde_json::{Value, json};
use svc_testkit::{TestAuthority, TestServer, TlsReceiver};

use super::{CALLBACK, Flow, edit};

/// A site over HTTPS that the server trusts, and a server.
struct Site {
    receiver: TlsReceiver,
    server: TestServer,
    /// Has the file of the certificate authority.
    _folder: tempfile::TempDir,
}

impl Site {
    async fn new(may_reach: bool) -> Self {
        let authority = TestAuthority::new("an authority");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        let receiver = TlsReceiver::start(&authority.server(&["localhost"])).await;
        let mut builder = TestServer::builder().env("SSL_CERT_FILE", file.to_str().unwrap());
        if may_reach {
            builder = builder.allow_loopback_webhooks();
        }
        Self {
            server: builder.start().await,
            receiver,
            _folder: folder,
        }
    }

    fn url(&self, path: &str) -> String {
        self.receiver.url("localhost", path)
    }

    fn document(&self, path: &str) -> Value {
        json!({"client_id": self.url(path), "client_name": "Site", "redirect_uris": [CALLBACK]})
    }

    async fn flow(&self, path: &str) -> Flow {
        let mut flow = Flow::new(&self.server, "ann").await;
        flow.client_id = self.url(path);
        flow
    }
}

#[tokio::test]
async fn the_document_of_an_app_is_read_once_while_it_is_fresh() {
    let site = Site::new(true).await;
    site.receiver.reply("/app", 200, site.document("/app"));
    let flow = site.flow("/app").await;
    let request = flow.ask(&[]).await;
    let path = format!("/api/oauth/requests/{request}");
    let shown = flow.page("GET", &path, json!({})).await.expect(200).json();
    assert_eq!(shown["app"]["name"], "Site");
    assert_eq!(shown["app"]["kind"], "metadata");
    assert_eq!(shown["app"]["host"], "localhost");
    flow.connect(&[]).await;
    assert_eq!(site.receiver.received().len(), 1);
    // The same address in another spelling is another app.
    let mut other = flow;
    other.client_id = other.client_id.replace("localhost", "LOCALHOST");
    other.authorize(&[]).await.expect(400);
}

#[tokio::test]
async fn a_document_that_cannot_be_trusted_is_refused_and_not_stored() {
    let site = Site::new(true).await;
    let mut flow = site.flow("/long").await;
    let mut long = site.document("/long");
    long["filler"] = json!("x".repeat(6_000));
    let mut foreign = site.document("/foreign");
    foreign["client_id"] = json!("https://other.example/app");
    let mut nowhere = site.document("/nowhere");
    nowhere["redirect_uris"] = json!(["javascript:alert(1)"]);
    for (path, status, body, why) in [
        ("/long", 200, long.to_string(), "more than 5120 bytes"),
        ("/huge", 200, "x".repeat(2_000_000), "more than"),
        (
            "/foreign",
            200,
            foreign.to_string(),
            "https://other.example/app",
        ),
        ("/nowhere", 200, nowhere.to_string(), "javascript:alert(1)"),
        ("/html", 200, "<html>".to_owned(), "expected value"),
        // A compressed document is not unpacked, so it cannot use much memory.
        (
            "/gzip",
            200,
            "\u{1f}\u{8b}\u{8}".to_owned(),
            "expected value",
        ),
        (
            "/forbidden",
            403,
            site.document("/forbidden").to_string(),
            "403",
        ),
        ("/moved", 302, String::new(), "302"),
    ] {
        site.receiver.reply(path, status, body);
        flow.client_id = site.url(path);
        let answer = flow.authorize(&[]).await.expect(400);
        let page = answer.text().replace("&quot;", "\"");
        assert!(page.contains(why), "{path}: {page}");
        assert_eq!(answer.header("location"), None);
    }
    site.receiver.reply_endlessly("/endless");
    flow.client_id = site.url("/endless");
    let answer = flow.authorize(&[]).await.expect(400);
    assert!(answer.text().contains("within 5 s"), "{}", answer.text());
    let paths: Vec<_> = site
        .receiver
        .received()
        .into_iter()
        .map(|it| it.path)
        .collect();
    assert!(
        !paths.contains(&"/elsewhere".to_owned()),
        "redirects are not followed"
    );
    // Once the site serves a valid document, the app is accepted.
    site.receiver.reply("/html", 200, site.document("/html"));
    flow.client_id = site.url("/html");
    flow.ask(&[]).await;
}

#[tokio::test]
async fn a_document_in_the_internal_network_is_never_read() {
    let site = Site::new(false).await;
    site.receiver.reply("/app", 200, site.document("/app"));
    let flow = site.flow("/app").await;
    let answer = flow.authorize(&[]).await.expect(400);
    assert!(
        answer.text().contains("not an allowed target"),
        "{}",
        answer.text()
    );
    assert_eq!(site.receiver.connections(), 0);
    let mut flow = flow;
    for address in [
        "https://127.0.0.1/app",
        "https://10.0.0.1/app",
        "https://169.254.169.254/latest",
        "https://[::1]/app",
        "https://[::ffff:127.0.0.1]/app",
        "https://[64:ff9b::7f00:1]/app",
        "https://[fd00:ec2::254]/app",
    ] {
        flow.client_id = address.to_owned();
        let answer = flow.authorize(&[]).await.expect(400);
        assert!(answer.text().contains("not an allowed target"), "{address}");
    }
}

#[tokio::test]
async fn a_changed_document_takes_effect_when_it_is_read_again() {
    let mut site = Site::new(true).await;
    site.receiver.reply("/app", 200, site.document("/app"));
    let flow = site.flow("/app").await;
    flow.ask(&[]).await;
    let mut changed = site.document("/app");
    changed["redirect_uris"] = json!(["http://127.0.0.1/other"]);
    site.receiver.reply("/app", 200, changed);
    flow.ask(&[]).await;
    edit(&mut site.server, "UPDATE oauth_clients SET fresh_until = 1").await;
    flow.authorize(&[]).await.expect(400);
    flow.ask(&[("redirect_uri", "http://127.0.0.1:9/other")])
        .await;
    // A site that is down does not disconnect the app.
    site.receiver.reply("/app", 500, "");
    edit(&mut site.server, "UPDATE oauth_clients SET fresh_until = 1").await;
    flow.ask(&[("redirect_uri", "http://127.0.0.1:9/other")])
        .await;
}
