//! `svc calls`: lists and counts recorded calls, and follows new ones.

mod summary;

use clap::Subcommand;
use serde_json::value::RawValue;
use svc_client::{Client, Error, EventStream};
use svc_core::{
    Id, Timestamp,
    journal::{CallEnd, CallGrouping, CallVia, PayloadOmission},
};
use svc_protocol::api::{Call, CallCredential, CallDetail, CallQuery, Calls};

use super::{
    Shell,
    records::ListArgs,
    space,
    tail::{POLICY, Tail, TailSource},
    times::parse_time,
};
use crate::{
    exit::{Failure, Outcome},
    output::{Column, Fields, or_dash, present},
};

/// List recorded calls, and follow new ones
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc calls list --outcome timeout\n  svc calls tail")]
pub enum Command {
    /// List recorded calls, newest first: your calls, and calls of your methods
    #[command(
        before_help = "  svc calls list --limit 20\n  svc calls list --method notes.find --min-ms 500 -o json"
    )]
    List {
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        page: ListArgs,
    },
    /// Count recorded calls by caller or by credential, most calls first
    #[command(
        before_help = "  svc calls summary --method notes.find --since 7d\n  svc calls summary --by credential --via mcp"
    )]
    Summary {
        /// caller or credential
        #[arg(long, default_value = "caller", value_parser = parse_grouping)]
        by: CallGrouping,
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        times: Times,
    },
    /// Show a call
    #[command(before_help = "  svc calls get 0197a1b2-…")]
    Get {
        /// Id of the call
        id: Id,
    },
    /// Show new calls as they end, until stopped
    #[command(before_help = "  svc calls tail\n  svc calls tail --outcome error -o json")]
    Tail {
        #[command(flatten)]
        filter: Filter,
    },
}

/// A call must match every given option.
#[derive(clap::Args, Debug)]
pub struct Filter {
    /// Only calls of this method, with or without user.<owner>.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Only calls by this user: name or id
    #[arg(long, value_name = "USER")]
    caller: Option<String>,
    /// Only calls of this user's methods: name or id
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// Only calls that were sent to this space: name, owner/name or id
    #[arg(long)]
    space: Option<String>,
    /// Only calls with this outcome: ok, error, not_found, unavailable, timeout,
    /// interrupted, notification, notification_dropped or cancelled
    #[arg(long, value_parser = parse_end)]
    outcome: Option<CallEnd>,
    /// Only calls with this error code of JSON-RPC
    #[arg(long, allow_negative_numbers = true)]
    code: Option<i32>,
    /// Only calls that were made through this interface: api, batch, mcp, event or script
    #[arg(long, value_parser = parse_via)]
    via: Option<CallVia>,
    /// Only calls that took at least this many milliseconds
    #[arg(long, value_name = "MS")]
    min_ms: Option<u32>,
}

/// The time range of the calls.
#[derive(clap::Args, Debug)]
pub struct Times {
    /// Only calls since this time, such as 2h for 2 hours ago, or 2026-11-17T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only calls until this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
}

fn parse_grouping(text: &str) -> Result<CallGrouping, String> {
    let words = CallGrouping::ALL.iter().map(|by| by.as_str());
    CallGrouping::parse(text).ok_or_else(|| one_of(words))
}

fn parse_end(text: &str) -> Result<CallEnd, String> {
    CallEnd::parse(text).ok_or_else(|| one_of(CallEnd::ALL.iter().map(|end| end.as_str())))
}

fn parse_via(text: &str) -> Result<CallVia, String> {
    CallVia::parse(text).ok_or_else(|| one_of(CallVia::ALL.iter().map(|via| via.as_str())))
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.collect();
    format!("use one of: {}", words.join(", "))
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List {
            filter,
            times,
            page,
        } => {
            let query = read_filter(shell, filter, Some(times)).await?;
            list(shell, &query, page).await
        }
        Command::Summary { by, filter, times } => {
            let query = read_filter(shell, filter, Some(times)).await?;
            summary::run(shell, by, &query).await
        }
        Command::Get { id } => get(shell, id).await,
        Command::Tail { filter } => {
            let query = read_filter(shell, filter, None).await?;
            let client = shell.client()?;
            let tail = Tail::open(&client, CallSource(&query), POLICY).await?;
            tail.print_all(|call| print_line(shell, call)).await
        }
    }
}

async fn read_filter(
    shell: &Shell,
    filter: Filter,
    times: Option<Times>,
) -> Result<CallQuery, Failure> {
    let (since, until) = times.map_or((None, None), |times| (times.since, times.until));
    Ok(CallQuery {
        method: filter.method,
        caller: filter.caller,
        owner: filter.owner,
        space_id: space::find_id(shell, filter.space.as_deref()).await?,
        outcome: filter.outcome,
        code: filter.code,
        via: filter.via,
        since,
        until,
        min_duration_ms: filter.min_ms,
    })
}

