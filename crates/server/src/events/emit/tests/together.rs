//! Emits that are written together have the same effect as the same emits one after the other.

use std::collections::HashMap;

use svc_core::delivery_policy::Overflow;
use svc_store::{
    Grouped,
    deliveries::{self, DeliveryPage},
    dispatch,
    events::usage,
    lanes,
};

use super::{
    super::command::{EmitCommand, EmitOutcome, IdempotencyKey},
    *,
};

const OWNERS: usize = 3;
const EVENTS: usize = 400;

/// A sequence of numbers that a seed determines.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

pub(super) const START: i64 = 1_700_000_000_000;

pub(super) fn command(
    caller: &Caller,
    kind: &str,
    (data, at): (JsonText, i64),
    key: Option<IdempotencyKey>,
) -> EmitCommand {
    EmitCommand {
        directory: Arc::new(Directory::empty()),
        clock: Clock::from_fn(|| Timestamp(0)),
        caller: caller.clone(),
        event: Event {
            id: EventId::NIL,
            r#type: format!("custom.{kind}"),
            ts: Timestamp(at),
            owner_id: caller.user.id,
            space_id: SpaceId::NIL,
            actor: caller.actor(),
            data,
            trace: None,
        },
        key,
        run: None,
        storage: storage(1 << 30),
        limit: Arc::new(RateLimit::new(None)),
        searches: Arc::default(),
    }
}

/// A store with users and sinks that depend only on the seed.
struct World {
    fixture: Fixture,
    callers: Vec<Caller>,
    sinks: Vec<SinkRow>,
}

impl World {
    async fn new(seed: u64) -> Self {
        let fixture = Fixture::with(None, storage(1 << 30));
        let callers: Vec<_> = (0..OWNERS).map(|_| caller()).collect();
        let mut random = Random(seed);
        let mut rows = Vec::new();
        for n in 0..12 {
            let owner = callers[random.below(OWNERS)].user.id;
            let owner_key = match random.below(4) {
                0 => sinks::GLOBAL.to_owned(),
                _ => sinks::owner_key(owner),
            };
            let mut row = webhook_row(owner, owner_key, &format!("s{n}"));
            let patterns = ["*", "custom.a", "custom.a, sink.*", "custom.b*", "sink.*"];
            row.patterns = Pattern::parse_list(patterns[random.below(5)]).expect("valid");
            row.policy.notify = random.below(2) == 0;
            row.active = random.below(5) > 0;
            if random.below(3) == 0 {
                row.policy.overflow = Overflow::Hold;
            }
            if random.below(6) == 0 {
                row.policy.filter = Some("event.data.n > 100".to_owned());
            }
            rows.push(row);
        }
        let inserted = rows.clone();
        let inserting = fixture.store.write(move |tx| {
            let mut rows = inserted.iter();
            rows.try_for_each(|row| sinks::insert(tx, row))
        });
        inserting.await.expect("committed");
        Self {
            fixture,
            callers,
            sinks: rows,
        }
    }

    /// The emits of a seed. Some of them have the same idempotency key.
    fn commands(&self, seed: u64) -> Vec<EmitCommand> {
        let mut random = Random(!seed);
        let mut commands = Vec::new();
        for n in 0..EVENTS {
            let caller = &self.callers[random.below(OWNERS)];
            let (kind, repeated) = (["a", "b", "b.c"][random.below(3)], random.below(8) == 0);
            let data = JsonText::from(&json!({"n": if repeated { 0 } else { n }}));
            let key = (repeated || random.below(8) == 0)
                .then(|| IdempotencyKey::new(&format!("k{}", random.below(5)), kind, &data));
            let key = key.transpose().expect("valid");
            commands.push(command(caller, kind, (data, START), key));
        }
        commands
    }

