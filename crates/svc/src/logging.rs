//! Logs go to stderr, for people or as JSON; `SVC_LOG` filters them.
//!
//! A record is one line, whatever its fields hold: text of users cannot forge another one.

mod escaped_fields;

use std::io::{self, IsTerminal};

use svc_protocol::env;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    EnvFilter, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use self::escaped_fields::EscapedFields;

use crate::{config::LogFormat, environment::Environment, exit::Failure};

/// Libraries that log whole requests at trace level, credentials included.
const CAPPED: [&str; 2] = ["tungstenite", "tokio_tungstenite"];

/// What is logged unless `SVC_LOG` says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Default {
    /// Servers and agents tell what they do.
    Info,
    /// Commands tell only what is wrong.
    Warn,
}

pub fn start(
    format: LogFormat,
    default: Default,
    environment: &Environment,
) -> Result<(), Failure> {
    let (filter, cap) = filters(environment.get(env::LOG), default)?;
    let colour = io::stderr().is_terminal() && environment.get("NO_COLOR").is_none();
    let registry = tracing_subscriber::registry().with(filter).with(cap);
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

/// What is asked for, and the cap on it.
fn filters(directives: Option<&str>, default: Default) -> Result<(EnvFilter, Targets), Failure> {
    let filter = filter(directives, default)?;
    let cap = cap(filter.max_level_hint().unwrap_or(LevelFilter::TRACE));
    Ok((filter, cap))
}

fn filter(directives: Option<&str>, default: Default) -> Result<EnvFilter, Failure> {
    let Some(directives) = directives else {
        return Ok(EnvFilter::new(match default {
            Default::Info => "info",
            Default::Warn => "warn",
        }));
    };
    EnvFilter::try_new(directives).map_err(|error| {
        Failure::usage(format!(
            "{} is `{directives}`, which is no filter",
            env::LOG
        ))
        .why(error)
        .hint(format!(
            "{}=info, or {}=svc_server=debug,warn",
            env::LOG,
            env::LOG
        ))
    })
}

/// A second filter beside the first: no directive, however exact, reaches past it. It lets nothing
/// through that the first would not: the most it says is what libraries prepare records for, and
/// one of them does so a dozen times for each message on a link.
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
        let (filter, cap) = filters(directives, Default::Info).expect("a filter");
        let subscriber = tracing_subscriber::registry().with(filter).with(cap);
        with_default(subscriber, check);
    }

    #[test]
    fn what_logs_credentials_stays_at_debug_whatever_is_asked() {
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
    fn everything_else_is_as_asked() {
        under(Some("svc_agent=trace,warn"), || {
            assert!(enabled!(target: "svc_agent::link", Level::TRACE));
            assert!(!enabled!(target: "svc_server", Level::INFO));
        });
        under(None, || {
            assert!(enabled!(target: "svc_server", Level::INFO));
            assert!(!enabled!(target: "svc_server", Level::DEBUG));
        });
        let failure = filter(Some("svc=loud"), Default::Info).expect_err("no level");
        assert!(failure.to_string().contains("svc=loud"), "{failure}");
    }
}
