//! TLS for the listener: rustls with ring, the only provider in the program.

use std::{path::PathBuf, sync::Arc};

use thiserror::Error;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{self, PemObject},
        },
    },
};

use crate::options::TlsFiles;

#[derive(Debug, Error)]
pub enum TlsError {
    #[error("cannot read the certificate `{}`", path.display())]
    Certificate { path: PathBuf, source: pem::Error },
    #[error("`{}` holds no certificate", path.display())]
    NoCertificate { path: PathBuf },
    #[error("cannot read the private key `{}`", path.display())]
    Key { path: PathBuf, source: pem::Error },
    #[error("cannot use the TLS certificate with its private key")]
    Config(#[from] rustls::Error),
}

pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let unreadable = |source| TlsError::Certificate {
        path: files.cert.clone(),
        source,
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate {
            path: files.cert.clone(),
        });
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|source| TlsError::Key {
        path: files.key.clone(),
        source,
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
