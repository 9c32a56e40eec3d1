//! Runs of schedules, on a real server whose clock the test sets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svc_clock::Clock;
use svc_core::{Timestamp, json_text::JsonText, schedule::MissedPolicy};
use svc_protocol::api::{NewSchedule, NewUser, Schedule, SchedulePatch, UserPatch};
use svc_store::{
    PageRequest,
    events::{self, Filter},
};
use tokio_util::sync::CancellationToken;

use super::Schedules;
use crate::{
    Server,
    app::App,
    identity::Caller,
    scripts::tests::{options, worker_program},
};

/// 1 January 2026, 10:00:30 UTC.
const START: i64 = 1_767_261_630_000;
const MINUTE: i64 = 60_000;

struct Fixture {
    folder: tempfile::TempDir,
    now: Arc<AtomicI64>,
    server: Option<(Server, CancellationToken)>,
}

impl Fixture {
    async fn new() -> Self {
        let mut fixture = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            now: Arc::new(AtomicI64::new(START)),
            server: None,
        };
        fixture.start().await;
        let new = NewUser {
            username: "ann".to_owned(),
            password: "a long enough password".to_owned(),
            roles: None,
            groups: vec![],
            active: true,
        };
        let app = fixture.app();
        let admin = app.directory.find_user_by_name("admin").expect("made");
        let created = app.identity.create_user(&Caller::process(admin), new).await;
        created.expect("created");
        fixture
    }

    async fn start(&mut self) {
        let clock = Clock::from_fn({
            let now = self.now.clone();
            move || Timestamp(now.load(Ordering::SeqCst))
        });
        let options = options(self.folder.path(), worker_program());
        let shutdown = CancellationToken::new();
        let server = Server::start_with_clock(options, clock, shutdown.clone()).await;
        self.server = Some((server.expect("started"), shutdown));
    }

    async fn stop(&mut self) {
        let (server, shutdown) = self.server.take().expect("running");
        shutdown.cancel();
        server.join().await;
    }

    fn app(&self) -> App {
        let (server, _) = self.server.as_ref().expect("running");
        server.app().clone()
    }

    fn ann(&self) -> Caller {
        let user = self.app().directory.find_user_by_name("ann");
        Caller::process(user.expect("such a user"))
    }

    /// Sets the clock and wakes the server.
    fn set_clock(&self, minutes: i64) {
        self.now.store(START + minutes * MINUTE, Ordering::SeqCst);
        self.app().schedules.changed.notify_one();
    }

    async fn create(&self, cron: &str, missed: MissedPolicy) -> Schedule {
        let new = NewSchedule {
            name: "tick".to_owned(),
            description: String::new(),
            cron: cron.to_owned(),
            timezone: "UTC".to_owned(),
            payload: Some(JsonText::from(&json!({"a": 1}))),
            missed,
            active: true,
        };
        let app = self.app();
        app.schedules
            .create(&self.ann(), new)
            .await
            .expect("created")
    }

    /// The scheduled times of all events, oldest first.
    async fn runs(&self) -> Vec<String> {
        let owner = self.ann().user.id;
        let read = self.app().store.clone();
        let filter = Filter {
            owner: Some(owner),
            ..Filter::default()
        };
        let listed = read.read(move |tx| events::list(tx, &filter, PageRequest::default()));
        let listed = listed.await.expect("read");
        let mut runs: Vec<String> = listed
            .items
            .iter()
            .filter(|event| event.event_type == "schedule.tick")
            .map(|event| {
                let data: Value = serde_json::from_str(event.data.as_str()).expect("JSON");
                assert_eq!(data["payload"], json!({"a": 1}));
                data["scheduled_at"].as_str().expect("a time").to_owned()
            })
            .collect();
        runs.reverse();
        runs
    }

    /// Waits until the events have these times of 1 January 2026.
    async fn expect_runs(&self, times: &[&str]) {
        let expected: Vec<_> = times
            .iter()
            .map(|time| format!("2026-01-01T{time}:00.000Z"))
            .collect();
        for _ in 0..6_000 {
            if self.runs().await == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.runs().await, expected);
    }

    async fn schedule(&self) -> Schedule {
        let page = PageRequest::default();
        let listed = self.app().schedules.list(&self.ann(), page).await;
        listed.expect("listed").items.remove(0)
    }

    async fn expect_next(&self, time: &str) {
        let expected = Timestamp::parse(&format!("2026-01-01T{time}:00Z"));
        for _ in 0..6_000 {
            if self.schedule().await.next_at == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.schedule().await.next_at, expected);
    }
}

