//! `svc group`

use clap::Subcommand;
use svc_client::Resource;
use svc_protocol::api::{Group, GroupBody, Groups};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs},
};
use crate::exit::Outcome;

/// Manage groups of users; a shared method can be limited to groups
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc group create ops\n  svc user update ann --group ops")]
pub enum Command {
    /// List the groups
    #[command(before_help = "  svc group list -o json")]
    List(ListArgs),
    /// Show a group
    #[command(before_help = "  svc group get ops")]
    Get {
        /// Name or id
        name: String,
    },
    /// Create a group
    #[command(before_help = "  svc group create ops")]
    Create {
        /// Name of the group
        name: String,
    },
    /// Rename a group
    #[command(before_help = "  svc group update ops --name operations")]
    Update {
        /// Name or id
        group: String,
        /// New name
        #[arg(long)]
        name: String,
    },
    /// Remove groups; methods limited to a removed group are no longer visible through it
    #[command(before_help = "  svc group rm ops")]
    Rm(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => {
            records::list::<Groups>(shell, &args, &["NAME", "ID", "CREATED"], |group| {
                vec![
                    group.name.clone(),
                    group.id.to_string(),
                    group.created_at.to_string(),
                ]
            })
            .await
        }
        Command::Get { name } => {
            let group = records::find::<Group>(shell, &name).await?;
            records::show(shell, &group, fields)
        }
        Command::Create { name } => {
            let group = shell.client()?.create::<Group>(&GroupBody { name }).await?;
            records::show(shell, &group, fields)
        }
        Command::Update { group, name } => {
            let group = records::find::<Group>(shell, &group).await?;
            let body = GroupBody { name };
            let group = shell.client()?.update::<Group>(group.id(), &body).await?;
            records::show(shell, &group, fields)
        }
        Command::Rm(which) => records::remove::<Group>(shell, &which).await,
    }
}

fn fields(group: &Group) -> Vec<(&'static str, String)> {
    vec![
        ("name", group.name.clone()),
        ("id", group.id.to_string()),
        ("created", group.created_at.to_string()),
    ]
}
