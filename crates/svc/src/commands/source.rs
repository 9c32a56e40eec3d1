//! `svc source`: manages the URLs to which other services send requests.

mod change;

use clap::Subcommand;
use serde_json::json;
use svc_core::{json_text::JsonText, source::settings::TypeRule};
use svc_protocol::api::{RotateSource, Source, SourceRejection, SourceRequest, SourceTest};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
    sink::read_text,
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Column, Fields, fields, joined, json_name, or_dash, yes_no},
    prompt,
};

/// Manage sources: requests of other services that become events
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc source create github --verify github\n  \
                   svc source test github --header 'X-GitHub-Event: ping' --dry-run\n  \
                   svc source requests github")]
pub enum Command {
    /// List your sources
    #[command(before_help = "  svc source list")]
    List(ListArgs),
    /// Show a source
    #[command(before_help = "  svc source get github")]
    Get(NameArg),
    Create(Box<change::CreateArgs>),
    Update(Box<change::UpdateArgs>),
    /// Replace the secret, or with --url the URL
    #[command(
        before_help = "  svc source rotate github\n  svc source rotate stripe --secret-stdin --overlap-hours 0\n  svc source rotate github --url"
    )]
    Rotate {
        /// Name or id
        source: String,
        /// Read the new secret from stdin instead of creating one
        #[arg(long, conflicts_with = "url")]
        secret_stdin: bool,
        /// Hours in which the old secret is accepted too [default: 24]
        #[arg(long, value_name = "HOURS", conflicts_with = "url")]
        overlap_hours: Option<u32>,
        /// Create a new URL; the old URL stops working at once
        #[arg(long)]
        url: bool,
    },
    /// Remove sources; their URLs stop working
    #[command(visible_alias = "delete", before_help = "  svc source rm github")]
    Rm(NameArgs),
    /// Show the last requests, with the reasons of rejections
    #[command(before_help = "  svc source requests github")]
    Requests(NameArg),
    /// Sign a request as the sender would, and handle it; exit 1 if it is rejected
    #[command(
        before_help = "  svc source test github --header 'X-GitHub-Event: push' --body '{\"ref\":\"main\"}'\n  svc source test stripe --body @event.json --dry-run"
    )]
    Test {
        /// Name or id
        source: String,
        /// Body of the request, as JSON or @file [default: {}]
        #[arg(long, value_name = "JSON|@FILE")]
        body: Option<String>,
        /// Header in addition to the signature; may be repeated
        #[arg(long = "header", value_name = "NAME: VALUE", value_parser = change::parse_header)]
        headers: Vec<(String, String)>,
        /// Show the event, but do not emit it
        #[arg(long)]
        dry_run: bool,
    },
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Source>(shell, args).await,
        Command::Get(which) => records::get::<Source>(shell, &which.name).await,
        Command::Create(args) => change::create(shell, *args).await,
        Command::Update(args) => change::update(shell, *args).await,
        Command::Rotate {
            source,
            secret_stdin,
            overlap_hours,
            url,
        } => {
            let secret = secret_stdin.then(prompt::read_secret).transpose()?;
            let request = RotateSource {
                secret,
                overlap_hours,
                url,
            };
            rotate(shell, &source, &request).await
        }
        Command::Rm(which) => records::remove::<Source>(shell, &which).await,
        Command::Requests(which) => requests(shell, &which.name).await,
        Command::Test {
            source,
            body,
            headers,
            dry_run,
        } => {
            let body = read_text(&shell.environment, body)?;
            let refuse = |why| Failure::usage("`--body` must be JSON").why(why);
            let parse = |text: &str| prompt::parse_json(text).map_err(refuse);
            let body = body.as_deref().map(parse).transpose()?;
            let test = SourceTest {
                body: body.map(JsonText::into_raw),
                headers: headers.into_iter().collect(),
                dry_run,
            };
            run_test(shell, &source, &test).await
        }
    }
}

async fn rotate(shell: &Shell, reference: &str, request: &RotateSource) -> Outcome {
    let (client, source) = records::open::<Source>(shell, reference).await?;
    let rotated = client.act(&source, request).await?;
    if let Some(until) = rotated.previous_until {
        eprintln!("requests that are signed with the old secret are accepted until {until}");
    }
    let (name, shown) = match (&rotated.secret, &rotated.url) {
        (Some(secret), _) => ("secret", secret),
        (None, Some(url)) => ("URL", url),
        (None, None) => return Ok(Exit::Ok),
    };
    eprintln!("keep the new {name} now: it is not shown again");
    shell.output.line_or_data(shown, &rotated)
}

async fn requests(shell: &Shell, reference: &str) -> Outcome {
    let (client, source) = records::open::<Source>(shell, reference).await?;
    let listed = client.source_requests(source.id).await?;
    let columns: [Column<SourceRequest>; 6] = [
        ("AT", |request| request.at.to_string()),
        ("OUTCOME", |request| json_name(request.outcome)),
        ("STATUS", |request| request.status.to_string()),
        ("FROM", |request| request.address.clone()),
        ("EVENT TYPE", |request| or_dash(request.event_type.as_ref())),
        ("REASON", |request| or_dash(request.reason.as_ref())),
    ];
    let (output, empty) = (&shell.output, "no requests since the server started");
    output.list(&listed, empty, &listed.requests, &columns)
}

async fn run_test(shell: &Shell, reference: &str, test: &SourceTest) -> Outcome {
    let (client, source) = records::open::<Source>(shell, reference).await?;
    let tested = client.act(&source, test).await?;
    shell.output.record(&tested, || {
        vec![
            ("accepted", yes_no(tested.accepted)),
            ("reason", or_dash(tested.reason.as_ref())),
            ("event type", or_dash(tested.event_type.as_ref())),
            ("event id", or_dash(tested.event_id)),
            ("data", or_dash(tested.data.as_ref().map(|data| data.get()))),
        ]
    })?;
    Ok(Exit::ok_if(tested.accepted, Exit::Failure))
}

impl Record for Source {
    const HEAD: &'static [&'static str] = &[
        "NAME",
        "VERIFY",
        "ACTIVE",
        "ACCEPTED",
        "REJECTED",
        "LAST ACCEPTED",
    ];

    fn fields(&self) -> Fields {
        fields! { self as Source, without owner_id:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "description" description = description.clone(),
            "verify" verify = verify.r#type.to_string(),
            "events" = format!("source.{name}.*"),
            "active" active = yes_no(*active),
            "headers" headers = joined(headers),
            "event type" event_type = rule_text(event_type),
            "url" url = url.clone(),
            "secret" = verify.secret.clone(),
            "old secret until" previous_secret_until =
                previous_secret_until.map(|until| until.to_string()),
            "accepted" accepted = accepted.to_string(),
            "rejected" rejected = rejected.to_string(),
            "last accepted" last_accepted_at = or_dash(*last_accepted_at),
            "last rejection" last_rejection =
                or_dash(last_rejection.as_ref().map(rejection_text)),
            "created" created_at = created_at.to_string(),
        }
    }
}

fn rule_text(rule: &TypeRule) -> Option<String> {
    (*rule != TypeRule::default()).then(|| json!(rule).to_string())
}

fn rejection_text(last: &SourceRejection) -> String {
    format!("{}: {}", last.at, last.reason)
}
