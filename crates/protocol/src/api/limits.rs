//! Limits of fields. The server enforces them, and the OpenAPI document states them.

/// Largest number of records on a page.
pub const PAGE_MAX: u32 = 1_000;
/// Lines of a log in one answer.
pub const LOG_LINES_MAX: u64 = 1_000;
/// Characters of a password.
pub const PASSWORD_MIN: usize = 8;
pub const PASSWORD_MAX: usize = 1_024;
/// Days until a token expires.
pub const EXPIRY_DAYS_MAX: u32 = 3_650;
/// Hours for which an old webhook secret stays valid.
pub const OVERLAP_HOURS_MAX: u32 = 30 * 24;
/// Patterns of one sink.
pub const PATTERNS_MAX: usize = 100;
/// Characters of the description of a sink or a script.
pub const DESCRIPTION_MAX: usize = 1_000;
/// Ports of a template.
pub const PORTS_MAX: usize = 100;
