//! [`Engine`]: finds due lanes, claims them, and owns the workers that deliver.
//!
//! [`Schedule`] decides which owner's lanes are claimed. The engine reports to the schedule the
//! owners that may have due lanes: owners of events that this server committed, of deliveries that
//! ended and of lanes that were woken. A regular scan reports all owners with deliveries, so a lost
//! wake-up only delays a lane. Scans take at most a tenth of the engine's time.

use std::{collections::HashSet, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{LaneId, ServerId};
use svc_store::{
    Store, StoreError, Tx,
    lanes::{self, DeliveryKind},
    sinks::{GLOBAL, owner_key},
};
use tokio::{
    task::{JoinError, JoinSet},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Deliver, LanePolicy,
    claim::{ClaimCommand, ClaimedLanes, UnusedGrants, times_until_due},
    refill, removal, retention,
    schedule::{Grant, OwnerKey, Schedule},
    turn::LaneNext,
    worker::{EngineState, Slot},
};
use crate::events::hub::{Hub, LaneWakeUp};

/// Limit of the lanes that one transaction wakes, so that the transaction stays short.
const WAKE_UPS_MAX: usize = 128;
/// The pause after a scan, as a multiple of the time that the scan took.
const SCAN_PAUSE_FACTOR: u32 = 9;

/// The delivery engine of this server.
pub struct Engine<D> {
    shared: Arc<EngineState<D>>,
    /// Wake-ups that arrived while this server held the lane; replayed when the lane is released.
    woken_while_held: Mutex<HashSet<LaneWakeUp>>,
    scan: Mutex<Scan>,
}

/// The time of the next scan.
struct Scan {
    /// Time of the next scan if a scan was requested.
    earliest: Instant,
    /// Time of the next scan if no scan was requested.
    latest: Instant,
    is_requested: bool,
}

impl Scan {
    fn next_at(&self) -> Instant {
        if self.is_requested {
            self.earliest
        } else {
            self.latest
        }
    }
}

impl<D: Deliver> Engine<D> {
    pub fn new(
        store: Store,
        server_id: ServerId,
        deliver: Arc<D>,
        policy: LanePolicy,
        shutdown: CancellationToken,
        hub: Hub,
    ) -> Self {
        let now = Instant::now();
        Self {
            shared: Arc::new(EngineState {
                store,
                server_id,
                deliver,
                schedule: Mutex::new(Schedule::new(policy.slots)),
                policy,
                hub,
                shutdown,
                cut_off: CancellationToken::new(),
            }),
            woken_while_held: Mutex::default(),
            scan: Mutex::new(Scan {
                earliest: now,
                latest: now,
                is_requested: true,
            }),
        }
    }

    /// Runs until the shutdown token is cancelled. Then deliveries in flight get
    /// [`LanePolicy::drain`] to end, and the workers release their lanes.
    pub async fn run(self) {
        let policy = &self.shared.policy;
        let pruning = retention::run(self.shared.store.clone(), policy.retention, policy.storage);
        let removing = removal::run(self.shared.store.clone(), policy.retention.removal_every);
        let refilling = refill::run(self.shared.clone());
        let mut workers = JoinSet::new();
        // Biased, so that two runs of a simulation with the same seed are equal.
        tokio::select! {
            biased;
            () = self.schedule(&mut workers) => {}
            () = async { tokio::join!(pruning, removing); std::future::pending().await } => {}
            () = refilling => {}
        }
        self.drain(workers).await;
    }

    async fn schedule(&self, workers: &mut JoinSet<LaneId>) {
        self.release_earlier_run().await;
        loop {
            let wait = self.start_due(workers).await;
            tokio::select! {
                biased;
                () = self.shared.shutdown.cancelled() => return,
                () = self.shared.hub.wait_for_wake_up() => {}
                Some(ended) = workers.join_next() => self.note_end(ended),
                () = sleep(wait) => {}
            }
            while let Some(ended) = workers.try_join_next() {
                self.note_end(ended);
            }
        }
    }

    /// Releases the lanes that this server held when it was killed. No other process can hold these
    /// lanes: the server id belongs to the data folder, which only one server uses at a time.
    async fn release_earlier_run(&self) {
        let server = self.shared.server_id;
        loop {
            let releasing = move |tx: &mut Tx<'_>| lanes::release_all(tx, server);
            match self.shared.store.write(releasing).await {
                Ok(_) | Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "cannot release the lanes of an earlier run; retrying");
                    sleep(self.shared.policy.poll).await;
                }
            }
        }
    }

    /// Starts a worker for each due lane that gets a slot. Returns how long to wait before the next
    /// call, unless a wake-up arrives earlier.
    async fn start_due(&self, workers: &mut JoinSet<LaneId>) -> Duration {
        match self.try_start_due(workers).await {
            Ok(()) => self.wait(),
            Err(error) => {
                if error != StoreError::Closed && !error.is_outage() {
                    tracing::error!(%error, "cannot look for due deliveries; retrying");
                }
                self.scan.lock().is_requested = true;
                self.shared.policy.poll
            }
        }
    }

    async fn try_start_due(&self, workers: &mut JoinSet<LaneId>) -> Result<(), StoreError> {
        self.take_wake_ups().await?;
        self.scan_if_time().await?;
        let grants = self.shared.schedule.lock().plan(Instant::now());
        if grants.is_empty() {
            return Ok(());
        }
        // On an error the slots are released, and the next scan finds the lanes.
        let mut unused = UnusedGrants {
            schedule: &self.shared.schedule,
            grants,
        };
        self.settle_idle(&mut unused).await?;
        if unused.grants.is_empty() {
            return Ok(());
        }
        let claimed = self.claim(unused.grants.clone()).await?;
        unused.grants.clear();
        for claimed in claimed {
            self.start(claimed, workers);
        }
        Ok(())
    }

    fn wait(&self) -> Duration {
        let now = Instant::now();
        let due = self.shared.schedule.lock().wait(now);
        let until_scan = self.scan.lock().next_at().saturating_duration_since(now);
        due.map_or(until_scan, |due| due.min(until_scan))
    }

    /// Reports the hub's wake-ups to the schedule.
    async fn take_wake_ups(&self) -> Result<(), StoreError> {
        let wake_ups = self.shared.hub.take_wake_ups(WAKE_UPS_MAX);
        if wake_ups.all {
            self.scan.lock().is_requested = true;
        }
        if !wake_ups.owners.is_empty() {
            let now = Instant::now();
            let mut schedule = self.shared.schedule.lock();
            let keys = wake_ups.owners.into_iter().map(owner_key);
            for key in keys.chain([GLOBAL.to_owned()]) {
                let key: OwnerKey = key.into();
                for kind in DeliveryKind::ALL {
                    schedule.note_due(kind, &key, now);
                }
            }
        }
        self.make_due(wake_ups.lanes).await
    }

    /// Makes woken lanes due. If this server holds a lane, the wake-up is replayed when the lane is
    /// released. If another server holds it, the wake-up has no effect.
    async fn make_due(&self, woken: Vec<LaneWakeUp>) -> Result<(), StoreError> {
        if woken.is_empty() {
            return Ok(());
        }
        let waking = move |tx: &mut Tx<'_>| {
            let (now, mut due_lanes) = (tx.now()?, Vec::new());
            for woken in woken {
                if let Some(lane) = lanes::make_due(tx, woken.lane, woken.failures, now)? {
                    due_lanes.push((woken, lane));
                }
            }
            Ok(due_lanes)
        };
        let due_lanes = self.shared.store.write(waking).await?;
        let now = Instant::now();
        let mut schedule = self.shared.schedule.lock();
        for (woken, lane) in due_lanes {
            match lane.holder {
                None => schedule.note_due(lane.kind, &lane.owner_key.into(), now),
                Some(holder) if holder == self.shared.server_id => {
                    self.woken_while_held.lock().insert(woken);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// If it is time for a scan, reports to the schedule all owners that have deliveries.
    async fn scan_if_time(&self) -> Result<(), StoreError> {
        let began = Instant::now();
        {
            let mut scan = self.scan.lock();
            if began < scan.next_at() {
                return Ok(());
            }
            scan.is_requested = false;
        }
        let server = self.shared.server_id;
        let scanning = move |tx: &mut Tx<'_>| {
            let now = tx.now()?;
            let due = lanes::list_due_owners(tx, server, now)?.into_iter();
            let due = due.map(|owner| {
                let key: OwnerKey = owner.owner_key.into();
                (owner.kind, key, owner.at.since(now))
            });
            Ok(due.collect::<Vec<_>>())
        };
        let due = self.shared.store.read(scanning).await?;
        let now = Instant::now();
        let mut schedule = self.shared.schedule.lock();
        for (kind, owner, wait) in due {
            schedule.note_due(kind, &owner, now + wait);
        }
        let pause = (now - began) * SCAN_PAUSE_FACTOR;
        let mut scan = self.scan.lock();
        scan.earliest = now + pause;
        scan.latest = now + pause.max(self.shared.policy.poll);
        Ok(())
    }

    /// Releases the slots that were granted to owners without a due lane. Uses a read transaction,
    /// so that the grants of these owners cause no write.
    async fn settle_idle(&self, unused: &mut UnusedGrants<'_>) -> Result<(), StoreError> {
        let (server, grants) = (self.shared.server_id, unused.grants.clone());
        let reading = move |tx: &mut Tx<'_>| {
            let now = tx.now()?;
            times_until_due(tx, server, &grants, now)
        };
        let waits = self.shared.store.read(reading).await?;
        let now = Instant::now();
        let mut schedule = self.shared.schedule.lock();
        let mut waits = waits.into_iter();
        unused.grants.retain(|grant| {
            let wait = waits.next().flatten();
            let is_due = wait.is_some_and(|wait| wait.is_zero());
            if !is_due {
                schedule.settle(grant, 0, wait.map(|wait| now + wait));
            }
            is_due
        });
        Ok(())
    }

    /// Claims lanes and begins their first deliveries in one transaction.
    async fn claim(&self, grants: Vec<Grant>) -> Result<Vec<ClaimedLanes>, StoreError> {
        let shared = &self.shared;
        let claiming = ClaimCommand {
            server: shared.server_id,
            grants,
            lease: shared.policy.lease,
            shutdown: shared.shutdown.clone(),
        };
        shared.store.write_grouped(claiming).await
    }

    /// Starts a worker for each lane whose first delivery was begun.
    fn start(&self, claimed: ClaimedLanes, workers: &mut JoinSet<LaneId>) {
        let grant = claimed.grant;
        let mut started = Vec::new();
        for progress in claimed.progress {
            self.shared.report(&progress);
            if let LaneNext::Jobs { .. } = progress.next {
                started.push(progress);
            }
        }
        let next = claimed.next.map(|wait| Instant::now() + wait);
        self.shared
            .schedule
            .lock()
            .settle(&grant, started.len(), next);
        for started in started {
            let slot = Slot::new(self.shared.clone(), grant.kind, grant.owner.clone());
            workers.spawn(slot.run(started));
        }
    }

    /// Replays wake-ups of the released lane. After a panic the lane stays held until its lease
    /// ends.
    fn note_end(&self, ended: Result<LaneId, JoinError>) {
        match ended {
            Ok(lane) => {
                let mut held = self.woken_while_held.lock();
                for woken in held.extract_if(|woken| woken.lane == lane) {
                    self.shared.hub.wake_attempt(woken.lane, woken.failures);
                }
            }
            Err(error) => tracing::error!(%error, "a delivery panicked"),
        }
    }

    async fn drain(&self, mut workers: JoinSet<LaneId>) {
        let ended = async {
            while let Some(ended) = workers.join_next().await {
                self.note_end(ended);
            }
        };
        if timeout(self.shared.policy.drain, ended).await.is_ok() {
            return;
        }
        tracing::info!(
            deliveries = workers.len(),
            "cutting off deliveries in flight; another server, or this one after its next start, repeats them"
        );
        self.shared.cut_off.cancel();
        while let Some(ended) = workers.join_next().await {
            self.note_end(ended);
        }
    }
}
