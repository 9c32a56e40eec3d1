//! Values of statements and rows, converted from and to the types of the product.

use serde::{Serialize, de::DeserializeOwned};
use svc_core::{
    EventId, GroupId, Id, LaneId, Permissions, RoleId, Scopes, ScriptId, ServerId, SessionId,
    SinkId, SpaceId, SpaceName, TemplateId, Timestamp, TokenId, UserId, UserName,
    power::SavedPower,
    space::{Health, Runtime, State, StopReason},
};
use uuid::Uuid;

/// A SHA-256 of a secret.
pub type Hash = [u8; 32];

/// One value as the database holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "an integer",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// A value that is stored as JSON text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Json<T>(pub T);

/// Reads a type of the product from a value; `Err` holds the reason.
pub trait FromValue: Sized {
    fn from_value(value: &Value) -> Result<Self, String>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Int(number) => Ok(*number),
            other => Err(format!("expected an integer, found {}", other.kind())),
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Result<Self, String> {
        let number = i64::from_value(value)?;
        Self::try_from(number).map_err(|_| format!("{number} is out of range"))
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Result<Self, String> {
        let number = i64::from_value(value)?;
        Self::try_from(number).map_err(|_| format!("{number} is negative"))
    }
}

/// Saturates: counts never reach the limit of the database's integers.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl FromValue for Timestamp {
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(Self)
    }
}

impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        Self::Int(value.0)
    }
}

fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(format!("expected text, found {}", other.kind())),
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Result<Self, String> {
        text(value).map(str::to_owned)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl FromValue for Hash {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bytes(bytes) => Self::try_from(bytes.as_slice())
                .map_err(|_| format!("expected 32 bytes, found {}", bytes.len())),
            other => Err(format!("expected bytes, found {}", other.kind())),
        }
    }
}

impl From<Hash> for Value {
    fn from(value: Hash) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.clone()),
            other => Err(format!("expected bytes, found {}", other.kind())),
        }
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl<T: DeserializeOwned> FromValue for Json<T> {
    fn from_value(value: &Value) -> Result<Self, String> {
        serde_json::from_str(text(value)?)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl<T: Serialize> From<Json<&T>> for Value {
    fn from(value: Json<&T>) -> Self {
        Self::Text(
            serde_json::to_string(value.0)
                .expect("records have string keys and serialisers that cannot fail"),
        )
    }
}

macro_rules! as_uuid_text {
    ($($id:ident),*) => {$(
        impl FromValue for $id {
            fn from_value(value: &Value) -> Result<Self, String> {
                let text = text(value)?;
                Uuid::parse_str(text)
                    .map(Self)
                    .map_err(|_| format!("`{text}` is not a UUID"))
            }
        }

        impl From<$id> for Value {
            fn from(value: $id) -> Self {
                Self::Text(value.to_string())
            }
        }
    )*};
}

as_uuid_text!(
    Id, UserId, GroupId, RoleId, TokenId, SessionId, SpaceId, TemplateId, ScriptId, ServerId,
    EventId, SinkId, LaneId
);

macro_rules! as_word {
    ($($word:ident),*) => {$(
        impl FromValue for $word {
            fn from_value(value: &Value) -> Result<Self, String> {
                let text = text(value)?;
                Self::parse(text).ok_or_else(|| {
                    format!(concat!("`{}` is not a ", stringify!($word)), text)
                })
            }
        }

        impl From<$word> for Value {
            fn from(value: $word) -> Self {
                Self::Text(value.as_str().to_owned())
            }
        }
    )*};
}

as_word!(State, Health, Runtime, StopReason);

macro_rules! as_name {
    ($($name:ident),*) => {$(
        impl FromValue for $name {
            fn from_value(value: &Value) -> Result<Self, String> {
                Self::parse(text(value)?).map_err(|error| error.to_string())
            }
        }

        impl From<&$name> for Value {
            fn from(value: &$name) -> Self {
                Self::Text(value.as_str().to_owned())
            }
        }
    )*};
}

as_name!(UserName, SpaceName);

macro_rules! as_json {
    ($($kind:ident),*) => {$(
        impl FromValue for $kind {
            fn from_value(value: &Value) -> Result<Self, String> {
                Json::from_value(value).map(|Json(inner)| inner)
            }
        }

        impl From<&$kind> for Value {
            fn from(value: &$kind) -> Self {
                Json(value).into()
            }
        }
    )*};
}

as_json!(Permissions, Scopes);

impl FromValue for SavedPower {
    fn from_value(value: &Value) -> Result<Self, String> {
        let only: Option<Permissions> = Option::from_value(value)?;
        Ok(only.map_or(Self::Everything, Self::Only))
    }
}

impl From<SavedPower> for Value {
    fn from(power: SavedPower) -> Self {
        match power {
            SavedPower::Everything => Self::Null,
            SavedPower::Only(permissions) => (&permissions).into(),
        }
    }
}
