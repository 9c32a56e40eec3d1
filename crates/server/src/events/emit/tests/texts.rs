//! Large events of an owner whose stored bytes are used up by queued events and by texts of attempts.

use svc_protocol::api::Attempt;
use svc_store::{Grouped, deliveries};

use super::{super::searches::Searches, *};

/// The counted bytes of the caller.
async fn bytes(fixture: &Fixture) -> u64 {
    let owner = Some(fixture.caller.user.id);
    let reading = fixture
        .store
        .read(move |tx| events::usage::bytes_of(tx, owner));
    reading.await.expect("read")
}

/// Queues 60 small events for a sink, each with a failed attempt whose error has 2,000 characters.
async fn fail_deliveries(fixture: &Fixture) {
    let sink = add_sink(fixture, sinks::owner_key(fixture.caller.user.id)).await;
    for _ in 0..60 {
        fixture.emit("x", json!({}), None).await.expect("emitted");
    }
    let attempt: Attempt = serde_json::from_value(json!({
        "at": "2026-11-16T00:00:00.000Z", "status": 500, "ms": 1, "error": "e".repeat(2_000),
        "output": null, "exchange": null,
    }))
    .expect("an attempt");
    let failing = fixture.store.write(move |tx| {
        let lane = sinks::status(tx, sink)?.lane.expect("a webhook has a lane");
        for n in 1..=60 {
            deliveries::insert_attempt(tx, (lane, n), &attempt, true)?;
        }
        Ok(())
    });
    failing.await.expect("committed");
}

#[tokio::test]
async fn a_large_emit_removes_the_oldest_texts_of_attempts_and_no_event() {
    let fixture = Fixture::with(None, storage(200_000));
    fail_deliveries(&fixture).await;
    let before = bytes(&fixture).await;
    assert!((150_000..200_000).contains(&before), "{before}");
    // Every small event is queued, so only texts can make room.
    let large = json!({ "text": "x".repeat(100_000) });
    fixture.emit("x", large, None).await.expect("emitted");
    assert!(bytes(&fixture).await <= 200_000);
    assert_eq!(fixture.stored().await.len(), 61);
}

#[tokio::test]
async fn a_refused_emit_removes_no_text() {
    let fixture = Fixture::with(None, storage(200_000));
    fail_deliveries(&fixture).await;
    let before = bytes(&fixture).await;
    // The first event would fit alone, but not beside the queued events. The second never fits.
    for size in [190_000, 201_000] {
        let large = json!({ "text": "x".repeat(size) });
        let refused = fixture.emit("x", large, None).await;
        let is_quota = matches!(refused, Err(EmitServiceError::Quota(_)));
        assert!(is_quota, "{refused:?}");
        assert_eq!(bytes(&fixture).await, before);
        assert_eq!(fixture.stored().await.len(), 60);
    }
}

/// Many emits may wait for the same commit. Each search of them would delay the writes of all users.
#[tokio::test]
async fn emits_that_wait_together_search_once_if_there_is_no_room() {
    let fixture = Fixture::with(None, storage(30_000));
    add_sink(&fixture, sinks::owner_key(fixture.caller.user.id)).await;
    for _ in 0..50 {
        fixture.emit("x", json!({}), None).await.expect("emitted");
    }
    let searches = Arc::new(Searches::new(Duration::from_secs(60 * 60)));
    let [first, second] = [(); 2].map(|()| {
        let data = JsonText::from(&json!({ "text": "x".repeat(10_000) }));
        let mut command = together::command(&fixture.caller, "x", (data, 0), None);
        command.storage = storage(30_000);
        command.searches = searches.clone();
        command
    });
    let running = fixture.store.write(move |tx| {
        let before = first.run_alone(tx).map(drop);
        // There is room now, but the second emit arrived before the first was refused.
        let delivered = "UPDATE deliveries SET state = 'delivered'; UPDATE lanes SET depth = 0";
        testing::execute_script(tx, delivered)?;
        Ok([before, second.run_alone(tx).map(drop)])
    });
    for refused in running.await.expect("committed") {
        let is_quota = matches!(refused, Err(EmitServiceError::Quota(_)));
        assert!(is_quota, "{refused:?}");
    }
}
