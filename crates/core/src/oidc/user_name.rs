//! The name of a user who signs in for the first time.

use crate::name::{USER_NAME_MAX, UserName};

/// Makes a valid name from the part of `preferred_username` before `@`: its letters and digits in
/// lower case, with one hyphen between words, shortened if necessary. `None` if this part has no
/// letter or digit, or a character that is not ASCII: letters that look alike must not become the
/// same name.
pub fn propose_user_name(preferred: &str) -> Option<UserName> {
    let local = preferred.split('@').next().unwrap_or_default();
    if !local.is_ascii() {
        return None;
    }
    let words: Vec<_> = local
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let name = words.join("-").to_ascii_lowercase();
    let name: String = name.chars().take(USER_NAME_MAX).collect();
    UserName::parse(name.trim_end_matches('-')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_providers_become_names_of_users() {
        for (preferred, name) in [
            ("ann", Some("ann")),
            ("Ann.Smith@corp.example", Some("ann-smith")),
            ("CORP\\ann", Some("corp-ann")),
            ("ann__smith.", Some("ann-smith")),
            (
                "an-extremely-long-name-of-a-person",
                Some("an-extremely-long-na"),
            ),
            ("aaaaaaaaaaaaaaaaaaa-b", Some("aaaaaaaaaaaaaaaaaaa")),
            // In the first text the `a` is a Cyrillic letter, in the second a full-width letter.
            ("аdmin", None),
            ("ａdmin", None),
            ("ünal", None),
            ("@corp.example", None),
            ("...", None),
            ("", None),
        ] {
            let proposed = propose_user_name(preferred);
            assert_eq!(proposed.as_deref(), name, "{preferred}");
        }
    }
}
