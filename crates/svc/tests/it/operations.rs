//! Running a server: settings, shutdown, backup, migration, scale.

mod migrate;
mod running;
mod scale;
mod settings;
