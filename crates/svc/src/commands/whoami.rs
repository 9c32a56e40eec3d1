//! `svc whoami`

use super::{Shell, role::permission_names};
use crate::{
    context::Via,
    exit::Outcome,
    output::{joined, or_dash},
};

/// Show your user, credential and permissions on the server
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc whoami")]
pub struct Args {}

pub async fn run(shell: &Shell) -> Outcome {
    let connection = shell.connect()?;
    let me = connection.client.me().await?;
    let via = match connection.via {
        Via::Context(name) => format!("context `{name}`"),
        Via::Environment => "SVC_URL and SVC_TOKEN".to_owned(),
        Via::Agent(socket) => format!("agent at {}", socket.display()),
    };
    shell.output.record(&me, || {
        vec![
            ("user", me.username.to_string()),
            ("id", me.id.to_string()),
            ("server", connection.client.target().to_string()),
            ("through", via),
            ("credential", me.credential.clone()),
            ("scopes", joined(me.scopes.as_slice())),
            ("space", or_dash(me.space_id)),
            ("roles", joined(&me.roles)),
            ("groups", joined(&me.groups)),
            ("permissions", permission_names(me.permissions)),
        ]
    })
}
