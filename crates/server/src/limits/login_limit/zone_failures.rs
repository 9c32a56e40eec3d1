//! Counts failed logins at all servers of a zone, in the database. A user who succeeds at the first
//! attempt causes no write. Failures cannot be frequent, because checking a password takes time.

use std::{collections::HashMap, net::IpAddr, sync::OnceLock};

use svc_core::{
    Timestamp,
    login::{Failures, LoginDelay},
};
use svc_crypto::sha256_of_parts;
use svc_store::{Store, StoreError, Tx, login_failures, meta};
use uuid::Uuid;

use super::{LoginPolicy, LoginRefused};

/// The key of the zone's salt in the table `meta`. The slots of a name depend on the salt. Without
/// the salt, a client could find a name that shares the slots of another name, and reset the
/// counter of the other name.
const SALT: &str = "login_salt";
/// Each table of counters has two rows, like the tables in memory (`login_limit`). A key has one
/// slot in each row.
const ROWS: u8 = 2;

pub(super) struct ZoneFailures {
    store: Store,
    rule: LoginDelay,
    /// The number of slots in a row of the table for pairs of user and address.
    tracked: usize,
    salt: OnceLock<String>,
}

/// The slots of one key: one in each row of its table.
type Slots = [i64; ROWS as usize];

/// The slots of an attempt: of the user at the address, of the address, and of the user.
struct AttemptSlots {
    own: Slots,
    at_address: Slots,
    for_account: Slots,
}

impl ZoneFailures {
    pub(super) fn new(store: Store, policy: LoginPolicy) -> Self {
        Self {
            store,
            rule: policy.slow_down,
            tracked: policy.tracked,
            salt: OnceLock::new(),
        }
    }

    /// Checks whether an attempt may be made now. `address` is the network of the client's address
    /// ([`network`](super::network)), as in the other functions.
    pub(super) async fn check(&self, username: &str, address: IpAddr) -> Result<(), LoginRefused> {
        let (rule, slots) = (self.rule, self.slots(username, address).await?);
        let check = move |tx: &mut Tx<'_>| {
            let failures = slots.read(tx)?;
            let [own, at_address, for_account] = slots.each().map(|slots| least(&failures, slots));
            Ok(rule.wait(own, at_address, for_account, tx.now()?))
        };
        match self.store.read(check).await? {
            Some(wait) => Err(LoginRefused::Wait(wait)),
            None => Ok(()),
        }
    }

    /// Counts a failed attempt.
    pub(super) async fn count(&self, username: &str, address: IpAddr) -> Result<(), StoreError> {
        let (rule, slots) = (self.rule, self.slots(username, address).await?);
        let count = move |tx: &mut Tx<'_>| {
            let failures = slots.read(tx)?;
            let now: Timestamp = tx.now()?;
            for slot in slots.each().into_iter().flatten() {
                let before = failures.get(slot).copied().unwrap_or(Failures::NONE);
                login_failures::set(tx, *slot, rule.count(before, now))?;
            }
            Ok(())
        };
        self.store.write(count).await
    }

    /// Resets the failures of the account at the address. Writes nothing if there were none.
    pub(super) async fn reset(&self, username: &str, address: IpAddr) -> Result<(), StoreError> {
        let slots = self.slots(username, address).await?.own;
        let find = move |tx: &mut Tx<'_>| login_failures::find(tx, &slots);
        if self.store.read(find).await?.is_empty() {
            return Ok(());
        }
        let reset = move |tx: &mut Tx<'_>| {
            let mut slots = slots.iter();
            slots.try_for_each(|slot| login_failures::reset(tx, *slot))
        };
        self.store.write(reset).await
    }

    async fn slots(&self, username: &str, address: IpAddr) -> Result<AttemptSlots, StoreError> {
        let salt = match self.salt.get() {
            Some(salt) => salt.clone(),
            None => {
                let salt = self.store.write(ensure_salt).await?;
                self.salt.get_or_init(|| salt).clone()
            }
        };
        let address = address.to_string();
        // Fewer slots: there are fewer addresses and fewer users than pairs of both.
        let fewer = self.tracked / 4;
        Ok(AttemptSlots {
            own: slots(&salt, 0, self.tracked, &format!("{username} {address}")),
            at_address: slots(&salt, 1, fewer, &address),
            for_account: slots(&salt, 2, fewer, username),
        })
    }
}

impl AttemptSlots {
    fn each(&self) -> [&Slots; 3] {
        [&self.own, &self.at_address, &self.for_account]
    }

    fn read(&self, tx: &mut Tx<'_>) -> Result<Counters, StoreError> {
        let slots: Vec<_> = self.each().into_iter().flatten().copied().collect();
        login_failures::find(tx, &slots)
    }
}

type Counters = HashMap<i64, Failures>;

/// The failures of a key. The number is too high only if other keys share all of its slots.
fn least(counters: &Counters, slots: &Slots) -> Failures {
    let found = slots.iter().map(|slot| counters.get(slot).copied());
    found
        .map(|failures| failures.unwrap_or(Failures::NONE))
        .min_by_key(|failures| failures.count)
        .unwrap_or(Failures::NONE)
}

fn slots(salt: &str, table: u8, tracked: usize, key: &str) -> Slots {
    std::array::from_fn(|row| {
        // Lossless: there are two rows.
        let part = table * ROWS + row as u8;
        let hash = sha256_of_parts(&[salt.as_bytes(), &[part], key.as_bytes()]);
        let first = hash.first_chunk().copied().unwrap_or_default();
        let slot = u64::from_be_bytes(first) % tracked.max(1) as u64;
        (i64::from(part) << 32) | i64::try_from(slot).unwrap_or_default()
    })
}

fn ensure_salt(tx: &mut Tx<'_>) -> Result<String, StoreError> {
    if let Some(salt) = meta::find(tx, SALT)? {
        return Ok(salt);
    }
    let salt = format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple());
    meta::set(tx, SALT, &salt)?;
    Ok(salt)
}
