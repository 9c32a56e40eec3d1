//! Rules of OAuth: which scopes an app may request, and which addresses may receive the answer.

mod document;
mod params;
mod redirect;
mod scopes;

pub use document::{REDIRECT_URIS_MAX, clean_name, host_of, read_document, usable_uris};
pub use params::{ParamError, Params};
pub use redirect::{REDIRECT_URI_MAX, RedirectError, RedirectUri};
pub use scopes::{OAuthScope, OAuthScopes};

use crate::text_enum::text_enum;

text_enum! {
    /// How an app became known to this server.
    ClientKind {
        /// A part of svc.
        Builtin = "builtin",
        /// The app's id is the address of a document that describes the app.
        Metadata = "metadata",
        /// The app registered itself. Its name is not verified.
        Registered = "registered",
        /// An administrator added the app.
        Manual = "manual",
    }
}

/// The number of characters of a PKCE verifier (RFC 7636).
pub const VERIFIER_LENGTH: std::ops::RangeInclusive<usize> = 43..=128;

/// Whether a text can be a PKCE verifier or challenge.
pub fn is_verifier(text: &str) -> bool {
    VERIFIER_LENGTH.contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_has_43_to_128_characters_of_the_unreserved_set() {
        for (length, is_accepted) in [
            (0, false),
            (42, false),
            (43, true),
            (128, true),
            (129, false),
        ] {
            assert_eq!(is_verifier(&"a".repeat(length)), is_accepted, "{length}");
        }
        let with = |text: &str| is_verifier(&format!("{text}{}", "a".repeat(43)));
        assert!(with("azAZ09-._~"));
        for refused in [" ", "+", "/", "=", "%", "é", "\n"] {
            assert!(!with(refused), "{refused}");
        }
    }
}
