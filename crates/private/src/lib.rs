//! What other users of the machine cannot change: folders of svc, files that svc finds by their
//! name, and the process at the other end of a local connection.
//!
//! One rule holds for all of them: only this process's user and root are trusted. A folder that
//! another user created first, or that other users can write, is refused and never repaired,
//! because its content may already be theirs.

mod folder;
mod found;
mod user;

pub use folder::{FolderError, FolderKind, OwnFolder, own_folder};
pub use found::{UntrustedFile, read_found};
pub use user::{is_own_or_root, own_uid};
