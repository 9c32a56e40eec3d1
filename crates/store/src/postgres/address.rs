//! `postgres://…`: the address of the database, and how its certificate is verified.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use svc_core::host;
use thiserror::Error;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

#[derive(Debug, Error)]
pub enum AddressError {
    #[error(
        "the database URL is not valid: {0}; the form is postgres://user:password@host:5432/database"
    )]
    Invalid(String),
    #[error(
        "sslmode `{0}` is not supported; use `verify-full` (also written `require`), or `disable` on a network you trust"
    )]
    SslMode(String),
    #[error(transparent)]
    Tls(#[from] svc_client::TargetError),
}

/// The address of a PostgreSQL database. Shown without its password.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// One for each host, in the order of the URL.
    pub(super) hosts: Vec<Config>,
    pub(super) tls: Option<MakeRustlsConnect>,
    display: String,
    has_options: bool,
}

impl DatabaseUrl {
    /// Parses a URL. Without `sslmode`, the connection is encrypted and the certificate verified,
    /// unless the database is on this machine. `sslrootcert` names a file with the certificate
    /// authority.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(AddressError::Invalid(
                "it does not begin with postgres://".to_owned(),
            ));
        }
        let TlsOptions {
            mode,
            authority,
            rest,
        } = TlsOptions::take(url);
        let mut config = Config::from_str(&rest)
            .map_err(|error| AddressError::Invalid(super::error::text(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(AddressError::Invalid("it names no host".to_owned()));
        }
        if config.get_user().is_none() {
            return Err(AddressError::Invalid("it names no user".to_owned()));
        }
        check_counts(&config)?;
        let encrypted = match mode.as_deref() {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            None => {
                let addresses = config.get_hostaddrs();
                !(config.get_hosts().iter().all(is_this_machine)
                    && addresses.iter().all(std::net::IpAddr::is_loopback))
            }
            Some(other) => return Err(AddressError::SslMode(other.to_owned())),
        };
        let has_options = config.get_options().is_some() || config.get_application_name().is_some();
        if config.get_application_name().is_none() {
            config.application_name("svc");
        }
        config
            // Of several hosts, use the one that accepts writes: a standby may be behind.
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(super::CONNECT_MAX)
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(1))
            .keepalives_retries(3)
            // Not shorter: while a statement waits for a lock, the database does not read from the
            // connection.
            .tcp_user_timeout(super::ANSWER_MAX)
            .ssl_mode(if encrypted {
                SslMode::Require
            } else {
                SslMode::Disable
            });
        let tls = encrypted
            .then(|| svc_client::tls_config(authority.as_deref()))
            .transpose()?
            .map(|mut tls| {
                tls.alpn_protocols = vec![b"postgresql".to_vec()];
                MakeRustlsConnect::new(tls)
            });
        Ok(Self {
            display: display_url(&config),
            has_options,
            hosts: (0..config.get_hosts().len())
                .map(|index| with_one_host(&config, index))
                .collect(),
            tls,
        })
    }

    /// Whether the URL has `options` or an `application_name`.
    pub(super) fn has_options(&self) -> bool {
        self.has_options
    }
}

/// Checks that there are as many addresses as hosts, or none, and as many ports as hosts, or at
/// most one for all hosts.
fn check_counts(config: &Config) -> Result<(), AddressError> {
    let hosts = config.get_hosts().len();
    let (addresses, ports) = (config.get_hostaddrs().len(), config.get_ports().len());
    for (what, found, is_valid) in [
        ("hostaddr", addresses, addresses == 0 || addresses == hosts),
        ("port", ports, ports <= 1 || ports == hosts),
    ] {
        if !is_valid {
            return Err(AddressError::Invalid(format!(
                "it has {found} values of `{what}` for {hosts} hosts"
            )));
        }
    }
    Ok(())
}

/// The same options, with only one of the hosts. If a host accepts a connection but does not
/// answer, the next host must be tried, and the driver cannot limit the time for each host.
fn with_one_host(all: &Config, index: usize) -> Config {
    let mut one = Config::new();
    match &all.get_hosts()[index] {
        Host::Tcp(name) => one.host(name),
        Host::Unix(path) => one.host_path(path),
    };
    if let Some(address) = all.get_hostaddrs().get(index) {
        one.hostaddr(*address);
    }
    one.port(port_of(all, index));
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = all.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .target_session_attrs(all.get_target_session_attrs());
    one
}

