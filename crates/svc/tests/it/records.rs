//! The rules that all kinds of records of the API follow. Each kind is a row of [`kinds::KINDS`], and
//! each rule is one test over all rows.
//!
//! A kind that lacks an operation says so in its row. What only one kind does is tested elsewhere.

mod access;
mod bodies;
mod changes;
mod kinds;
mod lists;
mod names;
mod routes;
mod world;
