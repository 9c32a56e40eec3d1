//! Results of several lanes that are recorded together have the same effect as the same results
//! recorded one after the other.

use std::time::Duration;

use svc_core::{
    EventId,
    delivery_policy::{DeliveryPolicy, Ordering},
    lane::LEASE,
};
use svc_store::{
    Grouped,
    lanes::{self, DeliveryKind, LaneLease},
    records,
    sinks::SinkRow,
};

use super::Fixture;
use crate::events::lanes::{
    AttemptDetail,
    turn::{
        self, DeliveryEnd, EndedDelivery, LaneNext, LaneProgress, PauseReason, Results, RunState,
        TransactionTime,
    },
    write::RecordCommand,
};

const EVENTS: usize = 20;
const NAMES: [&str; 7] = ["all", "some", "retry", "dead", "pause", "untried", "keyed"];

fn policy(name: &str) -> DeliveryPolicy {
    DeliveryPolicy {
        notify: true,
        failing_after_failures: 1,
        ordering: match name {
            "keyed" => Ordering::Key,
            _ => Ordering::default(),
        },
        ..DeliveryPolicy::default()
    }
}

/// How the first deliveries of a lane ended.
fn ends(name: &str) -> Vec<DeliveryEnd> {
    let (done, failed) = (AttemptDetail::default, || AttemptDetail::error("no"));
    let wait = Duration::from_secs(5);
    match name {
        "all" => vec![DeliveryEnd::Delivered(done()); 8],
        "some" => vec![DeliveryEnd::Delivered(done()); 3],
        "retry" => vec![
            DeliveryEnd::Delivered(done()),
            DeliveryEnd::RetryIn(wait, failed()),
        ],
        "dead" => vec![DeliveryEnd::Dead(failed()), DeliveryEnd::Delivered(done())],
        "pause" => vec![DeliveryEnd::Pause(
            PauseReason::Failures("the receiver is gone".to_owned()),
            failed(),
        )],
        "untried" => vec![DeliveryEnd::Unattempted { wait }],
        _ => vec![
            DeliveryEnd::RetryIn(wait, failed()),
            DeliveryEnd::Delivered(done()),
        ],
    }
}

/// Sinks with waiting deliveries, and the results of their lanes.
struct World {
    fixture: Fixture,
    sinks: Vec<SinkRow>,
    results: Vec<Results>,
}

impl World {
    async fn new() -> Self {
        let fixture = Fixture::new();
        let mut sinks = Vec::new();
        for name in NAMES {
            let key = svc_store::sinks::owner_key(fixture.owner);
            let row = SinkRow {
                policy: policy(name),
                ..fixture.sink_row(&key, name, "custom.*")
            };
            sinks.push(fixture.add(row).await.0);
        }
        // Receives the events about the other sinks.
        sinks.push(fixture.sink("watcher", "*").await.0);
        fixture.emit_many(EVENTS).await;
        let leases = fixture.claim(fixture.now().plus(LEASE)).await;
        let mut results = Vec::new();
        for sink in &sinks {
            let id = sink.id;
            let lane = fixture.write(move |tx| lanes::find_by_sink(tx, id)).await;
            let lane = lane.expect("a webhook has a lane").id;
            let held = *leases.iter().find(|one| one.lane == lane).expect("claimed");
            results.push(begin(&fixture, held, &sink.name).await);
        }
        Self {
            fixture,
            sinks,
            results,
        }
    }

    async fn record(&self, together: bool) -> Vec<Option<LaneProgress>> {
        let results = self.results.clone();
        self.fixture
            .write(move |tx| match together {
                true => {
                    let results: Vec<_> = results.iter().collect();
                    turn::record(tx, &results, LEASE)
                }
                false => {
                    let one = |results| Ok(turn::record(tx, &[results], LEASE)?.remove(0));
                    results.iter().map(one).collect()
                }
            })
            .await
    }

