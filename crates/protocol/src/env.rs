//! Names of the environment variables that several crates use. The variables of the other server
//! settings are in `svc::config`.

/// Address of the server, for the CLI and the agent; or several addresses, separated by commas. The
/// CLI uses the first.
pub const URL: &str = "SVC_URL";
/// API token for the CLI; overrides the saved context.
pub const TOKEN: &str = "SVC_TOKEN";
/// Path of the configuration file.
pub const CONFIG: &str = "SVC_CONFIG";
/// Agent token, for `svc agent start`.
pub const AGENT_TOKEN: &str = "SVC_AGENT_TOKEN";
/// A file that holds the agent token, in place of [`AGENT_TOKEN`].
pub const AGENT_TOKEN_FILE: &str = "SVC_AGENT_TOKEN_FILE";
/// Address of the agent's loopback TCP listener.
pub const AGENT_LISTEN: &str = "SVC_AGENT_LISTEN";
/// Who may use the agent's loopback TCP listener.
pub const AGENT_LOOPBACK: &str = "SVC_AGENT_LOOPBACK";
/// Base URL of the agent's loopback listener; set for the programs that the agent starts.
pub const AGENT_URL: &str = "SVC_AGENT_URL";
/// Path of the agent's Unix socket; set for the programs that the agent starts, read by the CLI and
/// the agent.
pub const AGENT_SOCKET: &str = "SVC_AGENT_SOCKET";
/// Registration file that the agent registers once, at its start (spec 4.3).
pub const METHODS_FILE: &str = "SVC_METHODS_FILE";
/// Id and name of the space; set for the programs that the agent starts.
pub const SPACE_ID: &str = "SVC_SPACE_ID";
pub const SPACE_NAME: &str = "SVC_SPACE_NAME";
/// Password of the user `admin`, who is created if the server has no users yet.
pub const ADMIN_PASSWORD: &str = "SVC_ADMIN_PASSWORD";
/// Folder with the files of the web interface, for its developers; without it the files in the
/// binary are served.
pub const WEB_FOLDER: &str = "SVC_WEB_FOLDER";
/// Log filter, in `tracing` syntax.
pub const LOG: &str = "SVC_LOG";
/// PEM file of certificate authorities that the CLI and the agent trust, in addition to the
/// machine's own, when they connect to [`URL`].
pub const CA_FILE: &str = "SVC_CA_FILE";
/// Key that encrypts secrets at rest, shared by the servers of a zone: 32 bytes, base64 or hex.
pub const SECRET_KEY: &str = "SVC_SECRET_KEY";
/// Hosts and CIDRs that webhooks may reach although they are not globally routable, separated by
/// commas.
pub const WEBHOOK_ALLOW: &str = "SVC_WEBHOOK_ALLOW";
/// `1` starts a server although its stored secrets were encrypted with another key.
pub const ACCEPT_NEW_KEY: &str = "SVC_ACCEPT_NEW_KEY";
/// Socket for messages to the service manager that started this process, such as systemd.
pub const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
/// Microseconds within which the service manager expects the next message.
pub const WATCHDOG_USEC: &str = "WATCHDOG_USEC";
/// The process that [`WATCHDOG_USEC`] is for.
pub const WATCHDOG_PID: &str = "WATCHDOG_PID";
/// The variables of the service manager. They are for this process only, so its children must not
/// get them.
pub const SERVICE_MANAGER: [&str; 3] = [NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID];
