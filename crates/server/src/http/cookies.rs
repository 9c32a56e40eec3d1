//! The session cookie and its two names, and the cookie of sign-ins in progress.
//!
//! On a secure connection the name is `__Host-svc_session`: browsers accept a cookie with this
//! prefix only from this host, so a page on a sibling domain cannot set it. On such a connection
//! the cookie `svc_session` is ignored; otherwise a page on a sibling domain could set that cookie
//! and lock users out. On a plain connection either name is accepted, and a request with both
//! cookies is rejected.

use http::{HeaderMap, HeaderValue, header};
use svc_protocol::api::SESSION_COOKIES;

use crate::identity::AccessDenied;

/// The name on plain connections.
pub const PLAIN: &str = SESSION_COOKIES[0];
/// The name on secure connections.
pub const SECURE: &str = SESSION_COOKIES[1];

/// The prefix of a session's secret; an API token in a cookie is ignored.
const SESSION_PREFIX: &str = "svc_ses_";

/// The session that a request presents; an error if there is more than one.
pub fn find_session(headers: &HeaderMap, is_secure: bool) -> Result<Option<&str>, AccessDenied> {
    let counts = |name: &str| name == SECURE || (!is_secure && name == PLAIN);
    let mut sessions = cookies(headers)
        .filter(|(name, value)| counts(name) && value.starts_with(SESSION_PREFIX))
        .map(|(_, value)| value);
    let session = sessions.next();
    match sessions.next() {
        Some(_) => Err(AccessDenied::TwoSessions),
        None => Ok(session),
    }
}

/// Sets the session cookie, and removes the cookie with the other name if the request has one.
pub fn set_session(
    request: &HeaderMap,
    value: &str,
    age_seconds: u64,
    is_secure: bool,
) -> Vec<HeaderValue> {
    let (name, other) = match is_secure {
        true => (SECURE, PLAIN),
        false => (PLAIN, SECURE),
    };
    let mut set = vec![cookie(name, value, age_seconds, is_secure)];
    if cookies(request).any(|(name, _)| name == other) {
        set.push(removal(other));
    }
    set
}

/// Removes the session cookies of both names.
pub fn remove_sessions() -> Vec<HeaderValue> {
    vec![removal(PLAIN), removal(SECURE)]
}

/// The name of the cookie that ties sign-ins with a provider to a browser, on plain and on secure
/// connections.
const BROWSER: [&str; 2] = ["svc_pre", "__Host-svc_pre"];

/// The key of the browser that a request presents; `None` if there is more than one.
pub fn find_browser_key(headers: &HeaderMap, is_secure: bool) -> Option<&str> {
    let wanted = BROWSER[usize::from(is_secure)];
    let mut keys = cookies(headers).filter(|(name, _)| *name == wanted);
    let (_, key) = keys.next()?;
    keys.next().is_none().then_some(key)
}

/// Sets the key of a browser; with an age of 0, removes it.
pub fn set_browser_key(key: &str, age_seconds: u64, is_secure: bool) -> HeaderValue {
    cookie(BROWSER[usize::from(is_secure)], key, age_seconds, is_secure)
}

/// The names and values of all cookies of a request.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

fn removal(name: &str) -> HeaderValue {
    cookie(name, "", 0, name == SECURE)
}

fn cookie(name: &str, value: &str, age_seconds: u64, is_secure: bool) -> HeaderValue {
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age_seconds}{secure}");
    HeaderValue::from_str(&text).expect("the secrets of cookies are hexadecimal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_decides_which_session_cookie_counts_and_two_are_rejected() {
        let find = |cookies: &[&str], is_secure| {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(header::COOKIE, cookie.parse().expect("a value"));
            }
            find_session(&headers, is_secure).map(|found| found.map(str::to_owned))
        };
        let is = |value: &str| Ok(Some(value.to_owned()));
        let two = Err(AccessDenied::TwoSessions);
        for (cookies, plain, secure) in [
            (
                &["a=1; svc_session=svc_ses_p"][..],
                is("svc_ses_p"),
                Ok(None),
            ),
            (
                &["__Host-svc_session=svc_ses_s"],
                is("svc_ses_s"),
                is("svc_ses_s"),
            ),
            (
                &["svc_session=svc_ses_p; __Host-svc_session=svc_ses_s"],
                two.clone(),
                is("svc_ses_s"),
            ),
            (
                &["svc_session=svc_ses_1", "svc_session=svc_ses_2"],
                two.clone(),
                Ok(None),
            ),
            (
                &["__Host-svc_session=svc_ses_1; __Host-svc_session=svc_ses_2"],
                two.clone(),
                two.clone(),
            ),
            (&["svc_session=svc_pat_1"], Ok(None), Ok(None)),
        ] {
            assert_eq!(find(cookies, false), plain, "{cookies:?}");
            assert_eq!(find(cookies, true), secure, "{cookies:?}");
        }
    }
}
