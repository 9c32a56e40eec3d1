//! `svc agent`: runs the agent of a space, and sends requests to a running agent.

use std::{net::SocketAddr, path::PathBuf};

use clap::Subcommand;
use svc_agent::{Options, Policy};
use svc_protocol::{
    agent_api::{MethodServerStatus, Status},
    env,
};

use super::Shell;
use crate::{
    config::{self, Addresses, Config},
    context,
    environment::Environment,
    exit::{Exit, Failure, OrFail, Outcome},
    output::{Fields, joined, or_dash, present, yes_no},
    runtime,
};

/// Start, inspect and stop a space's agent
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  SVC_URL=https://svc.example.com SVC_AGENT_TOKEN=svc_agt_… svc agent start\n  svc agent status"
)]
pub enum Command {
    Start(StartArgs),
    /// Show the agent's link, its method server and its methods
    #[command(before_help = "  svc agent status -o json")]
    Status,
    /// Stop the agent; its space is then stopped
    #[command(before_help = "  svc agent stop")]
    Stop,
}

/// Run the agent of a space until it is stopped
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  SVC_URL=https://svc.example.com SVC_AGENT_TOKEN=svc_agt_… svc agent start\n  \
                   SVC_URL=https://a.example.com,https://b.example.com svc agent start\n  \
                   svc agent start --methods-file methods.toml --require-methods"
)]
pub struct StartArgs {
    /// Server to link to, or several servers of one zone, separated by commas. With several, the
    /// agent uses only these servers, and links to another of them if its server fails or stops
    /// [env: SVC_URL]
    #[arg(long, value_name = "ADDRESSES")]
    url: Option<String>,
    /// Registration file (TOML, or a script) to register once linked [env: SVC_METHODS_FILE]
    #[arg(long, value_name = "FILE")]
    methods_file: Option<PathBuf>,
    /// Remove conflicting methods of your other spaces when the methods file is registered, instead
    /// of failing
    #[arg(long)]
    replace_conflicting: bool,
    /// Exit with 6 if the methods file registers no methods, instead of running without them
    #[arg(long)]
    require_methods: bool,
    /// Loopback address to listen on [env: SVC_AGENT_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Unix socket to listen on [env: SVC_AGENT_SOCKET]
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// PEM file of certificate authorities to trust in addition to the machine's own [env: SVC_CA_FILE]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Servers of the zone to link to at the same time; 1 links to one only [default: 8]
    /// [env: SVC_AGENT_MAX_LINKS]
    #[arg(long, value_name = "N")]
    max_links: Option<usize>,
    /// Exit when stdin closes: agents that the server starts must not outlive it
    #[arg(long, hide = true)]
    exit_on_stdin_eof: bool,
}

pub fn start(shell: &Shell, args: StartArgs) -> Outcome {
    let config = shell.config()?;
    shell.start_logs(&config)?;
    let options = options(shell, config, args)?;
    runtime::hide_environment();
    runtime::single()?.block_on(async {
        let shutdown = runtime::shutdown_on_signals()?;
        match svc_agent::run(options, shutdown).await {
            Ok(svc_agent::Exit::Stopped) => Ok(Exit::Ok),
            Ok(svc_agent::Exit::Replaced) => Err(Failure::refused(
                "another agent has linked with this agent token",
            )
            .hint("run only one agent per agent token")),
            Ok(svc_agent::Exit::Credentials(why)) => Err(Failure::credentials(why)
                .hint("svc space agent-token <space> creates a new one for SVC_AGENT_TOKEN")),
            Ok(svc_agent::Exit::NoMethods(why)) => Err(no_methods(&why)),
            Err(error) => Err(Failure::new(exit_of(&error), error.to_string())),
        }
    })
}

/// The agent has already printed the whole reason. Its first lines name the file and the fault.
fn no_methods(why: &str) -> Failure {
    let mut lines = why.lines();
    let what = lines.next().unwrap_or_default();
    let failure = Failure::refused(what)
        .hint("without --require-methods, the agent runs and waits for `svc methods register`");
    Failure {
        why: lines.next().map(str::to_owned),
        ..failure
    }
}

fn exit_of(error: &svc_agent::Error) -> Exit {
    match error {
        svc_agent::Error::Server(_) | svc_agent::Error::TokenText => Exit::Usage,
        svc_agent::Error::Refused(_) => Exit::Refused,
        _ => Exit::Failure,
    }
}

