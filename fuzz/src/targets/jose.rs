//! Key sets and tokens of identity providers. A browser brings the token, so any client can send
//! one.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;
use svc_core::oidc::jose::{KeySet, Keys};

use super::{parts, text};

/// A key set, and all tokens that were signed with its keys.
struct Known {
    keys: Keys,
    tokens: Vec<String>,
}

#[derive(Deserialize)]
struct Vectors {
    keys: Vec<serde_json::Value>,
    good: BTreeMap<String, String>,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let text = include_str!("../../../crates/core/src/oidc/jose/vectors.json");
        let Vectors { keys, good } = serde_json::from_str(text).expect("the vectors are JSON");
        let set = serde_json::json!({ "keys": keys });
        let set: KeySet = serde_json::from_value(set).expect("a key set");
        Known {
            keys: Keys::from(set),
            tokens: good.into_values().collect(),
        }
    })
}

/// A key set, a token, and changes of a signed token, separated by zero bytes.
pub fn tokens(data: &[u8]) {
    let [set, token, changes] = parts(data);
    let Known { keys, tokens } = known();
    if let Some(token) = text(token) {
        let is_known = tokens.iter().any(|known| known == token);
        assert_eq!(keys.verify(token).is_ok(), is_known, "a forged token");
        if let Ok(set) = serde_json::from_slice::<KeySet>(set) {
            let _ = Keys::from(set).verify(token);
        }
    }
    let Some((&chosen, changes)) = changes.split_first() else {
        return;
    };
    let token = &tokens[usize::from(chosen) % tokens.len()];
    let mut changed = token.clone().into_bytes();
    super::change(&mut changed, changes);
    if let Some(changed) = text(&changed) {
        let is_known = tokens.iter().any(|known| known == changed);
        assert_eq!(keys.verify(changed).is_ok(), is_known, "a changed token");
    }
}