#[tokio::test]
async fn each_run_has_one_event_through_restarts() {
    let mut fixture = Fixture::new().await;
    fixture.create("* * * * *", MissedPolicy::Once).await;
    fixture.expect_next("10:01").await;
    fixture.set_clock(1);
    fixture.expect_runs(&["10:01"]).await;
    // A second check at the same time changes nothing.
    fixture.set_clock(1);
    fixture.expect_next("10:02").await;
    fixture.stop().await;
    fixture.start().await;
    fixture.set_clock(1);
    fixture.expect_runs(&["10:01"]).await;
    // Ten minutes without a server: only the latest of the missed runs is made.
    fixture.stop().await;
    fixture.now.store(START + 11 * MINUTE, Ordering::SeqCst);
    fixture.start().await;
    fixture.expect_runs(&["10:01", "10:11"]).await;
    fixture.expect_next("10:12").await;
    fixture.stop().await;
}

#[tokio::test]
async fn missed_runs_are_skipped_or_made_up_for() {
    let mut fixture = Fixture::new().await;
    let schedule = fixture.create("* * * * *", MissedPolicy::Skip).await;
    fixture.set_clock(30);
    fixture.expect_next("10:31").await;
    fixture.expect_runs(&[]).await;
    let patch = serde_json::from_value(json!({"missed": "all"})).expect("a patch");
    let app = fixture.app();
    let patched = app
        .schedules
        .patch(&fixture.ann(), schedule.id, patch)
        .await;
    patched.expect("patched");
    fixture.set_clock(34);
    fixture
        .expect_runs(&["10:31", "10:32", "10:33", "10:34"])
        .await;
    fixture.stop().await;
}

