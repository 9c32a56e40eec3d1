//! The configured host names that a loopback listener accepts.

/// Host names that a loopback listener accepts in addition to those of this machine.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts {
    /// Lowercase, with or without a port.
    names: Vec<String>,
    any: bool,
}

impl AllowedHosts {
    /// `public` is the authority of the public URL. Its host is accepted with any port.
    pub fn new(public: Option<&str>, allowed: &[String]) -> Self {
        let public = public.map(|public| split_port(public).0);
        Self {
            names: public
                .into_iter()
                .chain(allowed.iter().map(String::as_str))
                .map(str::to_ascii_lowercase)
                .collect(),
            any: allowed.iter().any(|name| name == "*"),
        }
    }

    pub fn contains(&self, host: &str) -> bool {
        let is = |name: &String| {
            name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(split_port(host).0)
        };
        self.any || self.names.iter().any(is)
    }
}

/// Splits `name:80` into `name` and `80`.
pub fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}
