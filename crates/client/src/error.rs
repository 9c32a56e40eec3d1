//! Everything that can go wrong with a request, told apart by what the caller can do about it.

use std::time::Duration;

use http::StatusCode;
use svc_protocol::problem::Problem;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    /// No connection, or it broke.
    #[error("cannot reach `{target}`: {why}")]
    Unreachable { target: String, why: String },
    #[error("`{target}` did not answer within {:.1} s", after.as_secs_f64())]
    Timeout { target: String, after: Duration },
    /// The server understood and said no.
    #[error("{problem}")]
    Problem {
        status: StatusCode,
        problem: Box<Problem>,
    },
    /// Something answered, but not as this API does.
    #[error("unexpected answer from `{target}`: {why}")]
    Unexpected { target: String, why: String },
}

impl Error {
    /// The problem's stable code, if the server gave one.
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
