//! Encrypts header values that an earlier version stored in plain text: when the server starts, or
//! in a zone once no server of an earlier version runs.

use std::time::Duration;

use svc_store::StoreError;
use tracing::{info, warn};

use crate::{app::App, events::sealed_headers::seal_stored};

/// Interval of checking for servers of an earlier version.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Tries to encrypt the stored values. Returns whether all are encrypted now.
pub(super) async fn try_once(app: &App) -> Result<bool, StoreError> {
    let deliverers = &app.event_sinks.deliverers;
    let (secrets, sealing) = (&deliverers.secrets, &deliverers.sealing);
    seal_stored(&app.store, secrets, sealing, app.server_id).await
}

/// Retries until all values are encrypted or the server stops.
pub(super) async fn run(app: App) {
    if app.event_sinks.deliverers.sealing.is_on() {
        return;
    }
    info!(
        "a server of an earlier version is in the zone: header values of webhooks stay in plain text until it stops"
    );
    // Twice: another server may store a value in plain text until it notices the change itself.
    let mut times = 0;
    while times < 2 {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.shutdown.cancelled() => return,
        }
        match try_once(&app).await {
            Ok(true) => times += 1,
            Ok(false) => times = 0,
            Err(error) => {
                warn!("cannot encrypt the header values of webhooks; will retry: {error}")
            }
        }
    }
    info!("the header values of webhooks are encrypted");
}
