//! Users with their roles and groups. A user's name never changes.

mod power;

use std::collections::{HashMap, HashSet};

use svc_core::{GroupId, Permissions, QuotaOverrides, Timestamp, UserId, UserName};
use uuid::Uuid;

pub use self::power::{UserFilter, UserPower, find_power, list_powers};

use super::{
    conditions::Conditions,
    error::StoreError,
    method_stats,
    page::{Page, PageRequest},
    record::record,
    records::{self, kept},
    roles, second_factors,
    sql::{Tx, values},
};

/// A row of the table of users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserRow {
    pub id: UserId,
    pub username: UserName,
    /// A PHC string. The API never returns it.
    pub password_hash: String,
    pub active: bool,
    pub created_at: Timestamp,
    /// Quotas that differ from the server's defaults.
    pub quotas: QuotaOverrides,
}

impl UserRow {
    /// A new active user without quotas.
    pub fn new(username: UserName, password_hash: String, now: Timestamp) -> Self {
        Self {
            id: UserId(Uuid::now_v7()),
            username,
            password_hash,
            active: true,
            created_at: now,
            quotas: QuotaOverrides::new(),
        }
    }
}

record! { UserRow in "users": id, username, password_hash, active, created_at, quotas }

/// A user with roles, permissions and groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    pub id: UserId,
    pub username: UserName,
    pub active: bool,
    pub created_at: Timestamp,
    /// Names, sorted.
    pub roles: Vec<String>,
    /// The union of the permissions of all roles.
    pub permissions: Permissions,
    /// Sorted by name.
    pub groups: Vec<(GroupId, String)>,
    /// Quotas that differ from the server's defaults.
    pub quotas: QuotaOverrides,
    /// Whether the user has set up a second factor. If so, a login with the password needs it.
    pub has_second_factor: bool,
    /// Whether a role of the user requires a second factor.
    pub requires_second_factor: bool,
}

kept! {
    UserRow "user": UserId, fixed [username, created_at], of (): (), unique [username] named username
}

pub fn find_profile(tx: &mut Tx<'_>, id: UserId) -> Result<Option<Profile>, StoreError> {
    let user: Option<UserRow> = records::find(tx, id)?;
    Ok(with_profiles(tx, user.into_iter().collect())?.pop())
}

