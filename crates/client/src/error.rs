//! Errors of requests, one variant for each way in which a caller may react.

use std::time::Duration;

use http::StatusCode;
use svc_protocol::problem::Problem;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    /// The connection could not be made, or broke.
    #[error("cannot reach `{target}`: {why}{}", remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default())]
    Unreachable {
        target: String,
        why: String,
        /// What the user can do, if the exact reason is known.
        remedy: Option<String>,
    },
    #[error("`{target}` did not answer within {:.1} s", after.as_secs_f64())]
    Timeout { target: String, after: Duration },
    /// The server rejected the request, or this client did not find the named record.
    #[error("{problem}")]
    Problem {
        status: StatusCode,
        problem: Box<Problem>,
    },
    /// The answer does not follow this API, so it may come from another program.
    #[error("unexpected answer from `{target}`: {why}")]
    Unexpected { target: String, why: String },
}

impl Error {
    /// The code of the problem, if this error is a problem.
    pub fn problem_code(&self) -> Option<&str> {
        match self {
            Self::Problem { problem, .. } => Some(&problem.code),
            _ => None,
        }
    }

    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Problem { status, .. } => Some(*status),
            _ => None,
        }
    }
}
