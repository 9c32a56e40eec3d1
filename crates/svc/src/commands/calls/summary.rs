//! `svc calls summary`: the number of calls of each caller or of each credential.

use svc_core::journal::CallGrouping;
use svc_protocol::api::{CallGroup, CallQuery, CallSummary};

use super::{Shell, credential_words};
use crate::{
    exit::Outcome,
    output::{Table, or_dash},
};

pub(super) async fn run(shell: &Shell, by: CallGrouping, query: &CallQuery) -> Outcome {
    let client = shell.client()?;
    let summary = client.recorded_call_summary(by, query).await?;
    warn(&summary);
    shell
        .output
        .document(&summary, || table(by, &summary.groups))
}

/// Prints what the table lacks.
fn warn(summary: &CallSummary) {
    match (summary.is_complete, summary.counted_since) {
        (true, _) => {}
        (false, Some(since)) => {
            eprintln!("calls before {since} were not counted; to count them, use --until {since}");
        }
        (false, None) => {
            eprintln!("some calls were not counted; add a filter, such as --owner or --caller");
        }
    }
    if let Some(other) = &summary.other {
        let (groups, calls, failed) = (other.groups, other.calls, other.failed);
        eprintln!("{groups} more lines are left out: {calls} calls, {failed} of them failed");
    }
}

fn table(by: CallGrouping, groups: &[CallGroup]) -> Table {
    let mut head = vec!["CALLER", "CALLS", "FAILED", "LAST"];
    if by == CallGrouping::Credential {
        head.insert(1, "CREDENTIAL");
    }
    Table::list(&head, "no calls", groups, |group| {
        let mut cells = vec![
            or_dash(group.caller.as_ref()),
            group.calls.to_string(),
            group.failed.to_string(),
            group.last_at.to_string(),
        ];
        if by == CallGrouping::Credential {
            let credential = group.credential.as_ref().map(credential_words);
            cells.insert(1, or_dash(credential));
        }
        cells
    })
}
