//! What all services of records have in common.

mod error;

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use svc_core::{Timestamp, UserId};
use svc_protocol::api::{DESCRIPTION_MAX, OVERLAP_HOURS_MAX};
use svc_store::{
    Store, StoreError, Tx,
    records::{Named, Owned, find_of, find_same_name},
    zone_changes::{self, ZoneChange},
};

pub use error::{RecordError, UNAUTHORIZED, whole_seconds};

/// The result of a request about records.
pub type Result<T, E = RecordError> = std::result::Result<T, E>;

/// Fails if another record of the same owner has the name.
pub fn check_name_free<R: Named>(tx: &mut Tx<'_>, record: &R) -> Result<()> {
    match find_same_name(tx, record)? {
        Some(_) => Err(RecordError::name_taken(R::KIND, record.name())),
        None => Ok(()),
    }
}

/// Tells the other servers of the zone that records changed. They read the records again after the
/// commit. Changes that a caller requests use `identity::Change::affects`, which also changes the
/// copies in memory of this server.
pub fn tell_zone<'a>(
    tx: &mut Tx<'_>,
    changes: impl IntoIterator<Item = &'a ZoneChange>,
) -> Result<(), StoreError> {
    let mut changes = changes.into_iter();
    changes.try_for_each(|change| zone_changes::append(tx, change))
}

/// A record of a user. For records of others, the error is "not found".
pub fn own<R: Owned<Owner = UserId>>(tx: &mut Tx<'_>, user: UserId, id: R::Id) -> Result<R> {
    find_of::<R>(tx, &user, id)?.ok_or_else(|| RecordError::not_found(R::KIND, id))
}

/// Like [`own`], in a transaction of its own.
pub async fn read_own<R>(store: &Store, user: UserId, id: R::Id) -> Result<R>
where
    R: Owned<Owner = UserId> + Send + 'static,
    R::Id: Send + 'static,
{
    store.read(move |tx| Ok(own::<R>(tx, user, id))).await?
}

pub fn check_description(text: &str) -> Result<()> {
    let length = text.chars().count();
    if length <= DESCRIPTION_MAX {
        return Ok(());
    }
    Err(RecordError::new(
        "invalid",
        format!("the description has {length} characters; at most {DESCRIPTION_MAX} are allowed"),
    ))
}

/// When the old secret becomes invalid after a rotation: after a day if the request has no
/// `overlap_hours`.
pub fn overlap_end(hours: Option<u32>, now: Timestamp) -> Result<Timestamp> {
    let hours = hours.unwrap_or(24);
    if hours <= OVERLAP_HOURS_MAX {
        return Ok(now.plus(Duration::from_secs(u64::from(hours) * 3_600)));
    }
    Err(RecordError::new(
        "invalid",
        format!("`overlap_hours` is {hours}; at most {OVERLAP_HOURS_MAX} are allowed"),
    ))
}

/// Limits the records of a kind on the whole server.
pub fn check_limit(count: u64, max: u64, what: &str, code: &'static str) -> Result<()> {
    if count < max {
        return Ok(());
    }
    let message =
        format!("there are {max} {what} already, and no more are allowed; delete one first");
    Err(RecordError::new(code, message))
}

/// The detail of an audit entry about a record: its members that a user sets, except `hidden` ones,
/// which may be large. Hidden members are not read: `Value` cannot hold every number.
pub fn settings_of(record: &impl Serialize, members: &[&'static str], hidden: &[&str]) -> Value {
    let text = serde_json::to_string(record).expect("records are JSON");
    let all: BTreeMap<&str, &RawValue> = serde_json::from_str(&text).expect("records are objects");
    let shown = members.iter().filter(|name| !hidden.contains(name));
    let shown = shown.filter_map(|name| {
        let value: Value = serde_json::from_str(all.get(name)?.get()).expect("JSON");
        Some(((*name).to_owned(), value))
    });
    Value::Object(shown.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_has_the_members_that_a_user_sets_without_hidden_ones() {
        let payload = RawValue::from_string(format!("{}1e999{}", "[".repeat(200), "]".repeat(200)));
        let payload = payload.expect("JSON");
        let record = BTreeMap::from([
            (
                "name",
                RawValue::from_string("\"a\"".to_owned()).expect("JSON"),
            ),
            (
                "next_at",
                RawValue::from_string("5".to_owned()).expect("JSON"),
            ),
            ("payload", payload),
        ]);
        let settings = settings_of(&record, &["name", "secret", "payload"], &["payload"]);
        assert_eq!(settings, json!({"name": "a"}));
    }
}
