//! The egress proxy of webhooks.

use serde_json::json;
use svc_testkit::{
    TestAuthority, TestProxy, TestReceiver, TestServer, TestServerBuilder, TestSink, TlsReceiver,
};

use crate::SOON;

fn with_proxy(proxy: &TestProxy, settings: &str) -> TestServerBuilder {
    let address = proxy.address();
    let table = format!("proxy = \"http://us%3Aer:s3cret@{address}\"\n{settings}");
    TestServer::builder().config_table("webhooks", &table)
}

/// The request lines, sorted, without those for the IPv6 address that `localhost` has on some
/// machines.
fn lines_of(proxy: &TestProxy) -> Vec<String> {
    let requests = proxy.requests();
    let lines = requests.into_iter().map(|one| one.line);
    let mut lines: Vec<_> = lines.filter(|line| !line.contains("[::1]")).collect();
    lines.sort_unstable();
    lines
}

async fn error_of(sink: &TestSink) -> String {
    let path = format!("{}/test", sink.path());
    let tested = sink.owner.post(&path, "{}").await.expect(200).json();
    tested["attempt"]["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn the_proxy_gets_addresses_that_this_server_has_checked() {
    let (proxy, receiver) = (TestProxy::start(false).await, TestReceiver::start().await);
    let authority = TestAuthority::new("private");
    let tls = TlsReceiver::start(&authority.server(&["localhost"])).await;
    // Of the addresses of this machine, only the name `localhost` is allowed. The proxy's own
    // address is never checked.
    let server = with_proxy(&proxy, "allow = [\"localhost\"]").start().await;
    let ann = server.user("ann").await;
    let port = receiver.address().port();
    ann.webhook("plain", "*", &format!("http://localhost:{port}/hook"))
        .await;
    ann.sink(json!({
        "name": "tls", "patterns": "*", "type": "webhook",
        "webhook": {"url": tls.url("localhost", "/hook"), "ca": authority.pem(), "http2": true},
    }))
    .await;
    for n in 1..=3 {
        ann.emit("a", json!({"n": n})).await;
        receiver.wait_for("/hook", n, SOON).await;
        tls.wait_for(n, SOON).await;
    }
    let one = receiver.received("/hook").remove(0);
    assert_eq!(one.header("host"), format!("localhost:{port}"));
    assert_eq!(
        one.header("proxy-authorization"),
        "",
        "the receiver must not get the credentials of the proxy"
    );
    assert_eq!(tls.received()[0].server_name.as_deref(), Some("localhost"));
    let lines = lines_of(&proxy);
    let mut expected =
        [port, tls.address().port()].map(|port| format!("CONNECT 127.0.0.1:{port} HTTP/1.1"));
    expected.sort_unstable();
    assert_eq!(lines, expected, "one tunnel for each sink");
    // `us:er:s3cret` in base64.
    assert_eq!(
        proxy.requests()[0].header("proxy-authorization"),
        "Basic dXM6ZXI6czNjcmV0"
    );

    // The same receiver, named by its address, is refused before the proxy is used.
    let url = format!("http://127.0.0.1:{port}/hook");
    let blocked = ann.webhook("blocked", "custom.never", &url).await;
    let error = error_of(&blocked).await;
    assert!(error.contains("not an allowed target"), "{error}");
    assert_eq!(lines_of(&proxy).len(), 2);
}

#[tokio::test]
async fn names_that_the_proxy_resolves_are_not_checked_by_this_server() {
    let (proxy, receiver) = (TestProxy::start(false).await, TestReceiver::start().await);
    let authority = TestAuthority::new("private");
    let tls = TlsReceiver::start(&authority.server(&["localhost"])).await;
    let server = with_proxy(&proxy, "proxy_resolves = true").start().await;
    let ann = server.user("ann").await;
    let port = receiver.address().port();
    let url = format!("http://localhost:{port}/hook?a=b");
    let plain = ann.webhook("plain", "*", &url).await;
    let settings = json!({"url": tls.url("localhost", "/hook"), "ca": authority.pem()});
    ann.sink(json!({"name": "tls", "patterns": "*", "type": "webhook", "webhook": settings}))
        .await;
    ann.emit("a", json!({})).await;
    let one = receiver.wait_for("/hook?a=b", 1, SOON).await.remove(0);
    assert_eq!(one.header("host"), format!("localhost:{port}"));
    tls.wait_for(1, SOON).await;
    let lines = lines_of(&proxy);
    let connect = format!("CONNECT localhost:{} HTTP/1.1", tls.address().port());
    assert_eq!(lines, [connect, format!("POST {url} HTTP/1.1")]);
    let authorized = |one: &svc_testkit::ProxyRequest| {
        one.header("proxy-authorization") == "Basic dXM6ZXI6czNjcmV0"
    };
    assert!(proxy.requests().iter().all(authorized));
    // The guard still checks literal addresses.
    plain
        .patch(json!({"webhook": {"url": format!("http://127.0.0.1:{port}/hook"), "secret": null}}))
        .await;
    let error = error_of(&plain).await;
    assert!(error.contains("not an allowed target"), "{error}");
    assert_eq!(lines_of(&proxy).len(), 2);
}

#[tokio::test]
async fn a_refusing_or_unreachable_proxy_fails_the_attempt_and_its_address_is_not_shown() {
    let (proxy, receiver) = (TestProxy::start(true).await, TestReceiver::start().await);
    let server = with_proxy(&proxy, "allow = [\"127.0.0.1\"]").start().await;
    let ann = server.user("ann").await;
    let sink = ann.webhook("hook", "*", &receiver.url("/hook")).await;
    assert_eq!(error_of(&sink).await, "the proxy answered 403");
    let port = proxy.address().port().to_string();
    drop(proxy);
    let error = error_of(&sink).await;
    assert!(error.contains("cannot connect to the proxy"), "{error}");
    assert!(
        !error.contains(&port) && !error.contains("s3cret"),
        "{error}"
    );
    assert_eq!(receiver.connections(), 0);
    assert!(!server.log().contains("s3cret"), "{}", server.log());
}
