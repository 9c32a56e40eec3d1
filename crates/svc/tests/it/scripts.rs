//! Scripts (spec 2.1, 4.3, 4.4, 6.2, 6.3): stored scripts, and everything that runs scripts.

mod checks;
mod cli;
mod drafts;
mod fairness;
mod hostile;
mod lab;
mod methods_file;
mod packages;
pub mod register;
mod register_outcomes;
mod serve;
mod serve_failures;
mod serve_processes;
mod sinks;
mod sinks_owners;
mod startup;
mod stored;
mod suite;
mod tools;
