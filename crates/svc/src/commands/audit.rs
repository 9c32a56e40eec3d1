//! `svc audit`

use clap::Subcommand;
use svc_protocol::api::{Audit, AuditQuery};

use super::{Shell, records::ListArgs};
use crate::{
    exit::{Exit, Outcome},
    output::Table,
};

/// Entries shown without `--limit`.
const LIMIT_DEFAULT: u32 = 50;

/// Read the audit log
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc audit list --limit 20")]
pub enum Command {
    /// List the latest entries
    #[command(
        before_help = "  svc audit list --limit 20\n  svc audit list --actor ann --action token.created -o json"
    )]
    List {
        #[command(flatten)]
        page: ListArgs,
        #[command(flatten)]
        filter: Filter,
    },
}

/// An entry must match every given option exactly.
#[derive(clap::Args, Debug)]
pub struct Filter {
    /// Only actions of this user, by name
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this action, such as token.created
    #[arg(long)]
    action: Option<String>,
    /// Only actions on this type of target, such as token
    #[arg(long, value_name = "TYPE")]
    target_type: Option<String>,
    /// Only actions on this target
    #[arg(long, value_name = "ID")]
    target_id: Option<String>,
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    let Command::List { page, filter } = command;
    let mut page = page.page();
    page.limit.get_or_insert(LIMIT_DEFAULT);
    let query = AuditQuery {
        actor: filter.actor,
        action: filter.action,
        target_type: filter.target_type,
        target_id: filter.target_id,
        ..AuditQuery::default()
    };
    let document: Audit = shell.client()?.audit(&page, &query).await?;
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
