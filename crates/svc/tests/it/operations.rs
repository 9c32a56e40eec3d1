//! Running a server: settings, certificates, health, shutdown, backup, upgrade, migration, scale,
//! `svc prove`.

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
