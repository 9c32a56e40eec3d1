//! Every time limit and size limit of the agent in one value, so that tests can shorten them.

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
    /// How long `reconnect_soon` applies. Most lost links are restarts of the server, which take
    /// seconds.
    pub reconnect_soon_for: Duration,
    /// Delays between attempts to link after `reconnect_soon_for`.
    pub reconnect: Backoff,
    /// A link that was up this long resets the delays.
    pub reconnect_reset: Duration,
    /// Delay between attempts while the space is stopped on the server.
    pub space_stopped_retry: Duration,
    /// While this many bytes wait for a slow link, the method server's output stays in its pipe.
    pub link_queue_bytes_max: usize,

    /// Time the server has to answer a registration.
    pub register_timeout: Duration,
    /// Delays between attempts to register again after a reconnect.
    pub reregister: Backoff,

    /// If a new method server exits within this time, its registration is refused.
    pub start_check: Duration,
    /// Delays between restarts. The first restart has no delay.
    pub restart: Backoff,
    /// A method server that was up this long resets the delays.
    pub restart_reset: Duration,
    /// How long a new call waits for a restart.
    pub restart_wait: Duration,
    /// If calls in flight are limited: the minimum time from the timeout of an unanswered call
    /// until the call counts as lost. A method server whose slots all hold lost calls is restarted.
    pub overdue_min: Duration,
    /// The maximum number of bytes that may wait for a method server.
    pub unwritten_bytes_max: usize,
    /// Interval of checking waiting calls.
    pub tick: Duration,
    /// A replaced method server must be idle this long before it is stopped: calls that were routed
    /// to it just before may still arrive.
    pub drain_linger: Duration,

    /// From closing stdin to SIGTERM.
    pub stop_stdin: Duration,
    /// From SIGTERM to SIGKILL.
    pub stop_term: Duration,
    /// Time to read the remaining output of a process that has ended.
    pub stop_output: Duration,
    /// How long calls in flight may take to finish when the agent stops.
    pub shutdown_drain: Duration,
    /// How long local requests and closing the link may take when the agent stops.
    pub shutdown_close: Duration,

    /// How long a registration script may run.
    pub registration_script: Duration,
    /// How long a space's startup script may run.
    pub startup_script: Duration,
    /// How long the methods file waits for the startup script. The script continues after that.
    pub startup_script_wait: Duration,
    /// Attempts to read the startup script before the agent continues without it.
    pub startup_script_tries: u32,
    /// How long the start of a method server or script waits for an update of the libraries.
    pub packages_wait: Duration,
    /// How long a restart of a method server waits for such an update. Short, because calls are
    /// waiting.
    pub packages_restart_wait: Duration,
    /// How long a request for the libraries waits for such an update.
    pub packages_answer: Duration,

    /// The maximum number of log lines per second that are sent to the server.
    pub log_lines_per_second: u32,
    /// How long log lines are collected into one message.
    pub log_gather: Duration,
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
            link_queue_bytes_max: 64 * 1024 * 1024,
            register_timeout: Duration::from_secs(30),
            reregister: Backoff::from_millis(1_000, 30_000),
            start_check: Duration::from_millis(300),
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
            log_lines_per_second: 200,
            log_gather: Duration::from_millis(200),
        }
    }
}
