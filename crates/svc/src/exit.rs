//! Exit codes, and failures: what happened, why, and what to do.

use std::{fmt, path::Path};

use http::StatusCode;
use svc_client::{Error, TargetError};
use svc_protocol::jsonrpc::{
    INTERRUPTED, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, TIMED_OUT, UNAVAILABLE,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Ok,
    Failure,
    Usage,
    /// The method returned an error.
    MethodError,
    Credentials,
    NotFound,
    /// A conflict, an invalid request, or a refused registration.
    Refused,
    Unreachable,
    Timeout,
    /// The exit code of the script that was run.
    Script(u8),
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::MethodError => 3,
            Self::Credentials => 4,
            Self::NotFound => 5,
            Self::Refused => 6,
            Self::Unreachable => 7,
            Self::Timeout => 8,
            Self::Script(code) => code,
        }
    }

    /// Success, or another exit code.
    pub fn ok_if(is_ok: bool, otherwise: Self) -> Self {
        if is_ok { Self::Ok } else { otherwise }
    }

    /// The exit code for the HTTP status of an error.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Credentials,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY => Self::Unreachable,
            StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => Self::Timeout,
            StatusCode::TOO_MANY_REQUESTS => Self::Failure,
            status if status.is_client_error() => Self::Refused,
            _ => Self::Failure,
        }
    }

    /// The exit code for a JSON-RPC error. `reason` is the `data.reason` of the error. It
    /// distinguishes errors of svc from errors of method servers with the same code.
    pub fn of_rpc_error(code: i64, reason: Option<&str>) -> Self {
        let is = |ours: i32| code == i64::from(ours);
        match reason {
            _ if is(METHOD_NOT_FOUND) => Self::NotFound,
            _ if is(INVALID_REQUEST) || is(PARSE_ERROR) => Self::Refused,
            Some("unavailable") if is(UNAVAILABLE) => Self::Unreachable,
            Some("interrupted") if is(INTERRUPTED) => Self::Unreachable,
            Some("timeout") if is(TIMED_OUT) => Self::Timeout,
            _ => Self::MethodError,
        }
    }
}

/// Why a command failed, for people: what happened, why, and what to do.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub what: String,
    pub why: Option<String>,
    pub hint: Option<String>,
}