pub fn list_profiles(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<Profile>, StoreError> {
    let page = page.records(tx, Conditions::default())?;
    Ok(Page {
        next_cursor: page.next_cursor,
        items: with_profiles(tx, page.items)?,
    })
}

/// All users, for the server's copy in memory.
pub fn list_all_profiles(tx: &mut Tx<'_>) -> Result<Vec<Profile>, StoreError> {
    let users = tx.list_records("ORDER BY id", &[])?;
    with_profiles(tx, users)
}

/// Adds roles and groups to users, which must be sorted by id. One statement reads the roles of all
/// users from the first id to the last, another one reads their groups.
fn with_profiles(tx: &mut Tx<'_>, users: Vec<UserRow>) -> Result<Vec<Profile>, StoreError> {
    let first = users.first().map_or(UserId::NIL, |user| user.id);
    let last = users.last().map_or(UserId::NIL, |user| user.id);
    let mut held: HashMap<UserId, (Vec<String>, Permissions, bool)> = HashMap::new();
    for row in tx.query(
        "SELECT ur.user_id AS user_id, r.name AS name, r.permissions AS permissions,
                r.builtin AS builtin, r.require_second_factor AS require_second_factor
         FROM user_roles ur JOIN roles r ON r.id = ur.role_id
         WHERE ur.user_id >= ?1 AND ur.user_id <= ?2 ORDER BY r.name",
        values![first, last],
    )? {
        let (names, permissions, requires) = held.entry(row.get("user_id")?).or_default();
        names.push(row.get("name")?);
        *permissions = permissions.union(roles::read_permissions(&row)?);
        *requires |= row.get::<bool>("require_second_factor")?;
    }
    let mut member_of: HashMap<UserId, Vec<(GroupId, String)>> = HashMap::new();
    for row in tx.query(
        "SELECT ug.user_id AS user_id, g.id AS id, g.name AS name
         FROM user_groups ug JOIN groups g ON g.id = ug.group_id
         WHERE ug.user_id >= ?1 AND ug.user_id <= ?2 ORDER BY g.name",
        values![first, last],
    )? {
        let groups = member_of.entry(row.get("user_id")?).or_default();
        groups.push((row.get("id")?, row.get("name")?));
    }
    let protected: HashSet<UserId> = second_factors::list_users(tx, first, last)?;
    let profile = |user: UserRow| {
        let (roles, permissions, requires_second_factor) =
            held.remove(&user.id).unwrap_or_default();
        Profile {
            groups: member_of.remove(&user.id).unwrap_or_default(),
            id: user.id,
            username: user.username,
            active: user.active,
            created_at: user.created_at,
            roles,
            permissions,
            quotas: user.quotas,
            has_second_factor: protected.contains(&user.id),
            requires_second_factor,
        }
    };
    Ok(users.into_iter().map(profile).collect())
}

/// When the users with ids from `first` to `last` last used a credential. Users who never used a
/// credential are left out.
pub fn list_last_seen(
    tx: &mut Tx<'_>,
    first: UserId,
    last: UserId,
) -> Result<HashMap<UserId, Timestamp>, StoreError> {
    let seen: Vec<(UserId, Timestamp)> = tx.list(
        "SELECT id, last_seen_at FROM users
         WHERE id >= ?1 AND id <= ?2 AND last_seen_at IS NOT NULL",
        values![first, last],
    )?;
    Ok(seen.into_iter().collect())
}

/// Records that a user used a credential, unless a later use is recorded.
pub fn set_last_seen(tx: &mut Tx<'_>, id: UserId, at: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE users SET last_seen_at = ?2
         WHERE id = ?1 AND (last_seen_at IS NULL OR last_seen_at < ?2)",
        values![id, at],
    )
}

pub fn set_active(tx: &mut Tx<'_>, id: UserId, active: bool) -> Result<(), StoreError> {
    records::set::<UserRow>(tx, id, "active", active)
}

pub fn set_password_hash(tx: &mut Tx<'_>, id: UserId, hash: &str) -> Result<(), StoreError> {
    records::set::<UserRow>(tx, id, "password_hash", hash)
}

pub fn set_quotas(tx: &mut Tx<'_>, id: UserId, quotas: &QuotaOverrides) -> Result<(), StoreError> {
    records::set::<UserRow>(tx, id, "quotas", quotas)
}

/// Quotas that differ from the server's defaults; none for an unknown user.
pub fn find_quotas(tx: &mut Tx<'_>, id: UserId) -> Result<QuotaOverrides, StoreError> {
    let quotas = tx.find("SELECT quotas FROM users WHERE id = ?1", values![id])?;
    Ok(quotas.unwrap_or_default())
}

/// Counts the spaces of a user that are not deleted.
pub fn count_spaces(tx: &mut Tx<'_>, id: UserId) -> Result<u64, StoreError> {
    tx.get(
        "SELECT COUNT(*) FROM spaces WHERE owner_id = ?1 AND state <> 'deleted'",
        values![id],
    )
}

/// Deletes a user with tokens, sessions, memberships and the records of deleted spaces. Fails with
/// [`StoreError::ForeignKey`] if the user has a space that is not deleted.
pub fn delete(tx: &mut Tx<'_>, id: UserId) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM spaces WHERE owner_id = ?1 AND state = 'deleted'",
        values![id],
    )?;
    method_stats::delete_calls_of(tx, id)?;
    tx.execute(
        "DELETE FROM audit_usage WHERE owner_key IN (?1, ?2)",
        values![id.to_string(), format!("system {id}")],
    )?;
    tx.execute("DELETE FROM users WHERE id = ?1", values![id])
}
