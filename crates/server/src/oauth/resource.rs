//! Resources: the services for which a token is valid (RFC 8707).

/// Query of `/mcp` that some clients keep in the resource.
const SEARCH: &str = "?tools=search";

/// A resource of this server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource(String);

impl Resource {
    /// Parses a resource as a client writes it; `None` if it is not a resource of this server.
    /// Scheme and host may be in upper case, and slashes at the end are ignored.
    pub fn parse(text: &str, issuer: &str) -> Option<Self> {
        let (start, rest) = text.split_at_checked(issuer.len())?;
        let path = rest.trim_end_matches('/');
        (start.eq_ignore_ascii_case(issuer) && ["", "/mcp", "/mcp?tools=search"].contains(&path))
            .then(|| Self(format!("{issuer}{path}").replace(SEARCH, "")))
    }

    /// The resource for a client that does not name one.
    pub fn default_of(issuer: &str) -> Self {
        Self(mcp_resource(issuer, false))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The address of `/mcp`.
pub fn mcp_resource(issuer: &str, is_search: bool) -> String {
    let query = if is_search { SEARCH } else { "" };
    format!("{issuer}/mcp{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_resources_of_this_server_are_accepted() {
        let issuer = "https://svc.example:8443";
        for (text, expected) in [
            ("https://svc.example:8443/mcp", Some("/mcp")),
            ("https://svc.example:8443/mcp/", Some("/mcp")),
            ("HTTPS://SVC.example:8443/mcp", Some("/mcp")),
            ("https://svc.example:8443/mcp?tools=search", Some("/mcp")),
            ("https://svc.example:8443", Some("")),
            ("https://svc.example:8443/", Some("")),
            ("https://svc.example:8443/MCP", None),
            ("https://svc.example:8443/api", None),
            ("https://svc.example:84433/mcp", None),
            ("https://svc.example:8443.evil.test/mcp", None),
            ("https://other.example/mcp", None),
            ("", None),
            ("ä", None),
        ] {
            let found = Resource::parse(text, issuer).map(|found| found.0);
            let expected = expected.map(|path| format!("{issuer}{path}"));
            assert_eq!(found, expected, "{text}");
        }
        let default = Resource::default_of(issuer);
        assert_eq!(default.as_str(), "https://svc.example:8443/mcp");
    }
}
