//! Running a server: settings, shutdown, backup, migration, scale.

mod certificates;
mod health;
mod migrate;
mod monitoring;
mod prove;
mod running;
mod scale;
mod service_manager;
mod settings;
mod upgrade;
