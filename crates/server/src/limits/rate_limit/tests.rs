use super::*;

#[test]
fn a_charge_reduces_the_tokens_of_later_calls() {
    let (limit, user, now) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
    assert!(limit.take(user, 1, now).is_ok());
    assert!(limit.charge(user, 29, now).is_ok());
    // A request that arrived before the charge costs nothing more, and is refused.
    let over = limit.charge(user, 29, now).expect_err("a negative level");
    assert_eq!(over.retry_after, Duration::from_secs(2));
    assert!(limit.charge(user, 0, now).is_err());
    let over = limit.take(user, 1, now).expect_err("empty");
    assert!(over.retry_after >= Duration::from_secs(2), "{over:?}");
    assert!(limit.take(user, 1, now + Duration::from_secs(3)).is_ok());
}

#[test]
fn without_a_limit_everything_passes() {
    let limit = RateLimit::new(None);
    assert!((0..10_000).all(|_| limit.take(UserId::NIL, 1_000, Instant::now()).is_ok()));
    assert!(limit.report(Duration::from_secs(1), 2).is_empty());
}

#[test]
fn a_bucket_holds_one_second_and_refills() {
    let (limit, user, start) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    assert!((0..10).all(|_| limit.take(user, 1, at(0)).is_ok()));
    let over = limit.take(user, 1, at(0)).expect_err("the bucket is empty");
    assert_eq!(over.retry_after, Duration::from_millis(100));
    assert!(limit.take(user, 1, at(100)).is_ok());
    // Another user has a separate bucket.
    assert!(limit.take(UserId(uuid::Uuid::max()), 1, at(0)).is_ok());
}

#[test]
fn a_large_batch_passes_once_and_is_paid_for() {
    let (limit, user, start) = (RateLimit::new(Some(10)), UserId::NIL, Instant::now());
    assert!(limit.take(user, 100, start).is_ok());
    assert!(limit.take(user, 1, start + Duration::from_secs(9)).is_err());
    assert!(limit.take(user, 1, start + Duration::from_secs(10)).is_ok());
}

/// Servers of a zone with one user, in simulated time.
struct Zone {
    servers: Vec<(ServerId, RateLimit)>,
    start: Instant,
}

const LIMIT: u32 = 100;
/// Milliseconds between two steps of the simulated time.
const STEP: u64 = 5;
/// Milliseconds between two exchanges of reports.
const EXCHANGE_EVERY: u64 = 500;

impl Zone {
    fn new(servers: u128) -> Self {
        let server = |n| {
            let id = ServerId(uuid::Uuid::from_u128(n));
            (id, RateLimit::new(Some(LIMIT)))
        };
        Self {
            servers: (0..servers).map(server).collect(),
            start: Instant::now(),
        }
    }

    /// Sends requests to each server from one time until another, in milliseconds. `per_second` has
    /// the rate of requests for each server. Returns how many were granted.
    fn run(&self, from: u64, until: u64, per_second: &[f64]) -> u32 {
        let (mut granted, mut due) = (0, vec![0.0; per_second.len()]);
        for millis in (from..until).step_by(STEP as usize) {
            let now = self.start + Duration::from_millis(millis);
            for ((_, limit), (rate, due)) in
                self.servers.iter().zip(per_second.iter().zip(&mut due))
            {
                *due += rate * STEP as f64 / 1_000.0;
                while *due >= 1.0 {
                    *due -= 1.0;
                    granted += u32::from(limit.take(UserId::NIL, 1, now).is_ok());
                }
            }
            if millis % EXCHANGE_EVERY == 0 && millis > 0 {
                self.exchange(now);
            }
        }
        granted
    }

    fn exchange(&self, now: Instant) {
        let (count, elapsed) = (
            self.servers.len() as u32,
            Duration::from_millis(EXCHANGE_EVERY),
        );
        let reports: Vec<_> = self
            .servers
            .iter()
            .map(|(id, limit)| (*id, limit.report(elapsed, count)))
            .collect();
        for (id, limit) in &self.servers {
            let others = reports.iter().filter(|(other, _)| other != id);
            let others = others.map(|(other, uses)| (*other, uses.as_slice()));
            limit.follow(others, elapsed, now);
        }
    }
}

