//! The Unix socket: its permissions and its answers.

use std::os::unix::fs::PermissionsExt;

use svc_protocol::registration_file::FILE_BYTES_MAX;
use tokio::net::{UnixListener, UnixStream};

use super::*;
use crate::local_api::{
    serve::CONNECTIONS_MAX,
    socket::{default_socket_path, socket_name},
};

#[tokio::test]
async fn the_socket_is_private_answers_requests_and_explains_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), "http://127.0.0.1:1").await;
    let mode = std::fs::metadata(&agent.path)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        agent
            .ask("GET", "/status", "")
            .await
            .contains(r#""linked":false"#)
    );
    let file = r#"{"path":"/x/m.toml","text":""}"#;
    let wrong = r#"{"path":"/x/m.py","registration":{"server":{"command":"x","timeout":"1"}}}"#;
    // Every byte of the largest file may need an escape of six characters.
    let escaped = "\\u0001".repeat(FILE_BYTES_MAX);
    let large = format!(r#"{{"path":"/x/m.toml","text":"{escaped}"}}"#);
    let too_large = "x".repeat(6 * FILE_BYTES_MAX + 64 * 1024 + 1);
    let cases = [
        ("POST", "/registration", file, 503, "not_linked"),
        ("POST", "/registration", large.as_str(), 503, "not_linked"),
        (
            "POST",
            "/registration",
            too_large.as_str(),
            413,
            "the body of a registration may have at most 25231360 bytes",
        ),
        (
            "POST",
            "/registration",
            wrong,
            422,
            "the registration is wrong: `server.timeout`: expected a whole number from 0 to 4294967295, not the text `1`",
        ),
        (
            "POST",
            "/registration",
            r#"{"path":"/x/m.py","registration":{"server":{"command":"x"},"methods":[{"name":"a"}]}}"#,
            422,
            "the registration is wrong: `methods[0]`: method `a`: missing field `description`",
        ),
        ("POST", "/registration", "{}", 400, "invalid_request"),
        ("POST", "/registration", "{", 400, "invalid_request"),
        (
            "DELETE",
            "/registration?local_name=x",
            "",
            503,
            "not_linked",
        ),
        ("GET", "/api/spaces", "", 503, "server_unreachable"),
        ("POST", "/event", r#"{"type":"a"}"#, 503, "not_linked"),
        ("POST", "/event", r#"{"type":"a b"}"#, 400, "invalid_event"),
        ("GET", "/other", "", 404, "not_found"),
    ];
    for (method, path, body, expected, code) in cases {
        let answer = agent.ask(method, path, body).await;
        assert_eq!(status(&answer), expected, "{method} {path}\n{answer}");
        assert!(answer.contains(code), "{method} {path}\n{answer}");
    }
    assert_eq!(status(&agent.ask("POST", "/stop", "").await), 202);
    assert!(agent.shutdown.is_cancelled());
    let path = agent.path.clone();
    agent.stop.cancel();
    agent.serving.await.expect("ends");
    drop(agent._file);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_broken_body_is_not_reported_as_too_large() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), "http://127.0.0.1:1").await;
    let mut stream = UnixStream::connect(&agent.path).await.expect("connects");
    let request = "POST /api/methods/call HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n";
    stream.write_all(request.as_bytes()).await.expect("writes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("reads");
    assert_eq!(status(&answer), 400, "{answer}");
    assert!(
        answer.contains("the body did not arrive completely"),
        "{answer}"
    );
    agent.stop.cancel();
}

#[tokio::test]
async fn clients_beyond_the_limit_wait_until_a_connection_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), "http://127.0.0.1:1").await;
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = UnixStream::connect(&agent.path).await.expect("connects");
        let request = b"GET /status HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.expect("writes");
        stream.read_u8().await.expect("an answer");
        idle.push(stream);
    }
    let waiting = agent.ask("GET", "/status", "");
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(early.is_err(), "served although the limit is reached");
    idle.pop();
    assert_eq!(status(&waiting.await), 200);
    agent.stop.cancel();
}

#[tokio::test]
async fn a_stale_socket_is_replaced_but_a_socket_in_use_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sock");
    drop(UnixListener::bind(&path).expect("binds"));
    assert!(path.exists(), "left behind");
    let (_listener, file) = SocketFile::bind(&path).await.expect("replaces it");
    let error = SocketFile::bind(&path).await.expect_err("it is in use");
    assert!(matches!(error, SocketError::InUse(_)), "{error}");
    assert!(path.exists());
    drop(file);
    std::fs::write(&path, "text").expect("written");
    let error = SocketFile::bind(&path).await.expect_err("a file");
    assert!(matches!(error, SocketError::NotASocket(_)), "{error}");
    let long = folder.path().join("x".repeat(120));
    let error = SocketFile::bind(&long).await.expect_err("too long");
    assert!(matches!(error, SocketError::TooLong(_)), "{error}");
}

#[test]
fn a_deep_folder_gets_a_short_socket_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("d".repeat(100));
    let path = default_socket_path(&deep).expect("a path");
    assert!(path.as_os_str().len() <= 100, "{}", path.display());
    assert!(!path.starts_with(&deep));
    assert_eq!(path, default_socket_path(&deep).expect("a path"));
    let name = socket_name(Path::new("/home/ann/lab"));
    assert_eq!(name, "7f147621b21ec57f.sock", "the same in every version");
}
