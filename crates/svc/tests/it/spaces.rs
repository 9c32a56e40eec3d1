//! Spaces (spec 3): records, lifecycle, health, the grace period.

mod grace;
mod health;
mod lifecycle;
mod logs;
mod records;
