//! Scopes of *tokens*: which routes a token may reach (spec 5.3-5.8).

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text_enum::text_enum;

text_enum! {
    /// A part of the HTTP interface that a token can be limited to.
    #[derive(PartialOrd, Ord)]
    Scope {
        Methods = "methods",
        Mcp = "mcp",
    }
}

impl Scope {
    /// Whether this scope opens a route. Routes that are not named here stay closed.
    fn opens(self, method: &str, path: &str) -> bool {
        match self {
            Self::Methods => matches!(
                (method, path),
                ("GET" | "HEAD", "/api/methods") | ("POST", "/api/methods/call")
            ),
            Self::Mcp => path == "/mcp",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("scope `{0}` does not exist; the scopes are `methods` and `mcp`")]
pub struct UnknownScope(pub String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Self::parse(text).ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

/// The scopes of a token. An empty list means unrestricted (spec 5.4).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    pub const UNRESTRICTED: Self = Self(Vec::new());

    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownScope> {
        let mut scopes = names
            .iter()
            .map(|name| name.as_ref().parse())
            .collect::<Result<Vec<_>, _>>()?;
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Self(scopes))
    }

    pub fn as_slice(&self) -> &[Scope] {
        &self.0
    }

    /// Whether a token with these scopes reaches a route (spec 5.5).
    pub fn permit(&self, method: &str, path: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|scope| scope.opens(method, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_4_s5_scoped_tokens_reach_exactly_their_routes() {
        let check = |scopes: &[&str], method, path, expected| {
            let scopes = Scopes::parse(scopes).expect("known scopes");
            assert_eq!(
                scopes.permit(method, path),
                expected,
                "{scopes:?} {method} {path}"
            );
        };
        check(&[], "DELETE", "/api/users/1", true);
        check(&["methods"], "GET", "/api/methods", true);
        check(&["methods"], "HEAD", "/api/methods", true);
        check(&["methods"], "POST", "/api/methods/call", true);
        check(&["methods"], "POST", "/api/methods", false);
        check(&["methods"], "GET", "/api/methods/call", false);
        check(&["methods"], "GET", "/api/methods/", false);
        check(&["methods"], "POST", "/mcp", false);
        check(&["methods"], "GET", "/api/spaces", false);
        check(&["mcp"], "POST", "/mcp", true);
        check(&["mcp"], "GET", "/mcp", true);
        check(&["mcp"], "POST", "/mcp/x", false);
        check(&["mcp"], "POST", "/api/methods/call", false);
        check(&["methods", "mcp"], "POST", "/mcp", true);
        check(&["methods", "mcp"], "GET", "/nowhere", false);
    }

    #[test]
    fn s2_4_unknown_scopes_are_refused_by_name() {
        assert_eq!(
            Scopes::parse(&["events"]),
            Err(UnknownScope("events".into()))
        );
        assert_eq!(
            Scopes::parse(&["mcp", "mcp"]).expect("known").as_slice(),
            [Scope::Mcp]
        );
    }
}
