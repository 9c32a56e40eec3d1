//! Answers that two programs can read differently, and answers that only look like them.

use super::*;

/// A client's list of groups, if the server sends these bytes.
async fn groups(bytes: String) -> Result<api::Groups, Error> {
    let fake = FakeServer::start(vec![bytes]).await;
    fake.client().list(&api::PageQuery::default(), &()).await
}

/// A head with these headers after the status line, and the body.
fn sized(headers: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n{GROUPS}")
}

/// A chunked answer whose first chunk has this size line, and that ends with `end`.
fn chunked(size: &str, end: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size}{GROUPS}\r\n{end}")
}

#[tokio::test]
async fn an_ambiguous_answer_is_refused_with_the_reason() {
    let length = GROUPS.len();
    let size = format!("{length:x}");
    let long = "x".repeat(5_000);
    for (bytes, why) in [
        (
            sized(&format!("content-length: {length}\n")),
            "a line ends with LF alone",
        ),
        (
            sized(&format!("content-length: {length}\r\nx: a\rb\r\n")),
            "contains CR that is not followed by LF",
        ),
        (
            sized(&format!("content-length: {length}\r\nx: a\r\n b\r\n")),
            "a header continues on the next line",
        ),
        (
            sized(&format!("content-length : {length}\r\n")),
            "the header `content-length` has white space before its colon",
        ),
        (
            sized(&format!(
                "content-length: {length}\r\ncontent-length: 1\r\n"
            )),
            "two different values of `Content-Length`",
        ),
        (
            chunked(&format!("{size}\r\n"), "0\r\n\r\n").replace(
                "transfer-encoding",
                &format!("content-length: {length}\r\ntransfer-encoding"),
            ),
            "it has both `Content-Length` and `Transfer-Encoding`",
        ),
        (
            chunked(&format!("{size}\r\n"), "0\r\n\r\n").replace("chunked", "gzip, chunked"),
            "`Transfer-Encoding: gzip, chunked` is not supported",
        ),
        (
            chunked(&format!("{size} \r\n"), "0\r\n\r\n"),
            "has white space",
        ),
        (
            chunked(&format!("{size};{long}\r\n"), "0\r\n\r\n"),
            "its chunk extensions have more than 4096 bytes",
        ),
        (
            chunked(&format!("{size}\r\n"), "0\r\nx : y\r\n\r\n"),
            "the header `x` has white space before its colon",
        ),
        (
            format!("\r\n{}", sized(&format!("content-length: {length}\r\n"))),
            "does not begin with a status line",
        ),
    ] {
        let error = groups(bytes.clone()).await.expect_err(&bytes);
        let text = error.to_string();
        assert!(matches!(error, Error::Unreachable { .. }), "{text}");
        assert!(text.contains("not valid HTTP/1.1"), "{bytes:?}: {text}");
        assert!(text.contains(why), "{bytes:?}: {text}");
    }
}

#[tokio::test]
async fn bytes_after_a_complete_answer_do_not_matter() {
    let length = GROUPS.len();
    for bytes in [
        sized(&format!("content-length: {length}\r\n")) + "\r\n",
        chunked(&format!("{length:x};a=b\r\n"), "0\r\nx: y\r\n\r\n") + "\n",
        format!("HTTP/1.1 200 OK\r\n\r\n{GROUPS}\n"),
    ] {
        let read = groups(bytes.clone()).await.expect(&bytes);
        assert!(read.groups.is_empty());
    }
}

#[tokio::test]
async fn an_answer_to_head_has_a_length_and_no_body() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_owned();
    let fake = FakeServer::start(vec![head, answer("200 OK", "", GROUPS)]).await;
    let client = fake.client();
    for _ in 0..2 {
        let answer = client.send(Method::HEAD, "/api/groups", None).await;
        assert!(answer.expect("answered").body.is_empty());
    }
    // A connection of its own for each request.
    assert_eq!(fake.connections.load(Ordering::SeqCst), 2);
}
