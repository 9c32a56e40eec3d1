//! `svc up`: starts a server, a demo space and its agent, as one process tree.
//!
//! User and space are created once per data folder; a later start uses them again. The API token
//! is new each time, because the server stores only its hash.

mod banner;
mod demo;
mod registering;
mod space_agent;
mod up_context;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use svc_outbound::LOOPBACK;
use svc_private::{FolderKind, OwnFolder, own_folder};
use svc_protocol::env;
use svc_server::{
    Server,
    bootstrap::{UpRequest, UpState},
};
use tokio_util::sync::CancellationToken;

use super::{Shell, methods::check_file, server};
use crate::{
    context::write_private,
    exit::{Exit, Failure, Outcome},
    logging,
    output::Format,
    runtime,
};
use banner::Banner;
use space_agent::{Registered, SpaceAgent};
use up_context::UpContext;

const SPACE_NAME: &str = "demo";
/// The file with the password of the user `admin`. A later start shows the password again.
const PASSWORD_FILE: &str = "admin-password";

/// Start a server with a demo space whose methods can be called at once
#[derive(clap::Args, Debug)]
#[command(
    after_help = "The server speaks plain HTTP, for this machine only: `tls_cert`, `tls_key` and `public_url` of the\nconfiguration are not used. To serve other machines, run `svc server start`.",
    before_help = "  svc up\n  svc up --methods-file methods.toml\n  svc up --listen 127.0.0.1:0 -o json"
)]
pub struct Args {
    /// Publish the methods of this file (TOML, or a script) instead of the demo methods
    #[arg(long, value_name = "FILE")]
    methods_file: Option<PathBuf>,
    /// Address to listen on; port 0 takes any free one [default: 127.0.0.1:12200] [env: SVC_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Folder of the database and the demo space [default: ~/.local/share/svc] [env: SVC_DATA_DIR]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

pub fn run(shell: &Shell, args: Args) -> Outcome {
    let mut config = shell.config()?;
    config.spaces.allow_local = true;
    let this_machine = LOOPBACK.iter().map(ToString::to_string);
    config.webhooks.allow.extend(this_machine);
    // A server for trying svc needs neither a certificate nor a public name.
    config.server.tls_cert = None;
    config.server.tls_key = None;
    config.server.public_url = None;
    config.server.advertise_url = None;
    if let Some(listen) = args.listen {
        config.server.listen = listen;
    }
    if let Some(data_dir) = args.data_dir {
        config.server.data_dir = Some(data_dir);
    }
    let format = shell.globals.log_format.unwrap_or(config.server.log_format);
    logging::start(format, logging::DefaultLevel::Warn, &shell.environment)?;
    runtime::hide_environment();
    let check = |file: PathBuf| check_file(shell, &file, SPACE_NAME, svc_server::bootstrap::USER);
    let methods_file = args.methods_file.map(check).transpose()?;
    let mut options = server::options(shell, &config)?;
    // `Up::bootstrap` creates the administrator, with a password that `Up::password` stores.
    options.admin_password = None;
    own_folder(&options.data_dir, FolderKind::Chosen)
        .map_err(|refusal| unwritable(&options.data_dir, refusal.into()))?;
    let data_dir = options.data_dir.clone();
    runtime::with_workers(config.hidden.workers)?.block_on(async {
        let shutdown = runtime::shutdown_on_signals()?;
        let server = Server::start(options, shutdown.clone())
            .await
            .map_err(server::start_failure)?;
        let up = Up {
            shell,
            server: &server,
            data_dir,
            methods_file,
        };
        let outcome = up.run(&shutdown).await;
        shutdown.cancel();
        server.join().await;
        outcome
    })
}

/// The part of `svc up` that runs beside the server.
struct Up<'a> {
    shell: &'a Shell,
    server: &'a Server,
    data_dir: PathBuf,
    /// Absolute; `None` for the demo methods.
    methods_file: Option<PathBuf>,
}

/// What `svc up` announces and saves once calls succeed.
struct Ready {
    url: String,
    state: UpState,
    /// `None` if the password is not known here.
    password: Option<String>,
    registered: Registered,
    data_dir: PathBuf,
    /// A link that signs in once; `None` if no loopback address leads to the server.
    sign_in_link: Option<String>,
}

