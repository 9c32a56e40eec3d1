//! Rows that a statement does not return, such as deleted spaces, are not read either.

use svc_core::{
    GrantId, OAuthClientId, SpaceId, Timestamp, UserId,
    oauth::{ClientKind, OAuthScopes},
    space::State,
};
use uuid::Uuid;

use super::records::{insert_user, space};
use crate::{
    PageRequest, Store, StoreError, StoreOptions, Tx,
    engines::{TestEngine, explain, on_each_engine},
    oauth::{
        clients::{self, ClientRow, NEVER_USED},
        grants::GrantRow,
    },
    records,
    spaces::{self, SpaceRow},
    sql::values,
};

const AT: Timestamp = Timestamp(1_700_000_000_123);
/// The number of rows to skip.
const SKIPPED: u32 = 50_000;
/// A few steps for each row that is returned. A step for each skipped row exceeds it.
const STEPS: u32 = 10_000;

async fn write<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    store.write(work).await.expect("committed")
}

/// Inserts [`SKIPPED`] deleted spaces and a later space that is not deleted.
fn insert_spaces(tx: &mut Tx<'_>) -> Result<(UserId, SpaceId), StoreError> {
    let ann = insert_user(tx, "ann")?;
    let first = SpaceRow {
        id: SpaceId(Uuid::from_u128(1)),
        state: State::Deleted,
        ..space(ann, "lab")
    };
    records::insert(tx, &first)?;
    tx.execute(
        &format!(
            "WITH RECURSIVE numbers (n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {SKIPPED})
             INSERT INTO spaces (id, name, owner_id, state, health, runtime, health_check,
                 space_urls, created_at)
             SELECT '00000000-0000-7000-8000-' || CAST(100000000000 + n AS TEXT), name, owner_id,
                 state, health, runtime, health_check, space_urls, created_at
             FROM spaces, numbers"
        ),
        &[],
    )?;
    let last = space(ann, "lab");
    records::insert(tx, &last)?;
    Ok((ann, last.id))
}

async fn deleted_spaces_are_not_read(engine: &TestEngine) {
    let options = StoreOptions {
        point_steps: STEPS,
        ..StoreOptions::default()
    };
    let store = engine.open_with(options).await;
    let (ann, last) = write(&store, |tx| {
        let inserted = insert_spaces(tx)?;
        tx.execute_script("ANALYZE spaces")?;
        Ok(inserted)
    })
    .await;
    for owner in [None, Some(ann)] {
        let listed = store.read(move |tx| spaces::list(tx, owner, PageRequest::default()));
        let listed = listed.await.expect("within the budget").items;
        assert_eq!(listed.iter().map(|one| one.id).collect::<Vec<_>>(), [last]);
        let plan = write(&store, move |tx| {
            let (rest, values) = PageRequest::default().oldest_first(spaces::present(owner));
            explain(tx, &format!("SELECT id FROM spaces {rest}"), &values)
        })
        .await;
        assert!(plan.contains("spaces_present"), "{plan}");
    }
    let counted = store.read(move |tx| spaces::count_by_state(tx, Some(ann)));
    assert_eq!(counted.await.expect("within the budget").created, 1);
}

fn app(number: u32, last_used_at: Option<Timestamp>) -> ClientRow {
    ClientRow {
        id: OAuthClientId(Uuid::from_u128(number.into())),
        client_id: format!("dyn-{number}"),
        kind: ClientKind::Registered,
        name: "app".to_owned(),
        redirect_uris: Vec::new(),
        secret_hash: None,
        fresh_until: Timestamp(number.into()),
        blocked: false,
        created_at: AT,
        last_used_at,
        network: String::new(),
    }
}

fn connect(tx: &mut Tx<'_>, user: UserId, client: OAuthClientId) -> Result<(), StoreError> {
    let grant = GrantRow {
        id: GrantId(Uuid::now_v7()),
        user_id: user,
        client_id: client,
        scopes: OAuthScopes::choose("mcp"),
        resource: "https://example.org/mcp".to_owned(),
        redirect_host: "example.org".to_owned(),
        created_at: AT,
        last_used_at: None,
        expires_at: AT,
    };
    records::insert(tx, &grant)
}

async fn the_limit_of_unused_apps_reads_no_app_that_was_connected(engine: &TestEngine) {
    let store = engine.open().await;
    let (plans, left) = write(&store, |tx| {
        let ann = insert_user(tx, "ann")?;
        // App 1 was connected. Only its grant shows that app 2 is connected.
        for number in 1..=6 {
            let app = app(number, (number == 1).then_some(AT));
            records::insert(tx, &app)?;
            if number == 2 {
                connect(tx, ann, app.id)?;
            }
        }
        clients::delete_oldest_unused(tx, 2)?;
        let left: Vec<String> = tx.list("SELECT client_id FROM oauth_clients ORDER BY id", &[])?;
        let statements = [NEVER_USED.count(), NEVER_USED.delete()];
        let mut plans = Vec::new();
        for statement in statements {
            plans.push(explain(tx, &statement, values![2_u32])?);
        }
        Ok((plans, left))
    })
    .await;
    assert_eq!(left, ["dyn-1", "dyn-2", "dyn-5", "dyn-6"]);
    for plan in plans {
        assert!(plan.contains("oauth_clients_never_used"), "{plan}");
    }
}

on_each_engine!(
    deleted_spaces_are_not_read,
    the_limit_of_unused_apps_reads_no_app_that_was_connected,
);
