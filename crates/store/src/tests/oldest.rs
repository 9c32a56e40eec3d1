//! The tables of unfinished logins and requests of apps keep a limited number of rows, also if all
//! rows expire at the same time. The network with the most rows loses its oldest ones.

mod networks;

use std::collections::BTreeMap;

use svc_core::{
    ConsentId, OAuthClientId, OidcProviderId, QuotaOverrides, Timestamp, UserId, UserName,
    oauth::{ClientKind, OAuthScopes},
};
use uuid::Uuid;

use crate::{
    Hash, StoreError, Tx,
    engines::{TestEngine, on_each_engine},
    keyed,
    oauth::{
        clients::ClientRow,
        codes::{self, CodeRow},
        consents::ConsentRow,
        devices::{DeviceRow, DeviceState},
    },
    oidc::{
        logins::{self, LoginRow},
        providers::ProviderRow,
    },
    records,
    users::UserRow,
};

const AT: Timestamp = Timestamp(1_700_000_000_123);
const KEEP: u32 = 3;

/// The user, the app and the provider that the rows refer to.
#[derive(Clone, Copy)]
struct Owners {
    user: UserId,
    client: OAuthClientId,
    provider: OidcProviderId,
}

/// Runs statements in a fresh store.
async fn with_owners(
    engine: &TestEngine,
    work: impl FnOnce(&mut Tx<'_>, Owners) -> Result<(), StoreError> + Send + 'static,
) {
    let store = engine.open().await;
    let written = store.write(move |tx| {
        let owners = insert_owners(tx)?;
        work(tx, owners)
    });
    written.await.expect("committed");
    store.close().await;
}

fn insert_owners(tx: &mut Tx<'_>) -> Result<Owners, StoreError> {
    let owners = Owners {
        user: UserId(Uuid::now_v7()),
        client: OAuthClientId(Uuid::now_v7()),
        provider: OidcProviderId(Uuid::now_v7()),
    };
    let user = UserRow {
        quotas: QuotaOverrides::new(),
        id: owners.user,
        username: UserName::parse("ann").expect("valid"),
        password_hash: "x".into(),
        active: true,
        created_at: AT,
    };
    records::insert(tx, &user)?;
    let client = ClientRow {
        id: owners.client,
        client_id: "app".into(),
        kind: ClientKind::Registered,
        name: "App".into(),
        redirect_uris: Vec::new(),
        secret_hash: None,
        fresh_until: AT,
        blocked: false,
        created_at: AT,
        last_used_at: None,
        network: String::new(),
    };
    records::insert(tx, &client)?;
    let provider = ProviderRow {
        id: owners.provider,
        name: "work".into(),
        label: "Work".into(),
        issuer: "https://id.example.org".into(),
        client_id: "svc".into(),
        sealed_secret: None,
        scopes: Vec::new(),
        enabled: true,
        create_users: false,
        required_claims: BTreeMap::new(),
        groups_claim: None,
        mappings: Vec::new(),
        created_at: AT,
    };
    records::insert(tx, &provider)?;
    Ok(owners)
}

fn hash(number: u8) -> Hash {
    [number; 32]
}

/// The numbers of the rows that exist.
fn list(
    tx: &mut Tx<'_>,
    exists: impl Fn(&mut Tx<'_>, u8) -> Result<bool, StoreError>,
) -> Result<Vec<u8>, StoreError> {
    let mut left = Vec::new();
    for number in 0..30 {
        if exists(tx, number)? {
            left.push(number);
        }
    }
    Ok(left)
}

/// Inserts five rows that expire one after the other, then five that expire together, and checks
/// which are left.
fn check(
    tx: &mut Tx<'_>,
    insert: impl Fn(&mut Tx<'_>, u8, Timestamp, &str) -> Result<(), StoreError>,
    exists: impl Fn(&mut Tx<'_>, u8) -> Result<bool, StoreError>,
    delete: impl Fn(&mut Tx<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for number in 0..5 {
        insert(tx, number, Timestamp(AT.0 + i64::from(number)), "")?;
    }
    delete(tx)?;
    assert_eq!(list(tx, &exists)?, [2, 3, 4], "the newest are kept");
    delete(tx)?;
    assert_eq!(
        list(tx, &exists)?,
        [2, 3, 4],
        "nothing is deleted below the limit"
    );
    for number in 10..15 {
        insert(tx, number, Timestamp(AT.0 + 1_000), "")?;
    }
    delete(tx)?;
    let left = list(tx, &exists)?;
    assert_eq!(left.len(), KEEP as usize, "{left:?}");
    assert!(left.iter().all(|number| *number >= 10), "{left:?}");
    Ok(())
}

/// Like [`check`], for rows that requests without a credential cause.
fn check_with_networks(
    tx: &mut Tx<'_>,
    insert: impl Fn(&mut Tx<'_>, u8, Timestamp, &str) -> Result<(), StoreError>,
    exists: impl Fn(&mut Tx<'_>, u8) -> Result<bool, StoreError>,
    delete: impl Fn(&mut Tx<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    check(&mut *tx, &insert, &exists, &delete)?;
    // The oldest row of all is the only one of its network.
    insert(tx, 20, AT, "192.0.2.0/24")?;
    delete(tx)?;
    for number in 21..29 {
        let at = Timestamp(AT.0 + 2_000 + i64::from(number));
        insert(tx, number, at, "2001:db8::/48")?;
        delete(tx)?;
    }
    assert_eq!(
        list(tx, &exists)?,
        [14, 20, 28],
        "the network with the most rows loses its oldest ones"
    );
    Ok(())
}

async fn codes_of_a_user_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let insert = |tx: &mut Tx<'_>, number, expires_at, _: &str| {
            let code = CodeRow {
                hash: hash(number),
                user_id: owners.user,
                client_id: owners.client,
                redirect_uri: String::new(),
                challenge: String::new(),
                scopes: OAuthScopes::choose("mcp"),
                resource: String::new(),
                expires_at,
                used_at: None,
                grant_id: None,
                token_id: None,
            };
            records::insert(tx, &code)
        };
        check(
            tx,
            insert,
            |tx, number| Ok(keyed::find::<CodeRow>(tx, &hash(number))?.is_some()),
            |tx| codes::delete_oldest_of_user(tx, owners.user, KEEP),
        )
    })
    .await;
}

async fn questions_of_apps_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let id = |number: u8| ConsentId(Uuid::from_bytes([number + 1; 16]));
        let insert = |tx: &mut Tx<'_>, number, expires_at, network: &str| {
            let consent = ConsentRow {
                id: id(number),
                client_id: owners.client,
                redirect_uri: String::new(),
                state: None,
                challenge: String::new(),
                scopes: OAuthScopes::choose("mcp"),
                resource: String::new(),
                issuer: String::new(),
                session_id: None,
                expires_at,
                network: network.to_owned(),
            };
            records::insert(tx, &consent)
        };
        check_with_networks(
            tx,
            insert,
            |tx, number| Ok(keyed::find::<ConsentRow>(tx, &id(number))?.is_some()),
            |tx| keyed::delete_surplus::<ConsentRow>(tx, KEEP),
        )
    })
    .await;
}

