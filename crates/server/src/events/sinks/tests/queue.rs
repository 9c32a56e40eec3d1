//! Resend and replay.

use svc_core::lane::QUEUE_CAPACITY;
use svc_protocol::api::Replay;

use super::*;

#[tokio::test]
async fn a_finished_delivery_is_resent_at_the_end_of_the_queue() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 1).await;
    let waiting = fixture.service.resend(&ann, id, 1).await;
    assert!(matches!(&waiting, Err(error) if error.code() == "conflict"));
    fixture.finish(id, DeliveryState::Dead).await;
    let again = fixture.service.resend(&ann, id, 1).await.expect("resent");
    assert_eq!((again.n, again.state), (2, DeliveryState::Pending));
    let list = fixture
        .service
        .deliveries(&ann, id, None, deliveries_page())
        .await;
    let list = list.expect("listed").items;
    assert_eq!(list[0].event_id, list[1].event_id);
    let unknown = fixture.service.resend(&ann, id, 9).await;
    assert!(matches!(&unknown, Err(error) if error.code() == "not_found"));
    fixture.emit(&ann, "custom.x", QUEUE_CAPACITY).await;
    let full = fixture.service.resend(&ann, id, 1).await;
    assert!(matches!(&full, Err(error) if error.code() == "queue_full"));
}

#[tokio::test]
async fn a_replay_fills_the_queue_oldest_first_with_the_owners_events() {
    let (fixture, ann, ben) = (Fixture::new(), user("ann"), user("ben"));
    fixture.emit(&ann, "custom.early", 1).await;
    fixture.emit(&ann, "custom.x", QUEUE_CAPACITY + 4).await;
    fixture.emit(&ann, "space.created", 1).await;
    fixture.emit(&ben, "custom.x", 1).await;
    let id = fixture.webhook(&ann, "deploys").await.id;
    let replayed = fixture.service.replay(&ann, id, Replay::default()).await;
    let replayed = replayed.expect("replayed");
    assert_eq!((replayed.queued, replayed.dropped), (QUEUE_CAPACITY, 5));
    let list = fixture
        .service
        .deliveries(&ann, id, None, deliveries_page())
        .await;
    let list = list.expect("listed").items;
    assert_eq!(list.last().expect("some").event_type, "custom.early");
    let ids: Vec<_> = list.iter().map(|delivery| delivery.event_id).collect();
    assert!(ids.is_sorted_by(|a, b| a > b));
    fixture
        .patch(&ann, id, json!({"active": false}))
        .await
        .expect("off");
    let off = fixture.service.replay(&ann, id, Replay::default()).await;
    assert!(matches!(&off, Err(error) if error.code() == "conflict"));
}
