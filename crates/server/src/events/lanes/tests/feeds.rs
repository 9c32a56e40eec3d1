//! Feeds: past events are sent again, little by little.

use std::{ops::Range, sync::atomic::Ordering, time::Duration};

use svc_core::{EventId, LaneId, Timestamp, delivery_policy::DeliveryPolicy};
use svc_store::lanes::{self, FeedSelection, NewFeed};

use super::{
    Arc, Fixture, Receiver, Reply, SinkRow, eventually, filters::filtering, refill::arrived, until,
};

/// More events than the queue of a lane holds.
const MANY: u32 = 130;

/// A sink with past events.
struct History {
    fixture: Fixture,
    sink: SinkRow,
    lane: LaneId,
    receiver: Arc<Receiver>,
    sent: Vec<EventId>,
}

fn new_feed(selection: FeedSelection, position: &str) -> NewFeed {
    NewFeed {
        selection,
        position: position.to_owned(),
        total: 0,
        started_at: Timestamp(0),
    }
}

impl History {
    /// Every event gets one attempt with this reply.
    async fn new(policy: DeliveryPolicy, reply: Reply) -> Self {
        let mut history = Self::without_events(policy).await;
        history.receiver.set(reply);
        for numbers in [0..MANY / 2, MANY / 2..MANY] {
            let sent = history.fixture.emit_numbered(numbers).await;
            history.deliver(sent).await;
        }
        history.receiver.set(Reply::Deliver);
        history
    }

    async fn without_events(policy: DeliveryPolicy) -> Self {
        let fixture = Fixture::new();
        // A replay selects events by the time in their ids, which is the real time.
        fixture.now.store(svc_clock::now().0, Ordering::SeqCst);
        let (sink, lane) = fixture.policy_sink("s", policy).await;
        Self {
            fixture,
            sink,
            lane,
            receiver: Receiver::new(Reply::Deliver),
            sent: Vec::new(),
        }
    }

    /// Lets the events of a full queue, or fewer, become past events.
    async fn deliver(&mut self, sent: Vec<EventId>) {
        let engine = self.fixture.start(&self.receiver);
        self.fixture.until_caught_up(&self.sink).await;
        engine.stop().await;
        self.sent.extend(sent);
        self.receiver.seen.lock().clear();
        self.receiver.filtered.lock().clear();
    }

    /// Runs a feed to its end.
    async fn feed(&self, selection: FeedSelection, position: String) {
        let (fixture, lane) = (&self.fixture, self.lane);
        let feed = new_feed(selection, &position);
        let adding = move |tx: &mut svc_store::Tx<'_>| lanes::add_feed(tx, lane, &feed);
        fixture.write(adding).await;
        let engine = fixture.start(&self.receiver);
        eventually("the feed ends", async || {
            fixture.write(move |tx| lanes::count_feeds(tx, lane)).await == 0
        })
        .await;
        fixture.until_empty(&[&self.sink]).await;
        engine.stop().await;
    }

    async fn replay(&self) {
        let selection = FeedSelection::Replay {
            since: Timestamp(0),
            until: self.fixture.now().plus(Duration::from_secs(3_600)),
            only_undelivered: false,
        };
        self.feed(selection, EventId::NIL.to_string()).await;
    }

    fn events(&self, numbers: Range<usize>) -> &[EventId] {
        &self.sent[numbers]
    }
}

#[tokio::test]
async fn a_replay_sends_every_matching_event_once_more_and_in_order() {
    let history = History::new(DeliveryPolicy::default(), Reply::Deliver).await;
    // No pattern of the sink matches this event.
    history.fixture.emit("other.x").await;
    history.replay().await;
    assert_eq!(arrived(&history.receiver, history.lane), history.sent);
    assert_eq!(history.receiver.count(), history.sent.len());
}

#[tokio::test]
async fn a_replay_applies_the_filter_of_the_sink() {
    let filter = filtering("event.data.n >= 60 and event.data.n < 70");
    let history = History::new(filter, Reply::Deliver).await;
    history.replay().await;
    let expected = history.events(60..70);
    assert_eq!(arrived(&history.receiver, history.lane), expected);
}

#[tokio::test]
async fn a_replay_continues_after_the_last_event_that_was_filtered() {
    let history = History::new(filtering("event.data.n >= 100"), Reply::Deliver).await;
    *history.receiver.filter_results_max.lock() = 7;
    history.replay().await;
    let expected = history.events(100..MANY as usize);
    assert_eq!(arrived(&history.receiver, history.lane), expected);
}

#[tokio::test]
async fn one_step_of_a_replay_filters_a_limited_amount_of_data() {
    let mut history = History::without_events(filtering("true")).await;
    let (large, small) = (700 * 1024, 10);
    let mut sizes = vec![large; 3];
    sizes.extend([small; 30]);
    let sent = history.fixture.emit_sizes(&sizes).await;
    history.deliver(sent).await;
    history.replay().await;
    assert_eq!(arrived(&history.receiver, history.lane), history.sent);
    assert_eq!(*history.receiver.filtered.lock(), [2, 31]);
}

#[tokio::test]
async fn dead_deliveries_are_sent_again_in_order() {
    let history = History::new(DeliveryPolicy::default(), Reply::Die).await;
    let selection = FeedSelection::Dead {
        since: Timestamp(0),
        until_n: 120,
    };
    history.feed(selection, "0".to_owned()).await;
    let expected = history.events(0..120);
    assert_eq!(arrived(&history.receiver, history.lane), expected);
}

#[tokio::test]
async fn chosen_deliveries_are_sent_again() {
    let history = History::new(DeliveryPolicy::default(), Reply::Deliver).await;
    let numbers = (1..=u64::from(MANY)).filter(|n| n % 2 == 0).collect();
    history
        .feed(FeedSelection::Deliveries { numbers }, "0".to_owned())
        .await;
    let even: Vec<_> = history.sent.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(arrived(&history.receiver, history.lane), even);
}

#[tokio::test]
async fn chosen_deliveries_are_sent_again_although_the_filter_has_changed() {
    let history = History::new(DeliveryPolicy::default(), Reply::Deliver).await;
    let filter = filtering("event.data.n < 0");
    history.fixture.set_policy(&history.sink, filter).await;
    let numbers = vec![1, 2];
    history
        .feed(FeedSelection::Deliveries { numbers }, "0".to_owned())
        .await;
    assert_eq!(
        arrived(&history.receiver, history.lane),
        history.events(0..2)
    );
}

#[tokio::test]
async fn a_feed_of_an_inactive_sink_waits() {
    let history = History::new(DeliveryPolicy::default(), Reply::Deliver).await;
    let fixture = &history.fixture;
    fixture.set_active(&history.sink, false).await;
    let (lane, numbers) = (history.lane, vec![1]);
    let selection = FeedSelection::Deliveries { numbers };
    fixture
        .write(move |tx| lanes::add_feed(tx, lane, &new_feed(selection, "0")))
        .await;
    let engine = fixture.start(&history.receiver);
    let other = fixture.sink("other", "*").await.1;
    fixture.emit("custom.x").await;
    until("the other sink gets an event", || {
        !history.receiver.numbers(other).is_empty()
    })
    .await;
    assert_eq!(arrived(&history.receiver, lane), []);
    fixture.set_active(&history.sink, true).await;
    until("the feed continues", || {
        arrived(&history.receiver, lane).contains(&history.sent[0])
    })
    .await;
    engine.stop().await;
}
