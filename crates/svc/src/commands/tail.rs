//! Reads new records from a stream as they arrive, and reconnects when the stream is lost.

use std::time::Duration;

use serde::de::DeserializeOwned;
use svc_client::{Client, Error, EventStream, Message, Received};
use tokio::time::{sleep, timeout};

use crate::exit::{Exit, Failure, Outcome};

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

/// A stream of records that a [`Tail`] opens.
pub trait TailSource {
    type Record: DeserializeOwned;
    /// The name of a record, such as `event`. Its plural is the name of the command.
    const NAME: &'static str;
    /// The name with its article, such as `an event`.
    const ONE: &'static str;

    async fn open(&self, client: &Client) -> Result<EventStream, Error>;
}

/// A stream of new records that reconnects by itself.
pub struct Tail<'a, S> {
    client: &'a Client,
    source: S,
    policy: TailPolicy,
    stream: Option<EventStream>,
}

impl<'a, S: TailSource> Tail<'a, S> {
    /// Opens the stream. A failure of this first connection is an error; later failures are
    /// retried.
    pub async fn open(client: &'a Client, source: S, policy: TailPolicy) -> Result<Self, Failure> {
        let stream = source.open(client).await?;
        eprintln!("waiting for {}s; Ctrl-C stops", S::NAME);
        Ok(Self {
            client,
            source,
            policy,
            stream: Some(stream),
        })
    }

    /// Prints new records with `print`, until that returns `false`: stdout is closed.
    pub async fn print_all(
        mut self,
        print: impl Fn(&S::Record) -> Result<bool, Failure>,
    ) -> Outcome {
        while print(&self.next().await?)? {}
        Ok(Exit::Ok)
    }

    pub async fn next(&mut self) -> Result<S::Record, Failure> {
        loop {
            let Some(stream) = &mut self.stream else {
                self.reconnect().await?;
                continue;
            };
            let why = match timeout(self.policy.silence_max, stream.next()).await {
                Ok(Ok(Received::KeepAlive)) => continue,
                Ok(Ok(Received::Message(message))) => match read::<S>(&message) {
                    Some(record) => return Ok(record),
                    None => continue,
                },
                Ok(Ok(Received::End)) => "the server closed it".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it sent no keep-alive".to_owned(),
            };
            eprintln!("lost the {} stream: {why}; reconnecting", S::NAME);
            self.stream = None;
        }
    }

    /// Retries until the stream is open. Returns only an error that no retry can fix.
    async fn reconnect(&mut self) -> Result<(), Failure> {
        let mut delay = self.policy.retry_first;
        loop {
            sleep(delay).await;
            match self.source.open(self.client).await {
                Ok(stream) => {
                    let name = S::NAME;
                    eprintln!("reconnected; svc {name}s list shows the {name}s in between");
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

/// The record in a message. `None` for a message about the stream itself, and for a message that
/// has no record.
fn read<S: TailSource>(message: &Message) -> Option<S::Record> {
    if message.event.as_deref() == Some("lagged") {
        let name = S::NAME;
        eprintln!("some {name}s came too fast to show; svc {name}s list has them");
        return None;
    }
    let read = serde_json::from_str(&message.data);
    read.inspect_err(|error| {
        let one = S::ONE;
        eprintln!("this version of svc cannot read {one} from the server: {error}");
    })
    .ok()
}

/// Whether a retry can help.
pub fn is_transient(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        Error::Problem { status, .. } => {
            status.is_server_error() || *status == http::StatusCode::TOO_MANY_REQUESTS
        }
        // Usually the answer of a proxy that cannot reach its server.
        Error::Unexpected { .. } => true,
    }
}

#[cfg(test)]
mod tests;
