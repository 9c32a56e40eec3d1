//! A network with many rows removes no row of a network with fewer rows.

use svc_core::{OAuthClientId, Timestamp, network::row_network};
use uuid::Uuid;

use super::{AT, KEEP, Owners, check_with_networks, hash, with_owners};
use crate::{
    Hash,
    engines::{TestEngine, on_each_engine},
    keyed,
    oauth::{
        clients::{self, ClientRow},
        devices::{DeviceRow, DeviceState},
    },
    records,
    second_factors::passkeys::{self, ChallengeRow},
    sql::values,
};

fn device(owners: Owners, number: u32, expires_at: i64, network: String) -> DeviceRow {
    let mut hash: Hash = [0; 32];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    DeviceRow {
        hash,
        user_code: number.to_string(),
        client_id: owners.client,
        name: String::new(),
        address: String::new(),
        state: DeviceState::Pending,
        user_id: None,
        created_at: AT,
        expires_at: Timestamp(AT.0 + expires_at),
        polled_at: None,
        poll_seconds: 5,
        network,
    }
}

/// The addresses of one customer are in many networks of one /48.
async fn a_customer_with_many_networks_removes_only_their_own_rows(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let network = |text: &str| row_network(text.parse().expect("an address"));
        let waiting = device(owners, 0, 0, network("2001:db8:1::1"));
        records::insert(tx, &waiting)?;
        for n in 1..=256 {
            let customer = network(&format!("2001:db8:0:{:x}::1", n % 256));
            records::insert(tx, &device(owners, n, i64::from(n), customer))?;
            keyed::delete_surplus::<DeviceRow>(tx, KEEP)?;
            assert!(
                keyed::find::<DeviceRow>(tx, &waiting.hash)?.is_some(),
                "{n}"
            );
        }
        let count: u32 = tx.get("SELECT COUNT(*) FROM oauth_devices", &[])?;
        assert_eq!(count, KEEP);
        Ok(())
    })
    .await;
}

/// Only networks with more rows than others lose rows, until they have as many as the others. A
/// hundredth of the maximum is removed too.
async fn the_networks_with_the_most_rows_are_levelled(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let of = [("a", 120), ("b", 60), ("c", 20)];
        let networks = of.iter().flat_map(|(name, rows)| vec![*name; *rows]);
        for (number, network) in (0..).zip(networks) {
            records::insert(tx, &device(owners, number, 0, network.to_owned()))?;
        }
        for (keep, expected) in [
            (200, [120, 60, 20]),
            (150, [69, 60, 20]),
            (100, [40, 39, 20]),
        ] {
            keyed::delete_surplus::<DeviceRow>(tx, keep)?;
            let mut left: Vec<u32> =
                tx.list("SELECT COUNT(*) FROM oauth_devices GROUP BY network", &[])?;
            left.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(left, expected, "{keep}");
        }
        Ok(())
    })
    .await;
}
async fn apps_that_no_user_connected_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, owners| {
        let id = |number: u8| OAuthClientId(Uuid::from_bytes([number + 1; 16]));
        // An app that an administrator blocked does not count.
        tx.execute("UPDATE oauth_clients SET blocked = 1", &[])?;
        let blocked = records::get::<ClientRow>(tx, owners.client)?;
        check_with_networks(
            tx,
            |tx, number, fresh_until, network| {
                let client = ClientRow {
                    id: id(number),
                    client_id: format!("app{number}"),
                    fresh_until,
                    blocked: false,
                    network: network.to_owned(),
                    ..blocked.clone()
                };
                records::insert(tx, &client)
            },
            |tx, number| Ok(records::find::<ClientRow>(tx, id(number))?.is_some()),
            |tx| clients::delete_oldest_unused(tx, KEEP),
        )?;
        assert!(records::find::<ClientRow>(tx, owners.client)?.is_some());
        Ok(())
    })
    .await;
}

async fn challenges_without_a_user_are_bounded(engine: &TestEngine) {
    with_owners(engine, |tx, _| {
        check_with_networks(
            tx,
            |tx, number, expires_at, network| {
                let challenge = ChallengeRow {
                    hash: hash(number),
                    purpose: "login".into(),
                    user_id: None,
                    expires_at,
                    network: network.to_owned(),
                };
                // The number of challenges is checked at each insertion.
                passkeys::insert_challenge(tx, &challenge, KEEP)
            },
            |tx, number| {
                tx.exists(
                    "SELECT hash FROM passkey_challenges WHERE hash = ?1",
                    values![&hash(number)],
                )
            },
            |_| Ok(()),
        )
    })
    .await;
}

on_each_engine!(
    a_customer_with_many_networks_removes_only_their_own_rows,
    the_networks_with_the_most_rows_are_levelled,
    apps_that_no_user_connected_are_bounded,
    challenges_without_a_user_are_bounded,
);
