//! Limits of fields. The server enforces them, and the OpenAPI document states them.

/// Largest number of records on a page.
pub const PAGE_MAX: u32 = 1_000;
/// Largest number of log lines in one answer.
pub const LOG_LINES_MAX: u64 = 1_000;
/// Largest number of bytes of a text to search for in logs.
pub const LOG_SEARCH_MAX: usize = 256;
/// Smallest number of characters, and largest number of bytes, of a password.
pub const PASSWORD_MIN: usize = 8;
pub const PASSWORD_MAX: usize = 1_024;
/// Largest number of days until a token expires.
pub const EXPIRY_DAYS_MAX: u32 = 3_650;
/// Largest number of hours for which the old secret of a webhook or a source stays valid.
pub const OVERLAP_HOURS_MAX: u32 = 30 * 24;
/// Largest number of patterns of one sink.
pub const PATTERNS_MAX: usize = 100;
/// Largest number of characters of the description of a sink, a script, a source or a schedule.
pub const DESCRIPTION_MAX: usize = 1_000;
/// Largest number of ports of a template.
pub const PORTS_MAX: usize = 100;
