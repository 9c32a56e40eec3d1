//! Limits the registrations of an owner's spaces per minute: checking one takes processor time, and
//! each one may change the tools of all users. A registration that changes nothing counts like any
//! other.
//!
//! The first registration on a new link is not counted: after a restart of a server or of a proxy,
//! all agents of an owner link and register again at the same time. How often a space may use this
//! is limited too, so that an agent gains nothing from ever new links.

use std::time::{Duration, Instant};

use svc_core::{SpaceId, UserId};

use super::{MinuteLimit, OverMinuteLimit, SpacePace};

/// First registrations on new links that a space may make at once without being counted.
const BURST: u32 = 5;
/// After the burst, one per interval.
const INTERVAL: Duration = Duration::from_secs(10);

pub struct RegistrationLimit {
    counted: MinuteLimit,
    /// The first registrations on new links that were not counted.
    first: SpacePace,
}

impl RegistrationLimit {
    pub fn new(per_minute: usize) -> Self {
        Self {
            counted: MinuteLimit::new(per_minute),
            first: SpacePace::new(BURST, INTERVAL),
        }
    }

    /// Takes one registration of a space. `is_first` is for the first registration on its link.
    pub fn take(
        &self,
        (owner, space): (UserId, SpaceId),
        is_first: bool,
        now: Instant,
    ) -> Result<(), OverMinuteLimit> {
        if is_first && self.first.take(space, now).is_ok() {
            return Ok(());
        }
        self.counted.take(owner, now)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const ANN: UserId = UserId(Uuid::from_u128(1));
    const BEN: UserId = UserId(Uuid::from_u128(2));

    fn space(n: u128) -> SpaceId {
        SpaceId(Uuid::from_u128(n))
    }

    #[test]
    fn every_further_registration_on_a_link_is_counted_for_the_owner() {
        let (limit, now) = (RegistrationLimit::new(2), Instant::now());
        for n in 1..=2 {
            assert!(limit.take((ANN, space(n)), false, now).is_ok());
        }
        let over = limit.take((ANN, space(3)), false, now);
        assert_eq!(over.expect_err("a third").per_minute, 2);
        assert!(limit.take((BEN, space(4)), false, now).is_ok());
    }

    #[test]
    fn all_spaces_of_an_owner_may_register_again_on_new_links() {
        let (limit, now) = (RegistrationLimit::new(1), Instant::now());
        for _ in 0..BURST {
            for n in 0..3_000 {
                assert!(limit.take((ANN, space(n)), true, now).is_ok(), "{n}");
            }
        }
    }

    #[test]
    fn ever_new_links_of_one_space_gain_little() {
        let (limit, start) = (RegistrationLimit::new(1), Instant::now());
        let passed = |at| {
            let taken = (0..1_000).map(|_| limit.take((ANN, space(1)), true, at));
            taken.filter(Result::is_ok).count()
        };
        assert_eq!(passed(start), BURST as usize + 1, "one more is counted");
        assert_eq!(passed(start + INTERVAL), 1);
        assert_eq!(passed(start + INTERVAL), 0);
        // After a pause the whole burst is available again.
        assert_eq!(passed(start + 100 * INTERVAL), BURST as usize + 1);
    }
}
