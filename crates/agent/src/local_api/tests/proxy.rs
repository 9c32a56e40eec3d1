//! The server's API through the agent.

use super::*;
use crate::local_api::bind::bind_loopback;

#[tokio::test]
async fn the_proxy_adds_the_credential_and_keeps_the_bytes() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let mut request = vec![0; 4_000];
        let mut read = 0;
        while !request[..read].ends_with(b"{ }") {
            read += stream.read(&mut request[read..]).await.expect("reads");
        }
        let answer = "HTTP/1.1 418 Teapot\r\ncontent-type: application/x\r\ncontent-length: 9\r\nkeep-alive: 5\r\n\r\n{ \"b\":1 }";
        stream.write_all(answer.as_bytes()).await.expect("writes");
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), &format!("http://{address}/base")).await;
    let answer = agent.ask("POST", "/api/methods/call?x=1", "{ }").await;
    assert_eq!(status(&answer), 418);
    assert!(answer.ends_with("\r\n\r\n{ \"b\":1 }"), "{answer}");
    assert!(
        answer.contains("content-type: application/x\r\n"),
        "{answer}"
    );
    assert!(!answer.contains("keep-alive: 5"), "{answer}");
    let request = serving.await.expect("served");
    assert!(
        request.starts_with("POST /base/api/methods/call?x=1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer svc_agt_x\r\n"),
        "{request}"
    );
    assert!(
        request.contains(&format!("host: {address}\r\n")),
        "{request}"
    );
    agent.stop.cancel();
}

#[tokio::test]
async fn the_proxy_passes_an_event_stream_on_piece_by_piece() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let (sent, first_read) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.expect("reads");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let first = format!("{head}data: one\n\n");
        stream.write_all(first.as_bytes()).await.expect("writes");
        first_read.await.expect("the first was read");
        stream.write_all(b"data: two\n\n").await.expect("writes");
    });
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), &format!("http://{address}")).await;
    let client = svc_client::AgentClient::new(&agent.path).into_api();
    let mut events = client.event_stream(None).await.expect("opens");
    let mut next = async || loop {
        match events.next().await.expect("goes on") {
            svc_client::Received::Message(message) => break Some(message.data),
            svc_client::Received::KeepAlive => {}
            svc_client::Received::End => break None,
        }
    };
    assert_eq!(next().await.as_deref(), Some("one"));
    sent.send(()).expect("awaited");
    assert_eq!(next().await.as_deref(), Some("two"));
    assert_eq!(next().await, None);
    serving.await.expect("served");
    agent.stop.cancel();
}

#[tokio::test]
async fn the_proxy_refuses_an_ambiguous_answer() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let mut request = Vec::new();
        while !request.ends_with(b"{ }") {
            stream.read_buf(&mut request).await.expect("reads");
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\n\r\n{ }";
        stream.write_all(answer).await.expect("writes");
    });
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), &format!("http://{address}")).await;
    let answer = agent.ask("POST", "/api/methods/call", "{ }").await;
    assert_eq!(status(&answer), 503, "{answer}");
    let why = "is not valid HTTP/1.1: a line ends with LF alone";
    assert!(answer.contains(why), "{answer}");
    serving.await.expect("served");
    agent.stop.cancel();
}
