//! `svc version`

use serde_json::json;

use super::Shell;
use crate::exit::{Exit, Outcome};
use crate::output::Format;

/// The licence texts of the software in this program. `packaging/notices` makes the file.
const THIRD_PARTY: &str = include_str!("../../../../THIRD-PARTY.txt");

/// Show the version, or the licences of the software that svc contains
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc version -o json\n  svc version --licenses")]
pub struct Args {
    /// Print the licence texts of the third-party software in this program
    #[arg(long)]
    licenses: bool,
}

pub fn run(shell: &Shell, args: &Args) -> Outcome {
    if args.licenses {
        return licenses(shell);
    }
    let version = env!("CARGO_PKG_VERSION");
    let document = json!({"version": version, "link_version": svc_link::VERSION});
    let line = format!("svc {version}");
    shell.output.line_or_data(&line, &document)
}

fn licenses(shell: &Shell) -> Outcome {
    match shell.output.format {
        Format::Table => shell.output.text(THIRD_PARTY).map(|()| Exit::Ok),
        Format::Json | Format::Yaml => shell.output.data(&json!({ "third_party": THIRD_PARTY })),
    }
}