fn port_of(config: &Config, index: usize) -> u16 {
    let ports = config.get_ports();
    ports.get(index).or(ports.first()).copied().unwrap_or(5432)
}

/// `host:port`, for messages.
pub(super) fn display_host(config: &Config, index: usize) -> String {
    let port = port_of(config, index);
    match &config.get_hosts()[index] {
        Host::Tcp(name) => format!("{name}:{port}"),
        Host::Unix(path) => format!("{}:{port}", path.display()),
    }
}

/// The TLS options of a URL, and the URL without them: the driver does not support all of them.
struct TlsOptions {
    mode: Option<String>,
    authority: Option<PathBuf>,
    rest: String,
}

impl TlsOptions {
    fn take(url: &str) -> Self {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut authority, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => authority = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        let rest = match rest.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", rest.join("&")),
        };
        Self {
            mode,
            authority,
            rest,
        }
    }
}

fn is_this_machine(host: &Host) -> bool {
    match host {
        // A name server may resolve a name below `localhost` to another machine.
        Host::Tcp(name) => match host::Host::parse(name) {
            Some(host::Host::Name(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(address) => address.is_loopback(),
            None => false,
        },
        Host::Unix(_) => true,
    }
}

fn display_url(config: &Config) -> String {
    let hosts: Vec<_> = (0..config.get_hosts().len())
        .map(|index| display_host(config, index))
        .collect();
    format!(
        "postgres://{}@{}/{}",
        config.get_user().unwrap_or_default(),
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

/// Never shows the password.
impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url = DatabaseUrl::parse("postgres://ann:s3cret@127.0.0.1:5433/svc").expect("valid");
        assert_eq!(url.to_string(), "postgres://ann@127.0.0.1:5433/svc");
        assert!(!format!("{url:?}").contains("s3cret"));
        let error = DatabaseUrl::parse("postgres://ann:s3cret@127.0.0.1:x/svc").expect_err("port");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn connections_to_other_machines_use_tls_unless_it_is_disabled() {
        for (url, encrypted) in [
            ("postgres://a@localhost/b", false),
            ("postgres://a@[::1]/b", false),
            ("postgres://a@LOCALHOST/b", false),
            ("postgres://a@db.localhost/b", true),
            ("postgres://a@localhost.db.example/b", true),
            ("postgres://a@/b?host=/run/postgresql", false),
            ("postgres://a@db.example/b", true),
            ("postgres://a@localhost,db.example/b", true),
            ("postgres://a@localhost/b?hostaddr=10.0.0.5", true),
            ("postgres://a@db.example/b?sslmode=disable", false),
            ("postgres://a@localhost/b?sslmode=verify-full", true),
        ] {
            let parsed = DatabaseUrl::parse(url).expect(url);
            assert_eq!(parsed.tls.is_some(), encrypted, "{url}");
        }
    }

    #[test]
    fn each_host_keeps_its_port_and_all_options() {
        let url = "postgres://ann:s3cret@127.0.0.1:5433,127.0.0.2:5434/svc?options=-cjit%3Doff";
        let parsed = DatabaseUrl::parse(url).expect("valid");
        assert_eq!(
            parsed.to_string(),
            "postgres://ann@127.0.0.1:5433,127.0.0.2:5434/svc"
        );
        let hosts: Vec<_> = parsed
            .hosts
            .iter()
            .map(|host| display_host(host, 0))
            .collect();
        assert_eq!(hosts, ["127.0.0.1:5433", "127.0.0.2:5434"]);
        for host in &parsed.hosts {
            assert_eq!(host.get_hosts().len(), 1);
            assert_eq!(host.get_user(), Some("ann"));
            assert_eq!(host.get_password(), Some(b"s3cret".as_slice()));
            assert_eq!(host.get_dbname(), Some("svc"));
            assert_eq!(host.get_options(), Some("-cjit=off"));
            assert_eq!(
                host.get_target_session_attrs(),
                TargetSessionAttrs::ReadWrite
            );
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        for url in [
            "sqlite:x",
            "postgres://",
            "postgres://localhost/b",
            "postgres://a@localhost/b?sslmode=maybe",
            "postgres://a@localhost,localhost/b?hostaddr=127.0.0.1",
            "postgres://a@x,y,z/b?port=1,2",
            "postgres://a@localhost/b?sslrootcert=/nowhere.pem&sslmode=require",
        ] {
            DatabaseUrl::parse(url).expect_err(url);
        }
    }
}