async fn list(shell: &Shell, query: &CallQuery, args: ListArgs) -> Outcome {
    let client = shell.client()?;
    let document: Calls = client.recorded_calls(&args.page(), query).await?;
    if document.dropped > 0 {
        let dropped = document.dropped;
        eprintln!("{dropped} calls are missing: they came too fast, or could not be written");
    }
    if document.incomplete {
        eprintln!("some calls were not read; add a filter, such as --owner or --caller");
    }
    if let (true, Some(cursor)) = (document.calls.is_empty(), &document.next_cursor) {
        eprintln!("no calls in this part of the journal; continue with --cursor {cursor}");
    }
    let columns: [Column<Call>; 8] = [
        ("AT", |call| call.at.to_string()),
        ("CALLER", |call| or_dash(call.caller.as_ref())),
        ("METHOD", |call| call.method.clone()),
        ("OWNER", |call| or_dash(call.owner.as_ref())),
        ("VIA", |call| call.via.to_string()),
        ("OUTCOME", outcome),
        ("MS", |call| call.duration_ms.to_string()),
        ("ID", |call| call.id.to_string()),
    ];
    let output = &shell.output;
    output.list(&document, "no calls", &document.calls, &columns)
}

async fn get(shell: &Shell, id: Id) -> Outcome {
    let found = shell.client()?.recorded_call(id).await;
    let call = found.map_err(|error| Failure::of_record(error, "svc calls list"))?;
    shell.output.record(&call, || fields(&call))
}

fn fields(detail: &CallDetail) -> Fields {
    let call = &detail.call;
    let credential = call.credential.as_ref().map(credential_words);
    let mut fields = vec![
        ("id", call.id.to_string()),
        ("at", call.at.to_string()),
        ("caller", or_dash(call.caller.as_ref())),
        ("credential", or_dash(credential)),
        ("via", call.via.to_string()),
        ("method", call.method.clone()),
        ("owner", or_dash(call.owner.as_ref())),
        ("space", or_dash(call.space.as_ref())),
        ("outcome", outcome(call)),
        ("duration", format!("{} ms", call.duration_ms)),
        ("queue", millis(call.queue_ms)),
        ("method server", millis(call.method_ms)),
        ("params", format!("{} bytes", call.params_bytes)),
        ("result", format!("{} bytes", call.result_bytes)),
        ("trace", or_dash(call.trace_id.as_ref())),
    ];
    let [params, result, error] = [&detail.params, &detail.result, &detail.error];
    fields.extend(present([
        (
            "recorded params",
            payload(params.as_deref(), detail.params_omitted),
        ),
        (
            "recorded result",
            payload(result.as_deref(), detail.result_omitted),
        ),
        ("recorded error", payload(error.as_deref(), None)),
    ]));
    fields
}

/// The kind of the credential and, except for a script, its id.
fn credential_words(credential: &CallCredential) -> String {
    let id = credential.id.map_or(String::new(), |id| format!(" {id}"));
    format!("{}{id}", credential.kind)
}

/// Recorded params, or a recorded result or error, or the reason why they were omitted. `None` if
/// there is neither.
fn payload(json: Option<&RawValue>, omitted: Option<PayloadOmission>) -> Option<String> {
    let why = match (json, omitted) {
        (Some(json), _) => return Some(json.get().to_owned()),
        (None, omitted) => match omitted? {
            PayloadOmission::TooLarge => "too large",
            PayloadOmission::Unreadable => "not readable JSON",
            PayloadOmission::Dropped => "too many bytes of params and results came in one second",
        },
    };
    Some(format!("omitted: {why}"))
}

fn millis(time: Option<f64>) -> String {
    or_dash(time.map(|ms| format!("{ms} ms")))
}

/// The outcome, with the error code if there is one.
fn outcome(call: &Call) -> String {
    match call.code {
        Some(code) => format!("{} {code}", call.outcome),
        None => call.outcome.to_string(),
    }
}

/// New calls that match a query.
struct CallSource<'a>(&'a CallQuery);

impl TailSource for CallSource<'_> {
    type Record = Call;
    const NAME: &'static str = "call";
    const ONE: &'static str = "a call";

    async fn open(&self, client: &Client) -> Result<EventStream, Error> {
        client.recorded_call_stream(self.0).await
    }
}

/// Prints a call on one line, in every format. `false` if stdout is closed.
fn print_line(shell: &Shell, call: &Call) -> Result<bool, Failure> {
    shell.output.next_record(call, || {
        format!(
            "{} {} {} {} {} ms {}",
            call.at,
            or_dash(call.caller.as_ref()),
            call.method,
            outcome(call),
            call.duration_ms,
            call.id
        )
    })
}
