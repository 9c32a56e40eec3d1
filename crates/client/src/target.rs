//! The address of a server or an agent: `http://`, `https://`, or a Unix socket.

mod list;

pub use list::first_address;

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use http::Uri;
use thiserror::Error;
use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    client::danger::ServerCertVerifier,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer,
        pem::{self, PemObject},
    },
};

use crate::{
    certificates::Verifier,
    proxy::{self, Proxy, ProxyVariableError},
};

#[derive(Debug, Error)]
pub enum TargetError {
    #[error("`{url}` is not a server address: {why}; it looks like `http://127.0.0.1:12200`")]
    NotAnAddress { url: String, why: String },
    #[error("cannot read the CA file `{path}`: {why}")]
    CaFile { path: String, why: String },
    #[error("no trusted certificate authorities were found on this machine; set a CA file")]
    NoRoots,
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error(transparent)]
    Proxy(#[from] ProxyVariableError),
    #[error("address {number} of `{list}` is empty; addresses are separated by single commas")]
    EmptyAddress { number: usize, list: String },
    #[error("`{0}` is named twice; name each server once")]
    SameAddress(String),
    #[error(
        "`{url}` is address {number} of {count}; at most {most} servers may be named",
        number = list::ADDRESSES_MAX + 1,
        most = list::ADDRESSES_MAX
    )]
    TooManyAddresses { url: String, count: usize },
}

/// The address of an HTTP server, with everything needed to connect to it.
#[derive(Clone)]
pub struct Target {
    pub(crate) address: Address,
    /// The proxy through which the address is reached.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// The path before the paths of the API, without a slash at its end: for a server behind a
    /// reverse proxy that has other services too. Usually empty.
    base_path: String,
}

#[derive(Clone)]
pub enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    Tls {
        host: String,
        port: u16,
        config: Arc<ClientConfig>,
    },
    Unix {
        path: PathBuf,
    },
}

impl Target {
    /// Parses `http://host[:port][/base]` or `https://…`. `extra_ca` is a PEM file of authorities
    /// that are trusted in addition to the machine's own. The proxy is read from the environment
    /// variables of the process.
    pub fn parse(url: &str, extra_ca: Option<&Path>) -> Result<Self, TargetError> {
        let target = Self::parse_with(url, || Ok(Arc::new(tls_config(extra_ca)?)))?;
        target.through_proxy()
    }

    /// Checks the form of an address. The certificate authorities and proxies of this machine do
    /// not matter.
    pub fn check(url: &str) -> Result<(), TargetError> {
        let plain = match url.strip_prefix("https://") {
            Some(rest) => format!("http://{rest}"),
            None => url.to_owned(),
        };
        Self::parse_with(&plain, || Err(TargetError::NoRoots)).map(drop)
    }

    /// Parses the address of another server of the same zone. The new target uses the TLS settings
    /// of this target. If this target has none, new TLS settings are created.
    pub fn parse_beside(&self, url: &str, extra_ca: Option<&Path>) -> Result<Self, TargetError> {
        let target = Self::parse_with(url, || match &self.address {
            Address::Tls { config, .. } => Ok(Arc::clone(config)),
            Address::Tcp { .. } | Address::Unix { .. } => Ok(Arc::new(tls_config(extra_ca)?)),
        })?;
        target.through_proxy()
    }

    fn through_proxy(mut self) -> Result<Self, TargetError> {
        let (Address::Tcp { host, port } | Address::Tls { host, port, .. }) = &self.address else {
            return Ok(self);
        };
        let read = |name: &str| std::env::var(name).ok();
        let proxy = proxy::find(self.is_tls(), host, *port, read)?;
        self.proxy = proxy.map(Arc::new);
        Ok(self)
    }

    /// The server of this machine, at the address that it listens on. Its certificate is for a
    /// public name and not for this address, so any certificate is accepted: never send a
    /// credential.
    pub fn of_own_server(address: SocketAddr, tls: bool) -> Result<Self, TargetError> {
        let scheme = if tls { "https" } else { "http" };
        Self::parse_with(&format!("{scheme}://{address}"), || {
            let provider = svc_crypto::tls::provider();
            let verifier = Arc::new(Verifier::of_any_certificate(&provider));
            Ok(Arc::new(config_with(provider, verifier)?))
        })
    }

