//! The command tree and the global options. The arguments of a command are defined in its module.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{commands, config::LogFormat, output::Format};

#[derive(Parser, Debug)]
#[command(
    name = "svc",
    version,
    about = "Publish methods from a space, call them from anywhere, and route events",
    before_help = "  svc up                                       a server and a demo space, here and now\n  \
                   svc method list                              what you can call\n  \
                   svc method call notes.add '{\"text\":\"hi\"}'    call it",
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options that every command accepts.
const GLOBAL_OPTIONS: &str = "Global options";

/// Options that every command accepts.
#[derive(Args, Clone, Debug, Default)]
pub struct Globals {
    /// Output format
    #[arg(
        short,
        long,
        global = true, help_heading = GLOBAL_OPTIONS,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub output: Format,
    /// Saved context to use instead of the current one
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "NAME")]
    pub context: Option<String>,
    /// Configuration file [env: SVC_CONFIG]
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Log format [env: SVC_LOG_FORMAT]
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Up(commands::up::Args),
    #[command(subcommand)]
    Server(commands::server::Command),
    #[command(subcommand)]
    Agent(commands::agent::Command),
    #[command(subcommand)]
    Methods(commands::methods::Command),
    #[command(subcommand)]
    Method(commands::method::Command),
    #[command(subcommand)]
    Calls(commands::calls::Command),
    Event(commands::event::Args),
    #[command(subcommand)]
    Events(commands::events::Command),
    RunScript(Box<commands::run_script::Args>),
    #[command(subcommand)]
    Script(commands::script::Command),
    #[command(subcommand)]
    Mcp(commands::mcp::Command),
    #[command(subcommand)]
    Sink(commands::sink::Command),
    #[command(subcommand)]
    Source(commands::source::Command),
    #[command(subcommand)]
    Schedule(commands::schedule::Command),
    #[command(subcommand)]
    Space(commands::space::Command),
    #[command(subcommand)]
    Token(commands::token::Command),
    #[command(subcommand)]
    User(commands::user::Command),
    #[command(subcommand)]
    Group(commands::group::Command),
    #[command(subcommand)]
    Role(commands::role::Command),
    #[command(subcommand)]
    Oidc(commands::oidc::Command),
    #[command(subcommand)]
    Template(commands::template::Command),
    Login(commands::login::Args),
    Logout(commands::logout::Args),
    Whoami(commands::whoami::Args),
    Top(commands::top::Args),
    Doctor(commands::doctor::Args),
    #[command(subcommand)]
    Context(commands::context::Command),
    #[command(subcommand)]
    Audit(commands::audit::Command),
    Api(commands::api::Args),
    #[command(subcommand)]
    Backup(commands::backup::Command),
    Migrate(commands::migrate::Args),
    #[cfg(feature = "prove")]
    Prove(commands::prove::Args),
    Completions(commands::completions::Args),
    Version(commands::version::Args),
    #[command(hide = true)]
    Man(commands::man::Args),
    #[command(hide = true)]
    ScriptWorker(commands::script_worker::Args),
    /// Run a server that obeys `svc prove`, which starts this process
    #[cfg(feature = "prove")]
    #[command(hide = true)]
    ProveServer(Box<commands::server::StartArgs>),
    #[cfg(feature = "prove")]
    #[command(hide = true)]
    ProveMethods(commands::prove::methods::Args),
    /// Kill the children of an agent that was killed; the agent starts this process
    #[command(hide = true)]
    AgentGuard,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_tree_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_one_line_description_and_an_example_before_its_help() {
        fn walk(command: &clap::Command, path: &str) {
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                let path = format!("{path} {}", sub.get_name());
                if sub.get_name() == "help" {
                    continue;
                }
                let about = sub.get_about().unwrap_or_default().to_string();
                assert!(
                    !about.is_empty() && !about.contains('\n'),
                    "{path}: {about:?}"
                );
                let example = sub.get_before_help().unwrap_or_default().to_string();
                assert!(example.contains("svc "), "{path}: {example:?}");
                walk(sub, &path);
            }
        }
        walk(&Cli::command(), "svc");
    }

    #[test]
    fn every_command_that_removes_a_record_accepts_rm_and_delete() {
        let tree = Cli::command();
        let mut removing = Vec::new();
        for group in tree.get_subcommands() {
            let answers = |sub: &clap::Command, name: &str| {
                sub.get_name() == name || sub.get_all_aliases().any(|alias| alias == name)
            };
            for sub in group.get_subcommands() {
                let [rm, delete] = ["rm", "delete"].map(|name| answers(sub, name));
                assert_eq!(rm, delete, "svc {} {}", group.get_name(), sub.get_name());
                if rm {
                    removing.push(group.get_name());
                }
            }
        }
        removing.sort_unstable();
        assert_eq!(
            removing,
            [
                "context", "group", "oidc", "role", "schedule", "script", "sink", "source",
                "space", "template", "token", "user"
            ]
        );
    }

    #[test]
    fn the_batch_flag_is_accepted_in_every_position() {
        for arguments in [
            ["svc", "method", "call", "n", "--batch", "[1]"],
            ["svc", "method", "call", "n", "[1]", "--batch"],
            ["svc", "method", "call", "--batch", "n", "[1]"],
        ] {
            let cli = Cli::try_parse_from(arguments).expect("accepted");
            let Command::Method(commands::method::Command::Call(call)) = cli.command else {
                panic!("another command");
            };
            assert!(call.batch);
            assert_eq!(call.params.as_deref(), Some("[1]"));
        }
    }

    #[test]
    fn a_dash_and_json_are_accepted_as_params() {
        for params in ["-", "[-1]", "{}"] {
            assert!(Cli::try_parse_from(["svc", "method", "call", "n", params]).is_ok());
        }
        assert!(Cli::try_parse_from(["svc", "nonsense"]).is_err());
        assert!(Cli::try_parse_from(["svc", "space", "list", "-o", "xml"]).is_err());
        assert!(Cli::try_parse_from(["svc", "-o", "json", "space", "list"]).is_ok());
    }
}
