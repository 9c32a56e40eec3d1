//! `svc completions`

use clap::CommandFactory;
use clap_complete::Shell as ShellKind;

use super::Shell;
use crate::{
    cli::Cli,
    exit::{Exit, Outcome},
};

/// Print a completion script for a shell
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc completions bash > ~/.local/share/bash-completion/completions/svc\n  \
                   svc completions zsh > ~/.zfunc/_svc"
)]
pub struct Args {
    /// Shell to print the script for
    shell: ShellKind,
}

pub fn run(shell: &Shell, args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "svc", &mut script);
    shell.output.raw(&script)?;
    Ok(Exit::Ok)
}
