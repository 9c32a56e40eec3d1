//! The server's durable state: both database engines (SQLite and PostgreSQL) behind one interface,
//! the migrations and every SQL statement.
//!
//! Parts: [`Store`] is the handle that modules of the server hold. One writer thread gathers
//! waiting writes into one commit. Reader threads answer reads, each from a snapshot. [`Tx`] is the
//! open transaction that a closure gets. One file per resource holds its statements as plain
//! functions.
//!
//! Invariants: nothing is acknowledged before its COMMIT has returned. No SQL outside this crate:
//! no other crate depends on a database driver, and only this crate can run statements on a `Tx`.
//! Statements are portable (`?1` placeholders, `ON CONFLICT`, `RETURNING`, TEXT ids, BIGINT
//! milliseconds), so that both engines accept them. No rule of the product is decided here: rules
//! are functions of `svc_core`, limits and audit entries are arguments.

pub mod agent_tokens;
pub mod archive;
pub mod audit;
mod batch;
pub mod calls;
mod conditions;
mod connection;
pub mod deliveries;
pub mod dispatch;
mod engine;
mod error;
pub mod event_deliveries;
pub mod events;
mod fields;
mod folder;
mod group;
pub mod groups;
mod handle;
pub mod idempotency;
pub mod keyed;
pub mod lanes;
pub mod limit_use;
pub mod log_requests;
pub mod login_failures;
pub mod memberships;
pub mod meta;
pub mod method_stats;
mod migrations;
pub mod oauth;
pub mod oidc;
mod outage;
mod page;
mod postgres;
mod read_pool;
mod record;
pub mod records;
pub mod roles;
pub mod schedules;
pub mod scripts;
pub mod second_factors;
pub mod servers;
pub mod sessions;
#[cfg(feature = "testing")]
pub mod simulated;
pub mod sinks;
pub mod sources;
pub mod spaces;
mod sql;
mod sqlite;
mod store_clock;
pub mod templates;
pub mod tokens;
pub mod transfer;
mod user_permits;
pub mod users;
mod value;
mod waiting;
pub mod zone_changes;

#[cfg(test)]
mod engines;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

pub use archive::ArchiveError;
pub use error::{OpenError, StoreError};
pub use folder::{FolderLock, open_folder, prepare_folder};
pub use group::{Grouped, GroupedResult};
pub use handle::{Store, StoreOptions, StoreStats};
pub use migrations::{NewerSchema, SCHEMA_VERSION, find_newer_schema};
pub use outage::FailingWrites;
pub use page::{InvalidPage, PAGE_DEFAULT, PAGE_MAX, Page, PageRequest};
pub use postgres::{AddressError, DatabaseUrl, ProvingError, ProvingSchema};
pub use sql::{Tx, WrittenEntry};
pub use user_permits::{UserPermit, UserPermits};
pub use value::Hash;

/// The target of log records. The name is older than this crate. It is kept, because operators
/// filter by it.
const LOG_TARGET: &str = "svc_server::store";

/// The database in the data folder.
pub const DATABASE_FILE: &str = "svc.db";
