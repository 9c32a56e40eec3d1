//! Counts the open streams of each user: event streams, call streams and MCP streams together.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{
    UserId,
    quota::{Quota, QuotaExceeded, Quotas},
};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{identity::User, limits::CountUse};

/// How often an open stream checks that its credential is still valid.
const RECHECK_EVERY: Duration = Duration::from_secs(1);

/// Ticks when an open stream must check its credential. The first tick is immediate.
pub fn recheck_interval() -> Interval {
    let mut recheck = interval(RECHECK_EVERY);
    recheck.set_missed_tick_behavior(MissedTickBehavior::Delay);
    recheck
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Streams(Arc<Shared>);

struct Shared {
    quotas: Quotas,
    open: Mutex<HashMap<UserId, u64>>,
    /// For each user, the number of open streams at other servers of the zone.
    elsewhere: Mutex<HashMap<UserId, usize>>,
}

/// One open stream of a user; counted until it is dropped.
pub struct OpenStream {
    streams: Streams,
    user: UserId,
}

impl Streams {
    pub fn new(quotas: Quotas) -> Self {
        Self(Arc::new(Shared {
            quotas,
            open: Mutex::default(),
            elsewhere: Mutex::default(),
        }))
    }

    /// Counts one more stream, unless the user has reached `quotas.streams`.
    pub fn open(&self, user: &User) -> Result<OpenStream, QuotaExceeded> {
        let mut open = self.0.open.lock();
        let count = open.get(&user.id).copied().unwrap_or_default() + 1;
        let elsewhere = self.0.elsewhere.lock().get(&user.id).copied();
        let all = count.saturating_add(elsewhere.unwrap_or_default() as u64);
        user.quotas(&self.0.quotas).check(Quota::Streams, all)?;
        open.insert(user.id, count);
        Ok(OpenStream {
            streams: self.clone(),
            user: user.id,
        })
    }

    /// The open streams of a user at this server.
    pub fn count_of(&self, user: UserId) -> u64 {
        self.0.open.lock().get(&user).copied().unwrap_or_default()
    }

    /// The users with the most open streams at this server. Users with a single stream are left
    /// out to keep the report small: most users have one.
    pub fn report(&self) -> Vec<CountUse> {
        let open = self.0.open.lock();
        let counts = open.iter().map(|(user, count)| (*user, *count as usize));
        CountUse::busiest(counts.filter(|(_, count)| *count > 1))
    }

    /// Sets how many streams each user has open at other servers.
    pub fn follow(&self, elsewhere: HashMap<UserId, usize>) {
        *self.0.elsewhere.lock() = elsewhere;
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.0.open.lock();
        if let Some(count) = open.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}
