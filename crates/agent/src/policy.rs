//! The time limits and size limits of the agent that tests can change, in one value.

use std::time::Duration;

use crate::backoff::Backoff;

#[derive(Clone, Debug)]
pub struct Policy {
    /// Time to reach the server: name look-up, TCP and TLS.
    pub connect_timeout: Duration,
    /// Time for the WebSocket handshake and the answer to hello.
    pub handshake_timeout: Duration,
    /// Delays between attempts to link, while the link has been down for less than
    /// `reconnect_soon_for`.
    pub reconnect_soon: Backoff,
    /// How long `reconnect_soon` applies. Most links are lost because the server restarts, which
    /// takes seconds.
    pub reconnect_soon_for: Duration,
    /// Delays between attempts to link after `reconnect_soon_for`.
    pub reconnect: Backoff,
    /// After a link was up for this long, the delays start again with the shortest one.
    pub reconnect_reset: Duration,
    /// Delay between attempts while the space is stopped on the server.
    pub space_stopped_retry: Duration,
    /// The maximum number of links: the home link, and side links to other servers of the zone.
    pub links_max: usize,
    /// The maximum time that a replaced method server is kept while the servers of the side links
    /// take over the new registration.
    pub side_takeover: Duration,
    /// While more bytes than this wait to be sent over the link, the agent does not read the output
    /// of the method server.
    pub link_queue_bytes_max: usize,

    /// Time the server has to answer a registration.
    pub register_timeout: Duration,
    /// Delays between attempts to restore the registration, to register on a side link, and to read
    /// the startup script.
    pub reregister: Backoff,

    /// If a new method server exits within this time, its registration is refused.
    pub start_check: Duration,
    /// The same for `svc run-script --json-rpc`, which reports when it is ready if the agent starts
    /// it. Long, because a script may fail late on a busy machine.
    pub script_start_check: Duration,
    /// Delays between restarts of a method server. The first restart has no delay.
    pub restart: Backoff,
    /// If a method server was up for this long, its next restart counts as the first one, so it has
    /// no delay.
    pub restart_reset: Duration,
    /// The maximum time that a call waits for a restart of the method server.
    pub restart_wait: Duration,
    /// The minimum time from the timeout of an unanswered call until the call counts as lost. Used
    /// only if calls in flight are limited: a method server whose slots all hold lost calls is
    /// restarted.
    pub overdue_min: Duration,
    /// The maximum number of bytes of lines that wait to be written to a method server.
    pub unwritten_bytes_max: usize,
    /// Interval of periodic checks, such as for calls that have waited too long for a restart.
    pub tick: Duration,
    /// A replaced method server must be idle this long before it is stopped: calls that the server
    /// sent just before the replacement may still arrive.
    pub drain_linger: Duration,

    /// Time from closing the stdin of a method server to SIGTERM.
    pub stop_stdin: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub stop_term: Duration,
    /// Time to read the remaining output of a process that has ended.
    pub stop_output: Duration,
    /// How long calls in flight may take to finish when the agent stops or no method is left.
    pub shutdown_drain: Duration,
    /// When the agent stops: how long open local requests may take to finish, and how long the
    /// links may take to close.
    pub shutdown_close: Duration,

    /// How long a registration script may run.
    pub registration_script: Duration,
    /// How long a space's startup script may run.
    pub startup_script: Duration,
    /// How long the registration of the methods file waits for the startup script. After that time
    /// the script continues to run.
    pub startup_script_wait: Duration,
    /// Attempts to read the startup script before the agent continues without it.
    pub startup_script_tries: u32,
    /// How long the start of a method server or script waits for an update of the libraries.
    pub packages_wait: Duration,
    /// How long a restart of a method server waits for an update of the libraries. Short, because
    /// calls are waiting.
    pub packages_restart_wait: Duration,
    /// How long a request to the local API for the libraries waits for an update.
    pub packages_answer: Duration,

    /// How events are retried while the server cannot reach its database.
    pub emit_retry: EmitRetry,

    /// The maximum number of log lines per second that are sent to the server.
    pub log_lines_per_second: u32,
    /// How long log lines are collected into one message.
    pub log_gather: Duration,
    /// How long a request to flush the log waits for lines that are still in the pipes of the method
    /// server.
    pub log_pipes: Duration,
    /// How long a request to flush the log waits for the server.
    pub log_flush: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            reconnect_soon: Backoff::from_millis(100, 1_000),
            reconnect_soon_for: Duration::from_secs(60),
            reconnect: Backoff::from_millis(2_000, 10_000),
            reconnect_reset: Duration::from_secs(10),
            space_stopped_retry: Duration::from_secs(5),
            links_max: 8,
            side_takeover: Duration::from_secs(2),
            link_queue_bytes_max: 64 * 1024 * 1024,
            register_timeout: Duration::from_secs(30),
            reregister: Backoff::from_millis(1_000, 30_000),
            start_check: Duration::from_millis(300),
            script_start_check: Duration::from_secs(10),
            restart: Backoff::from_millis(100, 30_000),
            restart_reset: Duration::from_secs(60),
            restart_wait: Duration::from_secs(2),
            overdue_min: Duration::from_secs(10),
            unwritten_bytes_max: 64 * 1024 * 1024,
            tick: Duration::from_millis(50),
            drain_linger: Duration::from_millis(100),
            stop_stdin: Duration::from_secs(2),
            stop_term: Duration::from_secs(3),
            stop_output: Duration::from_millis(500),
            shutdown_drain: Duration::from_secs(5),
            shutdown_close: Duration::from_secs(1),
            registration_script: Duration::from_secs(5 * 60),
            startup_script: Duration::from_secs(60 * 60),
            startup_script_wait: Duration::from_secs(60),
            startup_script_tries: 5,
            packages_wait: Duration::from_secs(2),
            packages_restart_wait: Duration::from_millis(200),
            packages_answer: Duration::from_secs(10),
            emit_retry: EmitRetry::default(),
            log_lines_per_second: 200,
            log_gather: Duration::from_millis(200),
            log_pipes: Duration::from_millis(20),
            log_flush: Duration::from_secs(2),
        }
    }
}

/// Retries of events while the server cannot reach its database.
#[derive(Clone, Copy, Debug)]
pub struct EmitRetry {
    /// How long one event is retried.
    pub within: Duration,
    /// The time between attempts.
    pub pause: Duration,
    /// The maximum number of events that wait. Each holds its payload in memory.
    pub waiting_max: usize,
}

impl Default for EmitRetry {
    fn default() -> Self {
        Self {
            // Shorter than the usual timeout of HTTP clients, 30 s.
            within: Duration::from_secs(20),
            pause: Duration::from_secs(1),
            waiting_max: 64,
        }
    }
}
