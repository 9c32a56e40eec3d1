//! Raises the soft limit of file descriptors, and limits the connections accordingly.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use super::open::store_options;
use crate::{events::lanes::Slots, options::Options};

/// Descriptors for the listeners, the embedded database, the event loop, logs, local spaces.
const BASE: usize = 96;
/// Pipes of a script worker.
const PER_WORKER: usize = 4;

/// The number of connections that this process can hold, at most the configured number.
pub fn connections_max(options: &Options) -> usize {
    let wanted = options.limits.connections_max;
    let Some(files) = raise() else {
        return wanted;
    };
    let reserve = reserve(options);
    let possible = fit(files, reserve);
    if possible < wanted {
        info!(
            files,
            reserve,
            "at most {possible} connections at one time: the limit on open files allows no more; raise it (`ulimit -n`, `LimitNOFILE=`) to reach `max_connections` = {wanted}"
        );
    }
    wanted.min(possible)
}

/// Descriptors reserved for everything except connections. Each delivery to a webhook uses one.
fn reserve(options: &Options) -> usize {
    let database = options.database.as_ref();
    let database = database.map_or(0, |it| store_options(it).connections());
    let workers = options.scripts.workers * PER_WORKER;
    BASE + Slots::default().webhook + workers + database
}

/// The number of connections for this many file descriptors: all descriptors except the reserve,
/// but at least half of all descriptors.
fn fit(files: usize, reserve: usize) -> usize {
    files.saturating_sub(reserve).max(files / 2).max(1)
}

/// Raises the soft limit to the hard limit. Returns the soft limit; `None` if there is no limit.
fn raise() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            warn!("cannot raise the limit on open files: {error}");
            limit.current
        }
    };
    files.map(|files| usize::try_from(files).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{options::SharedDatabase, scripts::tests::options};

    #[test]
    fn the_reserve_covers_every_connection_to_the_database() {
        let mut options = options("unused".as_ref(), "unused".into());
        let embedded = reserve(&options);
        options.database = Some(SharedDatabase {
            url: svc_store::DatabaseUrl::parse("postgres://svc@localhost/svc").expect("a URL"),
            readers: 4,
            poll_only: false,
        });
        // Four readers, and seven other connections: two for deliveries, one for lists, one for whole
        // tables, one writer, one listener, one for the heartbeat.
        assert_eq!(reserve(&options) - embedded, 4 + 7);
    }

    #[test]
    fn connections_leave_the_reserve_or_half_of_the_descriptors() {
        for (files, reserve, expected) in [
            (1_024, 360, 664),
            (20_000, 360, 19_640),
            (256, 360, 128),
            (1, 360, 1),
        ] {
            assert_eq!(fit(files, reserve), expected, "{files}");
        }
    }
}
