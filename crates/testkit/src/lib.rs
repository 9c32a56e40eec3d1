//! Building blocks of the tests: real servers and agents, each with its own folder and port, and
//! real users. Everything goes through the `svc` program, HTTP or the link, as for any user. The
//! exceptions use the database of a server: [`TestServer::edit_database`] changes its file while
//! the server is stopped, [`TestServer::lock_writes`] locks the file, and [`TestPostgres::sql`]
//! runs SQL.
//!
//! Failures are panics that show the response or log.

mod certificates;
mod http;
mod http2;
mod ports;
mod postgres;
mod process;
mod program;
mod proxy;
mod raw_link;
mod receiver;
mod registration;
mod script;
mod server;
mod simulated;
mod sink;
mod skip;
mod space;
mod sse;
mod tls_receiver;
mod transcript;
mod user;
mod wait;
mod zone;

pub use certificates::{TestAuthority, TestCertificate, TestTlsConnection};
pub use http::{Answer, Http};
pub use http2::Http2;
pub use ports::free_port;
pub use postgres::{GUARDED_USER, TestDatabase, TestPostgres};
pub use process::{
    Process, children_of, descendants_of, is_running, peak_resident_mib, raise_open_files_limit,
    resident_bytes, resident_mib,
};
pub use program::{Cli, Output, PROGRAM_VARIABLE, fixture_method_server, svc_program, under};
pub use proxy::{ProxyRequest, TestProxy};
pub use raw_link::{RawLink, simulated_registration};
pub use receiver::{Received, Reply, TestReceiver};
pub use registration::{MethodToml, RegistrationToml, fixture, method};
pub use script::TestScript;
pub use server::{ADMIN_PASSWORD, TestServer, TestServerBuilder, fixture_file, wait_for_address};
pub use simulated::{SimulatedAgents, SimulatedZoneAgents};
pub use sink::TestSink;
pub use skip::{find_browser, found_or_skipped, require};
pub use space::{TestAgent, TestSpace};
pub use sse::{SseMessage, SseStream};
pub use tempfile::TempDir;
pub use tls_receiver::{TlsReceived, TlsReceiver};
pub use user::{TestUser, error_code, result};
pub use wait::{eventually, get_eventually};
pub use zone::TestZone;
