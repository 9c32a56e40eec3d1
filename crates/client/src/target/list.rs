//! Several addresses in one setting: the servers of a zone.

use std::path::Path;

use super::{Target, TargetError, tls_config, without_secrets};

/// The maximum number of addresses in one setting.
pub(super) const ADDRESSES_MAX: usize = 16;

impl Target {
    /// Parses one address or several, separated by commas. See [`Target::parse`].
    pub fn parse_list(list: &str, extra_ca: Option<&Path>) -> Result<Vec<Self>, TargetError> {
        let urls: Vec<_> = list.split(',').map(str::trim).collect();
        if let Some(url) = urls.get(ADDRESSES_MAX) {
            return Err(TargetError::TooManyAddresses {
                url: without_secrets(url),
                count: urls.len(),
            });
        }
        // The machine's certificate authorities are loaded once for all addresses.
        let mut tls = None;
        let mut targets: Vec<Self> = Vec::with_capacity(urls.len());
        for (index, url) in urls.iter().enumerate() {
            if url.is_empty() && urls.len() > 1 {
                let shown: Vec<_> = urls.iter().map(|url| without_secrets(url)).collect();
                return Err(TargetError::EmptyAddress {
                    number: index + 1,
                    list: shown.join(","),
                });
            }
            let target = Self::parse_with(url, || match &tls {
                Some(tls) => Ok(std::sync::Arc::clone(tls)),
                None => Ok(tls.insert(tls_config(extra_ca)?.into()).clone()),
            })?;
            if targets.iter().any(|known| known.is_same_address(&target)) {
                return Err(TargetError::SameAddress(target.to_string()));
            }
            targets.push(target.through_proxy()?);
        }
        Ok(targets)
    }

    /// Parses the first address of a list, for programs that use one server only.
    pub fn parse_first(list: &str, extra_ca: Option<&Path>) -> Result<Self, TargetError> {
        Self::parse(first_address(list), extra_ca)
    }

    pub fn is_same_address(&self, other: &Self) -> bool {
        self.is_tls() == other.is_tls()
            && self
                .host_header()
                .eq_ignore_ascii_case(&other.host_header())
            && self.base_path == other.base_path
    }
}

pub fn first_address(list: &str) -> &str {
    list.split(',').next().unwrap_or(list).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_or_several_are_read_in_their_order() {
        let check = |list: &str, expected: &[&str]| {
            let targets = Target::parse_list(list, None).expect(list);
            let urls: Vec<_> = targets.iter().map(Target::to_string).collect();
            assert_eq!(urls, expected, "{list}");
            let first = Target::parse_first(list, None).expect(list);
            assert_eq!(first.to_string(), expected[0], "{list}");
        };
        check("http://a", &["http://a"]);
        check("http://b , http://a:81/x/", &["http://b", "http://a:81/x"]);
        // Addresses with different ports or paths are different.
        check("http://a/x,http://a/X", &["http://a/x", "http://a/X"]);
        check("http://a, http://a:81", &["http://a", "http://a:81"]);
    }

    #[test]
    fn invalid_lists_are_rejected_with_the_address_in_the_message() {
        let check = |list: &str, expected: &str| {
            let error = Target::parse_list(list, None).expect_err(list).to_string();
            assert!(error.contains(expected), "{list}: {error}");
            assert!(!error.contains("svc_set_1"), "{error}");
        };
        check("", "`` is not a server address");
        check("http://a,", "address 2 of `http://a,` is empty");
        check("http://a, ,http://b", "address 2 of");
        check("http://a,b", "`b` is not a server address");
        check("http://a,http://A:80/", "`http://A` is named twice");
        check("https://a,https://a:443", "`https://a` is named twice");
        check("http://a,http://b?token=svc_set_1", "`http://b` is not");
        check(
            "http://a,,http://u:svc_set_1@b,http://c?svc_set_1,http://d",
            "address 2 of `http://a,,http://…@b,http://c,http://d` is empty",
        );
        let many = |count: usize| {
            let urls: Vec<_> = (1..=count).map(|n| format!("http://s{n}")).collect();
            urls.join(",")
        };
        assert!(Target::parse_list(&many(16), None).is_ok());
        check(
            &many(18),
            "`http://s17` is address 17 of 18; at most 16 servers",
        );
    }
}
