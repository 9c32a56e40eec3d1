//! The kinds of records that share the same operations: create, list, read, update, delete, and
//! actions.

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

/// The body of a request that acts on one record: `POST <path of the record>/<NAME>`.
pub trait Action: Serialize + Sync {
    type Of: Resource;
    const NAME: &'static str;
    type Answer: DeserializeOwned;
}

macro_rules! actions {
    ($($body:ident on $item:ident: $name:literal gives $answer:ident;)*) => {$(
        impl Action for api::$body {
            type Of = api::$item;
            const NAME: &'static str = $name;
            type Answer = api::$answer;
        }
    )*};
}

actions! {
    // Renders the body of a delivery and, unless the test is a dry run, sends it. No delivery is
    // recorded.
    Preview on Sink: "test" gives PreviewResult;
    RotateSecret on Sink: "rotate-secret" gives SecretRotation;
    Replay on Sink: "replay" gives ReplayResult;
    // Resends many deliveries. The server queues them gradually, as the queue drains.
    Resend on Sink: "resend" gives ResendResult;
    // Applies changed settings to past events and returns the results, without sending anything.
    Backtest on Sink: "backtest" gives BacktestResult;
    RotateSource on Source: "rotate" gives SourceRotation;
    // Lets the server sign a request as the sender would, and handle it.
    SourceTest on Source: "test" gives SourceTestResult;
    // Runs a tool or a sink's script once, with the permissions of the caller.
    RunScript on Script: "run" gives ScriptRunResult;
}

/// Prefix of a name that selects the global record, not the caller's own.
const GLOBAL: &str = "global/";

/// The name in a reference, and whether the reference selects a global record: `global/name`.
pub fn global_name(reference: &str) -> (&str, bool) {
    match reference.strip_prefix(GLOBAL) {
        Some(name) => (name, true),
        None => (reference, false),
    }
}

/// The records with the name in a reference. The caller's own record is before a global record.
pub fn choose_named<R: Resource>(
    records: Vec<R>,
    reference: &str,
    is_global: impl Fn(&R) -> bool,
) -> Vec<R> {
    let (name, global_only) = global_name(reference);
    let mut found = records;
    found.retain(|record| record.name() == name && (is_global(record) || !global_only));
    found.sort_by_key(is_global);
    found
}