async fn logins_of_machines_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let insert = |tx: &mut Tx<'_>, number: u8, expires_at, network: &str| {
            let device = DeviceRow {
                hash: hash(number),
                user_code: format!("CODE{number}"),
                client_id: owners.client,
                name: String::new(),
                address: String::new(),
                state: DeviceState::Pending,
                user_id: None,
                created_at: AT,
                expires_at,
                polled_at: None,
                poll_seconds: 5,
                network: network.to_owned(),
            };
            records::insert(tx, &device)
        };
        check_with_networks(
            tx,
            insert,
            |tx, number| Ok(keyed::find::<DeviceRow>(tx, &hash(number))?.is_some()),
            |tx| keyed::delete_surplus::<DeviceRow>(tx, KEEP),
        )
    })
    .await;
}

async fn sign_ins_with_providers_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let insert = |tx: &mut Tx<'_>, number, expires_at, network: &str| {
            let login = LoginRow {
                state_hash: hash(number),
                browser_hash: hash(0),
                provider_id: owners.provider,
                nonce: String::new(),
                verifier: String::new(),
                redirect_uri: String::new(),
                return_to: String::new(),
                link_session_id: None,
                expires_at,
                network: network.to_owned(),
            };
            records::insert(tx, &login)
        };
        check_with_networks(
            tx,
            insert,
            // A login can only be read by taking it.
            |tx, number| match logins::take(tx, &hash(number), &hash(0))? {
                Some(login) => records::insert(tx, &login).map(|()| true),
                None => Ok(false),
            },
            |tx| keyed::delete_surplus::<LoginRow>(tx, KEEP),
        )
    })
    .await;
}

on_each_engine!(
    codes_of_a_user_are_bounded,
    questions_of_apps_are_bounded,
    logins_of_machines_are_bounded,
    sign_ins_with_providers_are_bounded,
);
