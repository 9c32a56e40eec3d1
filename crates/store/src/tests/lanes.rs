//! The lanes of method subscriptions, and the lists of events and deliveries.

use svc_core::{
    CanonicalName, EventId, SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    json_text::JsonText,
    pattern::Pattern,
    subscription::Subscription,
};
use uuid::Uuid;

use crate::{
    PageRequest, Store, StoreError, Tx,
    deliveries::{self, DeliveryPage},
    dispatch,
    engines::{TestEngine, on_each_engine},
    events,
    lanes::{self, DeclarationOutcome, Receiver, Withdrawal},
    sql::values,
};

struct Fixture {
    store: Store,
    owner: UserId,
}

impl Fixture {
    async fn new(engine: &TestEngine) -> Self {
        Self {
            store: engine.open().await,
            owner: UserId(Uuid::now_v7()),
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.store.write(work).await.expect("committed")
    }

    async fn declare(&self, space: SpaceId, methods: &[&str]) -> DeclarationOutcome {
        let owner = self.owner;
        let subscriptions: Vec<_> = methods
            .iter()
            .map(|method| Subscription {
                method: CanonicalName::parse(method).expect("valid"),
                patterns: Pattern::parse_list("custom.*").expect("valid"),
                formatters: vec!["brief".to_owned()],
                holds: false,
            })
            .collect();
        self.write(move |tx| lanes::declare(tx, owner, space, &subscriptions))
            .await
    }

    async fn emit(&self, event_type: &str) -> EventId {
        let event = Event {
            id: EventId(Uuid::now_v7()),
            r#type: event_type.to_owned(),
            ts: Timestamp(1),
            owner_id: self.owner,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: JsonText::from(&serde_json::json!({})),
            trace: None,
        };
        let id = event.id;
        let emit = move |tx: &mut Tx<'_>| {
            dispatch::store_event(tx, &event)?;
            let state = dispatch::read(tx, &[(event.owner_id, &event.r#type)], &[], event.ts)?;
            for candidate in state.lanes.into_iter().map(|lane| lane.candidate) {
                let mut patterns = candidate.patterns.iter();
                if patterns.any(|pattern| pattern.matches(&event.r#type)) {
                    lanes::enqueue(tx, candidate.lane, (event.id, &event.r#type), event.ts)?;
                }
            }
            Ok(())
        };
        self.write(emit).await;
        id
    }

    async fn depth(&self, method: &'static str) -> Option<u32> {
        let owner = self.owner;
        let depth = move |tx: &mut Tx<'_>| {
            tx.find(
                "SELECT depth FROM lanes WHERE owner_id = ?1 AND method = ?2",
                values![owner, method],
            )
        };
        self.write(depth).await
    }
}

async fn a_subscription_exists_as_long_as_some_space_declares_it(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let (one, two) = (SpaceId(Uuid::now_v7()), SpaceId(Uuid::now_v7()));
    let first = fixture.declare(one, &["a", "b"]).await;
    assert_eq!(first, fixture.declare(one, &["a", "b"]).await);
    assert_eq!(first.lanes[..1], fixture.declare(two, &["a"]).await.lanes);
    fixture.emit("custom.x").await;
    assert_eq!(fixture.depth("a").await, Some(1));
    // No space declares `b` now; the second space still declares `a`.
    let mut removed = fixture.declare(one, &[]).await.removed;
    assert_eq!(fixture.depth("a").await, Some(1));
    assert_eq!(fixture.depth("b").await, None);
    assert_eq!(fixture.write(lanes::list_declaring_spaces).await, [two]);
    let withdrawing = fixture.write(move |tx| lanes::withdraw_space(tx, two, Withdrawal::All));
    removed.extend(withdrawing.await);
    assert_eq!(fixture.depth("a").await, None);
    assert_eq!(removed.len(), 2);
    assert!(removed.iter().all(|removed| removed.queued == 1));
}

fn subscription(method: &str, patterns: &str, holds: bool) -> Subscription {
    Subscription {
        method: CanonicalName::parse(method).expect("valid"),
        patterns: Pattern::parse_list(patterns).expect("valid"),
        formatters: Vec::new(),
        holds,
    }
}

async fn an_event_finds_the_lanes_that_it_may_match(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let (owner, space) = (fixture.owner, SpaceId(Uuid::now_v7()));
    let many: Vec<_> = (10..30).map(|n| format!("custom.many{n}.*")).collect();
    let lists = [
        ("all", "*"),
        ("app", "custom.app.*,custom.app"),
        ("apple", "custom.apple*"),
        ("exact", "custom.app.x"),
        ("many", &*many.join(",").leak()),
        ("space", "space.*"),
    ];
    let declare = move |lists: Vec<(&'static str, &'static str)>| {
        move |tx: &mut Tx<'_>| {
            let subscriptions = lists.iter();
            let subscriptions: Vec<_> = subscriptions
                .map(|(method, patterns)| subscription(method, patterns, false))
                .collect();
            lanes::declare(tx, owner, space, &subscriptions)
        }
    };
    let found = async |owner: UserId, types: &'static [&'static str]| {
        let reading = fixture.write(move |tx| {
            let events: Vec<_> = types.iter().map(|one| (owner, *one)).collect();
            let lanes = dispatch::read(tx, &events, &[], Timestamp(1))?
                .lanes
                .into_iter();
            let mut methods: Vec<_> = lanes
                .filter_map(|lane| match lane.candidate.receiver {
                    Receiver::Method(method) => Some(method),
                    Receiver::Sink(_) => None,
                })
                .collect();
            methods.sort();
            Ok(methods)
        });
        reading.await
    };
    fixture.write(declare(lists.to_vec())).await;
    assert_eq!(found(owner, &["custom.app"]).await, ["all", "app"]);
    assert_eq!(
        found(owner, &["custom.app.x"]).await,
        ["all", "app", "exact"]
    );
    assert_eq!(found(owner, &["custom.apples"]).await, ["all", "apple"]);
    assert_eq!(found(owner, &["space"]).await, ["all"]);
    assert_eq!(found(owner, &["custom.many29.x"]).await, ["all", "many"]);
    let both = found(owner, &["space.started", "custom.apple"]).await;
    assert_eq!(both, ["all", "apple", "space"]);
    assert_eq!(
        found(UserId(Uuid::now_v7()), &["space.started"]).await,
        [""; 0]
    );
    // Changed and removed patterns are forgotten.
    fixture.write(declare(vec![("app", "space.*")])).await;
    assert_eq!(found(owner, &["custom.app.x"]).await, [""; 0]);
    assert_eq!(found(owner, &["space.started"]).await, ["app"]);
    let keys = fixture.write(|tx| tx.get::<i64>("SELECT COUNT(*) FROM lane_patterns", &[]));
    assert_eq!(keys.await, 1);
}

async fn unchanged_declarations_are_found_and_write_nothing(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let (owner, space) = (fixture.owner, SpaceId(Uuid::now_v7()));
    let first = vec![
        subscription("a", "x,y", true),
        subscription("b", "z", false),
    ];
    let declared = first.clone();
    let declaring = fixture.write(move |tx| lanes::declare(tx, owner, space, &declared));
    let lanes = declaring.await.lanes;
    let find = async |subscriptions: Vec<Subscription>| {
        let reading = move |tx: &mut Tx<'_>| lanes::find_declared(tx, space, &subscriptions);
        fixture.store.read(reading).await.expect("read")
    };
    assert_eq!(find(first.clone()).await, Some(lanes.clone()));
    let others = [
        vec![first[0].clone()],
        vec![first[0].clone(), subscription("b", "z", true)],
        vec![first[0].clone(), subscription("b", "z,x", false)],
        vec![first[0].clone(), subscription("c", "z", false)],
    ];
    for other in others {
        assert_eq!(find(other).await, None);
    }
    // A read may not write, so `declare` writes nothing.
    let again = move |tx: &mut Tx<'_>| lanes::declare(tx, owner, space, &first);
    let again = fixture.store.read(again).await.expect("only reads");
    assert_eq!(again.lanes, lanes);
    let totals = fixture.write(move |tx| lanes::totals_of(tx, owner)).await;
    assert_eq!((totals.subscriptions, totals.bytes), (2, 4));
}

async fn events_are_listed_newest_first_by_owner_and_pattern(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let a = fixture.emit("custom.a.x").await;
    let b = fixture.emit("custom.b").await;
    let c = fixture.emit("custom.a.y").await;
    let owner = fixture.owner;
    let check = async |owner, pattern: Option<&str>, expected: &[EventId]| {
        let filter = events::Filter {
            owner,
            patterns: pattern
                .map_or_else(Vec::new, |text| Pattern::parse_list(text).expect("valid")),
            ..events::Filter::default()
        };
        let page = fixture.write(move |tx| events::list(tx, &filter, PageRequest::default()));
        let ids: Vec<_> = page
            .await
            .items
            .iter()
            .map(|event| event.event_id)
            .collect();
        assert_eq!(ids, expected, "{pattern:?}");
    };
    check(None, None, &[c, b, a]).await;
    check(Some(owner), Some("custom.a.*"), &[c, a]).await;
    check(Some(owner), Some("custom.b"), &[b]).await;
    check(Some(owner), Some("custom.b, custom.a.y"), &[c, b]).await;
    check(Some(owner), Some("custom.b,*"), &[c, b, a]).await;
    check(Some(owner), Some("*"), &[c, b, a]).await;
    check(Some(UserId::NIL), None, &[]).await;
    let filter = events::Filter::default();
    let after = fixture.write(move |tx| events::list_after(tx, &filter, a, 10));
    let ids: Vec<_> = after.await.events.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [b, c]);
    let filter = events::Filter {
        since: Some(svc_clock::now().plus(std::time::Duration::from_secs(60))),
        ..events::Filter::default()
    };
    let later = fixture.write(move |tx| events::list_after(tx, &filter, EventId::NIL, 10));
    assert_eq!(later.await.events, []);
}

async fn deliveries_are_paged_by_their_number(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let space = SpaceId(Uuid::now_v7());
    let lane = fixture.declare(space, &["a"]).await.lanes[0];
    for _ in 0..5 {
        fixture.emit("custom.x").await;
    }
    let (mut cursor, mut numbers) = (None::<String>, Vec::new());
    loop {
        let page = DeliveryPage::parse(cursor.as_deref(), Some(2)).expect("valid");
        let page = fixture.write(move |tx| deliveries::list(tx, lane, None, page));
        let page = page.await;
        numbers.extend(page.items.iter().map(|delivery| delivery.n));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    assert!(DeliveryPage::parse(Some("x"), None).is_err());
}

async fn a_replay_recovers_only_events_that_were_dropped_before_it(engine: &TestEngine) {
    let fixture = Fixture::new(engine).await;
    let space = SpaceId(Uuid::now_v7());
    let lane = fixture.declare(space, &["a"]).await.lanes[0];
    // Two events are dropped while the replay of the first three runs.
    let recovered = fixture.write(move |tx| {
        tx.execute("UPDATE lanes SET dropped = 5 WHERE id = ?1", values![lane])?;
        lanes::set_recovered(tx, lane, 3)?;
        // A replay that began earlier ends later.
        lanes::set_recovered(tx, lane, 2)?;
        tx.get::<u64>("SELECT recovered FROM lanes WHERE id = ?1", values![lane])
    });
    assert_eq!(recovered.await, 3);
}

on_each_engine!(
    a_subscription_exists_as_long_as_some_space_declares_it,
    events_are_listed_newest_first_by_owner_and_pattern,
    deliveries_are_paged_by_their_number,
    a_replay_recovers_only_events_that_were_dropped_before_it,
    an_event_finds_the_lanes_that_it_may_match,
    unchanged_declarations_are_found_and_write_nothing,
);
