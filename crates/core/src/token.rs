//! How long an API token lives that was made with another token.

use thiserror::Error;

use crate::Timestamp;

/// A token was asked for that would outlive the one it is made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the token you use expires at {parent}; a token made with it cannot live longer")]
pub struct OutlivesParent {
    pub parent: Timestamp,
}

/// When a new token expires. `parent` is the expiry of the token it is made with, `None` if that
/// one never expires or if it is made with another credential. Without a wish it ends with its
/// parent.
pub fn child_expiry(
    wanted: Option<Timestamp>,
    parent: Option<Timestamp>,
) -> Result<Option<Timestamp>, OutlivesParent> {
    match (wanted, parent) {
        (Some(wanted), Some(parent)) if wanted > parent => Err(OutlivesParent { parent }),
        (Some(wanted), _) => Ok(Some(wanted)),
        (None, parent) => Ok(parent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_a_token_never_outlives_its_parent() {
        let at = Timestamp;
        let refused = Err(OutlivesParent { parent: at(10) });
        for (wanted, parent, expected) in [
            (None, None, Ok(None)),
            (Some(at(20)), None, Ok(Some(at(20)))),
            (None, Some(at(10)), Ok(Some(at(10)))),
            (Some(at(9)), Some(at(10)), Ok(Some(at(9)))),
            (Some(at(10)), Some(at(10)), Ok(Some(at(10)))),
            (Some(at(11)), Some(at(10)), refused),
        ] {
            assert_eq!(
                child_expiry(wanted, parent),
                expected,
                "{wanted:?} {parent:?}"
            );
        }
    }
}
