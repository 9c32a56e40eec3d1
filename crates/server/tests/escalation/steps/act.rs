//! The effects of requests.

use super::CodeProof;
use crate::model::{CredIx, Perms, UserIx};

/// The effect of a request if it succeeds.
pub enum Act {
    /// No effect on the model.
    Other,
    /// The request must never succeed. The text says why.
    Never(&'static str),
    Login {
        user: UserIx,
        password: String,
    },
    Logout,
    ChangePassword {
        password: String,
        right: bool,
    },
    Factor(FactorAct),
    EndSession {
        cred: CredIx,
    },
    EndOtherSessions,
    NewUser {
        name: String,
        password: String,
        roles: Vec<usize>,
        groups: Vec<usize>,
        active: bool,
    },
    PatchUser(UserChange),
    DeleteUser {
        user: UserIx,
    },
    NewGroup {
        name: String,
    },
    RenameGroup {
        group: usize,
        name: String,
    },
    DeleteGroup {
        group: usize,
    },
    NewRole {
        name: String,
        perms: Perms,
    },
    PatchRole {
        role: usize,
        perms: Perms,
    },
    DeleteRole {
        role: usize,
    },
    NewToken {
        scopes: Vec<String>,
    },
    DeleteToken {
        cred: CredIx,
    },
    NewSpace {
        name: String,
        startup: Option<usize>,
        template: Option<usize>,
    },
    PatchSpace {
        space: usize,
        startup: Option<usize>,
    },
    DeleteSpace {
        space: usize,
    },
    StartSpace {
        space: usize,
    },
    StopSpace {
        space: usize,
    },
    RotateAgent {
        space: usize,
    },
    NewTemplate {
        check: bool,
        script: Option<bool>,
    },
    PatchTemplate {
        template: usize,
        check: bool,
        script: Option<bool>,
    },
    DeleteTemplate {
        template: usize,
    },
    NewScript {
        name: String,
        kind: &'static str,
        global: bool,
        imports: Option<usize>,
    },
    PatchScript {
        script: usize,
        imports: Option<usize>,
    },
    DeleteScript {
        script: usize,
    },
    RunScript {
        script: usize,
    },
    RunDraft {
        global: bool,
        imports: Option<usize>,
    },
    Call {
        method: usize,
    },
    Emit,
    NewSink {
        kind: &'static str,
        global: bool,
        script: Option<usize>,
    },
    /// Changes a sink, runs its script, or repeats its deliveries.
    ManageSink {
        sink: usize,
        script: Option<usize>,
    },
    DeleteSink {
        sink: usize,
    },
    NewApp,
    BlockApp {
        app: usize,
        blocked: bool,
    },
    DeleteApp {
        app: usize,
    },
    /// A user approves or declines the request of an app.
    Decide {
        question: usize,
        approve: bool,
    },
    /// An app exchanges a code or a refresh token.
    Exchange {
        cred: CredIx,
    },
    /// An app ends its token.
    Revoke {
        cred: CredIx,
    },
    EndGrant {
        grant: usize,
    },
    StartDevice,
    DecideDevice {
        device: usize,
        approve: bool,
    },
    /// A machine polls for its token.
    Poll {
        device: usize,
    },
}

impl Act {
    /// Whether the request is sent without the credential of the caller.
    pub fn is_anonymous(&self) -> bool {
        matches!(
            self,
            Self::Login { .. }
                | Self::Never(_)
                | Self::Exchange { .. }
                | Self::Revoke { .. }
                | Self::StartDevice
                | Self::Poll { .. }
                | Self::Factor(
                    FactorAct::Complete { .. }
                        | FactorAct::Challenge { .. }
                        | FactorAct::PasskeyLogin { .. }
                )
        )
    }
}

/// Changes of second factors and linked accounts, and logins with second factors. `right` is
/// whether the request has what it needs: a correct password, or a valid code, challenge and
/// signature.
pub enum FactorAct {
    BeginApp {
        right: bool,
    },
    ConfirmApp {
        right: bool,
        step: i64,
    },
    RemoveApp {
        right: bool,
    },
    RenewCodes {
        right: bool,
    },
    BeginPasskey {
        right: bool,
    },
    AddPasskey {
        right: bool,
        challenge: usize,
        seed: u64,
    },
    RenamePasskey {
        passkey: usize,
    },
    RemovePasskey {
        passkey: usize,
        right: bool,
    },
    /// Removes the second factors of another user.
    Reset {
        user: UserIx,
    },
    /// The second step of a login, with a code.
    Complete {
        pending: usize,
        proof: CodeProof,
    },
    Challenge {
        pending: Option<usize>,
    },
    PasskeyLogin {
        right: bool,
        passkey: usize,
        challenge: usize,
        pending: Option<usize>,
        counter: u32,
    },
    /// Unlinks an own account.
    Unlink {
        identity: usize,
        right: bool,
    },
    /// Unlinks an account of another user.
    UnlinkOther {
        identity: usize,
    },
    /// A role begins or ceases to require a second factor.
    Require {
        role: usize,
        required: bool,
    },
}

pub struct UserChange {
    pub user: UserIx,
    pub roles: Option<Vec<usize>>,
    pub groups: Option<Vec<usize>>,
    pub active: Option<bool>,
    pub password: Option<String>,
}
