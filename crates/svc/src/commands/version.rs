//! `svc version`

use serde_json::json;

use super::Shell;
use crate::{
    exit::{Exit, Outcome},
    output::Format,
};

/// Show the version
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc version -o json")]
pub struct Args {}

pub fn run(shell: &Shell) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    match shell.output.format {
        Format::Table => shell.output.line(format!("svc {version}"))?,
        _ => {
            let document = json!({
                "version": version,
                "link_version": svc_link::VERSION,
            });
            shell
                .output
                .document(&document, || crate::output::Table::new(&[]))?;
        }
    }
    Ok(Exit::Ok)
}
