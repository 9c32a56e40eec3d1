//! Sources: other services send requests to a URL, and verified requests become events of the
//! owner.
//!
//! Parts: `service` manages sources, `settings` checks their settings. `receive` verifies a request
//! and emits its event, `trial` does the same with a test request that it signs itself. `tables` holds
//! the sources in memory, because every inbound request looks up a source, and counts their requests.
//!
//! Invariants: a request that is not verified never becomes an event and writes nothing to the
//! database. Secrets are encrypted at rest and never logged. Only a hash of the URL's secret is
//! stored. The owner's permission to emit is checked at each request. The resources that senders
//! can use are limited for each source, and are charged to its owner only.

mod receive;
mod service;
mod settings;
mod trial;

use std::sync::Arc;

use svc_clock::Clock;
use svc_core::Quotas;
use svc_pool::FairPool;
use svc_store::Store;

pub use self::{
    receive::{Inbound, ReceiveError, Received},
    service::CreatedSource,
};
use crate::{
    events::emit::Emitter, identity::Writer, metrics::Metrics, secrets::SecretKey,
    tables::SourceTable,
};

/// The service behind `/api/sources` and `/in`.
pub struct Sources {
    pub store: Store,
    pub writer: Writer,
    pub table: Arc<SourceTable>,
    pub events: Arc<Emitter>,
    /// Encrypts the secrets of sources.
    pub secrets: Arc<SecretKey>,
    pub compute: FairPool,
    pub metrics: Arc<Metrics>,
    /// The clock that signed times are compared with.
    pub clock: Clock,
    pub quotas: Quotas,
}
