//! `svc audit`

use clap::Subcommand;
use svc_protocol::api::{Audit, AuditEntry, AuditQuery};

use super::{Shell, records::ListArgs};
use crate::{exit::Outcome, output::Column};

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
    let query = AuditQuery {
        actor: filter.actor,
        action: filter.action,
        target_type: filter.target_type,
        target_id: filter.target_id,
        ..AuditQuery::default()
    };
    let document: Audit = shell.client()?.list(&page.page(), &query).await?;
    let target = |entry: &AuditEntry| format!("{} {}", entry.target_type, entry.target_id);
    let columns: [Column<AuditEntry>; 5] = [
        ("AT", |entry| entry.at.to_string()),
        ("ACTOR", |entry| entry.actor.clone()),
        ("ACTION", action),
        ("TARGET", target),
        ("DETAIL", |entry| entry.detail.to_string()),
    ];
    let output = &shell.output;
    output.list(&document, "no audit entries", &document.audit, &columns)
}

/// The action, and how many entries were merged into this one.
fn action(entry: &AuditEntry) -> String {
    match entry.count {
        1 => entry.action.clone(),
        count => format!("{} (×{count})", entry.action),
    }
}
