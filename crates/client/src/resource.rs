//! The kinds of records that share the same operations: create, list, read, update, delete.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use svc_protocol::api::{self, Listing};
use uuid::Uuid;

/// A kind of record of the API.
pub trait Resource: DeserializeOwned + Serialize + Send {
    /// Path of the list.
    const PATH: &'static str;
    /// The word for the kind in messages.
    const KIND: &'static str;
    /// Body of the request that creates a record.
    type New: Serialize + Sync;
    /// Merge patch that changes a record.
    type Patch: Serialize + Sync;
    type List: Listing<Item = Self>;

    fn id(&self) -> Uuid;
    fn name(&self) -> &str;
}

macro_rules! resources {
    ($($item:ident $kind:literal: $list:ident, named by $name:ident, from $new:ty, by $patch:ty;)*) => {$(
        impl Resource for api::$item {
            const PATH: &'static str = api::$list::PATH;
            const KIND: &'static str = $kind;
            type New = $new;
            type Patch = $patch;
            type List = api::$list;

            fn id(&self) -> Uuid {
                self.id.0
            }

            fn name(&self) -> &str {
                &self.$name
            }
        }
    )*};
}

resources! {
    User "user": Users, named by username, from api::NewUser, by api::UserPatch;
    Group "group": Groups, named by name, from api::GroupBody, by api::GroupBody;
    Role "role": Roles, named by name, from api::NewRole, by api::RolePatch;
    Token "token": Tokens, named by name, from api::NewToken, by Value;
    OidcProvider "oidc": OidcProviders, named by name, from api::NewOidcProvider, by api::OidcProviderPatch;
    Space "space": Spaces, named by name, from api::NewSpace, by api::SpacePatch;
    Template "template": Templates, named by name, from api::NewTemplate, by api::TemplatePatch;
    Sink "sink": Sinks, named by name, from api::NewSink, by api::SinkPatch;
    Source "source": Sources, named by name, from api::NewSource, by api::SourcePatch;
    Schedule "schedule": Schedules, named by name, from api::NewSchedule, by api::SchedulePatch;
    Script "script": Scripts, named by name, from api::NewScript, by api::ScriptPatch;
}
