//! Bodies of the server's HTTP API, shared by server, client, CLI and tests.

mod access;
mod audit;
mod auth;
mod calls;
mod diagnostics;
mod events;
mod exchanges;
mod limits;
mod merge;
mod methods;
mod oauth;
mod oidc;
mod page;
mod passkey;
mod patch;
mod recovery;
mod schedules;
mod scripts;
mod second_factor;
mod servers;
mod sinks;
mod sources;
mod spaces;
mod stats;
mod templates;
mod tokens;
mod users;

pub use access::{
    AccessibleMethod, GroupMethod, GroupMethods, HeldPermission, SharedThrough, UserAccess,
};
pub use audit::{AuditEntry, AuditQuery};
pub use auth::{
    AuthState, ChangePassword, CredentialQuery, Login, Me, SESSION_COOKIES, Session, Setup, SignIn,
};
pub use calls::{
    CALL_SUMMARY_PATH, CALLS_PATH, Call, CallCredential, CallDetail, CallGroup, CallQuery,
    CallSummary, CallSummaryQuery, Calls, OtherCallGroups,
};
pub use diagnostics::{Check, CheckStatus, Diagnostics};
pub use events::{
    Emit, EmittedEvent, EventDeliveries, EventDelivery, EventDeliveryState, EventHistogram,
    EventQuery, EventReceiver, EventRecord, Events, SEARCH_TEXT_MAX,
};
pub use exchanges::{Exchange, ExchangeTiming, HeaderField, ResponseHead, SentRequest};
pub use limits::{
    DESCRIPTION_MAX, EXPIRY_DAYS_MAX, LOG_LINES_MAX, LOG_SEARCH_MAX, OVERLAP_HOURS_MAX, PAGE_MAX,
    PASSWORD_MAX, PASSWORD_MIN, PATTERNS_MAX, PORTS_MAX,
};
pub use merge::{MergeError, merge};
pub use methods::{CALL_PATH, CallResponse, Method, MethodQuery, Methods, Provider};
pub use oauth::{
    App, AppPatch, AppSummary, Consent, Decision, DecisionResult, DeviceLogin, Grant, NewApp,
};
pub use oidc::{
    ClaimMapping, IdentityProof, LinkStarted, LinkedIdentities, LinkedIdentity, NewOidcProvider,
    OidcCheck, OidcCheckStep, OidcProvider, OidcProviderPatch, SignInOption, SignInOptions,
};
pub use page::{
    Apps, Audit, Grants, Groups, Listing, OidcProviders, PageQuery, Roles, Schedules, Scripts,
    Sessions, Sinks, Sources, Spaces, Templates, Tokens, Users, cursor_of, id_of_cursor,
};
pub use passkey::{
    CreatedPasskey, NewPasskey, Passkey, PasskeyChallenge, PasskeyCreation, PasskeyLogin,
    PasskeyPatch, PasskeyRequest,
};
pub use patch::Members;
pub use recovery::{
    Backtest, BacktestCounts, BacktestDifference, BacktestError, BacktestResult, RESEND_MAX,
    Replay, ReplayOnly, ReplayResult, Resend, ResendResult,
};
pub use schedules::{NewSchedule, NextRuns, NextRunsQuery, PreviewQuery, Schedule, SchedulePatch};
pub use scripts::{
    AnnotationsPatch, CheckScript, NewScript, RunNewScript, RunScript, Script, ScriptCheck,
    ScriptFault, ScriptKind, ScriptOwner, ScriptPatch, ScriptQuery, ScriptRunResult,
};
pub use second_factor::{
    FactorKind, LoginResult, PasswordProof, PendingLogin, RecoveryCodes, SecondFactorLogin,
    SecondFactors, TotpCode, TotpEnrolment,
};
pub use servers::{ServerRecord, Servers};
pub use sinks::{
    Attempt, Deliveries, Delivery, DeliveryQuery, DeliveryState, EventKey, FeedKind, FeedProgress,
    FilterDecision, JsonRpcConfig, LastDelivery, NewSink, PatternsInput, Preview, PreviewResult,
    RotateSecret, ScriptConfig, SecretRotation, Sink, SinkOwner, SinkPatch, SinkPause, SinkType,
    WebhookConfig, WebhookFormat,
};
pub use sources::{
    NewSource, RepeatedDelivery, RequestOutcome, RotateSource, Source, SourcePatch,
    SourceRejection, SourceRequest, SourceRequests, SourceRotation, SourceTest, SourceTestResult,
};
pub use spaces::{
    AgentToken, LogLine, LogQuery, LogSource, Logs, NewSpace, NumberedLine, RegistrationStatus,
    Space, SpacePatch,
};
pub use stats::{
    Activity, CallMinute, CallTotals, FailingSink, MethodActivity, MethodStats, MethodStatsPoint,
    MethodStatsQuery, QuotaUse, QuotaUses, SinkActivity, SinkCounts, SinkStats, SinkStatsPoint,
    SpaceCounts, Stats,
};
pub use templates::{NewTemplate, Port, Template, TemplatePatch};
pub use tokens::{NewToken, Token};
pub use users::{
    Group, GroupBody, GroupPatch, NewRole, NewUser, PermissionList, Role, RolePatch, User,
    UserPatch,
};
