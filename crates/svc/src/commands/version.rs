//! `svc version`

use serde_json::json;

use super::Shell;
use crate::exit::Outcome;

/// Show the version
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc version -o json")]
pub struct Args {}

pub fn run(shell: &Shell) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let document = json!({
        "version": version,
        "link_version": svc_link::VERSION,
    });
    shell
        .output
        .line_or_data(&format!("svc {version}"), &document)
}
