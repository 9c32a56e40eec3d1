//! The receivers of all lanes, as one server reaches them.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{LaneId, UserId, event::Event};
use svc_simulation::Random;
use svc_store::sinks::SinkRow;
use tokio::time::sleep;

use super::{journal::Journal, server::ServerRun};
use crate::events::lanes::{AttemptDetail, AttemptResult, Deliver, FilterResult, Job};

/// How receivers behave at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mood {
    /// Every delivery succeeds, at once.
    Healthy,
    /// Most deliveries succeed, after a while.
    Usual,
    /// Every delivery fails.
    Down,
    /// Deliveries take up to 40 seconds.
    Slow,
    /// The receiver is not available, or deliveries to it are not allowed. No attempt is spent.
    Away,
}

impl Mood {
    pub const ALL: [Self; 5] = [
        Self::Healthy,
        Self::Usual,
        Self::Down,
        Self::Slow,
        Self::Away,
    ];
}

/// What the receivers of all servers share.
#[derive(Clone)]
pub struct Receivers {
    pub journal: Arc<Journal>,
    pub mood: Arc<Mutex<Mood>>,
    /// The lanes; the journal names a lane by its position here.
    pub lanes: Arc<Mutex<Vec<LaneId>>>,
}

/// The receivers as one server sees them, from its start to its end.
pub struct SimulatedReceiver {
    pub shared: Receivers,
    pub by: Arc<ServerRun>,
    pub random: Mutex<Random>,
}

/// Ends a request in the journal, also if its future is dropped.
struct OpenRequest<'a>(&'a Journal, u64);

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

impl SimulatedReceiver {
    fn take_time(&self, mood: Mood) -> Duration {
        let mut random = self.random.lock();
        match mood {
            Mood::Healthy => Duration::from_millis(1),
            Mood::Usual | Mood::Down | Mood::Away => random.time_below(Duration::from_millis(200)),
            Mood::Slow => random.time_below(Duration::from_secs(40)),
        }
    }

    fn answer(&self, mood: Mood, delivery: (usize, u64)) -> AttemptResult {
        let failed = || AttemptDetail {
            status: Some(500),
            error: Some("answered 500".to_owned()),
            ..AttemptDetail::default()
        };
        match (mood, self.random.lock().below(100)) {
            (Mood::Down, _) | (Mood::Usual, 0..10) => AttemptResult::Failed(failed()),
            (Mood::Usual, 10..12) => AttemptResult::Dead(failed()),
            (Mood::Away, 0..90) => AttemptResult::Paused,
            (Mood::Away, _) => AttemptResult::Withheld("simulated".to_owned()),
            (Mood::Usual | Mood::Healthy | Mood::Slow, _) => {
                self.shared.journal.accept(delivery.0, delivery.1);
                AttemptResult::Delivered(AttemptDetail {
                    status: Some(200),
                    ..AttemptDetail::default()
                })
            }
        }
    }
}

impl Deliver for SimulatedReceiver {
    async fn deliver(&self, job: Job) -> AttemptResult {
        self.by.wait_while_frozen().await;
        let shared = &self.shared;
        let lane = shared.lanes.lock().iter().position(|id| *id == job.lane);
        let delivery = (lane.expect("a lane of this simulation"), job.n);
        let flight = shared.journal.begin(delivery, job.event.id, &self.by);
        let _open = OpenRequest(&shared.journal, flight);
        let mood = *shared.mood.lock();
        sleep(self.take_time(mood)).await;
        let result = self.answer(mood, delivery);
        self.by.wait_while_frozen().await;
        result
    }

    async fn keys(&self, _: &SinkRow, events: Vec<Event>) -> Result<Vec<String>, String> {
        Ok(events.into_iter().map(|event| event.r#type).collect())
    }

    async fn filter(
        &self,
        _: UserId,
        _: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        Ok(events.iter().map(|_| Ok(true)).collect())
    }
}
