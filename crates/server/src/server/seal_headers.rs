//! Header values that an earlier version stored in clear are encrypted when the server starts; in a
//! zone, once no server of an earlier version is left.

use std::time::Duration;

use svc_store::StoreError;
use tracing::{info, warn};

use crate::{app::App, events::sealed_headers::seal_stored};

/// How often to look whether servers of an earlier version are gone.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Whether all is encrypted now.
pub(super) async fn try_once(app: &App) -> Result<bool, StoreError> {
    let deliverers = &app.event_sinks.deliverers;
    let (secrets, sealing) = (&deliverers.secrets, &deliverers.sealing);
    seal_stored(&app.store, secrets, sealing, app.server_id).await
}

/// Tries again until all is encrypted or the server stops.
pub(super) async fn run(app: App) {
    if app.event_sinks.deliverers.sealing.is_on() {
        return;
    }
    info!(
        "a server of an earlier version is in the zone: header values of webhooks stay in clear until it is gone"
    );
    // Twice: another server may have stored a value in clear until it looked for itself.
    let mut times = 0;
    while times < 2 {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.shutdown.cancelled() => return,
        }
        match try_once(&app).await {
            Ok(true) => times += 1,
            Ok(false) => times = 0,
            Err(error) => warn!("the header values of webhooks are not encrypted yet: {error}"),
        }
    }
    info!("the header values of webhooks are encrypted");
}