    /// Calls `tls` only for an `https` address.
    fn parse_with(
        url: &str,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, TargetError>,
    ) -> Result<Self, TargetError> {
        let refuse = |why: &str| TargetError::NotAnAddress {
            url: without_secrets(url),
            why: why.to_owned(),
        };
        let uri: Uri = url
            .parse()
            .map_err(|_| refuse("write it like `https://example.com`"))?;
        let scheme = uri
            .scheme_str()
            .ok_or_else(|| refuse("it must begin with `http://` or `https://`"))?;
        let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("it must not contain a user name or password"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(refuse("it must not have a query or a fragment"));
        }
        let host = authority.host().to_owned();
        if host.is_empty() {
            return Err(refuse("it names no host"));
        }
        let port = authority.as_str().strip_prefix(&host);
        let port = port.and_then(|port| port.strip_prefix(':'));
        let port: Option<u16> = port
            .filter(|port| !port.is_empty())
            .map(|port| port.parse())
            .transpose()
            .map_err(|_| refuse("the port must be a number from 0 to 65535"))?;
        let address = match scheme {
            "http" => Address::Tcp {
                host,
                port: port.unwrap_or(80),
            },
            "https" => Address::Tls {
                host,
                port: port.unwrap_or(443),
                config: tls()?,
            },
            _ => return Err(refuse("only `http` and `https` are supported")),
        };
        Ok(Self {
            address,
            proxy: None,
            base_path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self {
            address: Address::Unix { path: path.into() },
            proxy: None,
            base_path: String::new(),
        }
    }

    /// What the user can do if the proxy does not reach the target. `None` without a proxy.
    pub(crate) fn proxy_remedy(&self) -> Option<String> {
        let remedy = "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names the proxy; servers in NO_PROXY are reached directly";
        self.proxy.is_some().then(|| remedy.to_owned())
    }

    pub fn is_tls(&self) -> bool {
        matches!(self.address, Address::Tls { .. })
    }

    /// The value of the `Host` header.
    pub fn host_header(&self) -> String {
        match &self.address {
            Address::Tcp { host, port: 80 }
            | Address::Tls {
                host, port: 443, ..
            } => host.clone(),
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => {
                format!("{host}:{port}")
            }
            Address::Unix { .. } => "localhost".to_owned(),
        }
    }

    /// The path of a request: the base path and one of the API's paths.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base_path)
    }

    /// The whole URL of one of the API's paths.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.is_tls() { "https" } else { "http" };
        format!("{scheme}://{}{}{path}", self.host_header(), self.base_path)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Unix { path } => path.display().fmt(f),
            Address::Tcp { .. } | Address::Tls { .. } => f.write_str(&self.url("")),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

/// A URL for messages, without its user name, password, query and fragment: the query of a setup
/// link and the fragment of a sign-in link hold a token.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(end) => url.split_at(end + "://".len()),
        None => ("", url),
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (shown, hidden) = rest.split_at(end);
    // The part before the last `@` may be a password, even if it contains a `/`, `?` or `#`.
    match shown.rfind('@') {
        Some(at) => format!("{scheme}…{}", &shown[at..]),
        None if hidden.contains('@') => format!("{scheme}…"),
        None => format!("{scheme}{shown}"),
    }
}

/// TLS settings that trust the machine's own certificate authorities, and those of a PEM file.
pub fn tls_config(extra_ca: Option<&Path>) -> Result<ClientConfig, TargetError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let named = extra_ca.map_or(Ok(Vec::new()), read_ca_file)?;
    roots.add_parsable_certificates(named.iter().cloned());
    if roots.is_empty() {
        return Err(TargetError::NoRoots);
    }
    let provider = svc_crypto::tls::provider();
    let verifier = Verifier::new(Arc::new(roots), named, provider.clone());
    config_with(provider, Arc::new(verifier))
}

fn config_with(
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<ClientConfig, TargetError> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The certificates of a PEM file. Fails if the file has none, or if one of them is damaged.
pub(crate) fn read_ca_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let fail = |why: String| TargetError::CaFile {
        path: path.display().to_string(),
        why,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| match error {
            pem::Error::Io(error) => fail(error.to_string()),
            _ => fail("it is not PEM: a section has no end, or is not base64".to_owned()),
        })?;
    if certificates.is_empty() {
        return Err(fail(
            "it has no section `-----BEGIN CERTIFICATE-----`; a key or a DER file is not enough"
                .to_owned(),
        ));
    }
    for (index, certificate) in certificates.iter().enumerate() {
        let mut scratch = RootCertStore::empty();
        scratch.add(certificate.clone()).map_err(|_| {
            let number = index + 1;
            fail(format!("certificate {number} is damaged"))
        })?;
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_their_default_ports_and_base_paths() {
        let check = |url: &str, host: &str, path: &str| {
            let target = Target::parse(url, None).expect(url);
            assert_eq!(target.host_header(), host, "{url}");
            assert_eq!(target.path("/api/x"), path, "{url}");
        };
        check("http://127.0.0.1:12200", "127.0.0.1:12200", "/api/x");
        check("http://127.0.0.1:12200/", "127.0.0.1:12200", "/api/x");
        check("http://example.com", "example.com", "/api/x");
        check("http://[::1]:8080", "[::1]:8080", "/api/x");
        check("http://example.com/svc/", "example.com", "/svc/api/x");
    }

    #[test]
    fn wrong_addresses_are_refused_without_repeating_secrets() {
        for url in [
            "",
            "127.0.0.1:12200",
            "/api",
            "ftp://x",
            "http://host:65536",
            "http://host:port",
            "http://[::1]:122000",
            "http://host/setup?token=svc_set_1",
            "http://host/sign-in#svc_set_1",
            "http://host/sign-in#svc@svc_set_1",
            "http://ann:svc_set_1@host",
            "http://svc_set_1@host",
            "ann:svc_set_1@host",
            // Passwords with a character that must be escaped in a URL.
            "http://ann:svc_set_1/@host",
            "http://ann:svc_set_1@x@host",
            "http://ann:svc_set_1?@host",
            "http://ann:svc_set_1#x@host?y",
        ] {
            let error = Target::parse(url, None).expect_err(url).to_string();
            assert!(!error.contains("svc_set_1"), "{error}");
        }
    }

    #[test]
    fn messages_name_the_host_without_the_password() {
        let check = |url: &str, expected: &str| assert_eq!(without_secrets(url), expected);
        check("http://host/setup?token=x", "http://host/setup");
        check("http://ann:x@host:81/base", "http://…@host:81/base");
        check("ann:x@host", "…@host");
        check("http://ann:x?@host", "http://…");
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_refused() {
        let file = std::env::temp_dir().join(format!("svc-client-ca-{}", std::process::id()));
        std::fs::write(&file, "nothing").expect("writable");
        let error = Target::parse("https://localhost", Some(&file)).expect_err("no certificate");
        std::fs::remove_file(&file).expect("removable");
        assert!(matches!(error, TargetError::CaFile { .. }), "{error}");
    }
}