#[tokio::test]
async fn a_clock_that_jumps_never_repeats_a_run() {
    let mut fixture = Fixture::new().await;
    fixture.create("* * * * *", MissedPolicy::Once).await;
    fixture.set_clock(1);
    fixture.expect_runs(&["10:01"]).await;
    // Two hours forward, then back again.
    fixture.set_clock(120);
    fixture.expect_runs(&["10:01", "12:00"]).await;
    fixture.set_clock(0);
    fixture.expect_next("12:01").await;
    for minutes in 0..5 {
        fixture.set_clock(minutes);
        assert!(fixture.app().schedules.run_due().await.is_some());
    }
    fixture.expect_runs(&["10:01", "12:00"]).await;
    fixture.set_clock(121);
    fixture.expect_runs(&["10:01", "12:00", "12:01"]).await;
    fixture.stop().await;
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_stored() {
    let mut fixture = Fixture::new().await;
    let id = fixture.create("* * * * *", MissedPolicy::Skip).await.id;
    let (app, ann) = (fixture.app(), fixture.ann());
    for round in 1..=20 {
        let described = SchedulePatch {
            description: Some(format!("round {round}")),
            ..SchedulePatch::default()
        };
        let moved = SchedulePatch {
            cron: Some(format!("{round} * * * *")),
            ..SchedulePatch::default()
        };
        let changes = [described, moved].map(|patch| app.schedules.patch(&ann, id, patch));
        for changed in futures_util::future::join_all(changes).await {
            changed.expect("changed");
        }
        let stored = app.schedules.get(&ann, id).await.expect("read");
        let shown = (stored.description, stored.cron);
        let expected = (format!("round {round}"), format!("{round} * * * *"));
        assert_eq!(shown, expected);
        fixture.expect_next(&format!("10:{round:02}")).await;
    }
    fixture.stop().await;
}

#[tokio::test]
async fn a_schedule_without_further_runs_can_be_switched_off() {
    let mut fixture = Fixture::new().await;
    let id = fixture.create("0 12 29 2 *", MissedPolicy::Skip).await.id;
    let (app, ann) = (fixture.app(), fixture.ann());
    // A newer version of svc may have stored an expression that this version refuses.
    let write = app.store.write(|tx| {
        svc_store::testing::execute_script(tx, "UPDATE schedules SET cron = '0 12 30 2 *'")
    });
    write.await.expect("committed");
    let switched = async |active| {
        let patch = SchedulePatch {
            active: Some(active),
            ..SchedulePatch::default()
        };
        app.schedules.patch(&ann, id, patch).await
    };
    let off = switched(false).await.expect("switched off");
    assert_eq!((off.active, off.next_at), (false, None));
    let refused = switched(true).await.expect_err("it never runs");
    assert!(refused.to_string().contains("0 12 30 2 *"), "{refused}");
    fixture.stop().await;
}

#[tokio::test]
async fn servers_that_check_at_the_same_time_make_one_event() {
    let mut fixture = Fixture::new().await;
    fixture.create("* * * * *", MissedPolicy::All).await;
    let app = fixture.app();
    let server = |_: usize| Schedules {
        store: app.store.clone(),
        writer: app.identity.writer.clone(),
        events: app.events.clone(),
        compute: app.compute.clone(),
        metrics: app.metrics.clone(),
        clock: app.clock.clone(),
        quotas: app.quotas,
        changed: Default::default(),
    };
    let servers: Vec<_> = (0..4).map(server).collect();
    fixture.now.store(START + 5 * MINUTE, Ordering::SeqCst);
    let looks = servers.iter().map(Schedules::run_due);
    futures_util::future::join_all(looks).await;
    fixture
        .expect_runs(&["10:01", "10:02", "10:03", "10:04", "10:05"])
        .await;
    fixture.stop().await;
}

#[tokio::test]
async fn a_schedule_shows_that_its_owner_lost_the_permission_and_recovers() {
    let mut fixture = Fixture::new().await;
    fixture.create("* * * * *", MissedPolicy::Once).await;
    let app = fixture.app();
    let admin = app.directory.find_user_by_name("admin").expect("made");
    let set_roles = async |roles: &[&str]| {
        let patch = UserPatch {
            roles: Some(roles.iter().map(|&role| role.to_owned()).collect()),
            ..UserPatch::default()
        };
        let admin = Caller::process(admin.clone());
        let patched = app
            .identity
            .update_user(&admin, fixture.ann().user.id, patch)
            .await;
        patched.expect("patched");
    };
    set_roles(&[]).await;
    fixture.set_clock(1);
    fixture.expect_next("10:02").await;
    let failure = fixture.schedule().await.failure.expect("a reason");
    assert!(failure.contains("use_spaces"), "{failure}");
    fixture.expect_runs(&[]).await;
    set_roles(&["user"]).await;
    fixture.set_clock(2);
    fixture.expect_runs(&["10:02"]).await;
    assert_eq!(fixture.schedule().await.failure, None);
    let metrics = app.metrics.encode(0);
    let failed = "svc_schedule_runs_total{outcome=\"failed\"} 1";
    assert!(metrics.contains(failed), "{metrics}");
    fixture.stop().await;
}

#[tokio::test]
async fn nothing_wakes_up_without_an_active_schedule() {
    let mut fixture = Fixture::new().await;
    assert_eq!(fixture.app().schedules.run_due().await, None);
    let schedule = fixture.create("0 0 1 1 *", MissedPolicy::Once).await;
    assert_eq!(
        fixture.app().schedules.run_due().await,
        Some(Duration::from_secs(30))
    );
    let patch = serde_json::from_value(json!({"active": false})).expect("a patch");
    let app = fixture.app();
    let patched = app
        .schedules
        .patch(&fixture.ann(), schedule.id, patch)
        .await;
    assert_eq!(patched.expect("patched").next_at, None);
    assert_eq!(app.schedules.run_due().await, None);
    fixture.stop().await;
}
