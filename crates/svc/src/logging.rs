//! Logs on stderr, for people or as JSON, filtered by `SVC_LOG`.
//!
//! A record is always one line: text of users in its fields cannot forge another record. `line_limit`
//! limits the records that each user can cause.

mod escaped_fields;
mod line_limit;

use std::io::{self, IsTerminal};

use svc_protocol::env;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    EnvFilter, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use self::{escaped_fields::EscapedFields, line_limit::LineLimit};

use crate::{
    config::LogFormat,
    environment::Environment,
    exit::{Failure, OrFail},
};

/// Libraries that log whole requests at trace level, credentials included.
const CAPPED: [&str; 2] = ["tungstenite", "tokio_tungstenite"];

/// The log level without `SVC_LOG`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultLevel {
    /// For servers and agents.
    Info,
    /// For commands.
    Warn,
}

pub fn start(
    format: LogFormat,
    default: DefaultLevel,
    environment: &Environment,
) -> Result<(), Failure> {
    let (filter, cap) = filters(environment.get(env::LOG), default)?;
    let colour = io::stderr().is_terminal() && environment.get("NO_COLOR").is_none();
    let registry = tracing_subscriber::registry()
        .with(filter)
        .with(cap)
        .with(LineLimit::default());
    match format {
        LogFormat::Human => {
            let layer = fmt::layer()
                .with_writer(io::stderr)
                .with_ansi(colour)
                .fmt_fields(EscapedFields)
                .with_target(false);
            registry.with(layer).init();
        }
        LogFormat::Json => {
            let layer = fmt::layer()
                .json()
                .flatten_event(true)
                .with_writer(io::stderr);
            registry.with(layer).init();
        }
    }
    Ok(())
}

/// The filter that `directives` describe, and a second filter ([`cap`]).
fn filters(
    directives: Option<&str>,
    default: DefaultLevel,
) -> Result<(EnvFilter, Targets), Failure> {
    let filter = filter(directives, default)?;
    let cap = cap(filter.max_level_hint().unwrap_or(LevelFilter::TRACE));
    Ok((filter, cap))
}

fn filter(directives: Option<&str>, default: DefaultLevel) -> Result<EnvFilter, Failure> {
    let Some(directives) = directives else {
        return Ok(EnvFilter::new(match default {
            DefaultLevel::Info => "info",
            DefaultLevel::Warn => "warn",
        }));
    };
    let variable = env::LOG;
    EnvFilter::try_new(directives)
        .or_usage(format!(
            "{variable} is `{directives}`, which is not a valid filter"
        ))
        .map_err(|failure| {
            failure.hint(format!(
                "{variable}=info, or {variable}=svc_server=debug,warn"
            ))
        })
}

/// The filter that stops the libraries of [`CAPPED`] from logging at trace level, whatever the
/// directives say. `most` is the highest level of the first filter, and no level of this filter is
/// higher. Otherwise libraries would prepare records that the first filter discards: one library
/// prepares a dozen records for each message on a link.
fn cap(most: LevelFilter) -> Targets {
    Targets::new()
        .with_default(most)
        .with_targets(CAPPED.map(|target| (target, most.min(LevelFilter::DEBUG))))
}

#[cfg(test)]
mod tests {
    use tracing::{Level, enabled, subscriber::with_default};

    use super::*;

    /// Runs `check` under the filters that `directives` make.
    fn under(directives: Option<&str>, check: impl FnOnce()) {
        let (filter, cap) = filters(directives, DefaultLevel::Info).expect("a filter");
        let subscriber = tracing_subscriber::registry().with(filter).with(cap);
        with_default(subscriber, check);
    }

    #[test]
    fn libraries_that_log_credentials_never_log_at_trace() {
        for directives in [
            "trace",
            "tungstenite=trace,tokio_tungstenite=trace",
            "tungstenite::handshake::client=trace,tokio_tungstenite::handshake=trace",
        ] {
            under(Some(directives), || {
                assert!(!enabled!(target: "tungstenite::handshake::client", Level::TRACE));
                assert!(!enabled!(target: "tokio_tungstenite::handshake", Level::TRACE));
                assert!(enabled!(target: "tungstenite::handshake::client", Level::DEBUG));
            });
        }
    }

    #[test]
    fn other_targets_follow_the_directives() {
        under(Some("svc_agent=trace,warn"), || {
            assert!(enabled!(target: "svc_agent::link", Level::TRACE));
            assert!(!enabled!(target: "svc_server", Level::INFO));
        });
        under(None, || {
            assert!(enabled!(target: "svc_server", Level::INFO));
            assert!(!enabled!(target: "svc_server", Level::DEBUG));
        });
        let failure = filter(Some("svc=loud"), DefaultLevel::Info).expect_err("no level");
        assert!(failure.to_string().contains("svc=loud"), "{failure}");
    }
}
