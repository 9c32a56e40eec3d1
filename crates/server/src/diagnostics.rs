//! The self-checks of a server: its database, its disk, its open files (`GET /api/diagnostics`).
//! The checks change nothing. During an outage of the database, a small write is tried and undone.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::{Resource, getrlimit};
use svc_protocol::api::Check;
use svc_store::Store;

/// How long the check of the database waits for an answer.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);
/// A read that takes longer is a warning: logins and emits are then slow, too.
const SLOW_READ: Duration = Duration::from_millis(100);
/// Less free space than this is an error: when the disk is full, the database accepts no writes.
const DISK_FREE_MIN: u64 = 256 << 20;
/// Less free space than this is a warning.
const DISK_FREE_LOW: u64 = 2 << 30;
/// A limit on open files below this is a warning: it is too low for a server with many agents.
const OPEN_FILES_FEW: u64 = 4_096;
/// A warning if at least this share of the allowed files is open, in percent.
const OPEN_FILES_USED_PERCENT: u64 = 80;

/// The values that the checks need.
pub struct SelfCheck {
    pub store: Store,
    pub data_folder: PathBuf,
}

impl SelfCheck {
    pub async fn run(&self) -> Vec<Check> {
        let folder = self.data_folder.clone();
        let machine = tokio::task::spawn_blocking(move || [disk(&folder), open_files()]);
        let mut checks = vec![self.database().await];
        checks.extend(machine.await.into_iter().flatten());
        checks
    }

    async fn database(&self) -> Check {
        let name = "database";
        let started = Instant::now();
        let read = self.store.read(|tx| svc_store::meta::find(tx, "server_id"));
        let why = match tokio::time::timeout(DATABASE_TIMEOUT, read).await {
            Ok(Ok(_)) => match self.store.find_failing_writes().await {
                None => return read_time(started.elapsed()),
                Some(failing) => format!("the database takes no writes: {}", failing.reason),
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", DATABASE_TIMEOUT.as_secs()),
        };
        let advice = match self.store.is_shared() {
            true => {
                "check that PostgreSQL runs and that this server reaches the address in `database_url`"
            }
            false => "check the disk of the data folder, and the server's log",
        };
        Check::error(name, why, advice)
    }
}

fn read_time(time: Duration) -> Check {
    let detail = format!("a read took {:.1} ms", time.as_secs_f64() * 1e3);
    if time <= SLOW_READ {
        return Check::ok("database", detail);
    }
    let advice = "find out whether the disk, the network to PostgreSQL, or the machine is busy";
    Check::warning("database", detail, advice)
}

fn disk(folder: &Path) -> Check {
    match rustix::fs::statvfs(folder) {
        Ok(found) => {
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            free_space(folder, bytes(found.f_bavail), bytes(found.f_blocks))
        }
        Err(error) => Check::skipped(
            "disk",
            format!(
                "cannot measure `{}`: {}",
                folder.display(),
                io::Error::from(error)
            ),
        ),
    }
}

fn free_space(folder: &Path, free: u64, total: u64) -> Check {
    let detail = format!(
        "{} of {} free at `{}`",
        size(free),
        size(total),
        folder.display()
    );
    let advice = "free space, move `data_dir` to a larger disk, or keep events and attempts for a shorter time";
    match free {
        _ if free < DISK_FREE_MIN => Check::error("disk", detail, advice),
        _ if free < DISK_FREE_LOW => Check::warning("disk", detail, advice),
        _ => Check::ok("disk", detail),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

fn open_files() -> Check {
    let Some(possible) = getrlimit(Resource::Nofile).current else {
        return Check::ok("open files", "no limit");
    };
    let used = fs::read_dir("/proc/self/fd").map(|entries| entries.count() as u64);
    file_use(used.ok(), possible)
}

/// `used` is `None` if the number is unknown.
fn file_use(used: Option<u64>, possible: u64) -> Check {
    let detail = match used {
        Some(used) => format!("{used} of {possible} in use"),
        None => format!("at most {possible}; the number in use is unknown"),
    };
    let used = used.unwrap_or_default();
    let advice = "raise the limit: `LimitNOFILE=` of the systemd unit, or `ulimit -n`";
    let crowded = used * 100 >= possible * OPEN_FILES_USED_PERCENT;
    match crowded || possible < OPEN_FILES_FEW {
        true => Check::warning("open files", detail, advice),
        false => Check::ok("open files", detail),
    }
}

#[cfg(test)]
mod tests {
    use svc_protocol::api::CheckStatus::{Error, Ok, Warning};

    use super::*;

    #[test]
    fn little_free_space_is_a_warning_and_then_an_error() {
        for (free, expected, detail) in [
            (3 << 30, Ok, "3.0 GiB of 9.0 GiB free at `/data`"),
            (1 << 30, Warning, "1.0 GiB of 9.0 GiB free at `/data`"),
            (10 << 20, Error, "10.0 MiB of 9.0 GiB free at `/data`"),
        ] {
            let check = free_space(Path::new("/data"), free, 9 << 30);
            assert_eq!((check.status, check.detail.as_str()), (expected, detail));
            assert_eq!(check.advice.is_some(), expected != Ok, "{free}");
        }
    }

    #[test]
    fn few_possible_open_files_and_many_used_ones_are_a_warning() {
        for (used, possible, expected) in [
            (10, 1_024, Warning),
            (10, 100_000, Ok),
            (80_000, 100_000, Warning),
        ] {
            assert_eq!(file_use(Some(used), possible).status, expected, "{used}");
        }
    }

    #[test]
    fn a_slow_read_is_a_warning() {
        assert_eq!(read_time(Duration::from_millis(3)).status, Ok);
        assert_eq!(read_time(Duration::from_millis(300)).status, Warning);
    }

    #[test]
    fn this_machine_can_be_checked() {
        let here = std::env::temp_dir();
        assert!(disk(&here).detail.contains("free at"), "{:?}", disk(&here));
        assert!(open_files().detail.contains("in use"));
        let missing = disk(Path::new("/no/such/folder"));
        assert!(missing.detail.contains("/no/such/folder"), "{missing:?}");
    }
}
