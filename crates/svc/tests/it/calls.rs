//! Calls of methods (spec 4.1, 7, 8): requests, responses, errors, limits, fairness, the journal,
//! statistics, traces.

mod budget;
mod call_totals;
mod depth;
mod errors;
mod fairness;
mod journal;
mod method_stats;
mod requests;
mod responses;
mod stats;
mod traces;