#[track_caller]
fn assert_near(granted: u32, expected: u32) {
    let off = f64::from(granted) / f64::from(expected) - 1.0;
    assert!(off.abs() <= 0.1, "{granted} instead of {expected}");
}

#[test]
fn the_limit_holds_for_all_servers_within_a_tenth_over_ten_seconds() {
    for loads in [
        vec![200.0, 200.0],
        vec![1_000.0, 1_000.0],
        vec![30.0, 1_000.0],
        vec![60.0, 60.0],
        vec![1_000.0, 5.0, 5.0],
        vec![300.0; 5],
        vec![50.0; 10],
    ] {
        let zone = Zone::new(loads.len() as u128);
        // At the start the bucket is full: it holds the requests of one more second.
        assert_near(zone.run(0, 10_000, &loads), LIMIT * 11);
        assert_near(zone.run(10_000, 20_000, &loads), LIMIT * 10);
    }
}

#[test]
fn load_below_the_limit_is_granted_at_all_servers() {
    let zone = Zone::new(3);
    assert_near(zone.run(0, 10_000, &[20.0, 30.0, 40.0]), 900);
}

#[test]
fn a_server_takes_over_the_share_of_a_server_without_load() {
    let zone = Zone::new(2);
    zone.run(0, 10_000, &[200.0, 200.0]);
    assert_near(zone.run(10_000, 20_000, &[200.0, 0.0]), LIMIT * 10);
    assert_near(zone.run(20_000, 30_000, &[0.0, 200.0]), LIMIT * 10);
}

#[test]
fn a_server_that_starts_again_refuses_no_load_below_the_limit() {
    let mut zone = Zone::new(3);
    zone.run(0, 60_000, &[30.0; 3]);
    zone.servers[1].1 = RateLimit::new(Some(LIMIT));
    // Because of rounding, each server may grant one request less.
    let granted = zone.run(60_000, 62_000, &[30.0; 3]);
    assert!(granted >= 3 * 59, "{granted}");
    // A user who begins to use another server later is not rejected by that server either.
    let zone = Zone::new(2);
    zone.run(0, 60_000, &[50.0, 0.0]);
    let granted = zone.run(60_000, 62_000, &[50.0, 30.0]);
    assert!(granted >= 99 + 59, "{granted}");
}

#[test]
fn without_reports_each_server_has_an_equal_part() {
    let zone = Zone::new(2);
    let (_, limit) = &zone.servers[0];
    limit.divide(2, zone.start);
    let granted = (0..10_000)
        .map(|millis| zone.start + Duration::from_millis(millis))
        .filter(|now| limit.take(UserId::NIL, 1, *now).is_ok());
    assert_near(granted.count() as u32, LIMIT / 2 * 11);
    // After the next exchange of reports, the server has the whole limit again: the other server
    // reports no use.
    limit.follow(
        [],
        Duration::from_millis(500),
        zone.start + Duration::from_secs(10),
    );
    let granted = (10_000..20_000)
        .map(|millis| zone.start + Duration::from_millis(millis))
        .filter(|now| limit.take(UserId::NIL, 1, *now).is_ok());
    assert_near(granted.count() as u32, LIMIT * 10);
}

#[test]
fn after_an_outage_no_server_pays_for_the_part_of_another() {
    let zone = Zone::new(2);
    zone.run(0, 10_000, &[200.0, 200.0]);
    let at = |millis| zone.start + Duration::from_millis(millis);
    // Without exchanges for half a minute.
    let mut granted = 0;
    for millis in (10_000..40_000).step_by(STEP as usize) {
        for (_, limit) in &zone.servers {
            if millis % EXCHANGE_EVERY == 0 {
                limit.divide(2, at(millis));
            }
            granted += u32::from(limit.take(UserId::NIL, 1, at(millis)).is_ok());
        }
    }
    assert_near(granted, LIMIT * 30);
    assert_near(zone.run(40_000, 50_000, &[200.0, 200.0]), LIMIT * 10);
}
