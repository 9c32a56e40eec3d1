//! Why a request failed. The texts are for the user who chose the host, and deliveries store them.
//! They never contain the address behind a name, which may belong to the operator's internal
//! network: the fields `address` are for the log.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
};

use svc_client::TlsSettingsError;
use svc_protocol::http_answer::AnswerError;

use super::url::UrlError;

#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Tls(#[from] TlsSettingsError),
    #[error("the name `{host}` does not resolve: {why}")]
    Resolve { host: String, why: String },
    /// No address of the host is permitted.
    #[error(
        "`{host}` is not an allowed target: its address is not globally routable; an administrator can allow it in `webhooks.allow`"
    )]
    Blocked { host: String, address: IpAddr },
    #[error("cannot connect to `{host}`, port {port}: {why}")]
    Connect {
        host: String,
        port: u16,
        address: SocketAddr,
        why: String,
    },
    #[error("TLS with `{host}` fails: {why}")]
    Handshake { host: String, why: String },
    /// Only the log contains the address of the proxy.
    #[error(
        "cannot connect to the proxy of this server; an administrator can see why in the server's log"
    )]
    Proxy,
    #[error("the user or password of the proxy is not valid")]
    ProxyCredential,
    /// Why there is no tunnel through the proxy.
    #[error("{0}")]
    Tunnel(String),
    #[error("the credential has characters that HTTP does not allow")]
    Credential,
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error(transparent)]
    Start(hyper::Error),
    #[error("no answer: {why}")]
    NoAnswer {
        why: String,
        /// The connection failed, or the receiver refused the request, before an answer arrived.
        /// Then the request may be sent once more.
        may_repeat: bool,
    },
    #[error("the answer is not valid HTTP/1.1: {0}")]
    InvalidAnswer(AnswerError),
    #[error("the answer broke off: {0}")]
    BrokenAnswer(String),
    #[error("the answer has more than {0} bytes")]
    LongAnswer(usize),
    /// After this number of seconds.
    #[error("no complete answer within {0} s")]
    TimedOut(u64),
    #[error("the answer is {0}")]
    Status(u16),
    #[error("the document has more than {0} bytes")]
    LongDocument(usize),
}

/// The innermost cause of an error. It describes what happened; the outer errors only describe
/// where.
pub(super) fn innermost_cause(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
