//! Documents that describe apps. The `client_id` of such an app is the address of its document, so
//! the owner of that address decides what the document says.

use std::{net::IpAddr, time::Duration};

use svc_core::{Timestamp, oauth::read_document};
use tokio::time::timeout;

use super::{OAuth, error::OAuthError, take};

/// The maximum size of a document.
const DOCUMENT_BYTES_MAX: usize = 5 * 1024;
/// How long a request waits for a free slot to read a document.
const TURN_TIME: Duration = Duration::from_secs(2);
/// A document is read again after its cache time. These are the limits of the cache time.
const FRESH_MIN: Duration = Duration::from_secs(5 * 60);
const FRESH_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An app as its document describes it.
pub struct Document {
    pub name: String,
    pub redirect_uris: Vec<String>,
    pub fresh_until: Timestamp,
}

impl OAuth {
    /// Fetches the document of an app. `asking` is the address of the client that caused this; the
    /// number of documents that are read for one address is limited.
    pub(super) async fn read_document(
        &self,
        client_id: &str,
        asking: IpAddr,
    ) -> Result<Document, OAuthError> {
        take(&self.documents, asking)?;
        let unreadable = |why: &str| {
            let text = format!("the document of the app, `{client_id}`, cannot be used: {why}");
            OAuthError::invalid_client(text)
        };
        // If slow documents hold every slot, other requests fail soon instead of waiting.
        let turn = timeout(TURN_TIME, self.reading.acquire()).await;
        let _turn =
            turn.map_err(|_| unreadable("too many documents of apps are being read; try again"))?;
        let fetched = self.outbound.fetch(client_id, DOCUMENT_BYTES_MAX).await;
        let fetched = fetched.map_err(|error| unreadable(&error.to_string()))?;
        let (name, redirect_uris) =
            read_document(client_id, &fetched.body).map_err(|why| unreadable(&why))?;
        let age = fetched.max_age.unwrap_or(FRESH_MAX);
        let age = age.clamp(FRESH_MIN, FRESH_MAX);
        Ok(Document {
            name,
            redirect_uris,
            fresh_until: self.clock.now().plus(age),
        })
    }
}
