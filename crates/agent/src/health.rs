//! Checks the space's health. Reports each change to the server, and repeats the last result on
//! each new link.

mod probe;

use std::{path::PathBuf, sync::Arc, time::Duration};

use svc_core::space::{Health, HealthCheck, Probe, health_after};
use svc_link::Control;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::{guard::Guard, link_status::LinkStatus, outbox::Outbox};

pub struct HealthChecker {
    pub outbox: Arc<Outbox>,
    pub link: watch::Receiver<LinkStatus>,
    pub check: watch::Receiver<HealthCheck>,
    /// Working folder of commands that check the health.
    pub folder: PathBuf,
    pub guard: Arc<Guard>,
}

/// The result of the checks so far.
struct Findings {
    health: Health,
    failed_in_a_row: u32,
    checked_at: svc_core::Timestamp,
}

impl HealthChecker {
    /// Runs the checks until the agent stops, which drops the senders of `check` and `link`.
    pub async fn run(mut self) {
        loop {
            let check = self.check.borrow_and_update().clone();
            // A new check starts with empty findings.
            let ended = self.follow(&check).await;
            if ended.is_err() {
                return;
            }
        }
    }

    /// Repeats one check until it is replaced.
    async fn follow(&mut self, check: &HealthCheck) -> Result<(), watch::error::RecvError> {
        if check.probe == Probe::None {
            return self.check.changed().await;
        }
        let mut findings = Findings {
            health: Health::Unknown,
            failed_in_a_row: 0,
            checked_at: svc_clock::now(),
        };
        let mut reported_on = self.link.borrow_and_update().link;
        let mut ticks = interval(Duration::from_secs(check.interval_seconds.into()));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = self.check.changed() => return changed,
                changed = self.link.changed() => {
                    changed?;
                    let link = self.link.borrow_and_update().link;
                    if link.is_some() && link != reported_on && findings.health != Health::Unknown {
                        self.report(&findings);
                    }
                    reported_on = link.or(reported_on);
                }
                _ = ticks.tick() => {
                    if self.check_once(check, &mut findings).await {
                        self.report(&findings);
                    }
                }
            }
        }
    }

    /// Runs one check. Returns whether the health has changed.
    async fn check_once(&self, check: &HealthCheck, findings: &mut Findings) -> bool {
        let limit = Duration::from_secs(check.timeout_seconds.into());
        let succeeded = timeout(limit, probe::probe(&check.probe, &self.folder, &self.guard))
            .await
            .unwrap_or(false);
        findings.checked_at = svc_clock::now();
        findings.failed_in_a_row = if succeeded {
            0
        } else {
            findings.failed_in_a_row.saturating_add(1)
        };
        let before = findings.health;
        findings.health = health_after(before, findings.failed_in_a_row, check.failures);
        findings.health != before
    }

    fn report(&self, findings: &Findings) {
        tracing::info!(health = %findings.health, "the space's health is reported");
        self.outbox.control(&Control::Health {
            current: findings.health,
            consecutive_failures: findings.failed_in_a_row,
            checked_at: findings.checked_at,
        });
    }
}

#[cfg(test)]
mod tests;
