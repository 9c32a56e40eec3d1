//! The tables to copy: their columns and keys, and the few values that differ in the target.

use svc_core::ServerId;

use super::TransferError;
use crate::{
    connection::Connection,
    error::StoreError,
    meta,
    record::placeholders,
    sql::{Tx, values},
    store_clock,
    value::Value,
};

/// Rows on one page; no row is much longer than a megabyte.
const PAGE_ROWS: i64 = 200;

/// All tables to copy. A table comes after the tables that it references.
pub(super) const COPIED: &[&str] = &[
    "meta",
    "users",
    "groups",
    "roles",
    "user_groups",
    "user_roles",
    "api_tokens",
    "sessions",
    "templates",
    "spaces",
    "agent_tokens",
    "audit",
    "audit_usage",
    "events",
    "event_numbers",
    "event_usage",
    "scripts",
    "event_sinks",
    "lanes",
    "lane_declarations",
    "lane_patterns",
    "lane_feeds",
    "deliveries",
    "attempts",
    "idempotency_keys",
    "oauth_clients",
    "oauth_grants",
    "oauth_tokens",
    "oidc_providers",
    "oidc_identities",
    "oidc_memberships",
    "oidc_sessions",
    "oidc_grants",
    "totp",
    "recovery_codes",
    "passkeys",
    "sources",
    "schedules",
    "call_blocks",
    "call_block_callers",
    "call_payloads",
    "method_stats",
    "call_stats",
];

/// Tables that only a zone uses, and tables of records that are valid for minutes only, such as
/// unfinished logins and requests of apps. These tables start empty.
pub(super) const NOT_COPIED: &[&str] = &[
    "servers",
    "zone_changes",
    "limit_use",
    "login_failures",
    "log_requests",
    "oauth_consents",
    "oauth_codes",
    "oauth_devices",
    "oidc_logins",
    "oidc_pending_grants",
    "oidc_logout_tokens",
    "totp_enrolments",
    "pending_logins",
    "passkey_challenges",
];

pub(super) struct Table {
    pub(super) name: &'static str,
    columns: Vec<String>,
    /// Indexes of the columns of the primary key, in its order.
    key: Vec<usize>,
}

/// All tables that are copied, as they are in the source.
pub(super) fn all(source: &dyn Connection) -> Result<Vec<Table>, TransferError> {
    COPIED
        .iter()
        .map(|name| {
            Table::read(source, name).map_err(|source| TransferError::Read {
                table: name,
                source,
            })
        })
        .collect()
}

/// The tables that have rows, and the number of rows. Built-in roles do not count.
pub(super) fn count_all(tx: &mut Tx<'_>) -> Result<Vec<(&'static str, i64)>, StoreError> {
    let mut found = Vec::new();
    for name in COPIED.iter().chain(NOT_COPIED) {
        let rows = match *name {
            "roles" => "roles WHERE builtin = 0",
            name => name,
        };
        let rows: i64 = tx.get(&format!("SELECT COUNT(*) FROM {rows}"), &[])?;
        if rows > 0 {
            found.push((*name, rows));
        }
    }
    Ok(found)
}

impl Table {
    fn read(source: &dyn Connection, name: &'static str) -> Result<Self, StoreError> {
        let rows = source.query(
            "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid",
            values![name],
        )?;
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            columns.push(row.get("name")?);
            let position: i64 = row.get("pk")?;
            if position > 0 {
                key.push((position, index));
            }
        }
        key.sort_unstable();
        Ok(Self {
            name,
            columns,
            key: key.into_iter().map(|(_, index)| index).collect(),
        })
    }

    /// The condition for rows to copy. The server's id is not copied: in a zone, each server has its
    /// id in its data folder. The time of the embedded clock is not needed there.
    fn condition(&self) -> String {
        match self.name {
            "meta" => format!(
                "key NOT IN ('{}', '{}')",
                meta::SERVER_ID,
                store_clock::CLOCK_SEEN
            ),
            _ => "1 = 1".to_owned(),
        }
    }

    /// Columns that get another value in the target, unless they are null. In the target, no lane
    /// is held, and spaces and the lanes of their methods belong to `server`.
    pub(super) fn replaced(&self, server: Option<ServerId>) -> Vec<(usize, Value)> {
        let mut values = match self.name {
            "lanes" => vec![("lease_owner", Value::Null), ("lease_until", Value::Int(0))],
            _ => Vec::new(),
        };
        match (self.name, server) {
            ("spaces", Some(server)) => values.push(("node_id", server.into())),
            ("lanes" | "lane_declarations", Some(server)) => {
                values.push(("server_id", server.into()));
            }
            _ => {}
        }
        values
            .into_iter()
            .filter_map(|(column, value)| Some((self.column_index(column)?, value)))
            .collect()
    }

    fn column_index(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }

    pub(super) fn count(&self, connection: &dyn Connection) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT COUNT(*) FROM {} WHERE {}",
            self.name,
            self.condition()
        );
        Tx::on(connection).get(&sql, &[])
    }

    /// The next page of rows after a key, in the order of keys; `None` after the last.
    pub(super) fn page(
        &self,
        connection: &dyn Connection,
        after: Option<Vec<Value>>,
    ) -> Result<Option<Vec<Vec<Value>>>, StoreError> {
        let key = self.list(self.key.iter().copied());
        let mut condition = self.condition();
        if after.is_some() {
            let marks = placeholders(self.key.len());
            condition = format!("{condition} AND ({key}) > ({marks})");
        }
        let sql = format!(
            "SELECT {} FROM {} WHERE {condition} ORDER BY {key} LIMIT {PAGE_ROWS}",
            self.list(0..self.columns.len()),
            self.name,
        );
        let rows = connection.query(&sql, &after.unwrap_or_default())?;
        let rows: Vec<_> = rows.into_iter().map(|row| row.into_values()).collect();
        Ok((!rows.is_empty()).then_some(rows))
    }

    pub(super) fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.key.iter().map(|&index| row[index].clone()).collect()
    }

    pub(super) fn insert(&self) -> String {
        format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.name,
            self.list(0..self.columns.len()),
            placeholders(self.columns.len())
        )
    }

    /// Removes the built-in roles that the migrations inserted: they are copied with the ids that
    /// users reference.
    pub(super) fn clear(&self, target: &dyn Connection) -> Result<(), StoreError> {
        match self.name {
            "roles" => target.execute("DELETE FROM roles", &[]).map(drop),
            _ => Ok(()),
        }
    }

    fn list(&self, indexes: impl IntoIterator<Item = usize>) -> String {
        let names: Vec<_> = indexes
            .into_iter()
            .map(|index| format!("\"{}\"", self.columns[index]))
            .collect();
        names.join(", ")
    }
}
