//! Resends of many deliveries, replays of undelivered events, backtests.

use svc_core::lane::QUEUE_CAPACITY;
use svc_protocol::api::{Backtest, Replay, ReplayOnly, Resend};

use super::*;

fn numbers(numbers: &[u64]) -> Resend {
    Resend {
        deliveries: Some(numbers.to_vec()),
        ..Resend::default()
    }
}

#[tokio::test]
async fn a_resent_delivery_and_the_new_delivery_refer_to_each_other() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 1).await;
    fixture.finish(id, DeliveryState::Dead).await;
    let again = fixture.service.resend(&ann, id, 1).await.expect("resent");
    assert_eq!((again.n, again.resend_of), (2, Some(1)));
    let page = deliveries_page();
    let list = fixture.service.deliveries(&ann, id, None, page).await;
    let list = list.expect("listed").items;
    assert_eq!((list[1].n, list[1].resent_as), (1, Some(2)));
}

#[tokio::test]
async fn a_resend_selection_is_limited_and_counted_by_a_dry_run() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 1).await;
    fixture.finish(id, DeliveryState::Dead).await;
    fixture.emit(&ann, "custom.x", 1).await;
    let service = &fixture.service;
    let dry = Resend {
        dry_run: true,
        ..numbers(&[1, 1, 2, 9])
    };
    let counted = service.resend_many(&ann, id, dry).await.expect("counted");
    assert_eq!(counted.feeding, 1, "2 waits and 9 does not exist");
    assert_eq!(counted.skipped, [2, 9]);
    assert_eq!(service.get(&ann, id).await.expect("found").feeds, 0);
    let dead = Resend {
        dead_since: Some(svc_clock::now().minus(Duration::from_secs(60))),
        ..Resend::default()
    };
    let fed = service.resend_many(&ann, id, dead).await.expect("fed");
    assert_eq!(fed.feeding, 1);
    assert_eq!(service.get(&ann, id).await.expect("found").feeds, 1);
    for refused in [
        Resend::default(),
        numbers(&[]),
        numbers(&vec![1; 1_001]),
        Resend {
            dead_since: Some(svc_clock::now()),
            ..numbers(&[1])
        },
    ] {
        let refused = service.resend_many(&ann, id, refused).await;
        assert!(
            matches!(
                refused,
                Err(RecordError::Refused {
                    code: "invalid",
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    for _ in 1..10 {
        let fed = service.resend_many(&ann, id, numbers(&[1])).await;
        fed.expect("up to ten");
    }
    let refused = service.resend_many(&ann, id, numbers(&[1])).await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "conflict"),
        "{refused:?}"
    );
    let ben = user("ben");
    let refused = service.resend_many(&ben, id, numbers(&[1])).await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "not_found"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_replay_of_undelivered_events_skips_delivered_and_waiting_ones() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    // 100 are queued and 7 are dropped.
    fixture.emit(&ann, "custom.x", QUEUE_CAPACITY + 7).await;
    fixture.emit(&ann, "space.created", 1).await;
    fixture.finish(id, DeliveryState::Delivered).await;
    fixture.emit(&ann, "custom.x", 1).await;
    fixture.finish(id, DeliveryState::Dead).await;
    fixture.emit(&ann, "custom.x", 2).await;
    let undelivered = |dry_run| Replay {
        only: Some(ReplayOnly::Undelivered),
        dry_run,
        ..Replay::default()
    };
    let service = &fixture.service;
    let counted = service.replay(&ann, id, undelivered(true)).await;
    let counted = counted.expect("counted");
    assert_eq!(counted.matching, Some(8), "7 were dropped and 1 is dead");
    assert_eq!((counted.queued, counted.feeding), (0, 0));
    let all = Replay {
        dry_run: true,
        ..Replay::default()
    };
    let all = service.replay(&ann, id, all).await.expect("counted");
    assert_eq!(all.matching, Some(QUEUE_CAPACITY + 10));
    let fed = service.replay(&ann, id, undelivered(false)).await;
    let fed = fed.expect("fed");
    assert_eq!((fed.queued, fed.dropped, fed.feeding), (0, 0, 8));
    assert_eq!(service.get(&ann, id).await.expect("found").feeds, 1);
}

#[tokio::test]
async fn every_replay_counts_as_a_test_even_a_dry_run_without_a_filter() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    let dry = || Replay {
        dry_run: true,
        ..Replay::default()
    };
    for _ in 0..TESTS_PER_MINUTE {
        let counted = fixture.service.replay(&ann, id, dry()).await;
        counted.expect("within the limit");
    }
    let over = fixture.service.replay(&ann, id, dry()).await;
    assert!(
        matches!(&over, Err(error) if error.code() == "rate_limited"),
        "{over:?}"
    );
}

#[tokio::test]
async fn a_replay_applies_the_filter() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 3).await;
    fixture.emit(&ann, "custom.y", 2).await;
    let filter = json!({"delivery": {"filter": "event.type == 'custom.y'"}});
    fixture.patch(&ann, id, filter).await.expect("stored");
    let dry = Replay {
        dry_run: true,
        ..Replay::default()
    };
    let counted = fixture
        .service
        .replay(&ann, id, dry)
        .await
        .expect("counted");
    assert_eq!(counted.matching, Some(2));
}

