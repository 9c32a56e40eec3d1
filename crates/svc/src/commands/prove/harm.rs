//! The disturbances, and how each is done to the servers of a run.

use std::{fmt, time::Duration};

use clap::ValueEnum;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::{
    dice::Dice,
    rounds::{RoundError, Run},
    servers::Server,
};

/// How long a server of a zone is frozen: longer than its lease of 2 seconds.
const ZONE_FREEZE_MILLIS: std::ops::Range<u64> = 2_200..2_900;
const FREEZE_MILLIS: std::ops::Range<u64> = 50..600;
/// How long to wait for an emit that fails because of the limit of the size of files.
const FULL_DISK_MAX: Duration = Duration::from_millis(600);
/// How far a clock jumps, in minutes.
const CLOCK_MINUTES: (u64, u64) = (5, 360);

/// A disturbance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// A server is killed and started again
    Kill,
    /// A server is stopped for a moment, as if the machine hung
    Freeze,
    /// Writes of a server to its files fail
    Disk,
    /// The clock of a server jumps by minutes or hours
    Clock,
    /// A server is killed during commits and during its start; in a zone, all connections to the
    /// database end instead
    Database,
}

/// The name that `--only` accepts.
impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no disturbance is hidden");
        f.write_str(value.get_name())
    }
}

impl Run {
    /// Disturbs a server or the database, and waits until it is back. Returns what was done.
    pub(super) async fn disturb(
        &mut self,
        harm: Harm,
        dice: &mut Dice,
    ) -> Result<String, RoundError> {
        let server = dice.index(self.servers.len());
        match harm {
            Harm::Kill => self.kill(server, dice).await,
            Harm::Freeze => self.freeze(server, dice).await,
            Harm::Disk => self.fill_disk(server, dice).await,
            Harm::Clock => self.move_clock(server, dice).await,
            Harm::Database if self.schema.is_some() => self.end_connections(dice).await,
            Harm::Database => self.kill_in_commit(server, dice).await,
        }
    }

    async fn kill(&mut self, server: usize, dice: &mut Dice) -> Result<String, RoundError> {
        let moment = dice.millis(0..150);
        sleep(moment).await;
        self.servers[server].kill();
        let down = match self.schema {
            Some(_) => dice.millis(0..1_500),
            None => Duration::ZERO,
        };
        sleep(down).await;
        self.start_again(server).await?;
        let ms = moment.as_millis();
        Ok(format!("server {server} killed after {ms} ms"))
    }

    async fn freeze(&mut self, server: usize, dice: &mut Dice) -> Result<String, RoundError> {
        let time = dice.millis(match self.schema {
            Some(_) => ZONE_FREEZE_MILLIS,
            None => FREEZE_MILLIS,
        });
        sleep(dice.millis(0..100)).await;
        self.servers[server].freeze();
        sleep(time).await;
        self.servers[server].thaw();
        let ms = time.as_millis();
        Ok(format!("server {server} frozen for {ms} ms"))
    }

    /// Limits the size of the files of a server: a write beyond the limit fails. The disk itself is
    /// not filled.
    async fn fill_disk(&mut self, server: usize, dice: &mut Dice) -> Result<String, RoundError> {
        sleep(dice.millis(0..100)).await;
        let log = self.settings.data_dir(server).join("svc.db-wal");
        let size = std::fs::metadata(log).map_or(0, |file| file.len());
        let limit = match dice.roll(3) {
            0 => 0,
            1 => size / 2,
            _ => size,
        };
        self.servers[server].limit_files(Some(limit))?;
        let before = self.shared.failed_emits();
        let hit = self.wait_for_failed_emit(before).await;
        if !hit {
            // The database went back to the beginning of its log file and overwrote it, so the file
            // did not grow to the limit.
            self.servers[server].limit_files(Some(0))?;
            self.wait_for_failed_emit(before).await;
        }
        sleep(dice.millis(0..200)).await;
        self.servers[server].limit_files(None)?;
        let failed = self.shared.failed_emits() - before;
        let mut what = format!("files of server {server} limited, {failed} emits failed");
        if self.servers[server].has_ended() {
            what.push_str(", the server ended");
            self.start_again(server).await?;
        }
        Ok(what)
    }

    async fn wait_for_failed_emit(&self, before: u64) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < FULL_DISK_MAX {
            if self.shared.failed_emits() > before {
                return true;
            }
            sleep(Duration::from_millis(2)).await;
        }
        false
    }

    /// Moves the clock of a server, waits for some emits, and moves the clock back. Sometimes the
    /// server is killed instead of moving the clock back: after its start the clock is right again.
    async fn move_clock(&mut self, server: usize, dice: &mut Dice) -> Result<String, RoundError> {
        sleep(dice.millis(0..100)).await;
        let minutes = CLOCK_MINUTES.0 + dice.roll(CLOCK_MINUTES.1 - CLOCK_MINUTES.0);
        let minutes = i64::try_from(minutes).unwrap_or_default();
        let minutes = if dice.roll(2) == 0 { minutes } else { -minutes };
        self.servers[server].shift_clock(minutes * 60_000);
        self.wait_for_emits().await?;
        sleep(dice.millis(0..100)).await;
        let mut what = format!("clock of server {server} moved by {minutes} min and back");
        if dice.roll(3) == 0 {
            self.servers[server].kill();
            self.start_again(server).await?;
            what.push_str(" by a kill");
        } else {
            self.servers[server].shift_clock(0);
        }
        Ok(what)
    }

    /// Kills a server during commits, then during its start, while it repairs its database.
    async fn kill_in_commit(
        &mut self,
        server: usize,
        dice: &mut Dice,
    ) -> Result<String, RoundError> {
        sleep(dice.millis(0..25)).await;
        self.servers[server].kill();
        let address = self.servers[server].address;
        let starts = dice.roll(3);
        for _ in 0..starts {
            let starting = Server::spawn(&self.settings, server, address)?;
            sleep(dice.millis(0..120)).await;
            drop(starting);
        }
        self.start_again(server).await?;
        Ok(format!(
            "server {server} killed during commits and in {starts} starts"
        ))
    }

    /// Ends all connections of the servers to PostgreSQL.
    async fn end_connections(&mut self, dice: &mut Dice) -> Result<String, RoundError> {
        let times = 1 + dice.roll(3);
        let mut ended = 0;
        for _ in 0..times {
            sleep(dice.millis(0..300)).await;
            if let Some(schema) = &self.schema {
                ended += schema.end_connections().await?;
            }
        }
        Ok(format!("{ended} connections to the database ended"))
    }
}
