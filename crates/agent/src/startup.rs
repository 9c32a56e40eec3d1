//! Startup registration: waits for the link, registers the file once, and never stops the agent
//! (spec 4.3).

use std::{path::PathBuf, sync::Arc};

use svc_protocol::agent_api::RegisterFile;
use tokio::sync::watch;

use crate::{
    link::LinkStatus,
    log::SpaceLog,
    registration::{Registrar, RegistrationError},
};

pub async fn register_once(
    file: PathBuf,
    registrar: Arc<Registrar>,
    mut link: watch::Receiver<LinkStatus>,
    log: Arc<SpaceLog>,
) {
    let path = file.display().to_string();
    loop {
        if link.wait_for(|status| status.link.is_some()).await.is_err() {
            return;
        }
        let text = match tokio::fs::read_to_string(&file).await {
            Ok(text) => text,
            Err(error) => return failed(&log, &path, &error.to_string()),
        };
        let registering = registrar.register(RegisterFile {
            path: path.clone(),
            text,
            replace_conflicting: false,
        });
        match registering.await {
            Ok(registered) => {
                for warning in &registered.warnings {
                    tracing::warn!("{warning}");
                }
                return;
            }
            // The server has not decided yet: this is still the first time.
            Err(RegistrationError::NotLinked(_) | RegistrationError::LinkLost) => {}
            Err(error) => return failed(&log, &path, &error.to_string()),
        }
    }
}

fn failed(log: &SpaceLog, path: &str, error: &str) {
    log.agent_error(&format!(
        "the methods file `{path}` was not registered\n{error}"
    ));
}
