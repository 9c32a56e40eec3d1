//! `svc user`

use clap::Subcommand;
use svc_client::Resource;
use svc_core::quota::{Quota, UnknownQuota};
use svc_protocol::api::{ChangePassword, NewUser, User, UserPatch};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Fields, fields, joined, joined_pairs, yes_no},
    prompt,
};

/// Manage users
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc user create ann --role user --group ops\n  svc user update ann --deactivate\n  svc user passwd"
)]
pub enum Command {
    /// List the users
    #[command(before_help = "  svc user list -o json")]
    List(ListArgs),
    /// Show a user
    #[command(before_help = "  svc user get ann")]
    Get(NameArg),
    /// Create a user; asks for the password
    #[command(
        before_help = "  svc user create ann --group ops\n  svc user create ann --password-stdin < secret.txt"
    )]
    Create {
        /// User name; it cannot be changed later
        name: String,
        #[command(flatten)]
        membership: Membership,
        /// Create the user deactivated
        #[arg(long)]
        inactive: bool,
        /// Read the password from stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change a user's roles, groups or quotas, activate or deactivate the user
    #[command(
        before_help = "  svc user update ann --group ops,dev\n  svc user update ann --deactivate\n  svc user update ann --quota sinks=500 --quota spaces=default"
    )]
    Update {
        /// Name or id
        name: String,
        #[command(flatten)]
        membership: Membership,
        /// Reactivate the user: logins and calls of the user's methods are accepted again
        #[arg(long, conflicts_with = "deactivate")]
        activate: bool,
        /// End the user's sessions, and refuse the user's tokens and agents until reactivation
        #[arg(long)]
        deactivate: bool,
        /// Limit of one kind (spaces, tokens, scripts, sinks, sources, schedules, methods,
        /// event_bytes, audit_bytes, streams); `default` returns to the server's value
        #[arg(long = "quota", value_name = "NAME=N", value_delimiter = ',', value_parser = parse_quota)]
        quotas: Vec<(Quota, Option<u64>)>,
    },
    /// Change your own password, or set another user's
    #[command(
        before_help = "  svc user passwd\n  svc user passwd ann\n  printf 'old\\nnew\\n' | svc user passwd --password-stdin"
    )]
    Passwd {
        /// Another user, by name or id
        name: Option<String>,
        /// Read from stdin: the current and the new password on a line each; for another user, only
        /// the new password
        #[arg(long)]
        password_stdin: bool,
    },
    /// Remove the second factor of a user who lost the device
    #[command(before_help = "  svc user reset-second-factor ann")]
    ResetSecondFactor(NameArg),
    /// Remove users; a user who owns spaces is not removed
    #[command(visible_alias = "delete", before_help = "  svc user rm ann")]
    Rm(NameArgs),
}

#[derive(clap::Args, Debug)]
pub struct Membership {
    /// All roles of the user; may be repeated, '' for none
    #[arg(
        long = "role",
        alias = "roles",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    roles: Vec<String>,
    /// All groups of the user; may be repeated, '' for none
    #[arg(
        long = "group",
        alias = "groups",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    groups: Vec<String>,
}

/// Parses `sinks=500`, or `sinks=default`, which is `None`.
fn parse_quota(text: &str) -> Result<(Quota, Option<u64>), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("write it like {}=500", Quota::Sinks))?;
    let quota: Quota = name
        .parse()
        .map_err(|error: UnknownQuota| error.to_string())?;
    if value == "default" {
        return Ok((quota, None));
    }
    let value = value
        .parse()
        .map_err(|_| format!("`{value}` is neither a number nor `default`"))?;
    Ok((quota, Some(value)))
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<User>(shell, args).await,
        Command::Get(which) => records::get::<User>(shell, &which.name).await,
        Command::Create {
            name,
            membership,
            inactive,
            password_stdin,
        } => {
            let client = shell.client()?;
            let new = NewUser {
                password: new_password(&name, password_stdin)?,
                username: name,
                roles: records::words_if_given(membership.roles),
                groups: records::words(membership.groups),
                active: !inactive,
            };
            let user: User = client.create(&new).await?;
            records::show(shell, &user)
        }
        Command::Update {
            name,
            membership,
            activate,
            deactivate,
            quotas,
        } => {
            let patch = UserPatch {
                password: None,
                roles: records::words_if_given(membership.roles),
                groups: records::words_if_given(membership.groups),
                active: (activate || deactivate).then_some(activate),
                quotas: (!quotas.is_empty()).then(|| quotas.into_iter().collect()),
            };
            records::update::<User>(shell, &name, &patch).await
        }
        Command::Passwd {
            name,
            password_stdin,
        } => match name {
            Some(name) => set_password(shell, &name, password_stdin).await,
            None => change_own_password(shell, password_stdin).await,
        },
        Command::ResetSecondFactor(which) => reset_second_factor(shell, &which.name).await,
        Command::Rm(which) => records::remove::<User>(shell, &which).await,
    }
}

async fn reset_second_factor(shell: &Shell, name: &str) -> Outcome {
    let (client, user) = records::open::<User>(shell, name).await?;
    client.reset_second_factor(user.id).await?;
    let name = user.username;
    eprintln!("`{name}` has no second factor any more, and logs in with the password alone");
    Ok(Exit::Ok)
}

async fn set_password(shell: &Shell, name: &str, from_stdin: bool) -> Outcome {
    let (client, user) = records::open::<User>(shell, name).await?;
    let patch = UserPatch {
        password: Some(new_password(&user.username, from_stdin)?),
        ..UserPatch::default()
    };
    client.update::<User>(user.id(), &patch).await?;
    eprintln!("the password of `{}` is set", user.username);
    Ok(Exit::Ok)
}

async fn change_own_password(shell: &Shell, from_stdin: bool) -> Outcome {
    let client = shell.client()?;
    let change = if from_stdin {
        let mut lines = prompt::read_secrets()?.into_iter();
        let (Some(current_password), Some(new_password)) = (lines.next(), lines.next()) else {
            let what = "stdin must hold the current and the new password on a line each";
            return Err(Failure::usage(what));
        };
        ChangePassword {
            current_password,
            new_password,
        }
    } else {
        must_be_asked()?;
        ChangePassword {
            current_password: prompt::ask_secret("current password")?,
            new_password: prompt::ask_twice("new password")?,
        }
    };
    client.change_password(&change).await?;
    eprintln!("your password is changed");
    Ok(Exit::Ok)
}

fn new_password(user: &str, from_stdin: bool) -> Result<String, Failure> {
    if from_stdin {
        return prompt::read_secret();
    }
    must_be_asked()?;
    prompt::ask_twice(&format!("password of {user}"))
}

fn must_be_asked() -> Result<(), Failure> {
    if prompt::can_ask() {
        return Ok(());
    }
    let what = "a password is required, and there is no terminal to ask on";
    Err(Failure::usage(what).hint("--password-stdin reads it from stdin"))
}

impl Record for User {
    const HEAD: &'static [&'static str] = &["NAME", "ACTIVE", "ROLES", "GROUPS", "ID"];

    fn fields(&self) -> Fields {
        fields! { self as User, without last_seen_at:
            "name" username = username.to_string(),
            "id" id = id.to_string(),
            "active" active = yes_no(*active),
            "roles" roles = joined(roles),
            "groups" groups = joined(groups),
            "created" created_at = created_at.to_string(),
            "quotas" quotas = joined_pairs(quotas),
            "second factor" second_factor = yes_no(*second_factor),
        }
    }
}
