//! Running a server: settings, shutdown, backup, migration, scale.

mod certificates;
mod health;
mod migrate;
mod monitoring;
mod prove;
mod running;
mod scale;
pub mod service_manager;
mod settings;
mod upgrade;