fn options(shell: &Shell, config: Config, args: StartArgs) -> Result<Options, Failure> {
    let missing = |what: &str, variable: &str| {
        Failure::usage(format!("the agent's {what} is not set"))
            .why(format!(
                "neither {variable} nor the configuration file sets it"
            ))
            .hint("svc space create <name> creates a space and shows server and token")
    };
    let environment = &shell.environment;
    let path = |path: PathBuf| environment.absolute(&path);
    let token = agent_token(&config.agent, environment)?;
    let methods_file = args.methods_file.or(config.agent.methods_file).map(path);
    if args.require_methods && methods_file.is_none() {
        let hint = format!("add --methods-file FILE, or set {}", env::METHODS_FILE);
        return Err(Failure::usage("--require-methods needs a methods file").hint(hint));
    }
    Ok(Options {
        server_urls: args
            .url
            .or(config.agent.url.map(Addresses::into_text))
            .ok_or_else(|| missing("server", env::URL))?,
        agent_token: token.ok_or_else(|| missing("token", env::AGENT_TOKEN))?,
        ca_file: args.ca_file.or(config.agent.ca_file).map(path),
        listen: args.listen.or(config.agent.listen),
        loopback: config.agent.loopback,
        socket: args.socket.or(config.agent.socket).map(path),
        methods_file,
        replace_conflicting: args.replace_conflicting,
        require_methods: args.require_methods,
        working_folder: environment.working_folder.clone(),
        program: runtime::own_program()?,
        exit_on_stdin_eof: args.exit_on_stdin_eof,
        policy: Policy {
            links_max: args.max_links.unwrap_or(config.agent.max_links).max(1),
            ..Policy::default()
        },
    })
}

/// The token from the setting, or from its file. An error if both are set.
fn agent_token(
    config: &config::Agent,
    environment: &Environment,
) -> Result<Option<String>, Failure> {
    let Some(file) = &config.token_file else {
        return Ok(config.token.clone());
    };
    if config.token.is_some() {
        let (token, file) = (env::AGENT_TOKEN, env::AGENT_TOKEN_FILE);
        return Err(Failure::usage(format!(
            "the agent token is given twice: by {token} (or `token` in the configuration) and by \
             {file} (or `token_file`)"
        ))
        .hint("set only one of them"));
    }
    let file = environment.absolute(file);
    let text = std::fs::read_to_string(&file);
    let file = file.display();
    let text = text.or_usage(format!("cannot read the agent token from `{file}`"))?;
    Ok(Some(text.trim().to_owned()))
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::Start(_) => unreachable!("`commands::run` handles it"),
        Command::Status => {
            let status = context::find_agent(&shell.environment)?.status().await?;
            shell.output.record(&status, || fields(&status))
        }
        Command::Stop => {
            context::find_agent(&shell.environment)?.stop().await?;
            eprintln!("the agent is stopping");
            Ok(Exit::Ok)
        }
    }
}

fn fields(status: &Status) -> Fields {
    let sides = status.links.iter().filter(|link| !link.is_home);
    let mut sides = sides.map(|link| format!("{} since {}", link.url, link.since));
    let first_side = sides.next();
    let server = status.method_server.as_ref();
    let refusal = status.registration_error.as_ref();
    let servers = (status.server_urls.len() > 1).then(|| joined(&status.server_urls));
    present([
        ("space", Some(or_dash(status.space.as_ref()))),
        ("owner", Some(or_dash(status.owner.as_ref()))),
        ("server", Some(status.server_url.clone())),
        ("linked", Some(yes_no(status.linked))),
        ("servers", servers),
        (
            "side links",
            first_side.map(|first| joined([first].into_iter().chain(sides))),
        ),
        ("link error", status.link_error.clone()),
        ("agent url", Some(or_dash(status.agent_url.as_ref()))),
        ("socket", Some(status.agent_socket.clone())),
        ("pid", Some(status.pid.to_string())),
        ("version", Some(status.version.clone())),
        ("method server", server.map(state)),
        ("mode", server.map(mode)),
        ("restarts", server.map(|server| server.restarts.to_string())),
        (
            "in flight",
            server.map(|server| server.in_flight.to_string()),
        ),
        ("queued", server.map(|server| server.queued.to_string())),
        ("methods", Some(joined(&status.methods))),
        (
            "registration",
            refusal.map(|error| format!("refused: {error}")),
        ),
    ])
}

fn state(server: &MethodServerStatus) -> String {
    match server.pid {
        Some(pid) => format!("{} (pid {pid})", server.command),
        None => format!("{} (restarting)", server.command),
    }
}

fn mode(server: &MethodServerStatus) -> String {
    match server.max_in_flight {
        Some(most) => format!("{}, at most {most} in flight", server.mode),
        None => server.mode.to_string(),
    }
}
