//! Records are read as they were written, and the constraints of the schema hold.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use serde_json::json;
use svc_core::{
    Id, Permission, Permissions, Quota, QuotaOverrides, ScriptId, ServerId, SpaceId, SpaceName,
    TemplateId, Timestamp, UserId, UserName,
    space::{Health, HealthCheck, Probe, Runtime, State, StopReason},
};
use svc_protocol::api::{AuditQuery, Port, Role, Template};
use uuid::Uuid;

use crate::{
    PageRequest, StoreError, Tx,
    agent_tokens::{self, AgentTokenKind, AgentTokenRow},
    audit,
    engines::{TestEngine, on_each_engine},
    memberships, meta, records,
    spaces::{self, NewState, SpaceRow},
    users::{self, UserRow},
};

const AT: Timestamp = Timestamp(1_700_000_000_123);

/// Runs statements on a fresh store.
async fn with_store(
    engine: &TestEngine,
    work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
) {
    let store = engine.open().await;
    store.write(work).await.expect("committed");
    store.close().await;
}

pub(super) fn insert_user(tx: &mut Tx<'_>, name: &str) -> Result<UserId, StoreError> {
    let user = UserRow {
        quotas: QuotaOverrides::from([(Quota::Sinks, 7)]),
        id: UserId(Uuid::now_v7()),
        username: UserName::parse(name).expect("valid"),
        password_hash: "x".into(),
        active: true,
        created_at: AT,
    };
    records::insert(tx, &user)?;
    assert_eq!(records::find::<UserRow>(tx, user.id)?, Some(user.clone()));
    assert_eq!(
        records::find_named::<UserRow>(tx, &(), name)?,
        Some(user.clone())
    );
    Ok(user.id)
}

pub(super) fn space(owner_id: UserId, name: &str) -> SpaceRow {
    SpaceRow {
        id: SpaceId(Uuid::now_v7()),
        name: SpaceName::parse(name).expect("valid"),
        owner_id,
        state: State::Created,
        stop_reason: None,
        health: Health::Unknown,
        runtime: Runtime::Local,
        template_id: None,
        startup_script_id: Some(ScriptId(Uuid::now_v7())),
        health_check: HealthCheck {
            probe: Probe::Tcp { port: 80 },
            ..HealthCheck::default()
        },
        node_id: None,
        space_urls: BTreeMap::from([("web".into(), "https://x".into())]),
        created_at: AT,
        started_at: None,
        stopped_at: None,
        deleted_at: None,
    }
}

async fn a_space_goes_through_its_states(engine: &TestEngine) {
    with_store(engine, |tx| {
        let owner = insert_user(tx, "ann")?;
        let row = space(owner, "lab");
        let id = row.id;
        records::insert(tx, &row)?;
        assert_eq!(spaces::get(tx, id)?, row);

        let node_id = ServerId(Uuid::now_v7());
        assert!(spaces::set_state(
            tx,
            id,
            NewState::Deployed { node_id },
            AT
        )?);
        assert!(spaces::set_health(tx, id, Health::Healthy)?);
        let now = spaces::get(tx, id)?;
        assert_eq!((now.state, now.health), (State::Deployed, Health::Healthy));
        assert_eq!((now.node_id, now.started_at), (Some(node_id), Some(AT)));
        assert_eq!(spaces::list_in_state(tx, State::Deployed)?, [now]);

        let reason = StopReason::LinkLost;
        assert!(spaces::set_state(tx, id, NewState::Stopped { reason }, AT)?);
        let now = spaces::get(tx, id)?;
        assert_eq!((now.state, now.health), (State::Stopped, Health::Unknown));
        assert_eq!((now.node_id, now.stop_reason), (None, Some(reason)));
        assert!(spaces::set_stop_reason(tx, id, None)?);

        assert!(spaces::mark_deleted(tx, id, AT)?);
        assert!(!spaces::mark_deleted(tx, id, AT)?);
        assert!(!spaces::set_health(tx, id, Health::Healthy)?);
        assert!(matches!(
            spaces::get(tx, id),
            Err(StoreError::Missing { kind: "space", .. })
        ));
        let kept = records::find::<SpaceRow>(tx, id)?.expect("the record stays");
        assert_eq!(kept.deleted_at, Some(AT));
        Ok(())
    })
    .await;
}

