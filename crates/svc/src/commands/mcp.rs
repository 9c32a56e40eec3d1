//! `svc mcp`: the same tools that agents get, and how agents get them.

mod config;
mod param_headers;
mod speak;
mod tools;

use clap::Subcommand;

use super::Shell;
use crate::exit::Outcome;

/// Give methods to agents that speak MCP
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc mcp config --client claude-code --create-token\n  svc mcp tools\n  svc mcp call notes_add '{\"text\":\"hello\"}'"
)]
pub enum Command {
    Config(config::Args),
    /// List the tools that agents see as you
    #[command(before_help = "  svc mcp tools\n  svc mcp tools -o json")]
    Tools,
    Call(tools::Args),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::Config(args) => config::run(shell, args).await,
        Command::Tools => tools::list(shell).await,
        Command::Call(args) => tools::call(shell, args).await,
    }
}
