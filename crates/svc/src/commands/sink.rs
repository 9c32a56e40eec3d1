//! `svc sink`: manages event sinks and their queues.

mod change;
mod content;
mod deliveries;
mod trying;

pub use content::read_text;

use clap::Subcommand;
use svc_client::{Client, Resource};
use svc_core::Timestamp;
use svc_protocol::api::{Replay, RotateSecret, Sink, SinkOwner, SinkPatch, SinkType, Sinks};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Format, Table, joined, or_dash, yes_no},
};

/// Manage event sinks, to which events are delivered in order and with retries
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc sink create builds --patterns 'custom.build.*' --url https://example.com/hook\n  \
                   svc sink test builds\n  \
                   svc sink deliveries builds -f"
)]
pub enum Command {
    /// List the sinks you may manage
    #[command(before_help = "  svc sink list")]
    List(ListArgs),
    /// Show a sink
    #[command(before_help = "  svc sink get builds\n  svc sink get global/audit -o json")]
    Get(SinkArg),
    Create(change::CreateArgs),
    Update(change::UpdateArgs),
    /// Remove sinks and the events in their queues
    #[command(before_help = "  svc sink rm builds")]
    Rm(NameArgs),
    /// Enable sinks: queued events are delivered, and new events match again
    #[command(before_help = "  svc sink enable builds")]
    Enable(NameArgs),
    /// Disable sinks: new events no longer match, and queued events stay queued
    #[command(before_help = "  svc sink disable builds")]
    Disable(NameArgs),
    Test(trying::Args),
    Deliveries(deliveries::Args),
    /// Queue the event of a delivery again, at the end
    #[command(before_help = "  svc sink resend builds 17")]
    Resend {
        #[command(flatten)]
        which: SinkArg,
        /// Number of the delivery, as `svc sink deliveries` shows it
        n: u64,
    },
    /// Queue matching past events again
    #[command(
        before_help = "  svc sink replay builds --since 2026-01-31T08:00:00Z --until 2026-01-31T09:00:00Z"
    )]
    Replay {
        #[command(flatten)]
        which: SinkArg,
        /// Only events from this time on, RFC 3339
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        since: Option<Timestamp>,
        /// Only events before this time, RFC 3339
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        until: Option<Timestamp>,
    },
    /// Create a new signing secret; for a while requests are signed with the old one too
    #[command(before_help = "  svc sink rotate-secret builds --overlap-hours 48")]
    RotateSecret {
        #[command(flatten)]
        which: SinkArg,
        /// Hours in which requests are signed with both secrets [default: 24]
        #[arg(long, value_name = "HOURS")]
        overlap_hours: Option<u32>,
    },
}

/// Selects a sink.
#[derive(clap::Args, Debug)]
pub struct SinkArg {
    /// Name, global/name or id
    #[arg(value_name = "SINK")]
    sink: String,
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "a time looks like 2026-01-31T08:00:00Z".to_owned())
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => list(shell, &args).await,
        Command::Get(one) => {
            let sink = find(&shell.client()?, &one.sink).await?;
            records::show(shell, &sink, fields)
        }
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Rm(which) => remove(shell, &which).await,
        Command::Enable(which) => switch(shell, &which, true).await,
        Command::Disable(which) => switch(shell, &which, false).await,
        Command::Test(args) => trying::run(shell, args).await,
        Command::Deliveries(args) => deliveries::run(shell, &args).await,
        Command::Resend { which, n } => resend(shell, &which.sink, n).await,
        Command::Replay {
            which,
            since,
            until,
        } => replay(shell, &which.sink, &Replay { since, until }).await,
        Command::RotateSecret {
            which,
            overlap_hours,
        } => rotate_secret(shell, &which.sink, overlap_hours).await,
    }
}

async fn find(client: &Client, reference: &str) -> Result<Sink, Failure> {
    client
        .find_sink(reference)
        .await
        .map_err(|error| records::with_list_hint::<Sink>(error.into()))
}

