//! `svc group`

use clap::Subcommand;
use serde_json::json;
use svc_protocol::api::{Group, GroupBody};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
};
use crate::{
    exit::Outcome,
    output::{Fields, fields},
};

/// Manage groups of users; a shared method can be limited to groups
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc group create ops\n  svc user update ann --group ops")]
pub enum Command {
    /// List the groups
    #[command(before_help = "  svc group list -o json")]
    List(ListArgs),
    /// Show a group
    #[command(before_help = "  svc group get ops")]
    Get(NameArg),
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
    #[command(visible_alias = "delete", before_help = "  svc group rm ops")]
    Rm(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Group>(shell, args).await,
        Command::Get(which) => records::get::<Group>(shell, &which.name).await,
        Command::Create { name } => {
            records::create::<Group>(shell, json!({}), &GroupBody { name }).await
        }
        Command::Update { group, name } => {
            records::update::<Group>(shell, &group, &GroupBody { name }).await
        }
        Command::Rm(which) => records::remove::<Group>(shell, &which).await,
    }
}

impl Record for Group {
    const HEAD: &'static [&'static str] = &["NAME", "ID", "CREATED"];

    fn fields(&self) -> Fields {
        fields! { self as Group:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "created" created_at = created_at.to_string(),
        }
    }
}
