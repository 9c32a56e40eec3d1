//! The egress proxy of the operator.
//!
//! By default, the server resolves the name, checks the address and asks the proxy with CONNECT for
//! a tunnel to this address. The server also does this for `http` URLs: for a request in absolute
//! form, the proxy would resolve the name again. An operator can let the proxy resolve names
//! instead. The proxy's own address is not checked, and never shown to an owner.

use svc_client::ProxyUrlError;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`webhooks.proxy` {0}")]
pub struct ProxyError(ProxyUrlError);

/// The proxy of the operator.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(super) at: svc_client::Proxy,
    /// Whether the proxy resolves names and decides which addresses may be reached.
    pub(super) resolves: bool,
}

impl Proxy {
    /// Parses `http://[user:password@]host[:port]`.
    pub fn parse(url: &str, resolves: bool) -> Result<Self, ProxyError> {
        let at = svc_client::Proxy::parse(url).map_err(ProxyError)?;
        Ok(Self { at, resolves })
    }
}
