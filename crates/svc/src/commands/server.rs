//! `svc server`: runs the server, checks it, and lists the servers of its zone.

mod health;
mod options;
mod reset_second_factor;

use std::{io, net::SocketAddr, path::PathBuf};

use clap::Subcommand;
use svc_protocol::api::{ServerRecord, Servers};
use svc_server::{Server, StartError, bootstrap::sign_in_link_of};

pub use self::options::{data_dir, options};
use super::Shell;
use crate::{
    config,
    exit::{Exit, Failure, Outcome},
    output::Column,
    runtime,
    service_manager::ServiceManager,
};

/// Run the server, check it, and list the servers of its zone
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc server start\n  svc server start --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem"
)]
pub enum Command {
    Start(Box<StartArgs>),
    /// List the servers that share the database, with their links and leases
    #[command(before_help = "  svc server list\n  svc server list -o json")]
    List,
    Health(health::Args),
    ResetSecondFactor(reset_second_factor::Args),
    /// Print every route and the permission it requires
    #[command(hide = true)]
    Routes,
}

/// Run the server until it is stopped; a first start prints a one-time setup link
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc server start\n  \
                   svc server start --data-dir /var/lib/svc --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem\n  \
                   SVC_SECRET_KEY=… svc server start --database-url postgres://svc@db.example.com/svc    one of a zone\n  \
                   SVC_ADMIN_PASSWORD=… svc server start    creates the user `admin` on a first start")]
pub struct StartArgs {
    /// Address to listen on; port 0 takes any free one [default: 127.0.0.1:12200] [env: SVC_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Folder of the database [default: ~/.local/share/svc] [env: SVC_DATA_DIR]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// PostgreSQL database that several servers share, instead of the embedded one [env: SVC_DATABASE_URL]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Certificate chain in PEM [env: SVC_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key in PEM [env: SVC_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Address that people and agents use, if it differs from the listen address [env: SVC_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Address of this server for all agents of its zone, which then link to it too [env: SVC_ADVERTISE_URL]
    #[arg(long, value_name = "URL")]
    advertise_url: Option<String>,
    /// Print a link that signs this administrator in once, within 10 minutes, from a browser on this machine
    #[arg(long, value_name = "USER")]
    sign_in_link: Option<String>,
}

/// Runs every command except `start`, which chooses its own runtime.
pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List => list(shell).await,
        Command::Health(args) => health::run(shell, args).await,
        Command::ResetSecondFactor(args) => reset_second_factor::run(shell, args).await,
        Command::Routes => routes(shell),
        Command::Start(_) => unreachable!("`commands::run` handles it"),
    }
}

async fn list(shell: &Shell) -> Outcome {
    let document: Servers = shell.client()?.servers().await?;
    let columns: [Column<ServerRecord>; 8] = [
        ("ID", |server| server.id.to_string()),
        ("URL", |server| server.url.clone()),
        ("STATE", state),
        ("VERSION", |server| server.svc_version.clone()),
        ("LINKS", |server| server.links.to_string()),
        ("SIDE", |server| server.side_links.to_string()),
        ("LEASES", |server| server.leases.to_string()),
        ("SEEN", |server| server.seen_at.to_string()),
    ];
    let output = &shell.output;
    output.list(&document, "no servers", &document.servers, &columns)
}

fn state(server: &ServerRecord) -> String {
    match server.is_this {
        true => format!("{} (this one)", server.state),
        false => server.state.clone(),
    }
}

pub fn start(shell: &Shell, mut args: StartArgs) -> Outcome {
    let mut config = shell.config()?;
    let sign_in_link = args.sign_in_link.take();
    apply(&mut config.server, shell, args);
    shell.start_logs(&config)?;
    runtime::hide_environment();
    let options = options(shell, &config)?;
    runtime::with_workers(config.hidden.workers)?.block_on(async {
        let shutdown = runtime::shutdown_on_signals()?;
        let server = Server::start(options, shutdown.clone())
            .await
            .map_err(start_failure)?;
        let reports = ServiceManager::find(&shell.environment)
            .map(|manager| tokio::spawn(manager.report(server.url(), server.pulse(), shutdown)));
        if let Some(link) = server.setup_link() {
            eprintln!("first start: make the first administrator with this one-time link");
            eprintln!("  {link}");
            eprintln!("in a browser, or with: svc login '{link}'");
        }
        if let Some(user) = sign_in_link {
            print_sign_in_link(&server, &user).await;
        }
        server.join().await;
        if let Some(reports) = reports {
            // This task ends when the shutdown starts.
            let _ = reports.await;
        }
        Ok(Exit::Ok)
    })
}

/// Prints a sign-in link for an administrator, or the reason why there is none. An error does not
/// stop the server, because other users need the server.
async fn print_sign_in_link(server: &Server, user: &str) {
    match sign_in_link_of(server.app(), &server.url(), user).await {
        Ok(link) => {
            eprintln!("sign in as `{user}` with this one-time link, in a browser on this machine");
            eprintln!("  {link}");
        }
        Err(error) => eprintln!("no sign-in link: {error}"),
    }
}

/// Applies the flags. They override the configuration file and the environment.
fn apply(server: &mut config::Server, shell: &Shell, args: StartArgs) {
    let path = |path: PathBuf| shell.environment.absolute(&path);
    if let Some(listen) = args.listen {
        server.listen = listen;
    }
    server.data_dir = args.data_dir.map(path).or(server.data_dir.take());
    server.tls_cert = args.tls_cert.map(path).or(server.tls_cert.take());
    server.tls_key = args.tls_key.map(path).or(server.tls_key.take());
    server.public_url = args.public_url.or(server.public_url.take());
    server.advertise_url = args.advertise_url.or(server.advertise_url.take());
    server.database_url = args.database_url.or(server.database_url.take());
}

pub fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
            Failure::failed(format!("{address} is in use by another program"))
                .why("another svc server may be running: svc whoami")
                .hint("--listen 127.0.0.1:0 takes a free port and shows it")
        }
        error => {
            let exit = match error {
                StartError::WebhookAllow(_) | StartError::Traces(_) => Exit::Usage,
                _ => Exit::Failure,
            };
            Failure::of_error(exit, &error)
        }
    }
}

fn routes(shell: &Shell) -> Outcome {
    let rows = svc_server::http::route_table();
    let columns: [Column<svc_server::http::RouteRow>; 3] = [
        ("METHOD", |row| row.method.to_string()),
        ("PATH", |row| row.path.to_string()),
        ("NEEDS", |row| row.needs.to_string()),
    ];
    shell.output.list(&rows, "no routes", &rows, &columns)
}
