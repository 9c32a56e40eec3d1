//! The rule of a route: who may use it, and how its requests run. `router` has the rule of each route
//! in its table, and `auth` applies it.

use svc_core::Permission::{self, ViewAudit};

/// Which callers may use a route. The authentication middleware applies this rule.
#[derive(Clone, Copy, Debug)]
pub enum Needs {
    /// Any request. A credential is optional.
    Nothing,
    /// Any request, also from a page of another site. Credentials are ignored.
    AnySite,
    /// Any authenticated caller.
    Caller,
    /// Any authenticated caller, also one who must set up a second factor first.
    Enrolling,
    /// A caller with at least one of these permissions.
    Any(&'static [Permission]),
    /// An agent token only.
    Agent,
    /// A direct request from this machine. A credential is optional.
    Loopback,
    /// A direct request from this machine, or a caller with `view_audit`.
    LoopbackOrAudit,
}

impl Needs {
    /// The permissions that open a route. A caller needs only one of them.
    pub fn permissions(self) -> &'static [Permission] {
        match self {
            Self::Any(permissions) => permissions,
            Self::LoopbackOrAudit => &[ViewAudit],
            Self::Nothing
            | Self::AnySite
            | Self::Loopback
            | Self::Caller
            | Self::Enrolling
            | Self::Agent => &[],
        }
    }
}

/// What code may cause on a route: an agent token, which acts as the owner of its space, or a script
/// on the server, which acts as its user. Rows that end with `without_scripts` are closed to
/// scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agents {
    /// Everything that the owner may do: reads, and requests that change no record that other
    /// spaces execute or that acts for other users.
    AsOwner,
    /// Like the owner, except for records that other spaces execute or that act for other users.
    /// The service of the records rejects these with `Caller::reject_code`.
    OwnRecords,
    /// Only if the path names the agent's own space.
    OwnSpace,
    Never,
}

/// Whether a script on the server may use a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scripts {
    AsUser,
    Never,
}

impl Agents {
    /// The rule for scripts, unless the row has another one.
    pub fn for_scripts(self) -> Scripts {
        match self {
            Self::AsOwner | Self::OwnRecords => Scripts::AsUser,
            Self::OwnSpace | Self::Never => Scripts::Never,
        }
    }
}

/// What the answer of a route is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Data. If the client disconnects, the request ends, so that an abandoned call frees its slot.
    /// The caller is checked again before the answer is sent: a caller whose access was revoked in
    /// the meantime does not get data.
    Data,
    /// The result of something tried out. Like [`Self::Data`], but the request runs to its end.
    Trial,
    /// What a change did. The change runs to its end even if the client disconnects: a committed
    /// change must also take effect in memory. The caller always gets the answer, because a request
    /// may revoke its own credential.
    Change,
}

impl Reply {
    /// Whether the answer may be withheld.
    pub fn is_data(self) -> bool {
        self != Self::Change
    }
}

/// Who may use a route, and how its requests run.
#[derive(Clone, Copy)]
pub struct Rule {
    pub needs: Needs,
    pub agents: Agents,
    pub scripts: Scripts,
    pub reply: Reply,
    /// The service limits its requests, so they do not count as changes (`auth::changes`).
    pub has_own_limit: bool,
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::AnySite => f.write_str("nothing, from any site"),
            Self::Caller => f.write_str("caller"),
            Self::Enrolling => f.write_str("caller, also while enrolling"),
            Self::Any(permissions) => {
                let names: Vec<_> = permissions.iter().map(|p| p.as_str()).collect();
                f.write_str(&names.join("|"))
            }
            Self::Agent => f.write_str("agent"),
            Self::Loopback => f.write_str("loopback"),
            Self::LoopbackOrAudit => f.write_str("loopback|view_audit"),
        }
    }
}
