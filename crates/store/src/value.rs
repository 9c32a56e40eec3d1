//! Values of statements and rows, converted from and to the types of the product.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as JsonValue, value::RawValue};
use svc_core::{
    ConsentId, EventId, GrantId, GroupId, Id, LaneId, OAuthClientId, OidcIdentityId,
    OidcProviderId, PasskeyId, Permissions, QuotaOverrides, RoleId, ScheduleId, Scopes, ScriptId,
    ServerId, SessionId, SinkId, SourceId, SpaceId, SpaceName, TemplateId, Timestamp, TokenId,
    TraceContext, UserId, UserName,
    event::Actor,
    json_text::JsonText,
    pattern::Pattern,
    power::SavedPower,
    registration::Annotations,
    schedule::MissedPolicy,
    space::{Health, HealthCheck, Runtime, State, StopReason},
};
use svc_protocol::api::{DeliveryState, Port, ScriptKind, SinkType};

/// A SHA-256, such as the hash of a secret.
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
    /// Bytes of a text or a binary value.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Int(_) => 0,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "an integer",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// A type of the product that one column holds.
pub trait ColumnValue: Sized {
    /// `Err` holds the reason.
    fn from_value(value: &Value) -> Result<Self, String>;

    fn to_value(&self) -> Value;
}

impl<T: ColumnValue> From<T> for Value {
    fn from(value: T) -> Self {
        value.to_value()
    }
}

impl<T: ColumnValue> From<&Option<T>> for Value {
    fn from(value: &Option<T>) -> Self {
        value.to_value()
    }
}

/// Types that statements take by reference.
macro_rules! by_reference {
    ($($kind:ty),* $(,)?) => {$(
        impl From<&$kind> for $crate::value::Value {
            fn from(value: &$kind) -> Self {
                $crate::value::ColumnValue::to_value(value)
            }
        }
    )*};
}
pub(super) use by_reference;

by_reference!(Hash, QuotaOverrides, String, Vec<Pattern>);

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl<T: ColumnValue> ColumnValue for Option<T> {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

impl ColumnValue for i64 {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Int(number) => Ok(*number),
            other => Err(format!("expected an integer, found {}", other.kind())),
        }
    }

    fn to_value(&self) -> Value {
        Value::Int(*self)
    }
}

macro_rules! as_integer {
    ($($number:ident),*) => {$(
        impl ColumnValue for $number {
            fn from_value(value: &Value) -> Result<Self, String> {
                let number = i64::from_value(value)?;
                Self::try_from(number).map_err(|_| format!("{number} is out of range"))
            }

            /// Saturates: counts never reach the limit of the database's integers.
            fn to_value(&self) -> Value {
                Value::Int(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}

as_integer!(i32, u16, u32, u64, usize);

impl ColumnValue for bool {
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(|number| number != 0)
    }

    fn to_value(&self) -> Value {
        Value::Int((*self).into())
    }
}

impl ColumnValue for Timestamp {
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(Self)
    }

    fn to_value(&self) -> Value {
        Value::Int(self.0)
    }
}

pub(super) fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(format!("expected text, found {}", other.kind())),
    }
}

impl ColumnValue for String {
    fn from_value(value: &Value) -> Result<Self, String> {
        text(value).map(str::to_owned)
    }

    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl ColumnValue for Vec<u8> {
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.clone()),
            other => Err(format!("expected bytes, found {}", other.kind())),
        }
    }

    fn to_value(&self) -> Value {
        Value::Bytes(self.clone())
    }
}

impl ColumnValue for Hash {
    fn from_value(value: &Value) -> Result<Self, String> {
        Self::try_from(Vec::<u8>::from_value(value)?)
            .map_err(|bytes| format!("expected 32 bytes, found {}", bytes.len()))
    }

    fn to_value(&self) -> Value {
        Value::Bytes(self.to_vec())
    }
}

macro_rules! as_uuid_text {
    ($($id:ident),*) => {$(
        impl ColumnValue for $id {
            fn from_value(value: &Value) -> Result<Self, String> {
                let text = text(value)?;
                text.parse().map_err(|_| format!("`{text}` is not a UUID"))
            }

            fn to_value(&self) -> Value {
                Value::Text(self.to_string())
            }
        }
    )*};
}

