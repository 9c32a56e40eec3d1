//! Groups and their members.

use svc_core::{GroupId, Timestamp, UserId};

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupRow {
    pub id: GroupId,
    pub name: String,
    pub created_at: Timestamp,
}

impl GroupRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            created_at: row.get("created_at")?,
        })
    }
}

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let count = tx.count("SELECT COUNT(*) FROM groups", &[])?;
    Ok(count.unsigned_abs())
}

pub fn insert(tx: &mut Tx<'_>, group: &GroupRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO groups (id, name, created_at) VALUES (?1, ?2, ?3)",
        values![group.id, &group.name, group.created_at],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: GroupId) -> Result<Option<GroupRow>, StoreError> {
    tx.find(
        "SELECT id, name, created_at FROM groups WHERE id = ?1",
        values![id],
        GroupRow::read,
    )
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<GroupRow>, StoreError> {
    tx.find(
        "SELECT id, name, created_at FROM groups WHERE name = ?1",
        values![name],
        GroupRow::read,
    )
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<GroupRow>, StoreError> {
    let rows = tx.query(
        "SELECT id, name, created_at FROM groups WHERE id > ?1 ORDER BY id LIMIT ?2",
        values![page.after(), page.limit()],
    )?;
    let groups = rows.iter().map(GroupRow::read).collect::<Result<_, _>>()?;
    Ok(page.page(groups, |group: &GroupRow| group.id.0))
}

/// All groups: for the directory.
pub fn list_all(tx: &mut Tx<'_>) -> Result<Vec<GroupRow>, StoreError> {
    tx.list(
        "SELECT id, name, created_at FROM groups",
        &[],
        GroupRow::read,
    )
}

pub fn rename(tx: &mut Tx<'_>, id: GroupId, name: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE groups SET name = ?2 WHERE id = ?1",
        values![id, name],
    )?;
    Ok(())
}

/// Deletes a group and its memberships.
pub fn delete(tx: &mut Tx<'_>, id: GroupId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM groups WHERE id = ?1", values![id])?;
    Ok(())
}

pub fn list_members(tx: &mut Tx<'_>, id: GroupId) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "SELECT user_id FROM user_groups WHERE group_id = ?1",
        values![id],
        |row| row.get("user_id"),
    )
}

pub fn is_member(tx: &mut Tx<'_>, id: GroupId, user: UserId) -> Result<bool, StoreError> {
    let found = tx.query_opt(
        "SELECT user_id FROM user_groups WHERE group_id = ?1 AND user_id = ?2",
        values![id, user],
    )?;
    Ok(found.is_some())
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
