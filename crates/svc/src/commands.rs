//! One file per command. A command reads its arguments, sends requests and prints the result. The
//! rules of the product are not here: the server and the agent apply them.

pub mod agent;
pub mod api;
pub mod audit;
pub mod backup;
pub mod calls;
mod choice;
pub mod completions;
pub mod context;
pub mod doctor;
pub mod event;
pub mod events;
pub mod group;
mod health_check;
pub mod login;
pub mod logout;
pub mod man;
pub mod mcp;
pub mod method;
pub mod methods;
pub mod migrate;
pub mod oidc;
mod own_script;
#[cfg(feature = "prove")]
pub mod prove;
mod records;
pub mod role;
pub mod run_script;
pub mod schedule;
pub mod script;
pub mod script_worker;
pub mod server;
pub mod sink;
pub mod source;
pub mod space;
mod tail;
pub mod template;
mod times;
pub mod token;
pub mod top;
pub mod up;
pub mod user;
pub mod version;
pub mod whoami;

use svc_client::Client;

use crate::{
    cli::{Cli, Command, Globals},
    config::Config,
    context::{self as contexts, Connection},
    environment::Environment,
    exit::{Exit, Failure, Outcome},
    logging,
    output::Output,
    runtime,
};

/// The inputs and the output that every command uses.
pub struct Shell {
    pub globals: Globals,
    pub environment: Environment,
    pub output: Output,
}

impl Shell {
    /// Connects to the server of the chosen or saved context, or else to the server of the space's
    /// agent. Calls and emits choose their server by other rules.
    pub fn connect(&self) -> Result<Connection, Failure> {
        contexts::connect(self.globals.context.as_deref(), &self.environment)
    }

    pub fn client(&self) -> Result<Client, Failure> {
        self.connect().map(|connection| connection.client)
    }

    pub fn config(&self) -> Result<Config, Failure> {
        Config::load(self.globals.config.as_deref(), &self.environment)
    }

    /// Starts the logging of a command that ends by itself.
    pub fn start_command_logs(&self) -> Result<(), Failure> {
        let format = self.globals.log_format.unwrap_or_default();
        logging::start(format, logging::DefaultLevel::Warn, &self.environment)
    }

    /// Starts the logging of a long-running command.
    pub fn start_logs(&self, config: &Config) -> Result<(), Failure> {
        let format = self.globals.log_format.unwrap_or(config.server.log_format);
        logging::start(format, logging::DefaultLevel::Info, &self.environment)
    }
}

pub fn run(cli: Cli, environment: Environment) -> Outcome {
    let output = Output::new(cli.globals.output, &environment);
    let shell = Shell {
        globals: cli.globals,
        environment,
        output,
    };
    match cli.command {
        // Long-running commands, and some commands that send no requests. Each chooses its own
        // runtime and logging.
        Command::Up(args) => up::run(&shell, args),
        Command::Server(server::Command::Start(args)) => server::start(&shell, *args),
        #[cfg(feature = "prove")]
        Command::ProveMethods(args) => prove::methods::run(&args),
        #[cfg(feature = "prove")]
        Command::ProveServer(args) => prove::server::run(&shell, *args),
        Command::Agent(agent::Command::Start(args)) => agent::start(&shell, args),
        Command::RunScript(args) => run_script::run(&shell, *args),
        Command::ScriptWorker(args) => script_worker::run(&args),
        Command::AgentGuard => {
            svc_agent::watch_agent(std::io::stdin().lock());
            Ok(Exit::Ok)
        }
        Command::Completions(args) => completions::run(&shell, &args),
        Command::Version(args) => version::run(&shell, &args),
        Command::Man(args) => man::run(&shell, &args),
        // `migrate` blocks its thread, so it must not run inside a runtime.
        Command::Migrate(args) => migrate::run(&shell, args),
        command => {
            shell.start_command_logs()?;
            runtime::single()?.block_on(run_short(&shell, command))
        }
    }
}

/// Runs the other commands. Most send a few requests and end.
async fn run_short(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::Agent(command) => agent::run(shell, command).await,
        Command::Methods(command) => methods::run(shell, command).await,
        Command::Method(command) => method::run(shell, command).await,
        Command::Event(args) => event::run(shell, args).await,
        Command::Events(command) => events::run(shell, command).await,
        Command::Script(command) => script::run(shell, command).await,
        Command::Mcp(command) => mcp::run(shell, command).await,
        Command::Sink(command) => sink::run(shell, command).await,
        Command::Source(command) => source::run(shell, command).await,
        Command::Schedule(command) => schedule::run(shell, command).await,
        Command::Space(command) => space::run(shell, command).await,
        Command::Token(command) => token::run(shell, command).await,
        Command::User(command) => user::run(shell, command).await,
        Command::Group(command) => group::run(shell, command).await,
        Command::Role(command) => role::run(shell, command).await,
        Command::Oidc(command) => oidc::run(shell, command).await,
        Command::Template(command) => template::run(shell, command).await,
        Command::Login(args) => login::run(shell, args).await,
        Command::Logout(_) => logout::run(shell).await,
        Command::Whoami(_) => whoami::run(shell).await,
        Command::Top(args) => top::run(shell, args).await,
        Command::Doctor(_) => doctor::run(shell).await,
        Command::Context(command) => context::run(shell, command).await,
        Command::Calls(command) => calls::run(shell, command).await,
        Command::Audit(command) => audit::run(shell, command).await,
        Command::Api(args) => api::run(shell, args).await,
        Command::Backup(command) => backup::run(shell, command),
        #[cfg(feature = "prove")]
        Command::Prove(args) => prove::run(shell, args).await,
        Command::Server(command) => server::run(shell, command).await,
        #[cfg(feature = "prove")]
        Command::ProveServer(_) | Command::ProveMethods(_) => {
            unreachable!("`run` handles these commands")
        }
        Command::Up(_)
        | Command::RunScript(_)
        | Command::ScriptWorker(_)
        | Command::AgentGuard
        | Command::Migrate(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Version(_) => unreachable!("`run` handles these commands"),
    }
}
