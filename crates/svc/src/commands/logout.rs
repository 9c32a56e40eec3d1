//! `svc logout`

use svc_client::{Client, Target};
use svc_protocol::api::Token;
use uuid::Uuid;

use super::Shell;
use crate::{
    context::Contexts,
    exit::{Exit, Failure, Outcome},
};

/// Revoke the current context's token, with all tokens made with it, and forget the context
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc logout\n  svc logout --context prod")]
pub struct Args {}

pub async fn run(shell: &Shell) -> Outcome {
    let folder = shell.environment.config_folder()?;
    let mut contexts = Contexts::load(&folder)?;
    let name = shell
        .globals
        .context
        .clone()
        .or_else(|| contexts.current.clone())
        .ok_or_else(|| {
            Failure::new(Exit::NotFound, "there is no current context").hint("svc context list")
        })?;
    let context = contexts.get(&name)?.clone();
    let id = context
        .token_id
        .as_deref()
        .and_then(|id| Uuid::parse_str(id).ok());
    // The context goes even when the server cannot be asked: whoever logs out wants it gone.
    if let Some(id) = id {
        let target = Target::parse(&context.url, context.ca_file.as_deref())?;
        let client = Client::new(target).with_token(&context.token);
        if let Err(error) = client.delete::<Token>(id).await {
            eprintln!("warning: the token could not be revoked: {error}");
        }
    } else {
        eprintln!("the token was not made by `svc login`, so it stays valid: svc token revoke");
    }
    contexts.remove(&name);
    contexts.save(&folder)?;
    eprintln!("logged out of {}", context.url);
    Ok(Exit::Ok)
}