async fn a_space_name_is_unique_per_owner_until_it_is_deleted(engine: &TestEngine) {
    with_store(engine, |tx| {
        let (ann, bob) = (insert_user(tx, "ann")?, insert_user(tx, "bob")?);
        let first = space(ann, "lab");
        records::insert(tx, &first)?;
        records::insert(tx, &space(bob, "lab"))?;
        let again = tx.attempt(|tx| records::insert(tx, &space(ann, "lab")));
        assert!(matches!(again, Err(StoreError::Unique(_))), "{again:?}");
        spaces::mark_deleted(tx, first.id, AT)?;
        let second = space(ann, "lab");
        records::insert(tx, &second)?;
        assert_eq!(spaces::find_by_name(tx, ann, "lab")?, Some(second));
        assert_eq!(users::count_spaces(tx, ann)?, 1);
        let refused = tx.attempt(|tx| users::delete(tx, ann));
        assert_eq!(refused, Err(StoreError::ForeignKey));
        // Only the newest records of deleted spaces are kept.
        let later = [space(ann, "two"), space(ann, "three"), space(bob, "two")];
        for (n, row) in later.iter().enumerate() {
            records::insert(tx, row)?;
            spaces::mark_deleted(tx, row.id, AT.plus(Duration::from_secs(n as u64 + 1)))?;
        }
        let keep = NonZeroU32::new(2).expect("not zero");
        spaces::prune_deleted(tx, later[1].id, keep)?;
        assert_eq!(records::find::<SpaceRow>(tx, first.id)?, None);
        for row in &later {
            assert!(records::find::<SpaceRow>(tx, row.id)?.is_some());
        }
        assert_eq!(users::count_spaces(tx, ann)?, 1);
        Ok(())
    })
    .await;
}

