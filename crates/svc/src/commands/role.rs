//! `svc role`

use clap::Subcommand;
use serde_json::json;
use svc_core::{Permission, Permissions};
use svc_protocol::api::{Role, RolePatch};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
};
use crate::{
    exit::{Failure, Outcome},
    output::{Fields, fields, joined, yes_no},
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
    Get(NameArg),
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
        /// Users with this role need a second factor to log in with their password
        #[arg(long)]
        require_second_factor: bool,
    },
    /// Rename a role, replace its permissions, or require a second factor
    #[command(
        before_help = "  svc role update caller --permission use_methods,use_spaces\n  svc role update admin --require-second-factor true"
    )]
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
        /// Whether users with this role need a second factor to log in with their password; the only
        /// change that a built-in role accepts
        #[arg(long, value_name = "true|false")]
        require_second_factor: Option<bool>,
    },
    /// Remove roles
    #[command(visible_alias = "delete", before_help = "  svc role rm caller")]
    Rm(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Role>(shell, args).await,
        Command::Get(which) => records::get::<Role>(shell, &which.name).await,
        Command::Create {
            name,
            permissions,
            require_second_factor,
        } => {
            let new = RolePatch {
                name: Some(name),
                permissions: parse(permissions)?,
                require_second_factor: Some(require_second_factor),
            };
            records::create::<Role>(shell, json!({}), &new).await
        }
        Command::Update {
            role,
            name,
            permissions,
            require_second_factor,
        } => {
            let patch = RolePatch {
                name,
                permissions: parse(permissions)?,
                require_second_factor,
            };
            records::update::<Role>(shell, &role, &patch).await
        }
        Command::Rm(which) => records::remove::<Role>(shell, &which).await,
    }
}

/// The permissions of the option; `None` if it was not given.
fn parse(given: Vec<String>) -> Result<Option<Permissions>, Failure> {
    let Some(names) = records::words_if_given(given) else {
        return Ok(None);
    };
    let parsed = names.iter().map(|name| name.parse::<Permission>());
    let permissions: Result<Permissions, _> = parsed.collect();
    permissions.map(Some).map_err(|error| {
        Failure::usage(error.to_string())
            .hint(format!("the permissions are {}", joined(Permission::ALL)))
    })
}

pub fn permission_names(permissions: Permissions) -> String {
    let all = Permission::ALL.iter();
    joined(all.filter(|&&permission| permissions.contains(permission)))
}

fn required(is_required: bool) -> String {
    match is_required {
        true => "required",
        false => "not required",
    }
    .to_owned()
}

impl Record for Role {
    const HEAD: &'static [&'static str] = &["NAME", "BUILT-IN", "PERMISSIONS"];

    fn fields(&self) -> Fields {
        fields! { self as Role:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "built-in" builtin = yes_no(*builtin),
            "permissions" permissions = permission_names(*permissions),
            "second factor" require_second_factor = required(*require_second_factor),
            "created" created_at = created_at.to_string(),
        }
    }
}
