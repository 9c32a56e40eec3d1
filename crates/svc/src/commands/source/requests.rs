//! `svc source requests`

use svc_protocol::api::{Source, SourceRequest};

use crate::{
    commands::{
        Shell,
        records::{self, NameArg},
    },
    exit::Outcome,
    output::{Table, json_name, or_dash},
};

const HEAD: &[&str] = &["AT", "OUTCOME", "STATUS", "FROM", "EVENT TYPE", "REASON"];

pub async fn run(shell: &Shell, which: &NameArg) -> Outcome {
    let (client, source) = records::open::<Source>(shell, &which.name).await?;
    let listed = client.source_requests(source.id).await?;
    shell.output.document(&listed, || {
        let empty = "no requests since the server started".to_owned();
        Table::list(HEAD, empty, &listed.requests, row)
    })
}

fn row(request: &SourceRequest) -> Vec<String> {
    vec![
        request.at.to_string(),
        json_name(request.outcome),
        request.status.to_string(),
        request.address.clone(),
        or_dash(request.event_type.as_ref()),
        or_dash(request.reason.as_ref()),
    ]
}
