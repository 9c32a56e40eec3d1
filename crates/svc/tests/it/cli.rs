//! The command line (spec 4.3).

mod commands;
mod context;
mod doctor;
mod forms;
mod proxy;
mod snapshots;
mod up;