pub type Outcome = Result<Exit, Failure>;

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
            why: None,
            hint: None,
        }
    }

    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    pub fn failed(what: impl Into<String>) -> Self {
        Self::new(Exit::Failure, what)
    }

    pub fn credentials(what: impl Into<String>) -> Self {
        Self::new(Exit::Credentials, what)
    }

    pub fn not_found(what: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, what)
    }

    pub fn refused(what: impl Into<String>) -> Self {
        Self::new(Exit::Refused, what)
    }

    pub fn unreachable(what: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, what)
    }

    pub fn timeout(what: impl Into<String>) -> Self {
        Self::new(Exit::Timeout, what)
    }

    /// An error, with its source as the reason.
    pub fn of_error(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self {
            why: error.source().map(ToString::to_string),
            ..Self::new(exit, error.to_string())
        }
    }

    /// An error of a request about one record. `list` is the command that lists the records.
    pub fn of_record(error: Error, list: impl Into<String>) -> Self {
        Self::from(error).hint_for(Exit::NotFound, list)
    }

    #[must_use]
    pub fn why(mut self, why: impl fmt::Display) -> Self {
        self.why = Some(why.to_string());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint to failures with this exit code.
    #[must_use]
    pub fn hint_for(self, exit: Exit, hint: impl Into<String>) -> Self {
        if self.exit == exit {
            self.hint(hint)
        } else {
            self
        }
    }

    /// Puts a more general message in front; the former message becomes the reason.
    #[must_use]
    pub fn doing(mut self, what: impl Into<String>) -> Self {
        let inner = std::mem::replace(&mut self.what, what.into());
        self.why = Some(match self.why.take() {
            Some(why) => format!("{inner}: {why}"),
            None => inner,
        });
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if let Some(why) = &self.why {
            write!(f, "\n  {why}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Makes a failure of an error, which becomes the reason.
pub trait OrFail<T> {
    fn or_fail(self, what: impl Into<String>) -> Result<T, Failure>;

    /// As [`or_fail`](Self::or_fail), with a path after the text.
    fn or_fail_at(self, what: &str, path: &Path) -> Result<T, Failure>;

    fn or_usage(self, what: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> OrFail<T> for Result<T, E> {
    fn or_fail(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::failed(what).why(error))
    }

    fn or_fail_at(self, what: &str, path: &Path) -> Result<T, Failure> {
        self.or_fail(format!("{what} `{}`", path.display()))
    }

    fn or_usage(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::usage(what).why(error))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Unreachable {
                target,
                why,
                remedy,
            } => {
                let hint = remedy.unwrap_or_else(|| {
                    if target.starts_with('/') {
                        "is the agent running? `svc agent start` starts it in the folder of the space"
                    } else {
                        "is the server running? `svc up` starts a server here; `svc context list` shows which server is in use"
                    }
                    .to_owned()
                });
                Self::new(Exit::Unreachable, format!("cannot reach `{target}`"))
                    .why(why)
                    .hint(hint)
            }
            Error::Timeout { .. } => Self::new(Exit::Timeout, text),
            Error::Problem { status, problem } => {
                let failure = Self::new(Exit::of_status(status), text);
                match (status, problem.code.as_str()) {
                    (StatusCode::UNAUTHORIZED, _) => {
                        failure.hint("svc login <url>, or set SVC_URL and SVC_TOKEN")
                    }
                    (_, "scope_denied") => {
                        failure.hint("use a token without scopes: svc token create <name>")
                    }
                    (_, "local_disabled") => failure.hint(
                        "in the server's svc.toml: [spaces] allow_local = true, or start it with SVC_SPACES_ALLOW_LOCAL=true",
                    ),
                    (_, "unknown_group") => failure.hint(
                        "svc group list shows the groups; svc group create <name> creates one",
                    ),
                    (_, "unknown_role") => failure.hint(
                        "svc role list shows the roles; svc role create <name> creates one",
                    ),
                    (_, "rate_limited") => failure.hint(
                        "wait a moment and try again; the server's `calls_per_second` and `emits_per_second` set the limits",
                    ),
                    (StatusCode::FORBIDDEN, _) => failure.hint("svc whoami shows what you may do"),
                    _ => failure,
                }
            }
            Error::Unexpected { .. } => {
                Self::failed(text).hint("is this the address of an svc server? svc context list")
            }
        }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Self::usage(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use svc_protocol::problem::Problem;

    use super::*;

    #[test]
    fn rpc_errors_map_to_their_exit_codes() {
        let check = |code, reason, exit: Exit| {
            assert_eq!(Exit::of_rpc_error(code, reason), exit, "{code} {reason:?}");
        };
        check(-32601, None, Exit::NotFound);
        check(-32600, None, Exit::Refused);
        check(-32000, Some("unavailable"), Exit::Unreachable);
        check(-32002, Some("interrupted"), Exit::Unreachable);
        check(-32001, Some("timeout"), Exit::Timeout);
        // An error of a method server with a code that svc uses too.
        check(-32000, None, Exit::MethodError);
        check(-32000, Some("disk full"), Exit::MethodError);
        check(7, None, Exit::MethodError);
    }

    #[test]
    fn client_errors_map_to_their_exit_codes() {
        let problem = |status: u16| Error::Problem {
            status: StatusCode::from_u16(status).expect("a status"),
            problem: Box::new(Problem::new(status, "code", "title", "detail")),
        };
        let check = |error: Error, exit: Exit| assert_eq!(Failure::from(error).exit, exit);
        check(problem(400), Exit::Refused);
        check(problem(401), Exit::Credentials);
        check(problem(403), Exit::Credentials);
        check(problem(404), Exit::NotFound);
        check(problem(409), Exit::Refused);
        check(problem(413), Exit::Refused);
        check(problem(500), Exit::Failure);
        check(problem(503), Exit::Unreachable);
        let target = || "t".to_owned();
        check(
            Error::Unreachable {
                target: target(),
                why: "refused".into(),
                remedy: None,
            },
            Exit::Unreachable,
        );
        check(
            Error::Timeout {
                target: target(),
                after: std::time::Duration::from_secs(1),
            },
            Exit::Timeout,
        );
    }

    #[test]
    fn an_unknown_group_or_role_has_a_hint() {
        for (code, command) in [
            ("unknown_group", "svc group list"),
            ("unknown_role", "svc role list"),
        ] {
            let failure = Failure::from(Error::Problem {
                status: StatusCode::BAD_REQUEST,
                problem: Box::new(Problem::new(400, code, "title", "detail")),
            });
            let hint = failure.hint.unwrap_or_default();
            assert!(hint.contains(command), "{code}: {hint}");
        }
    }

    #[test]
    fn a_failure_has_at_most_three_lines() {
        let failure = Failure::new(Exit::Failure, "inner")
            .why("because")
            .hint("do this")
            .doing("outer");
        assert_eq!(
            failure.to_string(),
            "error: outer\n  inner: because\nhint: do this"
        );
    }
}
