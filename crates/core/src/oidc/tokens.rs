//! Checks the claims of the tokens that a provider issues (OpenID Connect Core 3.1.3.7,
//! Back-Channel Logout 2.6).

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::claims::Claims;
use crate::Timestamp;

/// How far the clocks of the provider and of this server may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// A logout token is accepted for at most this long after it was issued.
pub const LOGOUT_TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The maximum number of bytes of `sub`, `sid` and `jti`; the standard allows 255 for `sub`.
const SUBJECT_MAX: usize = 255;
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The issuer and the client that a token must name, and the current time.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedToken<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub now: Timestamp,
}

/// The user who signed in, and the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdTokenSubject {
    pub sub: String,
    /// The session at the provider.
    pub sid: Option<String>,
}

/// The sessions that a logout token ends: the session `sid`, or without `sid` all sessions of
/// `sub`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogoutSubject {
    pub sub: Option<String>,
    pub sid: Option<String>,
    pub jti: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TokenError {
    #[error("the token has no valid `{0}`")]
    Missing(&'static str),
    #[error("the token is from the issuer `{found}`, not from `{expected}`")]
    Issuer { found: String, expected: String },
    #[error("the token is for `{found}`, not for `{expected}`; compare the client id")]
    Audience { found: String, expected: String },
    #[error("the token expired; compare the clocks of the provider and of this server")]
    Expired,
    #[error("the token is from the future; compare the clocks of the provider and of this server")]
    Future,
    #[error("the token belongs to another sign-in: its `nonce` differs")]
    Nonce,
    #[error("a token for logout must not have a `nonce`")]
    NonceInLogout,
    #[error("the token is not a token for logout: it has no `events` with `{LOGOUT_EVENT}`")]
    NotLogout,
}

/// Checks the claims of an id_token.
pub fn check_id_token(
    claims: &Claims,
    expected: ExpectedToken<'_>,
    nonce: &str,
) -> Result<IdTokenSubject, TokenError> {
    check_origin(claims, expected)?;
    let expires = time(claims, "exp").ok_or(TokenError::Missing("exp"))?;
    if expires.plus(CLOCK_SKEW) <= expected.now {
        return Err(TokenError::Expired);
    }
    if claims.get("nonce").and_then(Value::as_str) != Some(nonce) {
        return Err(TokenError::Nonce);
    }
    let sub = subject(claims, "sub").ok_or(TokenError::Missing("sub"))?;
    let sid = subject(claims, "sid");
    Ok(IdTokenSubject { sub, sid })
}

/// Checks the claims of a token for back-channel logout. The caller checks that its `jti` is new.
pub fn check_logout_token(
    claims: &Claims,
    expected: ExpectedToken<'_>,
) -> Result<LogoutSubject, TokenError> {
    check_origin(claims, expected)?;
    if claims.contains_key("nonce") {
        return Err(TokenError::NonceInLogout);
    }
    let events = claims.get("events").and_then(Value::as_object);
    if !events.is_some_and(|events| events.get(LOGOUT_EVENT).is_some_and(Value::is_object)) {
        return Err(TokenError::NotLogout);
    }
    let issued = time(claims, "iat").ok_or(TokenError::Missing("iat"))?;
    let ended = time(claims, "exp").is_some_and(|at| at.plus(CLOCK_SKEW) <= expected.now);
    if ended || issued.plus(LOGOUT_TOKEN_LIFETIME) <= expected.now {
        return Err(TokenError::Expired);
    }
    let (sub, sid) = (subject(claims, "sub"), subject(claims, "sid"));
    if sub.is_none() && sid.is_none() {
        return Err(TokenError::Missing("sub` or `sid"));
    }
    let jti = subject(claims, "jti").ok_or(TokenError::Missing("jti"))?;
    Ok(LogoutSubject { sub, sid, jti })
}

/// Checks who issued the token, for whom, and when.
fn check_origin(claims: &Claims, expected: ExpectedToken<'_>) -> Result<(), TokenError> {
    let issuer = claims.get("iss").and_then(Value::as_str);
    if issuer != Some(expected.issuer) {
        return Err(TokenError::Issuer {
            found: shortened(issuer.unwrap_or_default()),
            expected: expected.issuer.to_owned(),
        });
    }
    let foreign = |found: &str| TokenError::Audience {
        found: shortened(found),
        expected: expected.client_id.to_owned(),
    };
    let party = claims
        .get("azp")
        .map(|party| party.as_str().unwrap_or_default());
    match claims.get("aud") {
        Some(Value::String(audience)) if audience == expected.client_id => {}
        Some(Value::Array(audiences)) if audiences.iter().any(|one| one == expected.client_id) => {
            // A token for several clients must name the client that requested it.
            if audiences.len() > 1 && party.is_none() {
                return Err(TokenError::Missing("azp"));
            }
        }
        Some(other) => return Err(foreign(&other.to_string())),
        None => return Err(TokenError::Missing("aud")),
    }
    if let Some(party) = party
        && party != expected.client_id
    {
        return Err(foreign(party));
    }
    let issued = time(claims, "iat").ok_or(TokenError::Missing("iat"))?;
    let latest = expected.now.plus(CLOCK_SKEW);
    if issued > latest || time(claims, "nbf").is_some_and(|from| from > latest) {
        return Err(TokenError::Future);
    }
    Ok(())
}

/// A time in seconds since 1970, which may have a fraction.
fn time(claims: &Claims, name: &str) -> Option<Timestamp> {
    let seconds = claims.get(name)?.as_f64()?;
    // The limit is far beyond any real date and far below the limit of the type.
    (0.0..1e12)
        .contains(&seconds)
        .then_some(Timestamp((seconds * 1_000.0) as i64))
}

fn subject(claims: &Claims, name: &str) -> Option<String> {
    let text = claims.get(name)?.as_str()?;
    (!text.is_empty() && text.len() <= SUBJECT_MAX).then(|| text.to_owned())
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const EXPECTED: ExpectedToken<'static> = ExpectedToken {
        issuer: "https://id.example",
        client_id: "svc",
        now: NOW,
    };

    /// The claims of a valid token with these changes; `null` removes a claim.
    fn with(good: Value, changes: Value) -> Claims {
        let mut claims = good.as_object().expect("an object").clone();
        for (name, value) in changes.as_object().expect("an object") {
            match value {
                Value::Null => claims.remove(name),
                value => claims.insert(name.clone(), value.clone()),
            };
        }
        claims
    }

    fn id_token(changes: Value) -> Result<IdTokenSubject, TokenError> {
        let good = json!({"iss": "https://id.example", "aud": "svc", "sub": "u1", "sid": "s1",
            "nonce": "n", "iat": 1_799_999_990, "exp": 1_800_000_300});
        check_id_token(&with(good, changes), EXPECTED, "n")
    }

    fn logout(changes: Value) -> Result<LogoutSubject, TokenError> {
        let good = json!({"iss": "https://id.example", "aud": ["svc"], "sid": "s1", "jti": "j",
            "iat": 1_799_999_990, "exp": 1_800_000_100, "events": {LOGOUT_EVENT: {}}});
        check_logout_token(&with(good, changes), EXPECTED)
    }

    #[test]
    fn an_id_token_is_accepted_only_from_the_issuer_for_this_client_in_time() {
        for good in [
            json!({}),
            json!({"aud": ["svc"]}),
            json!({"aud": ["other", "svc"], "azp": "svc"}),
            json!({"azp": "svc"}),
            json!({"exp": 1_799_999_941}),
            json!({"iat": 1_800_000_060}),
            json!({"iat": 1_799_999_990.5}),
            json!({"nbf": 1_800_000_060}),
        ] {
            assert!(id_token(good.clone()).is_ok(), "{good}");
        }
        for (bad, why) in [
            (json!({"iss": "https://id.example/"}), "issuer"),
            (json!({"iss": null}), "issuer"),
            (json!({"aud": "other"}), "not for `svc`"),
            (json!({"aud": ["other"]}), "not for `svc`"),
            (json!({"aud": []}), "not for `svc`"),
            (json!({"aud": null}), "`aud`"),
            (json!({"aud": ["other", "svc"]}), "`azp`"),
            (
                json!({"aud": ["other", "svc"], "azp": "other"}),
                "not for `svc`",
            ),
            (json!({"azp": "other"}), "not for `svc`"),
            (json!({"azp": 7}), "not for `svc`"),
            (json!({"exp": 1_799_999_940}), "expired"),
            (json!({"exp": null}), "`exp`"),
            (json!({"exp": "1800000300"}), "`exp`"),
            (json!({"exp": 1e300}), "`exp`"),
            (json!({"iat": null}), "`iat`"),
            (json!({"iat": 1_800_000_061}), "future"),
            (json!({"nbf": 1_800_000_061}), "future"),
            (json!({"nonce": "m"}), "`nonce`"),
            (json!({"nonce": null}), "`nonce`"),
            (json!({"sub": null}), "`sub`"),
            (json!({"sub": ""}), "`sub`"),
            (json!({"sub": "x".repeat(256)}), "`sub`"),
        ] {
            let error = id_token(bad.clone()).expect_err("refused").to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn a_logout_token_needs_its_event_and_a_subject_and_must_not_have_a_nonce() {
        for good in [
            json!({}),
            json!({"sub": "u1", "sid": null}),
            json!({"exp": null}),
            json!({"iat": 1_799_999_401, "exp": null}),
        ] {
            assert!(logout(good.clone()).is_ok(), "{good}");
        }
        for (bad, why) in [
            (json!({"nonce": "n"}), "`nonce`"),
            (json!({"events": null}), "`events`"),
            (json!({"events": {"x": {}}}), "`events`"),
            (json!({"events": {LOGOUT_EVENT: true}}), "`events`"),
            (json!({"aud": "other"}), "not for `svc`"),
            (json!({"iss": "https://other.example"}), "issuer"),
            (json!({"sid": null}), "`sub` or `sid`"),
            (json!({"jti": null}), "`jti`"),
            (json!({"iat": 1_799_999_400, "exp": null}), "expired"),
            (json!({"exp": 1_799_999_900}), "expired"),
            (json!({"iat": null}), "`iat`"),
        ] {
            let error = logout(bad.clone()).expect_err("refused").to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
        // An id_token is not accepted as a logout token, and a logout token is not accepted as an
        // id_token.
        assert!(logout(json!({"events": null, "nonce": "n", "sub": "u1"})).is_err());
        assert_eq!(
            id_token(json!({"nonce": null, "events": {LOGOUT_EVENT: {}}})),
            Err(TokenError::Nonce)
        );
    }

    #[test]
    fn a_valid_token_gives_its_user_and_its_session() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            id_token(json!({})),
            Ok(IdTokenSubject {
                sub: "u1".to_owned(),
                sid: some("s1"),
            })
        );
        let longest = "x".repeat(255);
        assert_eq!(
            id_token(json!({"sub": longest, "sid": null})),
            Ok(IdTokenSubject {
                sub: longest,
                sid: None,
            })
        );
        assert_eq!(
            logout(json!({})),
            Ok(LogoutSubject {
                sub: None,
                sid: some("s1"),
                jti: "j".to_owned(),
            })
        );
    }

    #[test]
    fn an_error_names_at_most_200_characters_of_the_foreign_issuer_or_client() {
        for (given, named) in [
            ("other".to_owned(), "other".to_owned()),
            ("ä".repeat(201), "ä".repeat(200)),
        ] {
            assert_eq!(
                id_token(json!({"iss": given})),
                Err(TokenError::Issuer {
                    found: named.clone(),
                    expected: "https://id.example".to_owned(),
                })
            );
            assert_eq!(
                id_token(json!({"azp": given})),
                Err(TokenError::Audience {
                    found: named,
                    expected: "svc".to_owned(),
                })
            );
        }
    }
}
