//! `svc events tail`: prints new events, and reconnects when the stream is lost.

use std::time::Duration;

use svc_client::{Client, Error, EventStream, Message, Received};
use svc_protocol::api::EventRecord;
use tokio::time::{sleep, timeout};

use super::{parse_patterns, print_line};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
};

/// Show new events as they arrive, until stopped
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc events tail\n  svc events tail --pattern 'custom.build.*' -o json | jq .data"
)]
pub struct Args {
    /// Only types that match one of these patterns, separated by commas
    #[arg(long, visible_alias = "type", value_name = "PATTERNS", value_parser = parse_patterns)]
    pattern: Option<String>,
}

pub async fn run(shell: &Shell, args: &Args) -> Outcome {
    let client = shell.client()?;
    let mut tail = Tail::open(&client, args.pattern.as_deref(), POLICY).await?;
    loop {
        let event = tail.next().await?;
        if !print_line(shell, &event)? {
            return Ok(Exit::Ok);
        }
    }
}

/// When a stream counts as lost, and how often to reconnect.
#[derive(Clone, Copy, Debug)]
pub struct TailPolicy {
    /// A stream without an event or a keep-alive for this time is lost.
    pub silence_max: Duration,
    /// Delay before the first attempt to reconnect; it doubles up to `retry_max`.
    pub retry_first: Duration,
    pub retry_max: Duration,
}

pub const POLICY: TailPolicy = TailPolicy {
    silence_max: Duration::from_secs(60),
    retry_first: Duration::from_millis(250),
    retry_max: Duration::from_secs(10),
};

/// A stream of new events that reconnects by itself.
pub struct Tail<'a> {
    client: &'a Client,
    pattern: Option<&'a str>,
    policy: TailPolicy,
    stream: Option<EventStream>,
}

impl<'a> Tail<'a> {
    /// Opens the stream. A failure of this first connection is an error; later failures are
    /// retried.
    pub async fn open(
        client: &'a Client,
        pattern: Option<&'a str>,
        policy: TailPolicy,
    ) -> Result<Self, Failure> {
        let stream = client.event_stream(pattern).await?;
        eprintln!("waiting for events; Ctrl-C stops");
        Ok(Self {
            client,
            pattern,
            policy,
            stream: Some(stream),
        })
    }

    pub async fn next(&mut self) -> Result<EventRecord, Failure> {
        loop {
            let Some(stream) = &mut self.stream else {
                self.reconnect().await?;
                continue;
            };
            let why = match timeout(self.policy.silence_max, stream.next()).await {
                Ok(Ok(Received::KeepAlive)) => continue,
                Ok(Ok(Received::Message(message))) => match read(&message) {
                    Some(event) => return Ok(event),
                    None => continue,
                },
                Ok(Ok(Received::End)) => "the server closed it".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it sent no keep-alive".to_owned(),
            };
            eprintln!("lost the event stream: {why}; reconnecting");
            self.stream = None;
        }
    }

    /// Retries until the stream is open. Returns only an error that no retry can fix.
    async fn reconnect(&mut self) -> Result<(), Failure> {
        let mut delay = self.policy.retry_first;
        loop {
            sleep(delay).await;
            match self.client.event_stream(self.pattern).await {
                Ok(stream) => {
                    eprintln!("reconnected; svc events list shows the events in between");
                    self.stream = Some(stream);
                    return Ok(());
                }
                Err(error) if is_transient(&error) => {
                    delay = (delay * 2).min(self.policy.retry_max);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The event in a message. `None` for a message about the stream itself, and for a message that is
/// not an event.
fn read(message: &Message) -> Option<EventRecord> {
    if message.event.as_deref() == Some("lagged") {
        eprintln!("some events came too fast to show; svc events list has them");
        return None;
    }
    match serde_json::from_str(&message.data) {
        Ok(event) => Some(event),
        Err(error) => {
            eprintln!("this version of svc cannot read an event from the server: {error}");
            None
        }
    }
}

/// Whether a retry can help.
fn is_transient(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        Error::Problem { status, .. } => {
            status.is_server_error() || *status == http::StatusCode::TOO_MANY_REQUESTS
        }
        // The answer of a proxy that cannot reach its server.
        Error::Unexpected { .. } => true,
    }
}

#[cfg(test)]
mod tests;
