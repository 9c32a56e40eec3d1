//! Secrets of webhooks: rotation of signing secrets, and encryption of signing secrets, header
//! values and client keys.

use serde_json::json;
use svc_core::{SinkId, webhook_secret};
use svc_protocol::api::{RotateSecret, SecretRotation, SinkType};
use svc_store::sinks::{self, SinkRow};

use super::{SinksService, audit, managed};
use crate::{
    events::{
        client_keys::{self, ClientKeyError},
        deliver::Deliverers,
        sealed_headers, sink_secrets,
    },
    identity::Caller,
    records::{RecordError, Result, overlap_end},
    secrets::{self, SinkSecret},
};

impl SinksService {
    /// Creates a new secret. Until the overlap ends, `webhook-signature` also contains a signature
    /// with the old secret.
    pub async fn rotate_secret(
        &self,
        caller: &Caller,
        id: SinkId,
        request: RotateSecret,
    ) -> Result<SecretRotation> {
        let previous_until = overlap_end(request.overlap_hours, svc_clock::now())?;
        let secret = secrets::new_webhook_secret();
        let (deliverers, new) = (self.deliverers.clone(), secret.clone());
        self.writer
            .change(caller, move |tx, caller| {
                let (_, mut row) = managed(tx, caller, id)?;
                if row.kind != SinkType::Webhook {
                    return Err(RecordError::new(
                        "conflict",
                        format!(
                            "sink `{}` is not a webhook; only webhooks have a secret",
                            row.name
                        ),
                    ));
                }
                let sealed = seal_signing_secret(&deliverers, &row, &new)?;
                row.previous_secret = row.secret.replace(sealed);
                row.previous_until = Some(previous_until);
                sinks::update(tx, &row)?;
                let detail = json!({"name": row.name, "previous_until": previous_until});
                audit(tx, caller, "event_sink.secret_rotated", &row, detail)?;
                Ok(())
            })
            .await?;
        self.hub.sinks_changed();
        Ok(SecretRotation {
            secret,
            previous_until,
        })
    }
}

/// Encrypts the signing key that a webhook secret contains. Only this sink can use the result, and
/// only for the origin of its URL.
pub(super) fn seal_signing_secret(
    deliverers: &Deliverers,
    row: &SinkRow,
    text: &str,
) -> Result<Vec<u8>> {
    let key = webhook_secret::decode(text)
        .map_err(|error| RecordError::new("invalid_secret", error.to_string()))?;
    Ok(sink_secrets::seal(
        &deliverers.secrets,
        row,
        SinkSecret::Signing,
        &key,
    ))
}

/// Sets the signing secret of a webhook whose URL has got another origin, and returns it. `given` is
/// the secret of the patch; without it, a new one is made. The old secret and its overlap end: they
/// were for the old receiver.
pub(super) fn replace_signing_secret(
    deliverers: &Deliverers,
    row: &mut SinkRow,
    given: Option<String>,
) -> Result<String> {
    let secret = given.unwrap_or_else(secrets::new_webhook_secret);
    row.secret = Some(seal_signing_secret(deliverers, row, &secret)?);
    (row.previous_secret, row.previous_until) = (None, None);
    Ok(secret)
}

/// Encrypts the key of a webhook's client certificate, and checks that it belongs to the
/// certificate.
pub(super) fn seal_client_key(deliverers: &Deliverers, row: &mut SinkRow) -> Result<()> {
    client_keys::seal(&deliverers.secrets, row).map_err(|error| match error {
        ClientKeyError::Secret(error) => {
            RecordError::new("conflict", format!("{error}; set `client_key` again"))
        }
        ClientKeyError::Settings(error) => RecordError::new("invalid_tls", error.to_string()),
    })
}

/// Encrypts the header values of a webhook. Fails if stored values cannot be decrypted, for example
/// because the key was lost.
pub(super) fn seal_headers(deliverers: &Deliverers, row: &mut SinkRow) -> Result<()> {
    sealed_headers::seal(&deliverers.secrets, row).map_err(|error| {
        RecordError::new(
            "conflict",
            format!("{error}; set the value of every header again"),
        )
    })
}
