//! `svc token`

use clap::Subcommand;
use svc_client::Resource;
use svc_protocol::api::{NewToken, Token, Tokens};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs},
};
use crate::{
    exit::{Exit, Outcome},
    output::{joined, or_dash},
};

/// Manage your API tokens
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc token create ci --scope methods --expires-in-days 90\n  svc token revoke ci"
)]
pub enum Command {
    /// List your tokens
    #[command(before_help = "  svc token list")]
    List(ListArgs),
    /// Create a token; it is shown once
    #[command(
        before_help = "  svc token create ci --scope methods\n  svc token create laptop -o json"
    )]
    Create {
        /// Name of the token
        name: String,
        /// Limit the token to `methods`, `mcp` or both; without scopes it may do all that you may
        #[arg(
            long = "scope",
            alias = "scopes",
            value_delimiter = ',',
            value_name = "SCOPE"
        )]
        scopes: Vec<String>,
        /// Days until the token expires
        #[arg(long, value_name = "DAYS")]
        expires_in_days: Option<u32>,
    },
    /// Revoke tokens; they become invalid at once
    #[command(before_help = "  svc token revoke ci", visible_alias = "rm")]
    Revoke(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => {
            let head = ["NAME", "SCOPES", "EXPIRES", "LAST USED", "ID"];
            records::list::<Tokens>(shell, &args, &head, |token| {
                vec![
                    token.name.clone(),
                    joined(token.scopes.as_slice()),
                    or_dash(token.expires_at),
                    or_dash(token.last_used_at),
                    token.id.to_string(),
                ]
            })
            .await
        }
        Command::Create {
            name,
            scopes,
            expires_in_days,
        } => {
            let new = NewToken {
                name,
                scopes: records::words_if_given(scopes),
                expires_in_days,
            };
            let token = shell.client()?.create::<Token>(&new).await?;
            eprintln!("keep the token now: it is not shown again");
            records::show(shell, &token, fields)
        }
        Command::Revoke(which) => {
            let client = shell.client()?;
            for name in &which.names {
                let token = records::find::<Token>(shell, name).await?;
                client.delete::<Token>(token.id()).await?;
                eprintln!("revoked token `{}`", token.name);
            }
            Ok(Exit::Ok)
        }
    }
}

fn fields(token: &Token) -> Vec<(&'static str, String)> {
    vec![
        ("name", token.name.clone()),
        ("token", or_dash(token.token.as_ref())),
        ("id", token.id.to_string()),
        ("scopes", joined(token.scopes.as_slice())),
        ("expires", or_dash(token.expires_at)),
        ("created", token.created_at.to_string()),
    ]
}
