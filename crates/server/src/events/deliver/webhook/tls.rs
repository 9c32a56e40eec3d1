//! The limits of the TLS settings of a webhook.

use svc_client::{TlsSettings, TlsSettingsError, check_tls_settings};
use svc_protocol::api::WebhookConfig;
use thiserror::Error;

const CA_BYTES_MAX: usize = 64 * 1024;
const CERTIFICATE_BYTES_MAX: usize = 32 * 1024;
const KEY_BYTES_MAX: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsOptionsError {
    #[error("`{field}` has {bytes} bytes; at most {max} are allowed")]
    TooLong {
        field: &'static str,
        bytes: usize,
        max: usize,
    },
    #[error("`{0}` needs a URL that begins with `https://`")]
    NotHttps(&'static str),
    #[error("`client_certificate` and `client_key` need each other; set both, or neither")]
    OneOfTwo,
    #[error(transparent)]
    Settings(#[from] TlsSettingsError),
}

/// Checks the settings of a webhook. Whether the key belongs to the certificate is checked when the
/// key is encrypted.
pub fn check_tls_options(url: &str, options: &WebhookConfig) -> Result<(), TlsOptionsError> {
    let texts = [
        ("ca", &options.ca, CA_BYTES_MAX),
        (
            "client_certificate",
            &options.client_certificate,
            CERTIFICATE_BYTES_MAX,
        ),
        ("client_key", &options.client_key, KEY_BYTES_MAX),
    ];
    let is_https = url
        .get(..8)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    for (field, text, max) in texts {
        let Some(text) = text else { continue };
        if !is_https {
            return Err(TlsOptionsError::NotHttps(field));
        }
        if text.len() > max {
            let bytes = text.len();
            return Err(TlsOptionsError::TooLong { field, bytes, max });
        }
    }
    if options.http2 && !is_https {
        return Err(TlsOptionsError::NotHttps("http2"));
    }
    if options.client_certificate.is_some() != options.client_key.is_some() {
        return Err(TlsOptionsError::OneOfTwo);
    }
    let ca = options.ca.as_deref();
    check_tls_settings(TlsSettings {
        ca,
        ..TlsSettings::default()
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_settings_require_https_and_have_limits() {
        let check = |url: &str, options: WebhookConfig| {
            let error = check_tls_options(url, &options).expect_err("refused");
            error.to_string()
        };
        let plain = WebhookConfig::default();
        assert_eq!(check_tls_options("http://x", &plain), Ok(()));
        let with_http2 = WebhookConfig {
            http2: true,
            ..WebhookConfig::default()
        };
        assert_eq!(check_tls_options("HTTPS://x/", &with_http2), Ok(()));
        assert!(check("http://x/", with_http2).contains("`http2` needs a URL"));
        let with_ca = |ca: &str| WebhookConfig {
            ca: Some(ca.to_owned()),
            ..WebhookConfig::default()
        };
        assert!(check("http://x/", with_ca("x")).contains("`ca` needs"));
        assert!(check("https://x/", with_ca("x")).contains("BEGIN CERTIFICATE"));
        let long = "x".repeat(CA_BYTES_MAX + 1);
        assert!(check("https://x/", with_ca(&long)).contains("65537 bytes"));
        let half = WebhookConfig {
            client_certificate: Some("x".to_owned()),
            ..WebhookConfig::default()
        };
        assert!(check("https://x/", half).contains("need each other"));
    }
}
