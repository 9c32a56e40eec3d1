//! Groups and their members.

use svc_core::{GroupId, UserId};
use svc_protocol::api::Group;

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    sql::{Tx, values},
};

record! { Group in "groups": id, name, created_at }

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    tx.get("SELECT COUNT(*) FROM groups", &[])
}

pub fn insert(tx: &mut Tx<'_>, group: &Group) -> Result<(), StoreError> {
    tx.insert(group)
}

pub fn find(tx: &mut Tx<'_>, id: GroupId) -> Result<Option<Group>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Group>, StoreError> {
    tx.find_record("WHERE name = ?1", values![name])
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<Group>, StoreError> {
    page.records(tx, Conditions::default())
}

/// All groups: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<Group>, StoreError> {
    tx.list_records("", &[])
}

pub fn rename(tx: &mut Tx<'_>, id: GroupId, name: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE groups SET name = ?2 WHERE id = ?1",
        values![id, name],
    )
}

/// Deletes a group and its memberships.
pub fn delete(tx: &mut Tx<'_>, id: GroupId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM groups WHERE id = ?1", values![id])
}

pub fn list_members(tx: &mut Tx<'_>, id: GroupId) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "SELECT user_id FROM user_groups WHERE group_id = ?1",
        values![id],
    )
}

pub fn is_member(tx: &mut Tx<'_>, id: GroupId, user: UserId) -> Result<bool, StoreError> {
    tx.exists(
        "SELECT user_id FROM user_groups WHERE group_id = ?1 AND user_id = ?2",
        values![id, user],
    )
}

/// Sets the groups of a user.
pub fn set_of_user(tx: &mut Tx<'_>, user: UserId, groups: &[GroupId]) -> Result<(), StoreError> {
    tx.execute("DELETE FROM user_groups WHERE user_id = ?1", values![user])?;
    for group in groups {
        tx.execute(
            "INSERT INTO user_groups (user_id, group_id) VALUES (?1, ?2)
             ON CONFLICT (user_id, group_id) DO NOTHING",
            values![user, *group],
        )?;
    }
    Ok(())
}
