//! TLS for the listener. The files of the certificate are read again when they change.

mod reload;

use std::{path::PathBuf, sync::Arc};

use parking_lot::RwLock;
use thiserror::Error;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{self, PemObject},
        },
        server::{ClientHello, ResolvesServerCert},
        sign::CertifiedKey,
    },
};

pub use self::reload::Reloader;
use crate::options::TlsFiles;

#[derive(Debug, Error)]
pub enum TlsError {
    #[error("cannot read the certificate `{}`", path.display())]
    Certificate { path: PathBuf, source: pem::Error },
    #[error("`{}` holds no certificate", path.display())]
    NoCertificate { path: PathBuf },
    #[error("cannot read the private key `{}`", path.display())]
    Key { path: PathBuf, source: pem::Error },
    #[error("`{}` is not the private key of the certificate `{}`", key.display(), cert.display())]
    OtherKey { cert: PathBuf, key: PathBuf },
    #[error("cannot use the certificate `{}` with the private key `{}`", cert.display(), key.display())]
    Unusable {
        cert: PathBuf,
        key: PathBuf,
        source: rustls::Error,
    },
    #[error("TLS cannot be set up")]
    Config(#[from] rustls::Error),
}

/// The certificate that new connections get.
#[derive(Debug)]
struct ServedCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

/// Accepts TLS connections with the certificate of these files. Changed files are used only while
/// the [`Reloader`] runs.
pub fn acceptor(files: &TlsFiles) -> Result<(TlsAcceptor, Reloader), TlsError> {
    let reloader = Reloader::new(files)?;
    let mut config = ServerConfig::builder_with_provider(svc_crypto::tls::provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(reloader.served());
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), reloader))
}

/// Reads a certificate chain and a private key. The key must belong to the certificate.
fn read(files: &TlsFiles) -> Result<Arc<CertifiedKey>, TlsError> {
    let TlsFiles { cert, key } = files;
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| TlsError::Certificate {
            path: cert.clone(),
            source,
        })?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: cert.clone() });
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Key {
        path: key.clone(),
        source,
    })?;
    let (cert, key) = (cert.clone(), key.clone());
    CertifiedKey::from_der(chain, private, &svc_crypto::tls::provider())
        .map(Arc::new)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::OtherKey { cert, key },
            source => TlsError::Unusable { cert, key, source },
        })
}
