//! `svc mcp`: configures and connects MCP clients, and lists and calls the tools that they see.

mod config;
mod param_headers;
mod speak;
mod stdio;
mod tools;

use clap::Subcommand;

use super::Shell;
use crate::exit::Outcome;

/// Configure MCP clients, and call the tools that they see
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc mcp config --client claude-code --create-token\n  svc mcp tools\n  svc mcp call notes_add '{\"text\":\"hello\"}'"
)]
pub enum Command {
    Config(config::Args),
    /// List the tools that MCP clients see with your credential
    #[command(before_help = "  svc mcp tools\n  svc mcp tools -o json")]
    Tools,
    Call(tools::Args),
    Stdio(stdio::Args),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::Config(args) => config::run(shell, args).await,
        Command::Tools => tools::list(shell).await,
        Command::Call(args) => tools::call(shell, args).await,
        Command::Stdio(args) => stdio::run(shell, args).await,
    }
}
