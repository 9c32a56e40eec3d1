//! Streams of list changes: `subscriptions/listen`, and the parts that `legacy` also uses. A lost
//! stream is opened again. The list may have changed in between, so the client then gets a
//! list-changed notification.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use svc_client::{EventStream, Received, Reply};
use tokio::time::{sleep, timeout};

use super::{
    log,
    message::{FromServer, Message},
    relay::{BACKOFF, Bridge},
};

pub const LIST_CHANGED: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// Three heartbeat intervals of the server. A stream that brings no byte for this long is lost.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// How a stream ended.
pub enum End {
    Lost(String),
    /// The server's last message: the response to the subscription.
    Response(String),
}

/// Keeps a subscription of a modern client open, until the server refuses to open or to reopen it.
/// The client then gets the response that the server sent at the end of the last stream. If there
/// is no such response, the client gets the refusal.
pub async fn subscribe(bridge: &Arc<Bridge>, message: Message) {
    let id = message.id.as_deref().unwrap_or("null");
    let changed = format!(
        r#"{{"jsonrpc":"2.0","method":"{LIST_CHANGED}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    );
    let mut delays = BACKOFF.delays();
    // The response that the server sent at the end of the last stream.
    let mut last_response: Option<String> = None;
    let mut was_open = false;
    loop {
        let headers = bridge.headers(&message).await;
        let why = match bridge.post(&message, headers).await {
            Ok(Reply::Stream(stream)) => {
                delays = BACKOFF.delays();
                if was_open {
                    notify(bridge, &changed).await;
                }
                let end = relay(bridge, stream, was_open).await;
                was_open = true;
                match end {
                    End::Lost(why) => why,
                    End::Response(response) => {
                        last_response = Some(response);
                        "the server ended the stream".to_owned()
                    }
                }
            }
            Ok(Reply::Whole(answer)) if !may_pass(answer.status) => {
                return match last_response {
                    Some(response) => {
                        bridge.settle(&message).await;
                        bridge.write(response.as_bytes()).await;
                    }
                    None => bridge.relay_answer(&message, &answer).await,
                };
            }
            Ok(Reply::Whole(answer)) => {
                let problem = bridge.client.http().problem(answer.status, &answer.body);
                problem.to_string()
            }
            Err(error) => error.to_string(),
        };
        log(&format!("list changes are interrupted: {why}"));
        sleep(delays.next_jittered()).await;
    }
}

/// Relays a stream to its end. With `is_again`, the acknowledgement of the subscription is not
/// relayed: the client already has it.
pub async fn relay(bridge: &Bridge, mut stream: EventStream, is_again: bool) -> End {
    loop {
        let message = match timeout(SILENCE_MAX, stream.next()).await {
            Err(_) => return End::Lost(format!("no heartbeat for {SILENCE_MAX:?}")),
            Ok(Err(error)) => return End::Lost(error.to_string()),
            Ok(Ok(Received::End)) => return End::Lost("the server ended the stream".to_owned()),
            Ok(Ok(Received::KeepAlive)) => continue,
            Ok(Ok(Received::Message(message))) => message.data,
        };
        match FromServer::of(&message) {
            FromServer::Response => return End::Response(message),
            FromServer::Notification(method) if method == ACKNOWLEDGED && is_again => {}
            FromServer::Notification(method) => {
                if method == LIST_CHANGED {
                    bridge.forget_schemas().await;
                }
                bridge.write(message.as_bytes()).await;
            }
            FromServer::Other => log("ignores a message of the server that is not JSON-RPC"),
        }
    }
}

pub async fn notify(bridge: &Bridge, changed: &str) {
    bridge.forget_schemas().await;
    bridge.write(changed.as_bytes()).await;
}

/// Whether a later attempt may succeed: the server is busy, restarting or behind a failing proxy.
fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}
