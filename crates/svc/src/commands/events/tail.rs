//! Follows the stream of events, through lost connections.

use std::time::Duration;

use svc_client::{Client, Error, EventStream, Message, Received};
use svc_protocol::api::EventRecord;
use tokio::time::{sleep, timeout};

use super::{parse_patterns, print_line};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
};

/// Show new events as they come, until stopped
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc events tail\n  svc events tail --pattern 'custom.build.*' -o json | jq .data"
)]
pub struct Args {
    /// Only types one of these patterns matches, separated by commas
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

/// How a stream is kept.
#[derive(Clone, Copy, Debug)]
pub struct TailPolicy {
    /// A stream that says nothing for so long, not even that it lives, is lost.
    pub silence_max: Duration,
    /// Between attempts to connect again: from, doubling to.
    pub retry_first: Duration,
    pub retry_max: Duration,
}

pub const POLICY: TailPolicy = TailPolicy {
    silence_max: Duration::from_secs(60),
    retry_first: Duration::from_millis(250),
    retry_max: Duration::from_secs(10),
};

/// New events, one after the other; a lost connection is made again.
pub struct Tail<'a> {
    client: &'a Client,
    pattern: Option<&'a str>,
    policy: TailPolicy,
    stream: Option<EventStream>,
}

impl<'a> Tail<'a> {
    /// Opens the stream; that it cannot be opened at all is an error.
    pub async fn open(
        client: &'a Client,
        pattern: Option<&'a str>,
        policy: TailPolicy,
    ) -> Result<Self, Failure> {
        let stream = client.event_stream(pattern).await?;
        eprintln!("waiting for events; Ctrl-C ends it");
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
                Ok(Ok(Received::End)) => "the server ended it".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it went silent".to_owned(),
            };
            eprintln!("lost the stream of events: {why}; connecting again");
            self.stream = None;
        }
    }

    /// Tries until it is there; only a refusal ends it.
    async fn reconnect(&mut self) -> Result<(), Failure> {
        let mut delay = self.policy.retry_first;
        loop {
            sleep(delay).await;
            match self.client.event_stream(self.pattern).await {
                Ok(stream) => {
                    eprintln!("connected again; what happened meanwhile: svc events list");
                    self.stream = Some(stream);
                    return Ok(());
                }
                Err(error) if is_passing(&error) => {
                    delay = (delay * 2).min(self.policy.retry_max);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The event of a message; anything else is the server's word on the stream itself.
fn read(message: &Message) -> Option<EventRecord> {
    if message.event.as_deref() == Some("lagged") {
        eprintln!("some events went by too fast to be shown: svc events list has them");
        return None;
    }
    match serde_json::from_str(&message.data) {
        Ok(event) => Some(event),
        Err(error) => {
            eprintln!("the server sent what this version of svc cannot read: {error}");
            None
        }
    }
}

/// Whether trying again may help.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        Error::Problem { status, .. } => {
            status.is_server_error() || *status == http::StatusCode::TOO_MANY_REQUESTS
        }
        // A proxy without its server answers in its own way.
        Error::Unexpected { .. } => true,
    }
}

#[cfg(test)]
mod tests;
