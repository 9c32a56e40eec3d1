//! Checks the key that encrypts stored secrets. With a wrong key the server does not start.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use svc_store::Tx;

use super::StartError;
use crate::{app::App, secrets::SecretOf};

/// A known text, stored encrypted to recognise the key.
const CHECK: &[u8] = b"svc";
const CHECK_NAME: &str = "secret_key_check";

/// Reports a wrong key at the start, not at the first delivery that cannot be signed. The new key
/// replaces the old one if nothing is encrypted yet, or if `accept_new_key` accepts the loss of the
/// stored secrets. In a zone, the first server that starts sets the key of the zone. This key is
/// replaced only with `accept_new_key`, even if nothing is encrypted yet.
pub(super) async fn check(app: &App, accept_new_key: bool) -> Result<(), StartError> {
    let secrets = app.event_sinks.deliverers.secrets.clone();
    let is_shared = app.store.is_shared();
    app.store
        .try_write(move |tx: &mut Tx<'_>| {
            let kept = svc_store::meta::find(tx, CHECK_NAME)?;
            let is_right = kept.as_ref().is_some_and(|kept| {
                let decoded = BASE64_STANDARD.decode(kept).unwrap_or_default();
                secrets
                    .open(SecretOf::KeyCheck, &decoded)
                    .is_ok_and(|text| text == CHECK)
            });
            if is_right {
                return Ok(());
            }
            if !accept_new_key && is_shared && kept.is_some() {
                return Err(StartError::OtherSecretKey);
            }
            let is_used = svc_store::sinks::any_secret(tx)?
                || svc_store::sources::any_secret(tx)?
                || svc_store::second_factors::any_secret(tx)?
                || svc_store::oidc::providers::any_secret(tx)?;
            if !accept_new_key && is_used {
                return Err(StartError::WrongSecretKey);
            }
            let encrypted = BASE64_STANDARD.encode(secrets.seal(SecretOf::KeyCheck, CHECK));
            Ok(svc_store::meta::set(tx, CHECK_NAME, &encrypted)?)
        })
        .await
}
