//! The promises that are checked against the database.

use std::{collections::HashMap, time::Duration};

use svc_core::{LaneId, lane::QUEUE_CAPACITY};
use svc_protocol::api::{Delivery, DeliveryState};
use svc_store::{
    deliveries::{self, DeliveryPage},
    sinks,
};
use tokio::time::{Instant, sleep};

use super::world::World;

/// After the disturbances, everything is delivered within this time.
const DRAIN_MAX: Duration = Duration::from_secs(3_600);
/// If all servers are idle and all receivers are healthy, a new event is delivered within this
/// time.
const PROMPT: Duration = Duration::from_secs(2);
/// The number of rounds in which idle servers emit events.
const PROMPT_ROUNDS: u64 = 6;
/// Limit of the failed attempts of a delivery.
const ATTEMPTS: usize = 3;

impl World {
    /// Checks that no queue exceeds its limit, and that the counter of each lane is the number of
    /// its waiting deliveries.
    pub async fn check_lanes(&self) {
        let first = self.servers.iter().flatten().next();
        if !first.is_some_and(|server| server.run.frozen_for().is_zero()) {
            return;
        }
        for (index, (sink, lane)) in self.lanes().into_iter().enumerate() {
            let (depth, waiting) = self
                .read(move |tx| {
                    let waiting = deliveries::list_waiting(tx, lane)?;
                    Ok((sinks::status(tx, sink)?.queue_depth, waiting.len()))
                })
                .await;
            if depth > QUEUE_CAPACITY || depth as usize != waiting {
                self.journal().break_promise(format!(
                    "capacity: lane {index} counts {depth} deliveries, {waiting} wait"
                ));
            }
        }
    }

    fn lanes(&self) -> Vec<(svc_core::SinkId, LaneId)> {
        let lanes = self.zone.receivers.lanes.lock();
        let sinks = self.sinks.iter().copied();
        sinks.zip(lanes.iter().copied()).collect()
    }

    /// Waits until no event is queued or held. Returns false if that takes longer than
    /// [`DRAIN_MAX`].
    pub async fn drain(&self) -> bool {
        let deadline = Instant::now() + DRAIN_MAX;
        while !self.is_drained().await {
            if Instant::now() > deadline {
                let text = "at least once: deliveries still wait after an hour";
                self.journal().break_promise(text.to_owned());
                return false;
            }
            sleep(Duration::from_secs(5)).await;
        }
        true
    }

    async fn is_drained(&self) -> bool {
        for (sink, _) in self.lanes() {
            let status = self.read(move |tx| sinks::status(tx, sink)).await;
            if status.queue_depth > 0 || status.held {
                return false;
            }
        }
        true
    }

    /// The deliveries of a lane, oldest first.
    async fn deliveries(&self, lane: LaneId) -> Vec<Delivery> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = DeliveryPage::parse(cursor.as_deref(), Some(1_000)).expect("valid");
            let listed = self
                .read(move |tx| deliveries::list(tx, lane, None, page))
                .await;
            all.extend(listed.items);
            cursor = listed.next_cursor;
            if cursor.is_none() {
                all.reverse();
                return all;
            }
        }
    }

    /// Checks that every acknowledged event was delivered or given up in each of its lanes, and
    /// that the events of one emitter are in the order of its emits. A delivery may be recorded as
    /// delivered only if a receiver accepted it.
    pub async fn check_end(&self) {
        let journal = self.journal();
        let mut stored: HashMap<_, Vec<(usize, u64)>> = HashMap::new();
        for (index, (_, lane)) in self.lanes().into_iter().enumerate() {
            for delivery in self.deliveries(lane).await {
                self.check_delivery(index, &delivery);
                let places = stored.entry(delivery.event_id).or_default();
                places.push((index, delivery.n));
            }
        }
        let mut last: HashMap<(u64, usize), u64> = HashMap::new();
        for one in journal.acknowledged() {
            let places = stored.remove(&one.event).unwrap_or_default();
            if places.len() != one.lanes {
                journal.break_promise(format!(
                    "at least once: event {} was acknowledged for {} lanes and is in {}",
                    one.event,
                    one.lanes,
                    places.len()
                ));
            }
            for (lane, n) in places {
                let before = last.insert((one.emitter, lane), n);
                if before.is_some_and(|before| before > n) {
                    journal.break_promise(format!(
                        "order: event {} is delivery {n} of lane {lane}, behind a later event",
                        one.event
                    ));
                }
            }
        }
    }

    fn check_delivery(&self, lane: usize, delivery: &Delivery) {
        let (journal, n) = (self.journal(), delivery.n);
        let is_accepted = journal.is_accepted(lane, n);
        match delivery.state {
            DeliveryState::Delivered if !is_accepted => journal.break_promise(format!(
                "invented: no receiver has accepted delivery {n} of lane {lane}"
            )),
            DeliveryState::Pending => journal.break_promise(format!(
                "at least once: delivery {n} of lane {lane} was forgotten"
            )),
            _ => {}
        }
        let attempts = delivery.attempts.iter();
        let failures = attempts.filter(|attempt| attempt.error.is_some()).count();
        if failures > ATTEMPTS {
            journal.break_promise(format!(
                "attempts: {failures} attempts of delivery {n} of lane {lane} failed"
            ));
        }
    }

    /// Checks that idle servers deliver new events at once, without waiting for a scan, and that
    /// they send each event only once to each lane.
    pub async fn check_prompt(&mut self) {
        let known = self.journal().acknowledged().len();
        // After a failed commit, an engine waits for `poll` before it tries again.
        sleep(self.zone.policy.poll * 2).await;
        for _ in 0..PROMPT_ROUNDS {
            for _ in 0..3 {
                let server = self.random.index(self.servers.len());
                self.emit(server, 1);
                sleep(self.random.time_below(Duration::from_millis(40))).await;
            }
            for server in self.servers.iter_mut().flatten() {
                server.finish_emits().await;
            }
            let emitted = Instant::now();
            while !self.is_drained().await {
                if emitted.elapsed() > PROMPT {
                    let text = format!("prompt: an event is not delivered within {PROMPT:?}");
                    return self.journal().break_promise(text);
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        let journal = self.journal();
        for one in journal.acknowledged().split_off(known) {
            let arrivals = journal.arrivals(one.event);
            if arrivals != one.lanes {
                journal.break_promise(format!(
                    "once: event {} was sent {arrivals} times to {} lanes, without a fault",
                    one.event, one.lanes
                ));
            }
        }
    }
}
