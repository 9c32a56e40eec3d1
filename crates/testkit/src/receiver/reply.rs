//! Responses of a receiver.

use std::time::Duration;

use tokio::{io::AsyncWriteExt, net::tcp::OwnedWriteHalf};

use super::{Reply, Shared};

/// Sends the reply that is set for the path. Returns whether the connection can take another
/// request.
pub(super) async fn answer(
    writer: &mut OwnedWriteHalf,
    path: &str,
    index: usize,
    shared: &Shared,
) -> bool {
    let mut replies = shared.replies.subscribe();
    let reply = replies
        .wait_for(|replies| !matches!(replies.get(path), Some(Reply::Hang)))
        .await
        .map(|replies| replies.get(path).cloned());
    let Ok(reply) = reply else { return false };
    match reply.unwrap_or(Reply::Status(200)) {
        Reply::Hang => unreachable!("`wait_for` skips this reply"),
        Reply::Status(status) => whole(writer, status, "", "", index, shared).await,
        Reply::Body(status, body) => whole(writer, status, "", &body, index, shared).await,
        Reply::After(while_, status) => {
            tokio::time::sleep(while_).await;
            whole(writer, status, "", "", index, shared).await
        }
        Reply::Redirect(to) => {
            let header = format!("location: {to}\r\n");
            whole(writer, 301, &header, "", index, shared).await
        }
        Reply::Close => false,
        Reply::CloseInBody => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly so much";
            let _ = writer.write_all(head.as_bytes()).await;
            false
        }
        Reply::Drip(interval) => drip(writer, interval).await,
        Reply::Huge(bytes) => huge(writer, bytes).await,
    }
}

async fn whole(
    writer: &mut OwnedWriteHalf,
    status: u16,
    headers: &str,
    body: &str,
    index: usize,
    shared: &Shared,
) -> bool {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    shared.end(index);
    writer.write_all(answer.as_bytes()).await.is_ok()
}

async fn drip(writer: &mut OwnedWriteHalf, interval: Duration) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
    let mut written = writer.write_all(head.as_bytes()).await;
    while written.is_ok() {
        tokio::time::sleep(interval).await;
        written = writer.write_all(b"x").await;
    }
    false
}

async fn huge(writer: &mut OwnedWriteHalf, bytes: usize) -> bool {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
    let mut written = writer.write_all(head.as_bytes()).await;
    let (part, mut left) = (vec![b'x'; 64 * 1024], bytes);
    while written.is_ok() && left > 0 {
        let now = left.min(part.len());
        written = writer.write_all(&part[..now]).await;
        left -= now;
    }
    written.is_ok()
}