    /// The state after the emits. It has numbers and names in place of ids, because the ids of two
    /// worlds differ.
    async fn state(&self) -> Vec<String> {
        let (sinks, callers) = (self.sinks.clone(), self.callers.clone());
        let reading = self.fixture.store.read(move |tx| {
            let mut events = HashMap::new();
            let mut state = Vec::new();
            for event in events::list_numbered(tx, None, 0, 10_000)? {
                let text = events::find(tx, event.id)?
                    .expect("stored")
                    .data
                    .to_string();
                let data: Value = serde_json::from_str(&text).unwrap_or_default();
                let about = (data["n"].clone(), data["name"].clone());
                state.push(format!("{} {} {about:?}", event.seq, event.r#type));
                events.insert(event.id, event.seq);
            }
            for sink in &sinks {
                let lane = lanes::find_by_sink(tx, sink.id)?.expect("a lane");
                let page = DeliveryPage::parse(None, Some(200)).expect("valid");
                let deliveries = deliveries::list(tx, lane.id, None, page)?.items;
                let queued: Vec<_> = deliveries.iter().map(|one| events[&one.event_id]).collect();
                let refill_from =
                    lanes::find_refill(tx, lane.id)?.and_then(|lane| lane.refill_from);
                let (depth, dropped) = (lane.depth, lane.dropped);
                let name = &sink.name;
                state.push(format!(
                    "{name}: {depth} {dropped} {refill_from:?} {queued:?}"
                ));
            }
            for caller in &callers {
                let bytes = usage::bytes_of(tx, Some(caller.user.id))?;
                state.push(format!("{} {bytes}", caller.user.name));
            }
            let dispatch = dispatch::read(tx, &[], &[], Timestamp(0))?;
            state.push(format!("newest {}", dispatch.newest));
            Ok(state)
        });
        reading.await.expect("read")
    }
}

/// The result as the caller sees it, without ids.
fn describe(result: &Result<EmitOutcome, EmitServiceError>) -> String {
    match result {
        Ok(EmitOutcome::New(_, result)) => format!(
            "new {} {} {} {} {}",
            result.queued,
            result.dropped,
            result.held,
            result.stored_bytes,
            result.raised.len()
        ),
        Ok(EmitOutcome::Repeated(emitted)) => format!("repeated {}", emitted.event_type),
        Ok(EmitOutcome::AlreadyRan) => "already ran".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn emits_together_are_like_emits_one_after_the_other() {
    let (mut drops, mut raised) = (0, 0);
    for seed in 0..12 {
        let (alone, together) = (World::new(seed).await, World::new(seed).await);
        let mut expected = Vec::new();
        for command in alone.commands(seed) {
            let written = alone
                .fixture
                .store
                .try_write(move |tx| command.run_alone(tx));
            expected.push(describe(&written.await));
        }
        let mut random = Random(seed ^ 77);
        let mut commands = together.commands(seed);
        let mut results = Vec::new();
        while !commands.is_empty() {
            let size = (1 + random.below(120)).min(commands.len());
            let group: Vec<_> = commands.drain(..size).collect();
            let written = together.fixture.store.write(move |tx| {
                let group: Vec<_> = group.iter().collect();
                EmitCommand::run_together(tx, &group)
            });
            let written = written.await.expect("committed");
            results.extend(
                written
                    .iter()
                    .map(|one| describe(one.as_ref().expect("a result"))),
            );
        }
        assert_eq!(results, expected, "seed {seed}");
        assert_eq!(together.state().await, alone.state().await, "seed {seed}");
        drops += expected
            .iter()
            .filter(|one| one.contains("new") && !one.contains(" 0 0 "))
            .count();
        raised += expected.iter().filter(|one| one.ends_with('1')).count();
    }
    // Some emits must meet full queues, and some must raise events about sinks. Otherwise the test
    // compares too little.
    assert!(drops > 100 && raised > 0, "{drops} {raised}");
}

#[tokio::test]
async fn an_expired_key_is_free_even_if_earlier_emits_are_in_the_same_group() {
    let fixture = Fixture::new(None);
    let caller = caller();
    let day = i64::try_from(KEY_LIFE.as_millis()).expect("short");
    let emit = |at: i64, with_key: bool| {
        let data = JsonText::from(&json!({}));
        let key = with_key.then(|| IdempotencyKey::new("k", "a", &data).expect("valid"));
        command(&caller, "a", (data, START + at), key)
    };
    let groups = [
        vec![emit(0, true)],
        // The key expires between these two emits.
        vec![emit(day - 10, false), emit(day + 10, true)],
    ];
    for group in groups {
        let written = fixture.store.write(move |tx| {
            let group: Vec<_> = group.iter().collect();
            EmitCommand::run_together(tx, &group)
        });
        for result in written.await.expect("committed") {
            let result = describe(&result.expect("a result"));
            assert!(result.starts_with("new"), "{result}");
        }
    }
    assert_eq!(fixture.stored().await.len(), 3);
}
