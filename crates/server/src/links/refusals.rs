//! Why a link is not accepted, as the agent gets it.

use std::time::Duration;

use svc_core::UserId;
use svc_link::{Refusal, RefusalCode};
use tracing::warn;

use super::{LINKS_BURST, LINKS_INTERVAL};
use crate::{identity::AccessDenied, lifecycle::LinkRefused};

pub(super) fn draining() -> Refusal {
    Refusal::new(RefusalCode::Draining, "the server is stopping", true)
}

pub(super) fn too_many(wait: Duration) -> Refusal {
    let detail = format!(
        "the space opens too many links: more than {LINKS_BURST} at once, and then more than one per {} s; link again in {} s",
        LINKS_INTERVAL.as_secs(),
        wait.as_secs() + 1,
    );
    let millis = u32::try_from(wait.as_millis() + 1).unwrap_or(u32::MAX);
    Refusal {
        retry_after_millis: Some(millis),
        ..Refusal::new(RefusalCode::TooMany, detail, true)
    }
}

pub(super) fn denial(denied: AccessDenied) -> Refusal {
    match denied {
        AccessDenied::UserInactive => link_refusal(LinkRefused::OwnerInactive),
        denied => Refusal::new(RefusalCode::Unauthorized, denied.to_string(), false),
    }
}

/// [`link_refusal`], which the log shows if the database is the reason.
pub(super) fn log_refusal(owner: UserId, refused: LinkRefused) -> Refusal {
    if let LinkRefused::Store(error) = &refused {
        warn!(owner.id = %owner, "a link was refused: {error}");
    }
    link_refusal(refused)
}

pub(super) fn link_refusal(refused: LinkRefused) -> Refusal {
    let (code, detail, retry) = match refused {
        LinkRefused::Gone => (
            RefusalCode::Unauthorized,
            "the space does not exist any more",
            false,
        ),
        LinkRefused::OwnerInactive => (
            RefusalCode::UserInactive,
            "the space's user is deactivated; an administrator reactivates the user with `svc user update <name> --activate`",
            true,
        ),
        LinkRefused::Stopped => (
            RefusalCode::SpaceStopped,
            "the space was stopped; start it with `svc space start`",
            true,
        ),
        LinkRefused::Store(_) => (
            RefusalCode::Busy,
            "the server cannot reach its database",
            true,
        ),
    };
    Refusal::new(code, detail, retry)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use svc_core::SpaceId;

    use super::*;
    use crate::limits::SpacePace;

    /// The shortest delays of an agent: half of those of `svc_agent::Policy`.
    #[test]
    fn an_agent_that_backs_off_never_opens_too_many_links() {
        let (pace, start) = (SpacePace::new(LINKS_BURST, LINKS_INTERVAL), Instant::now());
        let (mut passed, mut soon, mut later) = (Duration::ZERO, 100, 2_000);
        while passed < Duration::from_secs(60 * 60) {
            let taken = pace.take(SpaceId::NIL, start + passed);
            assert_eq!(taken, Ok(()), "after {passed:?}");
            let (delay, max) = match passed < Duration::from_secs(60) {
                true => (&mut soon, 1_000),
                false => (&mut later, 10_000),
            };
            passed += Duration::from_millis(*delay / 2);
            *delay = max.min(*delay * 2);
        }
    }

    #[test]
    fn the_refusal_of_too_many_links_says_when_to_link_again() {
        let refusal = too_many(Duration::from_micros(1_500));
        assert_eq!(refusal.retry_after_millis, Some(2));
        assert!(refusal.retry && refusal.detail.contains("link again in 1 s"));
    }
}
