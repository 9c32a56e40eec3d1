//! The scripted receiver of the tests.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;
use svc_core::{
    LaneId, SpaceId, UserId,
    event::{Event, EventSpace},
};
use svc_store::sinks::SinkRow;
use svc_template::{Scope, expression::Expression};
use tokio::sync::watch;

use crate::events::lanes::{AttemptDetail, AttemptResult, Deliver, FilterResult, Job};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Reply {
    Deliver,
    Fail,
    Die,
    Pause,
    /// Pauses after `let_go` is set.
    PauseLater,
    /// Delivers after `let_go` is set.
    Hang,
}

/// Records each attempt and answers as the test has set.
pub(super) struct Receiver {
    pub(super) seen: Mutex<Vec<Job>>,
    reply: Mutex<Reply>,
    pub(super) in_flight: Mutex<HashMap<LaneId, usize>>,
    /// The highest number of deliveries that one lane had in flight.
    pub(super) most_in_flight: Mutex<usize>,
    /// How many events one call of `filter` evaluates.
    pub(super) filter_results_max: Mutex<usize>,
    /// How many events each call of `filter` got.
    pub(super) filtered: Mutex<Vec<usize>>,
    pub(super) let_go: watch::Sender<bool>,
}

impl Receiver {
    pub(super) fn new(reply: Reply) -> Arc<Self> {
        Arc::new(Self {
            seen: Mutex::default(),
            reply: Mutex::new(reply),
            in_flight: Mutex::default(),
            most_in_flight: Mutex::default(),
            filter_results_max: Mutex::new(usize::MAX),
            filtered: Mutex::default(),
            let_go: watch::Sender::new(false),
        })
    }

    pub(super) fn set(&self, reply: Reply) {
        *self.reply.lock() = reply;
    }

    pub(super) fn seen(&self) -> Vec<Job> {
        self.seen.lock().clone()
    }

    pub(super) fn count(&self) -> usize {
        self.seen.lock().len()
    }

    /// The numbers of a lane's deliveries, in the order of arrival.
    pub(super) fn numbers(&self, lane: LaneId) -> Vec<u64> {
        let seen = self.seen.lock();
        let of_lane = seen.iter().filter(|job| job.lane == lane);
        of_lane.map(|job| job.n).collect()
    }
}

/// Counts a delivery as in flight until it ends or is dropped.
struct InFlight<'a>(&'a Receiver, LaneId);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0.in_flight.lock().get_mut(&self.1) {
            *count -= 1;
        }
    }
}

impl Deliver for Receiver {
    /// The key of an event is the last segment of its type.
    async fn keys(&self, _: &SinkRow, events: Vec<Event>) -> Result<Vec<String>, String> {
        let key = |event: &Event| {
            event
                .r#type
                .rsplit('.')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        Ok(events.iter().map(key).collect())
    }

    async fn filter(
        &self,
        _: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        self.filtered.lock().push(events.len());
        let count = events.len().min(*self.filter_results_max.lock());
        Ok(filter_events(&filter, &events[..count]))
    }

    async fn deliver(&self, job: Job) -> AttemptResult {
        let lane = job.lane;
        {
            let mut in_flight = self.in_flight.lock();
            let count = in_flight.entry(lane).or_default();
            *count += 1;
            let mut most = self.most_in_flight.lock();
            *most = (*most).max(*count);
        }
        let _in_flight = InFlight(self, lane);
        // Read before the job is added to `seen`, so that a later `set` applies only to later jobs.
        let reply = *self.reply.lock();
        self.seen.lock().push(job);
        tokio::task::yield_now().await;
        let detail = AttemptDetail {
            status: Some(200),
            ms: 1,
            ..AttemptDetail::default()
        };
        let failed = AttemptDetail {
            status: Some(500),
            error: Some("answered 500".to_owned()),
            ..detail.clone()
        };
        match reply {
            Reply::Deliver => AttemptResult::Delivered(detail),
            Reply::Fail => AttemptResult::Failed(failed),
            Reply::Die => AttemptResult::Dead(failed),
            Reply::Pause => AttemptResult::Paused,
            Reply::PauseLater => {
                let mut let_go = self.let_go.subscribe();
                let _ = let_go.wait_for(|go| *go).await;
                AttemptResult::Paused
            }
            Reply::Hang => {
                let mut let_go = self.let_go.subscribe();
                let _ = let_go.wait_for(|go| *go).await;
                AttemptResult::Delivered(detail)
            }
        }
    }
}

/// Evaluates a filter on events that belong to no space.
pub(super) fn filter_events(filter: &str, events: &[Event]) -> Vec<FilterResult> {
    let filter = Expression::parse(filter).expect("valid");
    let mut results = Vec::new();
    for event in events {
        let scope = Scope {
            event,
            space: EventSpace::without_record(SpaceId::NIL),
            custom: &BTreeMap::new(),
        };
        results.push(filter.is_true(&scope).map_err(|error| error.to_string()));
    }
    results
}
