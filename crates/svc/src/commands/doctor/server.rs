//! Checks of the server from this machine, and the results of the server's own checks.

use std::time::{Duration, Instant};

use svc_client::{Client, Error, Target, certificate_end};
use svc_core::Timestamp;
use svc_protocol::api::{Check, Diagnostics};

use super::{Group, Shell};
use crate::{
    context::{Connection, Via},
    exit::Failure,
};

/// The time limit of each request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A certificate that expires sooner than this causes a warning.
const CERTIFICATE_SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// If the clocks of this machine and of the server differ by more than this, there is a warning. A
/// server with a wrong clock may reject codes of authenticator apps and shows wrong times.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(10);

pub async fn check(shell: &Shell) -> Group {
    match shell.connect() {
        Ok(connection) => Group {
            name: format!("server {}", connection.client.target()),
            checks: checks(&connection).await,
        },
        Err(failure) => Group {
            name: "server".to_owned(),
            checks: vec![unconnected(failure, "")],
        },
    }
}

async fn checks(connection: &Connection) -> Vec<Check> {
    let client = &connection.client;
    let mut checks = Vec::new();
    if !matches!(connection.via, Via::Agent(_)) {
        checks.extend(certificate(client.target()).await);
    }
    match within(client.me()).await {
        Ok(me) => checks.push(Check::ok(
            "credential",
            format!("{} as {}", me.credential, me.username),
        )),
        Err(failure) => {
            // The other requests would fail for the same reason.
            checks.push(unconnected(failure, "log in again: svc login <url>"));
            return checks;
        }
    }
    let started = Instant::now();
    match within(client.diagnostics()).await {
        Ok(found) => {
            checks.push(clock(&found, svc_clock::now(), started.elapsed()));
            checks.push(version(&found));
            checks.push(public_url(client, &found).await);
            checks.extend(found.checks);
        }
        Err(failure) => checks.push(Check::skipped("server itself", reason(failure))),
    }
    checks
}

/// `advice` is for a failure without a hint.
fn unconnected(failure: Failure, advice: &str) -> Check {
    let advice = failure.hint.clone().unwrap_or_else(|| advice.to_owned());
    Check::error("connection", reason(failure), advice)
}

async fn within<T>(request: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(answer) => answer.map_err(Failure::from),
        Err(_) => {
            let seconds = TIMEOUT.as_secs();
            Err(Failure::failed(format!("no answer within {seconds} s")))
        }
    }
}

fn reason(failure: Failure) -> String {
    match failure.why {
        Some(why) => format!("{}: {why}", failure.what),
        None => failure.what,
    }
}

async fn certificate(target: &Target) -> Option<Check> {
    let end = tokio::time::timeout(TIMEOUT, certificate_end(target)).await;
    match end {
        Ok(Ok(end)) => end.map(|end| certificate_age(end, svc_clock::now())),
        Ok(Err(error)) => Some(Check::error(
            "certificate",
            error.to_string(),
            "check the address, and that the server runs",
        )),
        // If the server does not answer, the next check reports it.
        Err(_) => None,
    }
}

fn certificate_age(end: Timestamp, now: Timestamp) -> Check {
    let days = end.since(now).as_secs() / (24 * 60 * 60);
    let detail = format!("trusted, valid until {end} ({days} days left)");
    if end.since(now) > CERTIFICATE_SOON {
        return Check::ok("certificate", detail);
    }
    let advice = "renew the certificate; the server takes changed files without a restart";
    Check::warning("certificate", detail, advice)
}

/// Compares the clocks. The request took `round_trip`, and the server read its clock at an unknown
/// moment of this time.
fn clock(found: &Diagnostics, now: Timestamp, round_trip: Duration) -> Check {
    let ahead = found.time.since(now);
    let behind = now.since(found.time).saturating_sub(round_trip);
    let difference = ahead.max(behind);
    let detail = format!("the clocks differ by {:.1} s", difference.as_secs_f64());
    if difference <= CLOCK_DIFFERENCE_MAX {
        return Check::ok("clock", detail);
    }
    let advice = "set both clocks by NTP, for example with systemd-timesyncd or chrony";
    Check::warning("clock", detail, advice)
}

fn version(found: &Diagnostics) -> Check {
    let (server, own) = (&found.svc_version, env!("CARGO_PKG_VERSION"));
    if server == own {
        return Check::ok("version", own);
    }
    let detail = format!("the server is {server}, this command is {own}");
    let advice = "use the same version of both if a command fails";
    Check::warning("version", detail, advice)
}

/// Whether this machine reaches the address that the server gives to users.
async fn public_url(client: &Client, found: &Diagnostics) -> Check {
    let (name, url) = ("public URL", &found.url);
    if *url == client.target().to_string() {
        return Check::ok(name, format!("{url} is the address in use"));
    }
    let reached = match Target::parse(url, None) {
        Ok(target) => match is_ready(&Client::new(target)).await {
            true => Ok(()),
            false => Err("no svc server answers there".to_owned()),
        },
        Err(error) => Err(error.to_string()),
    };
    match reached {
        Ok(()) => Check::ok(name, format!("{url} answers")),
        Err(why) => Check::warning(
            name,
            format!("{url} cannot be reached from here: {why}"),
            "set `public_url` to the address that users have, and check DNS, proxy and firewall",
        ),
    }
}

async fn is_ready(client: &Client) -> bool {
    let ready = tokio::time::timeout(TIMEOUT, client.is_ready()).await;
    ready.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use svc_protocol::api::CheckStatus::{Ok, Warning};

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn found(time: Timestamp) -> Diagnostics {
        Diagnostics {
            server_id: "01890000-0000-7000-8000-000000000001"
                .parse()
                .expect("an id"),
            svc_version: "0.0.1".to_owned(),
            time,
            url: "http://x".to_owned(),
            checks: Vec::new(),
        }
    }

    #[test]
    fn a_certificate_that_ends_soon_is_a_warning() {
        let now = Timestamp(1_800_000_000_000);
        for (days, expected) in [(90, Ok), (15, Ok), (13, Warning), (0, Warning)] {
            let check = certificate_age(now.plus(DAY * days), now);
            assert_eq!(check.status, expected, "{days}");
            assert!(check.detail.contains(&format!("{days} days")), "{check:?}");
        }
    }

    #[test]
    fn clocks_may_differ_by_the_time_of_the_request() {
        let now = Timestamp(1_800_000_000_000);
        let second = Duration::from_secs(1);
        for (time, round_trip, expected) in [
            (now, second, Ok),
            (now.plus(second * 60), second, Warning),
            (now.minus(second * 60), second, Warning),
            (now.minus(second * 12), second * 5, Ok),
        ] {
            assert_eq!(clock(&found(time), now, round_trip).status, expected);
        }
    }

    #[test]
    fn another_version_is_a_warning() {
        assert_eq!(version(&found(Timestamp(0))).status, Warning);
    }
}