impl Up<'_> {
    async fn run(&self, shutdown: &CancellationToken) -> Outcome {
        let password = self.password()?;
        let state = self.bootstrap(password.clone()).await?;
        let demo = || state.space_folder.join(demo::METHODS_FILE);
        let file = self.methods_file.clone().unwrap_or_else(demo);
        let mut agent = SpaceAgent::new(&state.space_folder, file);
        let registered = tokio::select! {
            registered = agent.register() => registered?,
            () = shutdown.cancelled() => return Ok(Exit::Ok),
        };
        let mut ready = Ready {
            url: self.server.url(),
            state,
            password,
            registered,
            data_dir: self.data_dir.clone(),
            sign_in_link: None,
        };
        tokio::select! {
            called = space_agent::wait_for_calls(&ready) => called?,
            () = shutdown.cancelled() => return Ok(Exit::Ok),
        }
        // Created last, because the link is valid for a short time.
        ready.sign_in_link = self.sign_in_link().await?;
        let context = UpContext::save(&self.shell.environment, &ready)?;
        let announced = self.announce(&ready, &context);
        if announced.is_ok() {
            tokio::select! {
                () = agent.keep_registered() => {}
                () = shutdown.cancelled() => {}
            }
        }
        context.restore()?;
        announced.map(|()| Exit::Ok)
    }

    /// The password of `admin`, if it is known here: from the password file, or new on a first
    /// start. A server without a setup link already has users, whose passwords are not known.
    fn password(&self) -> Result<Option<String>, Failure> {
        let file = self.data_dir.join(PASSWORD_FILE);
        OwnFolder::open(&self.data_dir, FolderKind::Chosen)
            .and_then(|folder| folder.check_file(PASSWORD_FILE))
            .map_err(|refusal| unwritable(&file, refusal.into()))?;
        match fs::read_to_string(&file) {
            Ok(text) => return Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(&file, error)),
        }
        if self.server.setup_link().is_none() {
            return Ok(None);
        }
        let password = match self.shell.environment.get(env::ADMIN_PASSWORD) {
            Some(password) => password.to_owned(),
            None => random_password()?,
        };
        let line = format!("{password}\n");
        let written = write_private(&self.data_dir, PASSWORD_FILE, line.as_bytes());
        written.map_err(|error| unwritable(&file, error))?;
        Ok(Some(password))
    }

    async fn bootstrap(&self, password: Option<String>) -> Result<UpState, Failure> {
        let request = UpRequest {
            // Ignored by a server that already has users.
            admin_password: match password {
                Some(password) => password,
                None => random_password()?,
            },
            space_name: SPACE_NAME.to_owned(),
        };
        svc_server::bootstrap::up(self.server.app(), request, demo::write_missing)
            .await
            .map_err(|error| Failure::failed(error.to_string()))
    }

    async fn sign_in_link(&self) -> Result<Option<String>, Failure> {
        // The server accepts the link from this machine only, and at a loopback address.
        let listens_at = self.server.local_addr().ip();
        if !listens_at.is_loopback() && !listens_at.is_unspecified() {
            return Ok(None);
        }
        svc_server::bootstrap::sign_in_link(self.server.app(), &self.server.url())
            .await
            .map(Some)
            .map_err(|error| Failure::failed(error.to_string()))
    }

    fn announce(&self, ready: &Ready, context: &UpContext) -> Result<(), Failure> {
        if self.shell.output.format != Format::Table {
            let (state, discovery) = (&ready.state, &ready.registered.discovery);
            let line = serde_json::json!({
                "url": ready.url,
                "token": state.token,
                "username": state.username,
                "password": ready.password,
                "space": SPACE_NAME,
                "space_id": state.space_id,
                "agent_url": discovery.agent_url,
                "agent_socket": discovery.agent_socket,
                "data_dir": ready.data_dir,
                "context": context.name,
                "sign_in_link": ready.sign_in_link,
            });
            return self.shell.output.line(line.to_string());
        }
        let banner = Banner {
            ready,
            context,
            program: banner::program(&self.shell.environment),
            is_demo: self.methods_file.is_none(),
        };
        self.shell.output.line(banner.to_string())
    }
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    Failure::failed(format!("cannot use `{}`", path.display()))
        .why(error)
        .hint("--data-dir names another folder")
}

/// 20 letters and digits without look-alikes: 100 bits.
fn random_password() -> Result<String, Failure> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letter = |byte| char::from(LETTERS[usize::from(byte % 32)]);
    let bytes: [u8; 20] = runtime::random_bytes()?;
    Ok(bytes.into_iter().map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_random_and_readable() {
        let first = random_password().expect("random");
        assert_eq!(first.len(), 20);
        assert!(!first.contains(['l', 'o', '0', '1']));
        assert_ne!(first, random_password().expect("random"));
    }
}
