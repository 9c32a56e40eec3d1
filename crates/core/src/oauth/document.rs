//! Documents that describe apps (client ID metadata documents). The `client_id` of such an app is
//! the address of its document, so the host of the address is responsible for the app.

use serde::Deserialize;

use super::RedirectUri;
use crate::text::is_unsafe;

/// The maximum number of characters of an app's address.
const ADDRESS_MAX: usize = 1_024;
/// The maximum number of characters of a name that are shown.
const NAME_MAX: usize = 80;
/// The maximum number of redirect addresses of one app.
pub const REDIRECT_URIS_MAX: usize = 10;

#[derive(Deserialize)]
struct Fields {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    client_secret: Option<serde::de::IgnoredAny>,
}

/// The host of an app's address; `None` if the text cannot be such an address.
pub fn host_of(client_id: &str) -> Option<&str> {
    let rest = client_id.strip_prefix("https://")?;
    let (authority, path) = rest.split_at(rest.find('/')?);
    let is_plain = client_id.len() <= ADDRESS_MAX
        && client_id.bytes().all(|byte| byte.is_ascii_graphic())
        && !client_id.contains(['#', '\\'])
        && !authority.contains('@');
    let has_dots = path
        .split(['/', '?'])
        .any(|segment| matches!(segment, "." | ".."));
    let host = authority.split(':').next()?;
    (is_plain && !has_dots && !host.is_empty() && path != "/").then_some(host)
}

/// The name and the usable redirect addresses of the app that a document describes.
pub fn read_document(client_id: &str, body: &[u8]) -> Result<(String, Vec<String>), String> {
    let fields: Fields = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    // serde also accepts an array of the values of the fields.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err("the document is not a JSON object".to_owned());
    }
    if fields.client_id != client_id {
        return Err(format!("its `client_id` is `{}`", fields.client_id));
    }
    if fields.client_secret.is_some() {
        return Err("it contains a secret".to_owned());
    }
    let method = fields.token_endpoint_auth_method.as_deref();
    let allows_none = fields
        .token_endpoint_auth_methods_supported
        .iter()
        .any(|method| method == "none");
    if !allows_none && method.is_some_and(|method| method != "none") {
        let method = method.unwrap_or_default();
        return Err(format!(
            "the app authenticates by `{method}`; this server supports only the \
             method `none`"
        ));
    }
    let name = clean_name(fields.client_name.as_deref())
        .or_else(|| host_of(client_id).map(str::to_owned))
        .unwrap_or_default();
    Ok((name, usable_uris(&fields.redirect_uris)?))
}

/// A name that is safe to show; `None` if no character is left.
pub fn clean_name(name: Option<&str>) -> Option<String> {
    let words: Vec<_> = name?
        .split(|character: char| character.is_whitespace() || is_unsafe(character))
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join(" ").chars().take(NAME_MAX).collect();
    (!name.is_empty()).then_some(name)
}

/// The redirect addresses that this server accepts. An error if there is none, or if an app has too
/// many addresses.
pub fn usable_uris(uris: &[String]) -> Result<Vec<String>, String> {
    if uris.len() > REDIRECT_URIS_MAX {
        let count = uris.len();
        return Err(format!(
            "it has {count} redirect addresses; at most {REDIRECT_URIS_MAX} are allowed"
        ));
    }
    let mut refusal = "it has no redirect address".to_owned();
    let mut usable = Vec::new();
    for uri in uris {
        match RedirectUri::parse(uri) {
            Ok(_) => usable.push(uri.clone()),
            Err(error) => refusal = format!("the redirect address `{uri}` is refused: {error}"),
        }
    }
    if usable.is_empty() {
        return Err(refusal);
    }
    Ok(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_an_app_is_https_with_a_path() {
        for (text, host) in [
            ("https://app.example/client.json", Some("app.example")),
            ("https://app.example:8443/c", Some("app.example")),
            ("https://app.example/", None),
            ("https://app.example", None),
            ("http://app.example/c", None),
            ("https://u@app.example/c", None),
            ("https://app.example/c#x", None),
            ("https://app.example/a/../c", None),
            ("https://app.example/./c", None),
            ("https://app.example/a b", None),
            ("https:///c", None),
            ("svc-1", None),
        ] {
            assert_eq!(host_of(text), host, "{text}");
        }
        let long = format!("https://a/{}", "x".repeat(ADDRESS_MAX));
        assert_eq!(host_of(&long), None);
    }

    #[test]
    fn a_document_must_name_itself_and_a_usable_address() {
        let id = "https://app.example/c";
        let check = |body: &str| read_document(id, body.as_bytes());
        let (name, uris) = check(
            r#"{"client_id": "https://app.example/c", "client_name": "An\u202e  App",
                "redirect_uris": ["javascript:x", "https://app.example/cb"], "logo_uri": "x"}"#,
        )
        .expect("usable");
        assert_eq!(name, "An App");
        assert_eq!(uris, ["https://app.example/cb"]);
        for (body, why) in [
            ("<html>", "expected value"),
            (r#"{"client_id": "https://app.example/c"}"#, "redirect_uris"),
            (
                r#"{"client_id": "https://other.example/c", "redirect_uris": []}"#,
                "`https://other.example/c`",
            ),
            (
                r#"{"client_id": "https://app.example/c", "redirect_uris": []}"#,
                "no redirect address",
            ),
            (
                r#"{"client_id": "https://app.example/c", "redirect_uris": ["http://x/"]}"#,
                "`http://x/` is refused",
            ),
            (
                r#"{"client_id": "https://app.example/c", "redirect_uris": ["https://x/"],
                    "token_endpoint_auth_method": "private_key_jwt"}"#,
                "`private_key_jwt`",
            ),
            (
                r#"{"client_id": "https://app.example/c", "redirect_uris": ["https://x/"],
                    "token_endpoint_auth_method": "private_key_jwt",
                    "token_endpoint_auth_methods_supported": ["private_key_jwt"]}"#,
                "`private_key_jwt`",
            ),
            (
                r#"{"client_id": "https://app.example/c", "redirect_uris": ["https://x/"],
                    "client_secret": "s"}"#,
                "a secret",
            ),
        ] {
            let error = check(body).expect_err(body);
            assert!(error.contains(why), "{error}");
        }
        let both = r#"{"client_id": "https://app.example/c", "redirect_uris": ["https://x/"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"]}"#;
        assert_eq!(check(both).expect("usable").0, "app.example");
    }

    #[test]
    fn names_are_cleaned_and_shortened() {
        assert_eq!(
            clean_name(Some(" a\n\tb \u{202e}c ")).as_deref(),
            Some("a b c")
        );
        assert_eq!(clean_name(Some("\u{feff}\u{7}")), None);
        assert_eq!(clean_name(None), None);
        let long = clean_name(Some(&"ä".repeat(10_000))).expect("a name");
        assert_eq!(long.chars().count(), NAME_MAX);
    }

    #[test]
    fn an_app_has_at_most_ten_redirect_addresses() {
        let uris = |count: usize| -> Vec<_> {
            (0..count)
                .map(|n| format!("https://app.example/{n}"))
                .collect()
        };
        assert_eq!(usable_uris(&uris(10)), Ok(uris(10)));
        assert_eq!(
            usable_uris(&uris(11)),
            Err("it has 11 redirect addresses; at most 10 are allowed".to_owned())
        );
    }
}
