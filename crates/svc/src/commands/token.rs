//! `svc token`

use clap::Subcommand;
use svc_protocol::api::{NewToken, Token};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs, Record},
};
use crate::{
    exit::{Failure, Outcome},
    output::{Fields, fields, joined, or_dash},
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
        /// Limit the token to `methods`, `mcp` or both; without scopes it may do everything that
        /// you may do
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
    #[command(before_help = "  svc token revoke ci", visible_aliases = ["rm", "delete"])]
    Revoke(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Token>(shell, args).await,
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
            records::show(shell, &token)
        }
        Command::Revoke(which) => records::remove::<Token>(shell, &which).await,
    }
}

/// The secret of a token that was just created.
pub fn secret_of(token: &Token) -> Result<String, Failure> {
    token.token.clone().ok_or_else(|| {
        Failure::failed("the server created a token but did not return it")
            .hint("svc token create <name> creates another one")
    })
}

impl Record for Token {
    const HEAD: &'static [&'static str] = &["NAME", "SCOPES", "EXPIRES", "LAST USED", "ID"];

    fn cell(&self, column: &str) -> Option<String> {
        (column == "LAST USED").then(|| or_dash(self.last_used_at))
    }

    fn removed(&self) -> String {
        format!("revoked token `{}`", self.name)
    }

    fn fields(&self) -> Fields {
        fields! { self as Token, without last_used_at:
            "name" name = name.clone(),
            "token" token = or_dash(token.as_ref()),
            "id" id = id.to_string(),
            "scopes" scopes = joined(scopes.as_slice()),
            "expires" expires_at = or_dash(*expires_at),
            "created" created_at = created_at.to_string(),
        }
    }
}