    /// Everything that the results changed, without ids.
    async fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        for sink in &self.sinks {
            let id = sink.id;
            let lane = self.fixture.write(move |tx| lanes::find_by_sink(tx, id));
            let lane = lane.await.expect("a lane");
            let deliveries = self.fixture.deliveries(lane.id).await;
            let deliveries: Vec<_> = deliveries
                .iter()
                .map(|one| (one.n, &one.event_type, one.state, one.attempts.len()))
                .collect();
            let active = self
                .fixture
                .write(move |tx| records::get::<SinkRow>(tx, id));
            let active = active.await.active;
            state.push(format!(
                "{} {active} {} {} {} {deliveries:?}",
                sink.name, lane.depth, lane.failures, lane.dropped
            ));
        }
        state
    }
}

/// Begins the deliveries of a claimed lane. Returns the results to record.
async fn begin(fixture: &Fixture, held: LaneLease, name: &str) -> Results {
    let now = fixture.now();
    let time = TransactionTime {
        now,
        lease_until: now.plus(LEASE),
    };
    let begun = fixture
        .write(move |tx| turn::begin(tx, &[(DeliveryKind::Webhook, held)], time))
        .await
        .remove(0);
    let LaneNext::Jobs { jobs, .. } = begun.next else {
        panic!("the lane has deliveries");
    };
    let ended: Vec<_> = jobs
        .iter()
        .zip(ends(name))
        .map(|(job, end)| EndedDelivery {
            n: job.n,
            attempt: job.attempt,
            event_id: EventId::NIL,
            event_type: "custom.x".to_owned(),
            end,
        })
        .collect();
    let state = RunState {
        last_sent: ended.last().map_or(0, |one| one.n),
        last_read: jobs.last().map_or(0, |job| job.n),
        window: 8,
        ..RunState::new(held)
    };
    (state, ended)
}

fn summary(progress: &Option<LaneProgress>) -> String {
    let Some(progress) = progress else {
        return "lost".to_owned();
    };
    let next = match &progress.next {
        LaneNext::Released { .. } => "released".to_owned(),
        LaneNext::Drain => "drain".to_owned(),
        LaneNext::Jobs { jobs, .. } => {
            format!("{:?}", jobs.iter().map(|job| job.n).collect::<Vec<_>>())
        }
    };
    let raised = progress.raised.iter().map(|event| &event.r#type);
    format!(
        "{next} {} {:?}",
        progress.dead.len(),
        raised.collect::<Vec<_>>()
    )
}

#[tokio::test]
async fn results_recorded_together_have_the_effect_of_results_recorded_one_by_one() {
    let (together, alone) = (World::new().await, World::new().await);
    let recorded = together.record(true).await;
    let expected = alone.record(false).await;
    let summaries: Vec<_> = recorded.iter().map(summary).collect();
    assert_eq!(summaries, expected.iter().map(summary).collect::<Vec<_>>());
    assert!(summaries[0].starts_with("[9, "), "{summaries:?}");
    assert!(summaries[2].contains("sink.failing"), "{summaries:?}");
    assert_eq!(together.state().await, alone.state().await);
    // A result that is recorded again, because its commit was not certain, changes nothing.
    let (before, first) = (together.state().await, together.results[1].clone());
    let repeated = together
        .fixture
        .write(move |tx| turn::record(tx, &[&first], LEASE));
    assert!(repeated.await[0].is_some(), "the lane is still held");
    assert_eq!(together.state().await, before);
}

#[tokio::test]
async fn a_second_result_of_the_same_lane_runs_after_the_first() {
    let world = World::new().await;
    let command = || RecordCommand {
        results: world.results[1].clone().into(),
        lease: LEASE,
    };
    let commands = [command(), command()];
    let answers = world.fixture.write(move |tx| {
        let answers = RecordCommand::run_together(tx, &commands.each_ref())?;
        Ok(answers.iter().map(Option::is_some).collect::<Vec<_>>())
    });
    assert_eq!(answers.await, [true, false]);
}
