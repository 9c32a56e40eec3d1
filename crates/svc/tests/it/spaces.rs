//! Spaces (spec 3): records, lifecycle, health, logs, the grace period.

mod failing;
mod grace;
mod health;
mod lifecycle;
mod logs;
mod records;
