//! Sends agents the list of servers of the zone that they may link to, and keeps their home links
//! spread over these servers.

use std::time::{Duration, Instant};

use svc_link::{ANNOUNCED_MAX, AnnouncedServer};
use svc_store::{
    StoreError, Tx,
    servers::{self, ServerRow},
};

use super::{DEAD_AFTER, ZoneHandles, log_failure};
use crate::links::HomeCount;

/// Interval of reading the list again. A server that starts or stops also writes a zone change, so
/// that the other servers read the list at once.
const READ_EVERY: Duration = Duration::from_secs(2);

/// Passes the list of announced servers to the links until the server stops.
pub(super) async fn run(handles: &ZoneHandles) {
    let mut spread_at = Instant::now();
    loop {
        match read(handles).await {
            Ok(servers) => {
                // Not after each change of the list: each call of `spread_homes` moves a part of
                // the surplus, so many calls in a short time would move too many links.
                if spread_at.elapsed() >= READ_EVERY {
                    spread_at = Instant::now();
                    handles.links.spread_homes(&count_homes(&servers));
                }
                handles.links.announce(announced(servers));
            }
            Err(StoreError::Closed) => return,
            // The last list stays in effect.
            Err(error) => log_failure("cannot read the announced servers", &error),
        }
        tokio::select! {
            () = handles.memory.servers.notified() => {}
            () = tokio::time::sleep(READ_EVERY) => {}
            () = handles.shutdown.cancelled() => return,
        }
    }
}

fn count_homes(servers: &[ServerRow]) -> Vec<HomeCount> {
    let counts = servers.iter().map(|server| HomeCount {
        server: server.id,
        homes: server.links,
    });
    counts.collect()
}

fn announced(servers: Vec<ServerRow>) -> Vec<AnnouncedServer> {
    let announced = servers.into_iter().map(|server| AnnouncedServer {
        id: server.id,
        url: server.advertise_url,
    });
    announced.collect()
}

async fn read(handles: &ZoneHandles) -> Result<Vec<ServerRow>, StoreError> {
    let limit = u32::try_from(ANNOUNCED_MAX).unwrap_or(u32::MAX);
    let list = move |tx: &mut Tx<'_>| {
        let since = tx.now()?.minus(DEAD_AFTER);
        servers::list_announced(tx, since, limit)
    };
    handles.store.read(list).await
}
