//! What only clients of MCP 2025-11-25 and before need: the version that `initialize` agreed on, and
//! the stream of list changes over `GET`.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use svc_client::{Answer, Reply};
use tokio::{task::AbortHandle, time::sleep};

use super::{
    listen::{End, LIST_CHANGED, notify, relay},
    log,
    relay::{BACKOFF, Bridge},
};

/// Empty for a modern client.
#[derive(Default)]
pub struct LegacyClient {
    /// The version that `initialize` agreed on.
    pub version: Option<String>,
    listener: Option<AbortHandle>,
}

#[derive(Deserialize)]
struct Initialized {
    result: InitializeResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
}

impl LegacyClient {
    /// Remembers the version in the answer to `initialize`, then opens the stream of list changes.
    pub fn begin(&mut self, answer: &str, bridge: &Arc<Bridge>) {
        let Ok(initialized) = serde_json::from_str::<Initialized>(answer) else {
            return;
        };
        self.version = Some(initialized.result.protocol_version);
        let listening = tokio::spawn(follow(Arc::clone(bridge)));
        if let Some(before) = self.listener.replace(listening.abort_handle()) {
            before.abort();
        }
    }

    pub fn end(&mut self) {
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
    }

    /// The headers of the stream.
    pub fn stream_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        let version = self.version.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(version)) = version {
            headers.insert("mcp-protocol-version", version);
        }
        headers
    }
}

/// Sends list changes to a legacy client, until the task is aborted or the server answers that it
/// has no such stream.
async fn follow(bridge: Arc<Bridge>) {
    let changed = format!(r#"{{"jsonrpc":"2.0","method":"{LIST_CHANGED}"}}"#);
    let mut delays = BACKOFF.delays();
    let mut was_interrupted = false;
    loop {
        let headers = bridge.stream_headers().await;
        let client = bridge.client.http();
        let within = client.policy().answer_timeout;
        let opening = client.send_for_reply(Method::GET, bridge.path, headers, None, within);
        let why = match opening.await {
            Ok(Reply::Stream(stream)) => {
                delays = BACKOFF.delays();
                if was_interrupted {
                    notify(&bridge, &changed).await;
                }
                match relay(&bridge, stream, true).await {
                    End::Lost(why) => why,
                    End::Response(_) => "the server sent a response without a request".to_owned(),
                }
            }
            Ok(Reply::Whole(answer)) if is_unsupported(&answer) => {
                return log("the server sends no list changes");
            }
            Ok(Reply::Whole(answer)) => client.problem(answer.status, &answer.body).to_string(),
            Err(error) => error.to_string(),
        };
        log(&format!("list changes are interrupted: {why}"));
        was_interrupted = true;
        sleep(delays.next_jittered()).await;
    }
}

/// Whether the server does not offer this stream.
fn is_unsupported(answer: &Answer) -> bool {
    matches!(
        answer.status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_ACCEPTABLE
    )
}
