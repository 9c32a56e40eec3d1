//! Bodies of the server's HTTP API, shared by server, client, CLI and tests.

mod audit;
mod auth;
mod events;
mod methods;
mod patch;
mod scripts;
mod sinks;
mod spaces;
mod templates;
mod tokens;
mod users;

pub use audit::{Audit, AuditEntry};
pub use auth::{ChangePassword, Login, Me, Session, Sessions, Setup};
pub use events::{Emit, Emitted, EventRecord, Events};
pub use methods::{CallResponse, Method, Methods, Provider};
pub use scripts::{
    NewScript, RanScript, RunScript, Script, ScriptFault, ScriptKind, ScriptOwner, ScriptPatch,
    Scripts,
};
pub use sinks::{
    Attempt, Deliveries, Delivery, DeliveryState, JsonRpcConfig, LastDelivery, NewSink,
    PatternsInput, Preview, Previewed, Replay, Replayed, RotateSecret, RotatedSecret, ScriptConfig,
    Sink, SinkOwner, SinkPatch, SinkType, Sinks, WebhookConfig,
};
pub use spaces::{
    AgentToken, Logs, NewSpace, NumberedLine, RegistrationStatus, Space, SpacePatch, Spaces,
};
pub use templates::{NewTemplate, Port, Template, Templates};
pub use tokens::{NewToken, Token, Tokens};
pub use users::{
    Group, GroupBody, GroupPatch, Groups, NewRole, NewUser, PermissionList, Role, RolePatch, Roles,
    User, UserPatch, Users,
};
