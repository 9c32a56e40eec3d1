//! Ids: one newtype per kind of record, so that the compiler rejects the id of another kind.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::fixed_schema::fixed_schema;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The nil UUID; means "no record".
            pub const NIL: Self = Self(Uuid::nil());
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }

        fixed_schema!($name as stringify!($name), inline: true, {
            "type": "string", "format": "uuid",
        });

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )*};
}

ids! {
    /// The id of a record that has no id type of its own, such as an audit entry or a call.
    Id,
    UserId,
    GroupId,
    RoleId,
    TokenId,
    SessionId,
    /// An app that users connect. Not the `client_id` of OAuth, which the app may choose.
    OAuthClientId,
    /// One user's permission for one app.
    GrantId,
    /// An app's request that a user has not answered yet.
    ConsentId,
    /// An OpenID Connect provider that users sign in with.
    OidcProviderId,
    /// A user's account at a provider.
    OidcIdentityId,
    PasskeyId,
    SpaceId,
    TemplateId,
    ScriptId,
    EventId,
    SinkId,
    /// A URL to which another service sends requests.
    SourceId,
    ScheduleId,
    /// The queue of a sink or of a method subscription.
    LaneId,
    /// One server of a zone: the `node_id` of the spaces that are linked to this server.
    ServerId,
}