#[tokio::test]
async fn a_backtest_reports_what_changes_and_sends_nothing() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 3).await;
    fixture.emit(&ann, "custom.y", 2).await;
    let service = &fixture.service;
    let depth = service.get(&ann, id).await.expect("found").queue_depth;
    let filter = Backtest {
        filter: Some("event.type == 'custom.y'".to_owned()),
        ..Backtest::default()
    };
    let found = service.backtest(&ann, id, filter).await.expect("compared");
    assert!(found.complete);
    assert_eq!((found.events, found.removed, found.added), (5, 3, 0));
    assert_eq!((found.before.matching, found.after.matching), (5, 2));
    assert_eq!(found.differences.len(), 3);
    assert_eq!(found.differences[0].after, "not matched");
    let template = Backtest {
        body_template: Some(r#"{"kind": ${{ event.type }}}"#.to_owned()),
        ..Backtest::default()
    };
    let found = service
        .backtest(&ann, id, template)
        .await
        .expect("compared");
    assert_eq!((found.changed, found.errors.len()), (5, 0));
    assert_eq!(found.differences[0].after, r#"{"kind": "custom.x"}"#);
    let sink = service.get(&ann, id).await.expect("found");
    assert_eq!(sink.queue_depth, depth);
}

#[tokio::test]
async fn a_backtest_counts_failures_and_refuses_scripts() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let id = fixture.webhook(&ann, "deploys").await.id;
    fixture.emit(&ann, "custom.x", 5).await;
    let service = &fixture.service;
    let broken = Backtest {
        filter: Some("event.type".to_owned()),
        ..Backtest::default()
    };
    let found = service.backtest(&ann, id, broken).await.expect("compared");
    assert_eq!(
        (found.after.failures, found.removed, found.errors.len()),
        (5, 5, 5)
    );
    let invalid = Backtest {
        filter: Some("event.type ==".to_owned()),
        ..Backtest::default()
    };
    let refused = service.backtest(&ann, id, invalid).await;
    assert!(
        matches!(
            refused,
            Err(RecordError::Refused {
                code: "invalid_expression",
                ..
            })
        ),
        "{refused:?}"
    );
    let script = Backtest {
        script: Some(svc_protocol::api::ScriptConfig {
            script_id: None,
            source: Some("print(1)".to_owned()),
        }),
        ..Backtest::default()
    };
    let refused = service.backtest(&ann, id, script).await;
    let refused = refused.expect_err("a script").to_string();
    assert!(refused.contains("effects"), "{refused}");
}
