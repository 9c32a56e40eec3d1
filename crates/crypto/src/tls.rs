//! The cryptography of TLS. Every TLS configuration names this provider explicitly, so that another
//! provider in the dependency graph has no effect.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
