//! Sources and schedules, on both engines.

use svc_core::{
    EventId, Quota, QuotaOverrides, ScheduleId, SourceId, Timestamp, UserId, UserName,
    json_text::JsonText,
    schedule::MissedPolicy,
    source::settings::{TypeRule, Verification, VerifyType},
};
use svc_protocol::api::{NewSource, Schedule};
use uuid::Uuid;

use crate::{
    PageRequest, StoreError, Tx,
    engines::{TestEngine, on_each_engine},
    records,
    schedules::{self, Advance},
    sources::{self, SourceRow},
    users::{self, UserRow},
};

fn insert_user(tx: &mut Tx<'_>, name: &str) -> Result<UserId, StoreError> {
    let user = UserRow {
        quotas: QuotaOverrides::from([(Quota::Sources, 7)]),
        id: UserId(Uuid::now_v7()),
        username: UserName::parse(name).expect("valid"),
        password_hash: "x".into(),
        active: true,
        created_at: Timestamp(1),
    };
    records::insert(tx, &user)?;
    Ok(user.id)
}

fn source(owner_id: UserId, name: &str, token: u8) -> SourceRow {
    SourceRow {
        id: SourceId(Uuid::now_v7()),
        owner_id,
        settings: NewSource {
            name: name.to_owned(),
            description: "Ünïcode".to_owned(),
            verify: Verification::of(VerifyType::Github),
            event_type: TypeRule {
                body: Some("a.b".to_owned()),
                ..TypeRule::default()
            },
            headers: vec!["x-a".to_owned()],
            active: true,
        },
        token_hash: [token; 32],
        secret: Some(vec![0, 255]),
        previous_secret: None,
        previous_until: None,
        created_at: Timestamp(5),
    }
}

fn schedule(owner_id: UserId, name: &str, next_at: Option<i64>) -> Schedule {
    Schedule {
        id: ScheduleId(Uuid::now_v7()),
        owner_id,
        name: name.to_owned(),
        description: String::new(),
        cron: "0 2 * * *".to_owned(),
        timezone: "Europe/Berlin".to_owned(),
        payload: JsonText::parse(r#"{"a":18446744073709551616}"#).expect("JSON"),
        missed: MissedPolicy::All,
        active: true,
        next_at: next_at.map(Timestamp),
        last_at: None,
        last_event_id: None,
        failure: None,
        created_at: Timestamp(5),
    }
}

async fn with_store(
    engine: &TestEngine,
    work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
) {
    let store = engine.open().await;
    store.write(work).await.expect("committed");
    store.close().await;
}

async fn sources_are_read_as_written_and_deleted_with_their_user(engine: &TestEngine) {
    with_store(engine, |tx| {
        let (ann, ben) = (insert_user(tx, "ann")?, insert_user(tx, "ben")?);
        let mut one = source(ann, "one", 1);
        records::insert(tx, &one)?;
        records::insert(tx, &source(ben, "one", 2))?;
        assert_eq!(records::find::<SourceRow>(tx, one.id)?, Some(one.clone()));
        assert_eq!(
            records::find_named::<SourceRow>(tx, &ann, "one")?,
            Some(one.clone())
        );
        assert_eq!(records::find_named::<SourceRow>(tx, &ann, "two")?, None);
        one.settings.name = "two".to_owned();
        one.token_hash = [3; 32];
        one.previous_secret = one.secret.take();
        one.previous_until = Some(Timestamp(9));
        records::replace(tx, &one)?;
        assert_eq!(records::list_of::<SourceRow>(tx, &ann)?, [one.clone()]);
        let listed = records::list::<SourceRow>(tx, &ann, PageRequest::default())?;
        assert_eq!(listed.items, [one.clone()]);
        assert_eq!(
            (
                records::count::<SourceRow>(tx, &ann)?,
                records::list_all::<SourceRow>(tx)?.len()
            ),
            (1, 2)
        );
        assert!(sources::any_secret(tx)?, "that of Ben");
        users::delete(tx, ben)?;
        assert!(!sources::any_secret(tx)?);
        records::delete::<SourceRow>(tx, one.id)?;
        let missing = records::replace(tx, &one);
        assert!(matches!(missing, Err(StoreError::Missing { .. })));
        Ok(())
    })
    .await;
}

async fn a_schedule_advances_from_each_run_once(engine: &TestEngine) {
    with_store(engine, |tx| {
        let ann = insert_user(tx, "ann")?;
        assert_eq!(schedules::first_due(tx)?, None);
        let due = schedule(ann, "due", Some(100));
        records::insert(tx, &due)?;
        records::insert(tx, &schedule(ann, "later", Some(200)))?;
        records::insert(tx, &schedule(ann, "off", None))?;
        assert_eq!(records::count::<Schedule>(tx, &ann)?, 3);
        assert_eq!(schedules::first_due(tx)?, Some(Timestamp(100)));
        let names = |tx: &mut Tx<'_>, now| {
            let listed = schedules::list_due(tx, Timestamp(now), 10)?;
            Ok::<_, StoreError>(listed.into_iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(tx, 99)?, [""; 0]);
        assert_eq!(names(tx, 100)?, ["due"]);
        assert_eq!(names(tx, 500)?, ["due", "later"]);
        let advance = Advance {
            schedule: due.id,
            due: Timestamp(100),
            next: Some(Timestamp(300)),
        };
        assert!(schedules::advance(tx, &advance)?);
        assert!(!schedules::advance(tx, &advance)?, "only once");
        let event = EventId(Uuid::now_v7());
        schedules::set_failure(tx, due.id, "no right")?;
        let failed = records::find::<Schedule>(tx, due.id)?.expect("there");
        assert_eq!(failed.failure.as_deref(), Some("no right"));
        schedules::set_ran(tx, due.id, Timestamp(100), event)?;
        let ran = records::find_named::<Schedule>(tx, &ann, "due")?.expect("there");
        assert_eq!(
            (ran.next_at, ran.last_at, ran.last_event_id, ran.failure),
            (
                Some(Timestamp(300)),
                Some(Timestamp(100)),
                Some(event),
                None
            )
        );
        assert_eq!(ran.payload.as_str(), due.payload.as_str());
        assert_eq!(ran.missed, MissedPolicy::All);
        let listed = records::list::<Schedule>(tx, &ann, PageRequest::default())?;
        assert_eq!(listed.items.len(), 3);
        let off = Schedule {
            active: false,
            next_at: None,
            ..due
        };
        records::replace(tx, &off)?;
        assert_eq!(schedules::first_due(tx)?, Some(Timestamp(200)));
        records::delete::<Schedule>(tx, off.id)?;
        assert_eq!(records::count::<Schedule>(tx, &ann)?, 2);
        Ok(())
    })
    .await;
}

on_each_engine!(
    sources_are_read_as_written_and_deleted_with_their_user,
    a_schedule_advances_from_each_run_once,
);
