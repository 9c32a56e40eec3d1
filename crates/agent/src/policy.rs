//! Every timing and bound of the agent in one value, so that tests can shorten them.

use std::time::Duration;

use crate::backoff::Backoff;

#[derive(Clone, Debug)]
pub struct Policy {
    /// Time to reach the server: name look-up, TCP and TLS.
    pub connect_timeout: Duration,
    /// Time for the WebSocket handshake and the answer to hello.
    pub handshake_timeout: Duration,
    /// Between attempts to link.
    pub reconnect: Backoff,
    /// A link that was up this long starts the next run of attempts afresh.
    pub reconnect_reset: Duration,
    /// Between attempts while the space is stopped on the server.
    pub space_stopped_retry: Duration,
    /// Bytes that may wait for a slow link before the method server's output is left in its pipe.
    pub link_queue_bytes_max: usize,

    /// Time the server has to answer a registration.
    pub register_timeout: Duration,
    /// Between attempts to register again after a reconnect.
    pub reregister: Backoff,

    /// A new method server that exits within this time refuses its registration.
    pub start_check: Duration,
    /// Between restarts, after the first, which is at once.
    pub restart: Backoff,
    /// A method server that was up this long is restarted at once again.
    pub restart_reset: Duration,
    /// How long a new call waits for a restart.
    pub restart_wait: Duration,
    /// Least time beyond its timeout after which an unanswered serial call restarts the server.
    pub overdue_min: Duration,
    /// Bytes that may wait unwritten for a method server.
    pub unwritten_bytes_max: usize,
    /// How often waiting and overdue calls are looked at.
    pub tick: Duration,
    /// An old method server must be idle this long before it is stopped: calls that were routed
    /// to it just before its replacement are still under way.
    pub drain_linger: Duration,

    /// From closing its stdin to SIGTERM.
    pub stop_stdin: Duration,
    /// From SIGTERM to SIGKILL.
    pub stop_term: Duration,
    /// How long what a dead method server still had in its pipes is read.
    pub stop_output: Duration,
    /// How long calls in flight may take to finish when the agent stops.
    pub shutdown_drain: Duration,
    /// How long local requests and the link's end may take when the agent stops.
    pub shutdown_close: Duration,

    /// How long a registration script may run.
    pub registration_script: Duration,
    /// How long a space's startup script may run.
    pub startup_script: Duration,
    /// How long the methods file waits for the startup script, which may go on after that.
    pub startup_script_wait: Duration,
    /// How often the server is asked for the startup script before the agent goes on without.
    pub startup_script_tries: u32,
    /// How long the start of a method server or script waits for news of the libraries.
    pub packages_wait: Duration,
    /// How long a restart does: calls are waiting.
    pub packages_restart_wait: Duration,
    /// How long a request for the libraries does.
    pub packages_answer: Duration,

    /// Lines of log per second that reach the server.
    pub log_lines_per_second: u32,
    /// How long lines are gathered into one message.
    pub log_gather: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            reconnect: Backoff::from_millis(100, 10_000),
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
