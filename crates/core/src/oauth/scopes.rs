//! Scopes of grants. A grant lets an app act for a user. Empty [`Scopes`] mean no restriction;
//! scopes of a grant are never empty.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Scope, Scopes, text_enum::text_enum};

text_enum! {
    /// What an app may do for a user.
    #[derive(PartialOrd, Ord)]
    OAuthScope {
        /// List and call the user's methods.
        Methods = "methods",
        /// Use `/mcp`.
        Mcp = "mcp",
        /// Everything that an API token of the command line may do. Only for the app `svc-cli`.
        Cli = "cli",
    }
}

/// At least one scope, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OAuthScopes(Vec<OAuthScope>);

impl OAuthScopes {
    /// The scopes of the command line.
    pub fn command_line() -> Self {
        Self(vec![OAuthScope::Cli])
    }

    /// The known scopes in a request, or `mcp` if there are none. Apps also request scopes of other
    /// servers (`openid`, `offline_access`); these are ignored. A request never gives `cli`.
    pub fn choose(requested: &str) -> Self {
        let known = requested
            .split(' ')
            .filter_map(OAuthScope::parse)
            .filter(|scope| *scope != OAuthScope::Cli);
        Self::sorted(known.collect()).unwrap_or(Self(vec![OAuthScope::Mcp]))
    }

    /// Parses the text that [`Display`](fmt::Display) writes. `None` if a scope is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let scopes: Option<Vec<_>> = text.split(' ').map(OAuthScope::parse).collect();
        Self::sorted(scopes?)
    }

    fn sorted(mut scopes: Vec<OAuthScope>) -> Option<Self> {
        scopes.sort_unstable();
        scopes.dedup();
        (!scopes.is_empty()).then_some(Self(scopes))
    }

    pub fn contains(&self, scope: OAuthScope) -> bool {
        self.0.contains(&scope)
    }

    /// The scopes that [`choose`](Self::choose) takes from a request; `None` if `self` lacks one of
    /// them.
    pub fn narrow(&self, requested: &str) -> Option<Self> {
        let asked = Self::choose(requested);
        asked
            .0
            .iter()
            .all(|scope| self.contains(*scope))
            .then_some(asked)
    }

    /// The routes that a token with these scopes reaches. `None` for the command line, which gets
    /// an API token instead.
    pub fn routes(&self) -> Option<Scopes> {
        let scopes: Option<Vec<_>> = self
            .0
            .iter()
            .map(|scope| match scope {
                OAuthScope::Methods => Some(Scope::Methods.as_str()),
                OAuthScope::Mcp => Some(Scope::Mcp.as_str()),
                OAuthScope::Cli => None,
            })
            .collect();
        Scopes::parse(&scopes?).ok()
    }
}

impl fmt::Display for OAuthScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|scope| scope.as_str()).collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_always_has_a_scope_and_a_request_never_gives_the_command_line() {
        for (requested, chosen) in [
            ("", "mcp"),
            ("mcp", "mcp"),
            ("openid profile offline_access", "mcp"),
            ("mcp methods mcp", "methods mcp"),
            ("methods", "methods"),
            ("cli", "mcp"),
            ("cli methods", "methods"),
            ("MCP", "mcp"),
        ] {
            let scopes = OAuthScopes::choose(requested);
            assert_eq!(scopes.to_string(), chosen, "{requested}");
            let routes = scopes.routes().expect("routes");
            assert!(!routes.as_slice().is_empty(), "{requested}");
            assert_eq!(OAuthScopes::parse(chosen), Some(scopes));
        }
        assert_eq!(OAuthScopes::command_line().routes(), None);
        for bad in ["", "mcp  methods", "x"] {
            assert_eq!(OAuthScopes::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_refresh_may_ask_for_less_and_never_for_more() {
        let both = OAuthScopes::choose("mcp methods");
        let mcp = OAuthScopes::choose("mcp");
        assert_eq!(both.narrow("mcp"), Some(mcp.clone()));
        assert_eq!(both.narrow("mcp offline_access"), Some(mcp.clone()));
        assert_eq!(mcp.narrow("mcp methods"), None);
        assert_eq!(OAuthScopes::choose("methods").narrow("mcp"), None);
    }
}
