//! TLS to hosts that a user chose, such as webhooks: trusted authorities, the client's certificate,
//! and the protocols that are offered.

use std::sync::Arc;

use svc_crypto::tls;
use thiserror::Error;
use tokio_rustls::rustls::{
    self, ClientConfig, InconsistentKeys, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

use crate::certificates::Verifier;

/// The maximum number of certificates in one PEM text.
const CERTIFICATES_MAX: usize = 50;

/// The TLS settings that a user chose. All texts are PEM.
#[derive(Clone, Copy, Default, Debug)]
pub struct TlsSettings<'a> {
    /// The only authorities that are trusted; if absent, those of this machine.
    pub ca: Option<&'a str>,
    /// The client's certificate with its chain, and its key.
    pub identity: Option<(&'a str, &'a str)>,
    /// Whether HTTP/2 is offered in addition to HTTP/1.1.
    pub http2: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsSettingsError {
    #[error("the CA bundle {0}")]
    Ca(String),
    #[error("the client certificate {0}")]
    Certificate(String),
    /// The message does not show the key.
    #[error(
        "the client key is not a private key: it must be PEM, not encrypted, of RSA, ECDSA (P-256, P-384) or Ed25519"
    )]
    Key,
    #[error("the client key does not belong to the client certificate")]
    Mismatch,
    #[error(
        "no trusted certificate authorities were found on the server's machine; set a CA bundle"
    )]
    NoRoots,
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// Creates TLS configurations. The certificate authorities of the machine are read once.
pub struct TlsConfigs {
    roots: Arc<RootCertStore>,
    /// The configuration for [`TlsSettings::default`].
    plain: Result<Arc<ClientConfig>, TlsSettingsError>,
}

impl Default for TlsConfigs {
    fn default() -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let roots = Arc::new(roots);
        let plain = make(Arc::clone(&roots), Vec::new(), TlsSettings::default());
        Self {
            roots,
            plain: plain.map(Arc::new),
        }
    }
}

impl TlsConfigs {
    pub fn get(&self, settings: TlsSettings<'_>) -> Result<Arc<ClientConfig>, TlsSettingsError> {
        let config = match settings {
            TlsSettings {
                ca: None,
                identity: None,
                http2: false,
            } => return self.plain.clone(),
            TlsSettings { ca: Some(ca), .. } => {
                let (roots, named) = read_ca(ca)?;
                make(Arc::new(roots), named, settings)
            }
            TlsSettings { ca: None, .. } => make(Arc::clone(&self.roots), Vec::new(), settings),
        };
        config.map(Arc::new)
    }
}

/// Checks settings before they are stored.
pub fn check_tls_settings(settings: TlsSettings<'_>) -> Result<(), TlsSettingsError> {
    settings.ca.map(read_ca).transpose()?;
    settings.identity.map(read_identity).transpose()?;
    Ok(())
}

fn make(
    roots: Arc<RootCertStore>,
    named: Vec<CertificateDer<'static>>,
    settings: TlsSettings<'_>,
) -> Result<ClientConfig, TlsSettingsError> {
    if roots.is_empty() {
        return Err(TlsSettingsError::NoRoots);
    }
    let failed = |error: rustls::Error| TlsSettingsError::Tls(error.to_string());
    let provider = tls::provider();
    let verifier = Verifier::new(roots, named, provider.clone());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match settings.identity {
        Some(identity) => {
            let (chain, key) = read_identity(identity)?;
            let builder = builder.with_client_auth_cert(chain, key);
            builder.map_err(failed)?
        }
        None => builder.with_no_client_auth(),
    };
    if settings.http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(config)
}

/// Returns the certificates of a CA bundle as trusted authorities and as a list.
fn read_ca(pem: &str) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsSettingsError> {
    let certificates = read_certificates(pem).map_err(TlsSettingsError::Ca)?;
    let mut roots = RootCertStore::empty();
    for (index, certificate) in certificates.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|_| {
            TlsSettingsError::Ca(format!("is damaged: see its certificate {}", index + 1))
        })?;
    }
    Ok((roots, certificates))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_identity((chain, key): (&str, &str)) -> Result<Identity, TlsSettingsError> {
    let chain = read_certificates(chain).map_err(TlsSettingsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| TlsSettingsError::Key)?;
    CertifiedKey::from_der(chain.clone(), key.clone_key(), &tls::provider()).map_err(|error| {
        match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsSettingsError::Mismatch
            }
            rustls::Error::InvalidCertificate(_) => {
                TlsSettingsError::Certificate("is damaged".to_owned())
            }
            _ => TlsSettingsError::Key,
        }
    })?;
    Ok((chain, key))
}

fn read_certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| "is not PEM: a section has no end, or is not base64".to_owned())?;
    match certificates.len() {
        0 => Err("has no section `-----BEGIN CERTIFICATE-----`".to_owned()),
        1..=CERTIFICATES_MAX => Ok(certificates),
        count => Err(format!(
            "has {count} certificates; at most {CERTIFICATES_MAX} are allowed"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/fixtures/");
        std::fs::read_to_string(format!("{folder}{name}")).expect("a fixture")
    }

    #[test]
    fn settings_are_checked_before_they_are_used() {
        let (ca, certificate) = (fixture("ca.pem"), fixture("cert.pem"));
        let (key, other_key) = (fixture("key.pem"), fixture("self-signed-key.pem"));
        let check = |ca: Option<&str>, identity| {
            check_tls_settings(TlsSettings {
                ca,
                identity,
                http2: false,
            })
        };
        assert_eq!(check(Some(&ca), Some((&certificate, &key))), Ok(()));
        let mismatch = check(None, Some((&certificate, &other_key)));
        assert_eq!(mismatch, Err(TlsSettingsError::Mismatch));
        assert_eq!(
            check(None, Some((&certificate, &certificate))),
            Err(TlsSettingsError::Key)
        );
        let many = ca.repeat(CERTIFICATES_MAX + 1);
        for bad in ["", "x", &key, &ca[..ca.len() / 2], &many] {
            let error = check(Some(bad), None).expect_err("refused");
            assert!(matches!(error, TlsSettingsError::Ca(_)), "{error}");
            let error = check(None, Some((bad, &key))).expect_err("refused");
            assert!(matches!(error, TlsSettingsError::Certificate(_)), "{error}");
        }
    }

    #[test]
    fn http2_is_offered_only_on_request_and_before_http1() {
        let ca = fixture("ca.pem");
        let offered = |http2| {
            let settings = TlsSettings {
                ca: Some(&ca),
                identity: None,
                http2,
            };
            let config = TlsConfigs::default().get(settings).expect("valid");
            config.alpn_protocols.clone()
        };
        assert_eq!(offered(false), [b"http/1.1".to_vec()]);
        assert_eq!(offered(true), [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }
}