async fn list(shell: &Shell, args: &ListArgs) -> Outcome {
    let head = [
        "NAME", "TYPE", "OWNER", "ACTIVE", "PATTERNS", "QUEUED", "DROPPED", "LAST",
    ];
    records::list::<Sinks>(shell, args, &head, |sink| {
        vec![
            sink.name.clone(),
            type_name(sink.r#type).to_owned(),
            owner_name(sink.owner).to_owned(),
            yes_no(sink.active),
            joined(&sink.patterns),
            sink.queue_depth.to_string(),
            sink.dropped.to_string(),
            last_delivery(sink),
        ]
    })
    .await
}

async fn remove(shell: &Shell, which: &NameArgs) -> Outcome {
    let client = shell.client()?;
    for name in &which.names {
        let sink = find(&client, name).await?;
        client.delete::<Sink>(sink.id()).await?;
        let waiting = match sink.queue_depth {
            0 => String::new(),
            depth => format!(", with {depth} events in its queue"),
        };
        eprintln!("removed sink `{}`{waiting}", sink.name);
    }
    Ok(Exit::Ok)
}

async fn switch(shell: &Shell, which: &NameArgs, active: bool) -> Outcome {
    let client = shell.client()?;
    let patch = SinkPatch {
        active: Some(active),
        ..SinkPatch::default()
    };
    for name in &which.names {
        let sink = find(&client, name).await?;
        client.update::<Sink>(sink.id(), &patch).await?;
        let state = if active { "on" } else { "off" };
        eprintln!("sink `{}` is {state}", sink.name);
    }
    Ok(Exit::Ok)
}

async fn resend(shell: &Shell, reference: &str, n: u64) -> Outcome {
    let client = shell.client()?;
    let sink = find(&client, reference).await?;
    let delivery = client.resend(sink.id, n).await.map_err(|error| {
        let failure = Failure::from(error);
        match failure.exit {
            Exit::NotFound => failure.hint(format!("svc sink deliveries {reference}")),
            _ => failure,
        }
    })?;
    eprintln!("delivery {n} is queued again, as {}", delivery.n);
    deliveries::show(shell, &delivery)?;
    Ok(Exit::Ok)
}

async fn replay(shell: &Shell, reference: &str, replay: &Replay) -> Outcome {
    let client = shell.client()?;
    let sink = find(&client, reference).await?;
    let replayed = client.replay(sink.id, replay).await?;
    if replayed.dropped > 0 {
        eprintln!(
            "{} events did not fit into the queue; when it is shorter, replay from a later time",
            replayed.dropped
        );
    }
    shell.output.document(&replayed, || {
        Table::record(vec![
            ("queued", replayed.queued.to_string()),
            ("dropped", replayed.dropped.to_string()),
        ])
    })?;
    Ok(Exit::Ok)
}

async fn rotate_secret(shell: &Shell, reference: &str, overlap_hours: Option<u32>) -> Outcome {
    let client = shell.client()?;
    let sink = find(&client, reference).await?;
    let rotate = RotateSecret { overlap_hours };
    let rotated = client.rotate_secret(sink.id, &rotate).await?;
    eprintln!(
        "keep the secret now: it is not shown again. Requests are signed with both until {}",
        rotated.previous_until
    );
    match shell.output.format {
        // Only the secret, for use in `$(…)`.
        Format::Table => shell.output.line(&rotated.secret)?,
        Format::Json | Format::Yaml => shell.output.document(&rotated, || Table::new(&[]))?,
    }
    Ok(Exit::Ok)
}

fn type_name(kind: SinkType) -> &'static str {
    match kind {
        SinkType::Webhook => "webhook",
        SinkType::Script => "script",
        SinkType::JsonRpc => "json-rpc",
    }
}

fn owner_name(owner: SinkOwner) -> &'static str {
    match owner {
        SinkOwner::User => "user",
        SinkOwner::Global => "global",
    }
}

fn last_delivery(sink: &Sink) -> String {
    let last = sink.last_delivery.as_ref();
    or_dash(last.map(|last| format!("{} {}", deliveries::state_name(last.state), last.at)))
}

fn fields(sink: &Sink) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("name", sink.name.clone()),
        ("id", sink.id.to_string()),
        ("description", sink.description.clone()),
        ("patterns", joined(&sink.patterns)),
        ("type", type_name(sink.r#type).to_owned()),
        ("owner", owner_name(sink.owner).to_owned()),
        ("active", yes_no(sink.active)),
    ];
    let mut template = None;
    if let Some(webhook) = &sink.webhook {
        let headers = webhook.headers.iter();
        fields.push(("url", webhook.url.clone()));
        fields.push((
            "headers",
            joined(headers.map(|(name, value)| format!("{name}: {value}"))),
        ));
        if let Some(secret) = &webhook.secret {
            fields.push(("secret", secret.clone()));
        }
        template = webhook.body_template.as_ref();
    }
    if let Some(script) = &sink.script {
        fields.push((
            "script",
            match (script.script_id, &script.source) {
                (Some(id), _) => id.to_string(),
                (None, Some(source)) => format!("inline, {} bytes", source.len()),
                (None, None) => or_dash(None::<String>),
            },
        ));
    }
    if let Some(json_rpc) = &sink.json_rpc {
        template = json_rpc.body_template.as_ref();
    }
    fields.extend([
        ("body template", or_dash(template)),
        ("queued", sink.queue_depth.to_string()),
        ("dropped", sink.dropped.to_string()),
        ("last delivery", last_delivery(sink)),
        ("created", sink.created_at.to_string()),
    ]);
    fields
}
