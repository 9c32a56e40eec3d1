//! OAuth: apps, the requests of apps to users, the permissions that users gave to apps, and tokens.

pub mod clients;
pub mod codes;
pub mod consents;
pub mod devices;
pub mod grants;
pub mod tokens;

use svc_core::oauth::{ClientKind, OAuthScopes};

use super::value::{ColumnValue, Value, as_word, text};
use devices::DeviceState;
use tokens::AppTokenKind;

as_word!(AppTokenKind, ClientKind, DeviceState);

impl ColumnValue for OAuthScopes {
    fn from_value(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        Self::parse(text).ok_or_else(|| format!("`{text}` is not a list of scopes"))
    }

    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
}