async fn lists_are_read_page_by_page_in_the_order_of_time(engine: &TestEngine) {
    with_store(engine, |tx| {
        let (ann, bob) = (insert_user(tx, "ann")?, insert_user(tx, "bob")?);
        let mut expected = Vec::new();
        for n in 0..5 {
            let row = space(ann, &format!("s{n}"));
            records::insert(tx, &row)?;
            expected.push(row.id);
            records::insert(tx, &space(bob, &format!("s{n}")))?;
        }
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let request = PageRequest::parse(cursor.as_deref(), Some(2)).expect("valid");
            let page = spaces::list(tx, Some(ann), request)?;
            found.extend(page.items.iter().map(|space| space.id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
        let everyones = spaces::list(tx, None, PageRequest::default())?;
        assert_eq!(everyones.items.len(), 10);
        Ok(())
    })
    .await;
}

async fn a_template_is_read_as_it_was_written_and_its_spaces_outlive_it(engine: &TestEngine) {
    with_store(engine, |tx| {
        let owner = insert_user(tx, "ann")?;
        let template = Template {
            id: TemplateId(Uuid::now_v7()),
            name: "python".into(),
            ports: vec![Port {
                name: "web".into(),
                port: 8080,
            }],
            startup_script_id: None,
            health_check: Some(HealthCheck::default()),
            custom_fields: BTreeMap::from([("team".into(), "ops".into())]),
            created_at: AT,
        };
        records::insert(tx, &template)?;
        let found = records::find_named::<Template>(tx, &(), "python")?.expect("inserted");
        assert_eq!(json!(found), json!(template));
        let row = SpaceRow {
            template_id: Some(template.id),
            ..space(owner, "lab")
        };
        records::insert(tx, &row)?;
        assert!(records::delete::<Template>(tx, template.id)?);
        assert_eq!(spaces::get(tx, row.id)?.template_id, None);
        assert!(records::get::<Template>(tx, template.id).is_err());
        Ok(())
    })
    .await;
}

async fn a_zero_character_is_refused_in_texts_and_kept_in_json(engine: &TestEngine) {
    let store = engine.open().await;
    let template = Template {
        id: TemplateId(Uuid::now_v7()),
        name: "web".into(),
        ports: Vec::new(),
        startup_script_id: None,
        health_check: None,
        custom_fields: BTreeMap::from([("a".into(), "x\0y".into())]),
        created_at: AT,
    };
    let bad = Template {
        name: "a\0b".into(),
        ..template.clone()
    };
    let refused = Err(StoreError::ZeroCharacter {
        column: "name".into(),
    });
    let row = bad.clone();
    let inserted = store.write(move |tx| records::insert(tx, &row)).await;
    assert_eq!(inserted, refused);
    let row = template.clone();
    let inserted = store.write(move |tx| records::insert(tx, &row)).await;
    assert_eq!(inserted, Ok(()));
    let updated = store
        .write(move |tx| records::replace(tx, &bad).map(drop))
        .await;
    assert_eq!(updated, refused);
    let found = store
        .read(move |tx| records::get::<Template>(tx, template.id))
        .await
        .expect("read");
    assert_eq!(json!(found), json!(template));
    store.close().await;
}

async fn a_space_has_one_agent_token_of_each_kind(engine: &TestEngine) {
    with_store(engine, |tx| {
        let owner = insert_user(tx, "ann")?;
        let row = space(owner, "lab");
        records::insert(tx, &row)?;
        let token = |byte, kind| AgentTokenRow {
            made_by: None,
            id: Id(Uuid::now_v7()),
            space_id: row.id,
            hash: [byte; 32],
            kind,
            created_at: AT,
        };
        agent_tokens::insert(tx, &token(1, AgentTokenKind::Shown))?;
        agent_tokens::replace(tx, &token(2, AgentTokenKind::Local))?;
        agent_tokens::replace(tx, &token(3, AgentTokenKind::Shown))?;
        let mut hashes: Vec<_> = agent_tokens::list_of_space(tx, row.id)?
            .iter()
            .map(|token| token.hash[0])
            .collect();
        hashes.sort_unstable();
        assert_eq!(hashes, [2, 3]);
        assert_eq!(agent_tokens::list_all(tx)?[0].owner_id, owner);
        spaces::mark_deleted(tx, row.id, AT)?;
        assert_eq!(agent_tokens::list_all(tx)?, []);
        Ok(())
    })
    .await;
}

async fn roles_give_a_user_the_union_of_their_permissions(engine: &TestEngine) {
    with_store(engine, |tx| {
        let id = insert_user(tx, "ann")?;
        let auditor = Role {
            id: svc_core::RoleId(Uuid::now_v7()),
            name: "auditor".into(),
            permissions: Permissions::of(&[Permission::ViewAudit]),
            builtin: false,
            created_at: AT,
            require_second_factor: false,
        };
        records::insert(tx, &auditor)?;
        let user = records::find_named::<Role>(tx, &(), "user")?.expect("built in");
        assert!(user.builtin);
        memberships::set_of_user(tx, id, &[auditor.id, user.id])?;
        let profile = users::find_profile(tx, id)?.expect("inserted");
        assert_eq!(profile.roles, ["auditor", "user"]);
        let expected = Permissions::of_role_user().union(auditor.permissions);
        assert_eq!(profile.permissions, expected);
        let admin = records::find_named::<Role>(tx, &(), "admin")?.expect("built in");
        assert_eq!(admin.permissions, Permissions::all());
        Ok(())
    })
    .await;
}

async fn audit_is_filtered_newest_first_and_pruned(engine: &TestEngine) {
    with_store(engine, |tx| {
        for (n, actor) in ["ann", "bob", "ann"].into_iter().enumerate() {
            let entry = audit::Entry {
                at: Timestamp(i64::try_from(n).expect("small")),
                actor: actor.into(),
                action: "token.created",
                target_type: "token",
                target_id: n.to_string(),
                detail: json!({"n": n}),
            };
            audit::append(tx, &entry)?;
        }
        let targets = |tx: &mut Tx<'_>, filter| {
            let page = audit::list(tx, &filter, PageRequest::default())?;
            Ok::<_, StoreError>(
                page.items
                    .into_iter()
                    .map(|entry| entry.target_id)
                    .collect::<Vec<_>>(),
            )
        };
        let anns = AuditQuery {
            actor: Some("ann".into()),
            ..AuditQuery::default()
        };
        assert_eq!(targets(tx, anns)?, ["2", "0"]);
        assert_eq!(audit::prune(tx, Timestamp(1), 10)?, 1);
        assert_eq!(targets(tx, AuditQuery::default())?, ["2", "1"]);
        Ok(())
    })
    .await;
}

async fn audit_is_filtered_by_the_time_of_an_entry_not_by_that_of_its_id(engine: &TestEngine) {
    with_store(engine, |tx| {
        let now = svc_clock::now();
        let late = now.minus(Duration::from_secs(9 * 60));
        let early = now.plus(Duration::from_secs(50));
        for at in [late, now, early] {
            let entry = audit::Entry {
                at,
                actor: "ann".into(),
                action: "token.created",
                target_type: "token",
                target_id: "x".into(),
                detail: json!({}),
            };
            audit::append(tx, &entry)?;
        }
        let check = |tx: &mut Tx<'_>, since, until, expected: &[Timestamp]| {
            let filter = AuditQuery {
                since,
                until,
                ..AuditQuery::default()
            };
            let page = audit::list(tx, &filter, PageRequest::default())?;
            let found: Vec<_> = page.items.iter().map(|entry| entry.at).collect();
            assert_eq!(found, expected, "{since:?} to {until:?}");
            Ok::<_, StoreError>(())
        };
        check(tx, Some(late), Some(late), &[late])?;
        check(tx, Some(early), Some(early), &[early])?;
        check(tx, Some(now), None, &[early, now])?;
        check(tx, None, Some(now), &[now, late])?;
        check(tx, None, Some(Timestamp(late.0 - 1)), &[])?;
        check(
            tx,
            Some(Timestamp(i64::MIN)),
            Some(Timestamp(i64::MAX)),
            &[early, now, late],
        )
    })
    .await;
}

async fn the_server_keeps_its_id(engine: &TestEngine) {
    with_store(engine, |tx| {
        let first = meta::ensure_server_id(tx, ServerId(Uuid::now_v7()))?;
        let second = meta::ensure_server_id(tx, ServerId(Uuid::now_v7()))?;
        assert_eq!(first, second);
        Ok(())
    })
    .await;
}

on_each_engine!(
    a_space_goes_through_its_states,
    a_space_name_is_unique_per_owner_until_it_is_deleted,
    lists_are_read_page_by_page_in_the_order_of_time,
    a_template_is_read_as_it_was_written_and_its_spaces_outlive_it,
    a_zero_character_is_refused_in_texts_and_kept_in_json,
    a_space_has_one_agent_token_of_each_kind,
    roles_give_a_user_the_union_of_their_permissions,
    audit_is_filtered_newest_first_and_pruned,
    audit_is_filtered_by_the_time_of_an_entry_not_by_that_of_its_id,
    the_server_keeps_its_id,
);
