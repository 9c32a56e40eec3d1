//! `svc role`

use clap::Subcommand;
use svc_client::Resource;
use svc_core::{Permission, Permissions};
use svc_protocol::api::{NewRole, Role, RolePatch, Roles};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs},
};
use crate::{
    exit::{Failure, Outcome},
    output::{joined, yes_no},
};

/// Manage roles: named sets of permissions
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc role create caller --permission use_methods\n  svc user update ann --role caller"
)]
pub enum Command {
    /// List the roles
    #[command(before_help = "  svc role list")]
    List(ListArgs),
    /// Show a role
    #[command(before_help = "  svc role get user")]
    Get {
        /// Name or id
        name: String,
    },
    /// Create a role
    #[command(before_help = "  svc role create caller --permission use_methods,use_mcp")]
    Create {
        /// Name of the role
        name: String,
        /// Permission of the role's users; may be repeated
        #[arg(
            long = "permission",
            alias = "permissions",
            value_delimiter = ',',
            value_name = "NAME"
        )]
        permissions: Vec<String>,
    },
    /// Rename a role, or replace its permissions
    #[command(before_help = "  svc role update caller --permission use_methods,use_spaces")]
    Update {
        /// Name or id
        role: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// All permissions of the role; may be repeated, '' for none
        #[arg(
            long = "permission",
            alias = "permissions",
            value_delimiter = ',',
            value_name = "NAME"
        )]
        permissions: Vec<String>,
    },
    /// Remove roles
    #[command(before_help = "  svc role rm caller")]
    Rm(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => {
            let head = ["NAME", "BUILT-IN", "PERMISSIONS"];
            records::list::<Roles>(shell, &args, &head, |role| {
                vec![
                    role.name.clone(),
                    yes_no(role.builtin),
                    permission_names(role.permissions),
                ]
            })
            .await
        }
        Command::Get { name } => {
            let role = records::find::<Role>(shell, &name).await?;
            records::show(shell, &role, fields)
        }
        Command::Create { name, permissions } => {
            let permissions = parse(&records::words(permissions))?;
            let new = NewRole { name, permissions };
            let role = shell.client()?.create::<Role>(&new).await?;
            records::show(shell, &role, fields)
        }
        Command::Update {
            role,
            name,
            permissions,
        } => {
            let permissions = records::words_if_given(permissions)
                .map(|names| parse(&names))
                .transpose()?;
            let role = records::find::<Role>(shell, &role).await?;
            let patch = RolePatch { name, permissions };
            let role = shell.client()?.update::<Role>(role.id(), &patch).await?;
            records::show(shell, &role, fields)
        }
        Command::Rm(which) => records::remove::<Role>(shell, &which).await,
    }
}

fn parse(names: &[String]) -> Result<Permissions, Failure> {
    names
        .iter()
        .map(|name| name.parse::<Permission>())
        .collect::<Result<Permissions, _>>()
        .map_err(|error| {
            Failure::usage(error.to_string())
                .hint(format!("the permissions are {}", joined(Permission::ALL)))
        })
}

fn permission_names(permissions: Permissions) -> String {
    joined(
        Permission::ALL
            .iter()
            .filter(|&&permission| permissions.contains(permission)),
    )
}

fn fields(role: &Role) -> Vec<(&'static str, String)> {
    vec![
        ("name", role.name.clone()),
        ("id", role.id.to_string()),
        ("built-in", yes_no(role.builtin)),
        ("permissions", permission_names(role.permissions)),
        ("created", role.created_at.to_string()),
    ]
}
