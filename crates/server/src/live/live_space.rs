//! A space held by this server: linked, or within the grace period after its link was lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};

use parking_lot::{Mutex, RwLock};
use svc_core::{SpaceId, SpaceName, Timestamp, UserId, space::Health};
use svc_link::SpaceIdentity;

use super::link::Link;

/// Whether a space's providers can take calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Availability {
    /// The link is lost, or the agent has not registered on the new link yet. Calls fail at once.
    Unlinked = 0,
    /// The method server is down. Calls wait at the agent for a restart of the method server, for a
    /// short time.
    Restarting = 1,
    Ready = 2,
}

impl Availability {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unlinked => "unlinked",
            Self::Restarting => "restarting",
            Self::Ready => "ready",
        }
    }
}

/// The result of an agent's health check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HealthReport {
    pub current: Health,
    pub consecutive_failures: u32,
    pub checked_at: Timestamp,
}

pub struct LiveSpace {
    pub id: SpaceId,
    pub name: SpaceName,
    pub owner: UserId,
    pub identity: SpaceIdentity,
    link: RwLock<Option<Arc<Link>>>,
    availability: AtomicU8,
    /// Counts the links that the space has had. If the space gets a new link during a grace period,
    /// the number shows this, and the end of the grace period has no effect.
    link_number: AtomicU64,
    /// Whether the current or last link is a side link: the agent's home link is to another server.
    is_side: AtomicBool,
    /// The agent process and the generation of the last registration that came by a side link.
    taken_over: Mutex<Option<(String, u32)>>,
    /// Why the space has no registration, as its agent reported.
    registration_error: Mutex<Option<String>>,
    restarts: Mutex<Restarts>,
    /// Serialises changes of the space's state: a link up or down, stop, delete.
    pub transition: Arc<tokio::sync::Mutex<()>>,
}

impl LiveSpace {
    pub fn new(owner: UserId, identity: SpaceIdentity) -> Self {
        Self {
            id: identity.id,
            name: identity.name.clone(),
            owner,
            identity,
            link: RwLock::default(),
            availability: AtomicU8::new(Availability::Unlinked as u8),
            link_number: AtomicU64::new(0),
            is_side: AtomicBool::new(false),
            taken_over: Mutex::default(),
            registration_error: Mutex::default(),
            restarts: Mutex::default(),
            transition: Arc::default(),
        }
    }

    pub fn link(&self) -> Option<Arc<Link>> {
        self.link.read().clone()
    }

    /// Sets the link of the space and returns the link that it replaces.
    pub fn attach(&self, link: Arc<Link>) -> Option<Arc<Link>> {
        let mut current = self.link.write();
        // Usually the space takes no calls until the agent has registered on the new link. But if
        // both links are of the same agent process, and one of them is a side link, calls continue:
        // the process knows the generation of the methods that this server has.
        let continues = current
            .as_ref()
            .is_some_and(|old| old.instance == link.instance && (old.is_side() || link.is_side()));
        if !continues {
            self.set_availability(Availability::Unlinked);
        }
        self.is_side.store(link.is_side(), Ordering::Relaxed);
        self.link_number.fetch_add(1, Ordering::Relaxed);
        self.restarts.lock().link(&link.instance);
        current.replace(link)
    }

    /// Whether the current or last link of the space at this server is a side link.
    pub fn is_side(&self) -> bool {
        self.is_side.load(Ordering::Relaxed)
    }

    /// Whether a registration of this generation may be taken over. False if a later generation of
    /// the same agent process came by a side link.
    pub fn may_take_over(&self, instance: &str, generation: u32) -> bool {
        let taken_over = self.taken_over.lock();
        let later = |(known, last): &(String, u32)| known == instance && *last > generation;
        !taken_over.as_ref().is_some_and(later)
    }

    pub fn note_taken_over(&self, instance: &str, generation: u32) {
        *self.taken_over.lock() = Some((instance.to_owned(), generation));
    }

    pub fn is_current(&self, link: &Arc<Link>) -> bool {
        self.link
            .read()
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, link))
    }

    pub fn link_number(&self) -> u64 {
        self.link_number.load(Ordering::Relaxed)
    }

    pub fn registration_error(&self) -> Option<String> {
        self.registration_error.lock().clone()
    }

    pub fn set_registration_error(&self, error: Option<String>) {
        *self.registration_error.lock() = error;
    }

    /// Records the number of restarts of the method server. Returns how many are new.
    pub fn note_restarts(&self, restarts: u64) -> u64 {
        self.restarts.lock().report(restarts)
    }

    /// Removes the link if it is the current one. Returns whether the link was removed.
    pub fn detach(&self, link: &Arc<Link>) -> bool {
        let mut current = self.link.write();
        let is_current = current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, link));
        if is_current {
            *current = None;
            self.set_availability(Availability::Unlinked);
        }
        is_current
    }

    pub fn availability(&self) -> Availability {
        match self.availability.load(Ordering::Acquire) {
            0 => Availability::Unlinked,
            1 => Availability::Restarting,
            _ => Availability::Ready,
        }
    }

    pub fn set_availability(&self, availability: Availability) {
        self.availability
            .store(availability as u8, Ordering::Release);
    }
}

/// The restarts of a method server that an agent process has reported. A process reports all its
/// restarts again on each new link.
#[derive(Default)]
struct Restarts {
    instance: String,
    count: u64,
}

impl Restarts {
    fn link(&mut self, instance: &str) {
        if self.instance != instance {
            *self = Self {
                instance: instance.to_owned(),
                count: 0,
            };
        }
    }

    /// Returns how many restarts are new.
    fn report(&mut self, count: u64) -> u64 {
        count.saturating_sub(std::mem::replace(&mut self.count, count))
    }
}

#[cfg(test)]
mod tests {
    use super::Restarts;

    #[test]
    fn a_reconnect_does_not_count_restarts_again() {
        let mut restarts = Restarts::default();
        restarts.link("first");
        assert_eq!(restarts.report(2), 2);
        restarts.link("first");
        assert_eq!(restarts.report(2), 0);
        assert_eq!(restarts.report(3), 1);
        restarts.link("second");
        assert_eq!(restarts.report(1), 1, "another process counts from 0");
    }
}
