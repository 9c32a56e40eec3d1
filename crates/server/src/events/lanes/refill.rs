//! The refiller: lets lanes that have fallen behind check the stored events, in the order in which
//! the events were committed.
//!
//! With `overflow = "hold"`, a lane falls behind if an event does not fit into its queue, or if an
//! event matches while the lane is inactive. A lane whose sink has a filter falls behind with every
//! event that its patterns match, because filters are not evaluated in the transaction of an emit.
//! The lane's row holds the number of the first event that the lane has not checked.
//!
//! One step of a lane first reads some events. Then it evaluates the filter, outside of any
//! transaction. Then one transaction queues the matching events and moves the lane's number. If
//! another server did the same meanwhile, the number has changed and the step is discarded. So no
//! event is lost or queued twice, even if a server crashes.
//!
//! Invariants: a step reads a bounded number of events and bytes. On one server, an owner has at
//! most one step in progress. Owners take turns, and the lanes of one owner take turns.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use svc_core::LaneId;
use svc_store::{StoreError, Tx, lanes};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{Deliver, schedule::OwnerKey, worker::EngineState};

mod feed;
mod step;

pub(super) use self::step::RefillError;

/// Limit of the steps in progress.
const STEPS_MAX: usize = 8;
/// The pause after a scan, as a multiple of the time that the scan took.
const SCAN_PAUSE_FACTOR: u32 = 4;
/// How long an owner waits after a step that failed or changed nothing.
const REST: Duration = Duration::from_millis(250);

/// Runs until the engine drops this future.
pub(super) async fn run<D: Deliver>(shared: Arc<EngineState<D>>) {
    let mut refiller = Refiller {
        shared,
        steps: JoinSet::new(),
        working: HashSet::new(),
        resting: HashMap::new(),
        last_lanes: HashMap::new(),
        last_owner: String::new(),
    };
    loop {
        let wait_until = refiller.start_steps().await;
        refiller.wait(wait_until).await;
    }
}

struct Refiller<D> {
    shared: Arc<EngineState<D>>,
    steps: JoinSet<(OwnerKey, Result<bool, RefillError>)>,
    /// Owners with a step in progress.
    working: HashSet<OwnerKey>,
    /// Owners whose last step made no progress, and until when they wait.
    resting: HashMap<OwnerKey, Instant>,
    /// The lane of each owner's last step. The owner's next step prefers lanes with a greater id.
    last_lanes: HashMap<OwnerKey, LaneId>,
    last_owner: String,
}

impl<D: Deliver> Refiller<D> {
    /// Waits for a wake-up, for the end of a step, or for the next scan. No scan begins before
    /// `earliest`.
    async fn wait(&mut self, earliest: Instant) {
        let next_rest = self.resting.values().min().copied();
        let poll = Instant::now() + self.shared.policy.poll;
        let latest = next_rest.map_or(poll, |rest| rest.min(poll)).max(earliest);
        tokio::select! {
            biased;
            () = self.shared.hub.wait_for_refill() => {}
            Some(ended) = self.steps.join_next() => self.note_end(ended.ok()),
            () = sleep_until(latest) => {}
        }
        while let Some(ended) = self.steps.try_join_next() {
            self.note_end(ended.ok());
        }
        sleep_until(earliest).await;
    }

    /// Starts at most one step per owner, for a lane that has room and that is behind or has a
    /// feed: a request to send past events again. Returns the earliest time of the next scan.
    async fn start_steps(&mut self) -> Instant {
        let began = Instant::now();
        self.resting.retain(|_, until| *until > began);
        let free = STEPS_MAX.saturating_sub(self.steps.len());
        if free == 0 || self.shared.shutdown.is_cancelled() {
            return began;
        }
        let lanes = match self.find_lanes(free).await {
            Ok(lanes) => lanes,
            Err(error) => {
                if error != StoreError::Closed && !error.is_outage() {
                    tracing::error!(%error, "cannot look for lanes that have fallen behind; retrying");
                }
                return Instant::now() + self.shared.policy.poll;
            }
        };
        for (owner, lane) in lanes {
            self.last_owner = owner.to_string();
            self.last_lanes.insert(owner.clone(), lane);
            self.working.insert(owner.clone());
            let shared = self.shared.clone();
            self.steps.spawn(async move {
                let progress = match step::run(&shared, lane).await {
                    // The step changed nothing, usually because the lane is up to date. So its feed
                    // may continue.
                    Ok(false) => feed::run(&shared, lane).await,
                    done => done,
                };
                (owner, progress)
            });
        }
        let now = Instant::now();
        now + (now - began) * SCAN_PAUSE_FACTOR
    }

    /// At most `count` lanes that have room, each of a different owner.
    async fn find_lanes(&mut self, count: usize) -> Result<Vec<(OwnerKey, LaneId)>, StoreError> {
        let excluded: HashSet<OwnerKey> = self
            .working
            .iter()
            .chain(self.resting.keys())
            .cloned()
            .collect();
        let (last_owner, last_lanes) = (self.last_owner.clone(), self.last_lanes.clone());
        let finding = move |tx: &mut Tx<'_>| {
            let mut owners = lanes::list_ready_owners(tx)?;
            // The owners are sorted. Begin with those after the owner of the last step.
            let first = owners.partition_point(|owner| *owner <= last_owner);
            owners.rotate_left(first);
            let any = !owners.is_empty();
            let mut found = Vec::new();
            for owner in owners {
                if found.len() == count {
                    break;
                }
                if excluded.contains(owner.as_str()) {
                    continue;
                }
                let last = last_lanes.get(owner.as_str()).copied();
                let last = last.unwrap_or(LaneId::NIL);
                let mut lane = lanes::find_ready(tx, &owner, last)?;
                if lane.is_none() && last != LaneId::NIL {
                    lane = lanes::find_ready(tx, &owner, LaneId::NIL)?;
                }
                found.extend(lane.map(|lane| (OwnerKey::from(owner), lane.id)));
            }
            Ok((found, any))
        };
        let (found, any) = self.shared.store.read(finding).await?;
        if !any {
            self.last_lanes.clear();
        }
        Ok(found)
    }

    fn note_end(&mut self, ended: Option<(OwnerKey, Result<bool, RefillError>)>) {
        let Some((owner, progress)) = ended else {
            // A step panicked. Its owner is not known, so all owners may start steps again.
            tracing::error!("the refill of a lane panicked");
            self.working.clear();
            return;
        };
        self.working.remove(&owner);
        let has_progress = match progress {
            Ok(has_progress) => has_progress,
            Err(error) => {
                if !error.is_expected() {
                    tracing::warn!(%error, owner.id = %owner, "a lane that has fallen behind cannot be refilled now; retrying");
                }
                false
            }
        };
        if !has_progress {
            self.resting.insert(owner, Instant::now() + REST);
        }
    }
}
