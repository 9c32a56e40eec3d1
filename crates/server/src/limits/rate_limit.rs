//! Limits the requests of a user per second: a token bucket per user. A full bucket holds the tokens
//! of one second, or of more seconds for a limit with a larger burst.
//!
//! In a zone, the limit applies to all servers together. Each server reports the use of its busy
//! users and reads the reports of the others ([`RateLimit::report`], [`RateLimit::follow`]). From
//! the reports, each server computes the level of one bucket of the zone, and takes its share of
//! that level and of the limit. Every reported use is subtracted once. So the requests that all
//! servers together accept within some seconds exceed the limit only by little, although reports
//! arrive late and small use is not reported. A request never waits for this exchange.

mod share;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use svc_core::{ServerId, UserId};

use self::share::fair_share;
use super::USES_MAX;
use crate::random_key::RandomKeyMap;

/// When there are this many buckets, full buckets are removed. A full bucket equals a new one.
const BUCKETS_MAX: usize = 10_000;
/// A server does not report a user who uses less than this part of the limit, divided by the number
/// of servers. So the unreported use at all servers together is less than this part of the limit.
const UNREPORTED: f64 = 0.02;
/// The use at other servers can make the level of a bucket negative. The lowest level is minus the
/// tokens of this many seconds.
const DEBT_MAX: f64 = 10.0;
/// The maximum number of servers whose use a bucket stores.
const SERVERS_MAX: usize = 256;

pub struct RateLimit {
    /// `None`: no limit.
    per_second: Option<u32>,
    /// A full bucket holds the tokens of this many seconds.
    seconds: f64,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    users: RandomKeyMap<UserId, Bucket>,
    /// The tokens per second of a new bucket. This is the limit, or this server's equal part of the
    /// limit while the use at other servers cannot be read.
    whole: f64,
    /// The capacity of every bucket: the tokens of `RateLimit::seconds`.
    capacity: f64,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
    /// Tokens per second: this server's share of the limit.
    rate: f64,
    /// Tokens that were taken since the bucket was created.
    taken: u64,
    /// Tokens that were requested since the last report.
    requested: u64,
    /// Tokens per second that were requested in the interval before the last report.
    demand: f64,
    /// `taken` of the other servers, as last reported.
    elsewhere: Vec<(ServerId, u64)>,
    sharing: Sharing,
}

/// How a bucket relates to the buckets of the same user at other servers.
#[derive(Clone, Copy)]
enum Sharing {
    /// No other server has reported the user.
    Alone,
    /// The level of the zone's bucket after the last reports, and `taken` at that time.
    Zone { level: f64, taken: u64 },
    /// Reports could not be read; each server allowed an equal part.
    Divided,
}

/// The limit is exceeded; retry after this time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OverLimit {
    pub retry_after: Duration,
}

/// The use of a limit by one user at one server.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RateUse {
    pub user: UserId,
    /// Tokens taken since the server began to count.
    pub taken: u64,
    /// Tokens per second that were requested recently, granted or not.
    pub demand: f64,
}

impl RateLimit {
    pub fn new(per_second: Option<u32>) -> Self {
        Self::with_capacity(per_second, 1.0)
    }

    /// A limit that permits the requests of this many seconds at once, after a pause.
    pub fn with_burst(per_second: u32, seconds: f64) -> Self {
        Self::with_capacity(Some(per_second), seconds)
    }

    fn with_capacity(per_second: Option<u32>, seconds: f64) -> Self {
        let whole = per_second.map_or(0.0, f64::from);
        Self {
            per_second,
            seconds,
            buckets: Mutex::new(Buckets {
                users: RandomKeyMap::default(),
                whole,
                capacity: whole * seconds,
            }),
        }
    }

    /// The requests per second; `None` without a limit.
    pub fn per_second(&self) -> Option<u32> {
        self.per_second
    }

    /// Takes `calls` tokens from the user's bucket, or none. A larger batch than a bucket holds is
    /// accepted if the bucket is full. The level is then negative until
    /// the missing tokens have been refilled.
    pub fn take(&self, user: UserId, calls: usize, now: Instant) -> Result<(), OverLimit> {
        if self.per_second.is_none() {
            return Ok(());
        }
        let mut buckets = self.buckets.lock();
        let Buckets {
            users,
            whole,
            capacity,
        } = &mut *buckets;
        if users.len() >= BUCKETS_MAX {
            users.retain(|_, bucket| bucket.level(*capacity, now) < *capacity);
        }
        let bucket = users
            .entry(user)
            .or_insert_with(|| Bucket::new((*whole, *capacity), now));
        bucket.fill(*capacity, now);
        bucket.requested += calls as u64;
        let wanted = (calls as f64).min(*capacity);
        if bucket.tokens < wanted {
            let wait = (wanted - bucket.tokens) / bucket.rate;
            return Err(OverLimit {
                retry_after: Duration::from_secs_f64(wait),
            });
        }
        bucket.tokens -= calls as f64;
        bucket.taken += calls as u64;
        Ok(())
    }

    /// Takes more tokens from the user's bucket, for a cost that becomes known after the request.
    /// The level may become negative. Takes none if the level is negative already: so requests that
    /// arrived together cannot each exceed the level.
    pub fn charge(&self, user: UserId, more: usize, now: Instant) -> Result<(), OverLimit> {
        let mut buckets = self.buckets.lock();
        let capacity = buckets.capacity;
        let Some(bucket) = buckets.users.get_mut(&user) else {
            return Ok(());
        };
        bucket.fill(capacity, now);
        bucket.requested += more as u64;
        if bucket.tokens < 0.0 {
            return Err(OverLimit {
                retry_after: Duration::from_secs_f64(-bucket.tokens / bucket.rate),
            });
        }
        bucket.tokens -= more as f64;
        bucket.taken += more as u64;
        Ok(())
    }

