//! `svc logout`

use svc_protocol::api::Token;
use uuid::Uuid;

use super::Shell;
use crate::{
    context::Contexts,
    exit::{Exit, Failure, Outcome},
};

/// Revoke the current context's token and all tokens created with it, and remove the context
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc logout\n  svc logout --context prod")]
pub struct Args {}

pub async fn run(shell: &Shell) -> Outcome {
    let folder = shell.environment.config_folder()?;
    let contexts = Contexts::load(&folder)?;
    let name = shell
        .globals
        .context
        .clone()
        .or_else(|| contexts.current.clone())
        .ok_or_else(|| {
            Failure::not_found("there is no current context").hint("svc context list")
        })?;
    let context = contexts.get(&name)?.clone();
    let id = context.token_id.as_deref();
    let id = id.and_then(|id| Uuid::parse_str(id).ok());
    // The context is removed even if the server cannot be reached.
    if let Some(id) = id {
        let client = context.client()?;
        if let Err(error) = client.delete::<Token>(id).await {
            eprintln!("warning: cannot revoke the token: {error}");
        }
    } else {
        eprintln!("the token stays valid: `svc login` did not create it; see svc token revoke");
    }
    Contexts::change(&folder, |contexts| {
        contexts.remove(&name);
        Ok(())
    })?;
    eprintln!("logged out of {}", context.url);
    Ok(Exit::Ok)
}
