//! `svc api`: sends any request with the credential of the context.

use http::{HeaderMap, Method};

use super::Shell;
use crate::{
    exit::{Exit, Failure, Outcome},
    prompt,
};

/// Send any request to the server's API and print the unchanged answer
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc api GET /api/spaces\n  \
                   svc api PATCH /api/users/$ID '{\"active\":false}'\n  \
                   svc api POST /api/methods/call - < request.json")]
pub struct Args {
    /// GET, POST, PATCH, …
    method: String,
    /// Path, such as /api/methods
    path: String,
    /// Body as JSON; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    body: Option<String>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let method = Method::from_bytes(args.method.to_ascii_uppercase().as_bytes())
        .map_err(|_| Failure::usage(format!("`{}` is not an HTTP method", args.method)))?;
    if !args.path.starts_with('/') {
        return Err(
            Failure::usage(format!("path `{}` must begin with `/`", args.path))
                .hint("svc api GET /api/methods"),
        );
    }
    let body = match args.body.as_deref() {
        Some("-") => Some(prompt::read_stdin()?.into_bytes()),
        body => body.map(|body| body.as_bytes().to_vec()),
    };
    let client = shell.client()?;
    let within = client.policy().call_timeout;
    let answer = client
        .send_raw(method, &args.path, HeaderMap::new(), body, Some(within))
        .await?;
    if !answer.body.is_empty() {
        shell.output.raw(&answer.body)?;
    }
    if answer.status.is_success() {
        return Ok(Exit::Ok);
    }
    let what = format!("{} {}: {}", args.method, args.path, answer.status);
    Err(Failure::new(Exit::of_status(answer.status), what))
}
