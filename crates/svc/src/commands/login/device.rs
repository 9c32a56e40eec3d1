//! Login with a code that the user types in a browser on another machine.

use std::time::Duration;

use serde::Deserialize;
use svc_client::Client;
use tokio::time::{Instant, sleep};

use super::oauth::{CLIENT_ID, NewToken, post_form};
use crate::exit::Failure;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How much longer to wait between polls if the server asks for it.
const SLOWER: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Started {
    device_code: String,
    user_code: String,
    verification_uri: String,
    expires_in: u64,
    interval: u64,
}

/// Logs in with a code. The token gets the name `cli@<machine>`.
pub async fn log_in(client: &Client, machine: &str) -> Result<NewToken, Failure> {
    let fields = [("client_id", CLIENT_ID), ("machine", machine)];
    let started: Started = post_form(client, "/device_authorization", &fields).await??;
    eprintln!(
        "open {} in a browser and enter the code\n\n  {}\n",
        started.verification_uri, started.user_code
    );
    let until = Instant::now() + Duration::from_secs(started.expires_in);
    let mut interval = Duration::from_secs(started.interval.max(1));
    while Instant::now() < until {
        sleep(interval).await;
        let fields = [
            ("grant_type", GRANT),
            ("client_id", CLIENT_ID),
            ("device_code", &started.device_code),
        ];
        let refusal = match post_form(client, "/token", &fields).await? {
            Ok(token) => return Ok(token),
            Err(refusal) => refusal,
        };
        match refusal.error.as_str() {
            "authorization_pending" => {}
            "slow_down" => interval += SLOWER,
            _ => return Err(refusal.into()),
        }
    }
    Err(Failure::credentials("the code has expired").hint("svc login --device"))
}
