//! `svc audit`

use clap::Subcommand;
use svc_protocol::api::Audit;

use super::{Shell, records::ListArgs};
use crate::{
    exit::{Exit, Outcome},
    output::Table,
};

/// Entries shown unless more are asked for.
const LIMIT_DEFAULT: u32 = 50;

/// Read the audit log
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc audit list --limit 20")]
pub enum Command {
    /// List the latest entries
    #[command(before_help = "  svc audit list --limit 20\n  svc audit list -o json")]
    List(ListArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    let Command::List(args) = command;
    let mut page = args.page();
    page.limit.get_or_insert(LIMIT_DEFAULT);
    let document: Audit = shell.client()?.audit(&page, &[]).await?;
    shell.output.document(&document, || {
        let mut table = Table::new(&["AT", "ACTOR", "ACTION", "TARGET", "DETAIL"]);
        for entry in &document.audit {
            table.row(vec![
                entry.at.to_string(),
                entry.actor.clone(),
                entry.action.clone(),
                format!("{} {}", entry.target_type, entry.target_id),
                entry.detail.to_string(),
            ]);
        }
        table
    })?;
    Ok(Exit::Ok)
}