    /// The use of the busiest users. `elapsed` is the time since the last report, `servers` the
    /// size of the zone.
    pub fn report(&self, elapsed: Duration, servers: u32) -> Vec<RateUse> {
        let Some(per_second) = self.per_second else {
            return Vec::new();
        };
        let least = f64::from(per_second) * UNREPORTED / f64::from(servers.max(1));
        let seconds = elapsed.as_secs_f64().max(0.001);
        let mut uses = Vec::new();
        for (user, bucket) in &mut self.buckets.lock().users {
            bucket.demand = std::mem::take(&mut bucket.requested) as f64 / seconds;
            if bucket.demand >= least {
                uses.push(RateUse {
                    user: *user,
                    taken: bucket.taken,
                    demand: bucket.demand,
                });
            }
        }
        uses.sort_by(|a, b| b.demand.total_cmp(&a.demand));
        uses.truncate(USES_MAX);
        uses
    }

    /// Applies the reports of the other servers. `elapsed` is the time since the last reports.
    pub fn follow<'r>(
        &self,
        others: impl IntoIterator<Item = (ServerId, &'r [RateUse])>,
        elapsed: Duration,
        now: Instant,
    ) {
        let Some(per_second) = self.per_second.map(f64::from) else {
            return;
        };
        let mut by_user: HashMap<UserId, Vec<(ServerId, RateUse)>> = HashMap::new();
        for (server, uses) in others {
            for used in uses {
                by_user.entry(used.user).or_default().push((server, *used));
            }
        }
        let mut buckets = self.buckets.lock();
        buckets.whole = per_second;
        buckets.capacity = per_second * self.seconds;
        for (user, bucket) in &mut buckets.users {
            let others = by_user.get(user).map_or(&[][..], Vec::as_slice);
            bucket.follow(others, (per_second, self.seconds), elapsed, now);
        }
    }

    /// Divides the limit equally among the servers, because the use at the other servers cannot be
    /// read.
    pub fn divide(&self, servers: u32, now: Instant) {
        let Some(per_second) = self.per_second.map(f64::from) else {
            return;
        };
        let part = per_second / f64::from(servers.max(1));
        let mut buckets = self.buckets.lock();
        let capacity = part * self.seconds;
        (buckets.whole, buckets.capacity) = (part, capacity);
        for bucket in buckets.users.values_mut() {
            bucket.fill(capacity, now);
            bucket.rate = part;
            bucket.sharing = Sharing::Divided;
        }
    }
}

impl Bucket {
    fn new((whole, capacity): (f64, f64), now: Instant) -> Self {
        Self {
            tokens: capacity,
            filled: now,
            rate: whole,
            taken: 0,
            requested: 0,
            demand: 0.0,
            elsewhere: Vec::new(),
            sharing: Sharing::Alone,
        }
    }

    fn level(&self, capacity: f64, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() * self.rate;
        (self.tokens + gained).min(capacity)
    }

    fn fill(&mut self, capacity: f64, now: Instant) {
        self.tokens = self.level(capacity, now);
        self.filled = now;
    }

    /// Computes the level of the zone's bucket, and takes this server's share of it.
    fn follow(
        &mut self,
        others: &[(ServerId, RateUse)],
        (per_second, burst): (f64, f64),
        elapsed: Duration,
        now: Instant,
    ) {
        let is_whole = matches!(self.sharing, Sharing::Alone) && self.rate >= per_second;
        if others.is_empty() && is_whole {
            return;
        }
        let (seconds, capacity) = (elapsed.as_secs_f64(), per_second * burst);
        let level = match self.sharing {
            // A bucket that was alone had the level of the zone. After a division, the level of
            // the zone is unknown, so the level of this server's part is used.
            Sharing::Alone | Sharing::Divided => self.level(capacity, now),
            Sharing::Zone { level, taken } => {
                level + per_second * seconds - self.taken.saturating_sub(taken) as f64
            }
        };
        let used_max = per_second * (burst + seconds);
        let mut used = 0.0;
        for (server, other) in others {
            let taken = match self.count(*server, other.taken) {
                Some(taken) => taken as f64,
                // The first report of another server to this bucket may include old use: this
                // bucket is new, because this server has just started or the user's first request
                // has just arrived here.
                None => (other.taken as f64).min(other.demand * seconds),
            };
            used += taken.min(used_max);
        }
        if matches!(self.sharing, Sharing::Divided) {
            // Each server used at most its own part, so there is nothing to subtract.
            used = 0.0;
        }
        let level = (level - used).clamp(-DEBT_MAX * per_second, capacity);
        (self.rate, self.sharing) = match others.is_empty() {
            true => (per_second, Sharing::Alone),
            false => {
                let demands = others.iter().map(|(_, other)| other.demand);
                let taken = self.taken;
                (
                    fair_share(per_second, self.demand, demands),
                    Sharing::Zone { level, taken },
                )
            }
        };
        self.tokens = level * self.rate / per_second;
        self.filled = now;
    }

    /// The tokens that another server took since its last report. `None` if this is the first
    /// report of the server.
    fn count(&mut self, server: ServerId, taken: u64) -> Option<u64> {
        let known = self.elsewhere.iter_mut().find(|(id, _)| *id == server);
        let Some((_, before)) = known else {
            if self.elsewhere.len() < SERVERS_MAX {
                self.elsewhere.push((server, taken));
            }
            return None;
        };
        let before = std::mem::replace(before, taken);
        // A lower number than before: the server has restarted its count.
        Some(taken.checked_sub(before).unwrap_or(taken))
    }
}

#[cfg(test)]
mod tests;
