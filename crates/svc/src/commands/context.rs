//! `svc context`

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use svc_client::Target;

use super::{Shell, records::NameArgs};
use crate::{
    context::{Context, Contexts},
    exit::{Exit, Outcome},
    output::{Table, or_dash},
    prompt,
};

/// Manage saved servers and credentials
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc context list\n  svc context use prod")]
pub enum Command {
    /// List the saved contexts; tokens are not shown
    #[command(before_help = "  svc context list")]
    List,
    /// Make a context the current one
    #[command(before_help = "  svc context use prod")]
    Use {
        /// Name of the context
        name: String,
    },
    /// Save a context; reads the token from stdin, or asks for it on a terminal
    #[command(before_help = "  svc context add prod https://svc.example.com < token.txt")]
    Add {
        /// Name of the context
        name: String,
        /// Address of the server
        url: String,
        /// PEM file of certificate authorities to trust for this server
        #[arg(long, value_name = "FILE")]
        ca_file: Option<PathBuf>,
    },
    /// Remove contexts; their tokens stay valid (`svc logout` revokes a token)
    #[command(visible_alias = "delete", before_help = "  svc context rm prod")]
    Rm(NameArgs),
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    let folder = shell.environment.config_folder()?;
    match command {
        Command::List => return list(shell, &Contexts::load(&folder)?),
        Command::Use { name } => {
            Contexts::change(&folder, |contexts| {
                contexts.get(&name)?;
                contexts.current = Some(name.clone());
                Ok(())
            })?;
            eprintln!("context `{name}` is now the current one");
        }
        Command::Add { name, url, ca_file } => {
            let ca_file = ca_file.map(|path| shell.environment.absolute(&path));
            Target::parse(&url, ca_file.as_deref())?;
            let token = match prompt::can_ask() {
                true => prompt::ask_secret("token")?,
                false => prompt::read_secret()?,
            };
            Contexts::change(&folder, |contexts| {
                if contexts.current.is_none() {
                    contexts.current = Some(name.clone());
                }
                contexts.put(Context {
                    name: name.clone(),
                    url,
                    token,
                    ca_file,
                    ..Context::default()
                });
                Ok(())
            })?;
            eprintln!("saved context `{name}`");
        }
        Command::Rm(which) => {
            Contexts::change(&folder, |contexts| {
                for name in &which.names {
                    contexts.get(name)?;
                    contexts.remove(name);
                }
                Ok(())
            })?;
            for name in &which.names {
                eprintln!("removed context `{name}`");
            }
        }
    }
    Ok(Exit::Ok)
}

fn list(shell: &Shell, contexts: &Contexts) -> Outcome {
    let is_current = |context: &Context| contexts.current.as_deref() == Some(context.name.as_str());
    let shown = |context: &Context| {
        json!({
            "name": context.name,
            "url": context.url,
            "username": context.username,
            "current": is_current(context),
        })
    };
    let shown: Vec<_> = contexts.contexts.iter().map(shown).collect();
    shell.output.document(&json!({ "contexts": shown }), || {
        let head = ["CURRENT", "NAME", "URL", "USER"];
        let empty = "no contexts yet; svc login <url> saves one";
        Table::list(&head, empty, &contexts.contexts, |context| {
            let mark = if is_current(context) { "*" } else { "" };
            vec![
                mark.to_owned(),
                context.name.clone(),
                context.url.clone(),
                or_dash(context.username.as_ref()),
            ]
        })
    })
}
