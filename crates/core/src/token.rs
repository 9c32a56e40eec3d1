//! Expiry of an API token that was created with another token.

use thiserror::Error;

use crate::Timestamp;

/// The requested token would expire later than the token that creates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the token you use expires at {parent}; a token created with it cannot expire later")]
pub struct OutlivesParent {
    pub parent: Timestamp,
}

/// When a new token expires. `parent` is the expiry of the token that creates it; `None` if that
/// token never expires, or if another kind of credential is used. If `wanted` is `None`, the token
/// expires with its parent.
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
