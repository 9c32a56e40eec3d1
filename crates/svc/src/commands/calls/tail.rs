//! `svc calls tail`: prints new calls.

use svc_client::{Client, Error, EventStream};
use svc_protocol::api::{Call, CallQuery};

use super::print_line;
use crate::{
    commands::{
        Shell,
        tail::{POLICY, Tail, TailSource},
    },
    exit::{Exit, Outcome},
};

/// New calls that match a query.
struct CallSource<'a>(&'a CallQuery);

impl TailSource for CallSource<'_> {
    type Record = Call;
    const NAME: &'static str = "call";
    const ONE: &'static str = "a call";
    const MANY: &'static str = "calls";
    const LIST: &'static str = "svc calls list";

    async fn open(&self, client: &Client) -> Result<EventStream, Error> {
        client.recorded_call_stream(self.0).await
    }
}

pub async fn run(shell: &Shell, query: &CallQuery) -> Outcome {
    let client = shell.client()?;
    let mut tail = Tail::open(&client, CallSource(query), POLICY).await?;
    loop {
        let call = tail.next().await?;
        if !print_line(shell, &call)? {
            return Ok(Exit::Ok);
        }
    }
}
