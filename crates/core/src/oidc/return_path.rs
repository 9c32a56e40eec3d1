//! Where the browser goes after a sign-in.

/// The maximum number of characters of a path.
const PATH_MAX: usize = 2_000;

/// Whether a text is a path of this server, which no browser reads as an address of another server.
/// Browsers read `//host` and `/\host` as such addresses. They also ignore tabs and line breaks, so
/// a path must not contain these.
pub fn is_local_path(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= PATH_MAX
        && bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\'))
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_local() {
        for good in ["/", "/account", "/connect?request=1&x=%20", "/a//b", "/#x"] {
            assert!(is_local_path(good), "{good}");
        }
        let long = format!("/{}", "x".repeat(PATH_MAX));
        for bad in [
            "",
            "account",
            "//evil.example",
            "/\\evil.example",
            "\\/evil",
            "https://evil.example",
            "/\t/evil",
            "/a\nb",
            "/a b",
            "/ä",
            "javascript:x",
            "/a\\b",
            long.as_str(),
        ] {
            assert!(!is_local_path(bad), "{bad}");
        }
    }
}