as_uuid_text!(
    Id,
    UserId,
    GroupId,
    RoleId,
    TokenId,
    SessionId,
    SpaceId,
    TemplateId,
    ScriptId,
    ServerId,
    EventId,
    SinkId,
    LaneId,
    OAuthClientId,
    GrantId,
    ConsentId,
    OidcProviderId,
    OidcIdentityId,
    PasskeyId,
    SourceId,
    ScheduleId
);

/// Enums without fields, stored as the word that they have in JSON.
macro_rules! as_word {
    ($($word:ident),*) => {$(
        impl $crate::value::ColumnValue for $word {
            fn from_value(value: &$crate::value::Value) -> Result<Self, String> {
                let word = $crate::value::text(value)?;
                serde_json::from_value(word.into())
                    .map_err(|_| format!(concat!("`{}` is not a ", stringify!($word)), word))
            }

            fn to_value(&self) -> $crate::value::Value {
                $crate::value::json(self).trim_matches('"').into()
            }
        }
    )*};
}
pub(super) use as_word;

as_word!(
    State,
    Health,
    Runtime,
    StopReason,
    SinkType,
    ScriptKind,
    DeliveryState,
    MissedPolicy
);

macro_rules! as_name {
    ($($name:ident),*) => {$(
        impl ColumnValue for $name {
            fn from_value(value: &Value) -> Result<Self, String> {
                Self::parse(text(value)?).map_err(|error| error.to_string())
            }

            fn to_value(&self) -> Value {
                self.as_str().into()
            }
        }
    )*};
}

as_name!(UserName, SpaceName);

/// The JSON text of a value.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records have string keys and serialisers that cannot fail")
}

pub(super) fn from_json<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_str(text(value)?).map_err(|error| error.to_string())
}

/// Types that are stored as JSON text.
macro_rules! as_json {
    ($($kind:ty),* $(,)?) => {$(
        impl $crate::value::ColumnValue for $kind {
            fn from_value(value: &$crate::value::Value) -> Result<Self, String> {
                $crate::value::from_json(value)
            }

            fn to_value(&self) -> $crate::value::Value {
                $crate::value::Value::Text($crate::value::json(self))
            }
        }

        $crate::value::by_reference!($kind);
    )*};
}
pub(super) use as_json;

as_json!(
    Actor,
    BTreeMap<String, String>,
    Box<RawValue>,
    HealthCheck,
    JsonText,
    JsonValue,
    Permissions,
    Scopes,
    Vec<Port>,
    Vec<String>,
);

impl ColumnValue for Box<TraceContext> {
    fn from_value(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        let context = TraceContext::from_text(text).map(Self::new);
        context.ok_or_else(|| format!("`{text}` is not a trace context"))
    }

    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

/// Types that are stored as JSON text; an empty value is NULL.
macro_rules! as_json_or_null {
    ($($kind:ty),*) => {$(
        impl ColumnValue for $kind {
            fn from_value(value: &Value) -> Result<Self, String> {
                match value {
                    Value::Null => Ok(Self::default()),
                    value => from_json(value),
                }
            }

            fn to_value(&self) -> Value {
                match self.is_empty() {
                    true => Value::Null,
                    false => Value::Text(json(self)),
                }
            }
        }
    )*};
}

as_json_or_null!(Annotations, QuotaOverrides);

/// Patterns contain no commas, so a list is stored as users write it: separated by commas.
impl ColumnValue for Vec<Pattern> {
    fn from_value(value: &Value) -> Result<Self, String> {
        Pattern::parse_list(text(value)?).map_err(|error| error.to_string())
    }

    fn to_value(&self) -> Value {
        let entries: Vec<_> = self.iter().map(ToString::to_string).collect();
        Value::Text(entries.join(","))
    }
}

impl ColumnValue for SavedPower {
    fn from_value(value: &Value) -> Result<Self, String> {
        let only: Option<Permissions> = Option::from_value(value)?;
        Ok(only.map_or(Self::Everything, Self::Only))
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Everything => Value::Null,
            Self::Only(permissions) => permissions.to_value(),
        }
    }
}
