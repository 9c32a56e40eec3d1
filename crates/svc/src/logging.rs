//! Logs go to stderr, for people or as JSON; `SVC_LOG` filters them.

use std::io::{self, IsTerminal};

use svc_protocol::env;
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{config::LogFormat, environment::Environment, exit::Failure};

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
    let filter = match environment.get(env::LOG) {
        Some(directives) => EnvFilter::try_new(directives).map_err(|error| {
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
        })?,
        None => EnvFilter::new(match default {
            Default::Info => "info",
            Default::Warn => "warn",
        }),
    };
    let colour = io::stderr().is_terminal() && environment.get("NO_COLOR").is_none();
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Human => {
            let layer = fmt::layer()
                .with_writer(io::stderr)
                .with_ansi(colour)
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
