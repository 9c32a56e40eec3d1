//! Links: the connections of agents.
//!
//! [`Links`] holds every [`LiveSpace`]. `session` serves one link from hello to goodbye, `reader`
//! reads its frames, `refusals` has the reasons why a link is not accepted, `control` handles the
//! control messages of agents, `side` has the rules of side links, `tickets` has the proof that a
//! home server accepted a registration, `balance` spreads the home links over the servers of a
//! zone. Frames, queues and heartbeats are in `svc_link`.
//!
//! In a zone, an agent has one home link, and side links to other servers.

mod access;
mod balance;
mod control;
mod grace;
mod reader;
mod refusals;
mod session;
mod side;
mod subscriptions;
mod tickets;
mod zone;

pub use self::{balance::HomeCount, tickets::ZoneKeys};

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use svc_core::{ServerId, SpaceId, UserId};
use svc_link::{AnnouncedServers, Goodbye, SpaceIdentity};
use svc_protocol::api::RegistrationStatus;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    lifecycle::Lifecycle,
    limits::{ByteBudgets, SpacePace},
    live::{Availability, LiveSpace, SpaceLogs},
    methods::{publish::Publisher, registry::Registry},
    metrics::Metrics,
};

/// Home links that a space may open at once. In the first minute of failures, an agent makes at most
/// 124 attempts to link, while the pace allows 130; later its attempts are further apart.
const LINKS_BURST: u32 = 100;
/// After the burst, one link per interval: each link writes to the database, and may emit an event.
const LINKS_INTERVAL: Duration = Duration::from_secs(2);
/// Changes of its health that a space may announce at once. Each writes to the database and emits an
/// event.
const HEALTH_BURST: u32 = 10;
const HEALTH_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub struct LinkPolicy {
    /// How long a space stays deployed after its link is lost.
    pub grace: Duration,
    /// Interval of pings. A link without any frame for three intervals is dead.
    pub heartbeat: Duration,
    /// How long calls in flight may run when the server stops.
    pub drain: Duration,
}

pub struct Links {
    pub server_id: ServerId,
    pub registry: Arc<Registry>,
    pub publisher: Publisher,
    pub lifecycle: Arc<Lifecycle>,
    pub logs: Arc<SpaceLogs>,
    pub metrics: Arc<Metrics>,
    pub policy: LinkPolicy,
    /// Count the calls that wait for a link, and answers until their callers have read them.
    pub budgets: ByteBudgets,
    /// Cancelled when the server stops accepting links.
    pub shutdown: CancellationToken,
    /// Every task that serves a link or waits for a reconnection.
    pub tasks: TaskTracker,
    link_pace: SpacePace,
    health_pace: SpacePace,
    live: RwLock<HashMap<SpaceId, Arc<LiveSpace>>>,
    /// Spaces with subscriptions in the store.
    declaring: Mutex<HashSet<SpaceId>>,
    keys: ZoneKeys,
    /// The servers of the zone that agents may link to. `None` until they were read.
    announced: RwLock<Option<AnnouncedServers>>,
}

impl Links {
    pub fn new(
        publisher: Publisher,
        lifecycle: Arc<Lifecycle>,
        logs: Arc<SpaceLogs>,
        metrics: Arc<Metrics>,
        (policy, budgets): (LinkPolicy, ByteBudgets),
        keys: ZoneKeys,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            server_id: lifecycle.server_id,
            registry: publisher.registry.clone(),
            publisher,
            lifecycle,
            logs,
            metrics,
            policy,
            budgets,
            shutdown,
            tasks: TaskTracker::new(),
            link_pace: SpacePace::new(LINKS_BURST, LINKS_INTERVAL),
            health_pace: SpacePace::new(HEALTH_BURST, HEALTH_INTERVAL),
            live: RwLock::default(),
            declaring: Mutex::default(),
            keys,
            announced: RwLock::default(),
        })
    }

    pub fn find(&self, space: SpaceId) -> Option<Arc<LiveSpace>> {
        self.live.read().get(&space).cloned()
    }

    /// The current registration of a space.
    pub fn registration_of(&self, space: SpaceId) -> RegistrationStatus {
        let methods = self.registry.count_of(space);
        let Some(live) = self.find(space) else {
            return RegistrationStatus::None;
        };
        match live.registration_error() {
            Some(error) => RegistrationStatus::Refused { error },
            None if methods == 0 => RegistrationStatus::None,
            None if live.availability() == Availability::Unlinked => {
                RegistrationStatus::Waiting { methods }
            }
            None => RegistrationStatus::Active { methods },
        }
    }

    /// Spaces, of one owner or of all owners, without a link or whose registration was refused; at
    /// most `limit`.
    pub fn list_troubled(&self, owner: Option<UserId>, limit: usize) -> Vec<SpaceId> {
        let live = self.live.read();
        live.values()
            .filter(|space| owner.is_none_or(|owner| space.owner == owner))
            .filter(|space| space.link().is_none() || space.registration_error().is_some())
            .map(|space| space.id)
            .take(limit)
            .collect()
    }

    /// Ends a space's link and removes its methods.
    pub async fn cut(&self, space: SpaceId, reason: Goodbye) {
        if let Some(live) = self.find(space) {
            let _transition = live.transition.lock().await;
            self.end(&live, reason);
        }
    }

    /// [`cut`](Self::cut) for callers that hold the transition lock of the space.
    fn end(&self, live: &LiveSpace, reason: Goodbye) {
        // The link ends first: an ended link accepts no registration, so no method is added again.
        if let Some(link) = live.link() {
            link.closing().end(reason);
        }
        self.registry.withdraw(live.id);
    }

    /// Ends the links of all of a user's spaces.
    pub async fn cut_user(&self, user: UserId, reason: Goodbye) {
        let spaces: Vec<_> = self
            .live
            .read()
            .values()
            .filter(|live| live.owner == user)
            .map(|s| s.id)
            .collect();
        for space in spaces {
            self.cut(space, reason).await;
        }
    }

    /// Removes a stopped or deleted space from memory, unless it has a link.
    pub fn forget(&self, space: SpaceId) {
        let mut live = self.live.write();
        if live.get(&space).is_some_and(|live| live.link().is_none()) {
            live.remove(&space);
        }
    }

    /// Ends all links. Each agent gets its goodbye as soon as its own calls in flight are done, or
    /// after the drain time, so that a long call delays only its own agent.
    pub async fn drain(&self) {
        let mut busy: Vec<_> = self
            .live
            .read()
            .values()
            .filter_map(|live| live.link())
            .collect();
        let handed_over = async {
            loop {
                busy.retain(|link| {
                    if link.is_idle() {
                        link.closing().end(Goodbye::ServerStopping);
                    }
                    !link.closing().is_ended()
                });
                if busy.is_empty() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let limit = self.policy.drain;
        if tokio::time::timeout(limit, handed_over).await.is_err() {
            tracing::warn!("the drain time is over; calls still in flight are interrupted");
        }
        busy.iter()
            .for_each(|link| link.closing().end(Goodbye::ServerStopping));
        self.tasks.close();
        if tokio::time::timeout(Duration::from_secs(5), self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("some agents did not close their links in time");
        }
    }

    /// Returns the live space; creates it if this server does not hold it.
    fn enter(&self, owner: UserId, identity: SpaceIdentity) -> Arc<LiveSpace> {
        let mut live = self.live.write();
        let live = live.entry(identity.id);
        Arc::clone(live.or_insert_with(|| Arc::new(LiveSpace::new(owner, identity))))
    }
}
