//! `svc sink`: manages event sinks and their queues.

mod backtest;
mod change;
mod content;
mod deliveries;
mod exchange;
mod policy;
mod recovery;
mod trial;

pub use content::read_text;

use clap::Subcommand;
use svc_client::{Client, Error, Resource};

use svc_protocol::api::{
    FeedProgress, RotateSecret, ScriptConfig, Sink, SinkPatch, SinkPause, WebhookConfig,
};

use super::{
    Shell,
    records::{self, ListArgs, NameArgs, Record, find},
};
use crate::{
    exit::{Exit, Outcome},
    output::{Fields, fields, joined, json_name, or_dash, yes_no},
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
    #[command(visible_alias = "delete", before_help = "  svc sink rm builds")]
    Rm(NameArgs),
    /// Enable sinks: queued events are delivered, and new events match again
    #[command(before_help = "  svc sink enable builds")]
    Enable(NameArgs),
    /// Disable sinks: new events no longer match, and queued events stay queued
    #[command(before_help = "  svc sink disable builds")]
    Disable(NameArgs),
    Test(trial::Args),
    Deliveries(deliveries::Args),
    Resend(recovery::ResendArgs),
    Replay(recovery::ReplayArgs),
    Backtest(backtest::Args),
    /// Create a new signing secret; for some hours requests are signed with the old secret too
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

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Sink>(shell, args).await,
        Command::Get(which) => records::get::<Sink>(shell, &which.sink).await,
        Command::Create(args) => change::create(shell, args).await,
        Command::Update(args) => change::update(shell, args).await,
        Command::Rm(which) => records::remove::<Sink>(shell, &which).await,
        Command::Enable(which) => switch(shell, &which, true).await,
        Command::Disable(which) => switch(shell, &which, false).await,
        Command::Test(args) => trial::run(shell, args).await,
        Command::Deliveries(args) => deliveries::run(shell, args).await,
        Command::Resend(args) => recovery::resend(shell, args).await,
        Command::Replay(args) => recovery::replay(shell, args).await,
        Command::Backtest(args) => backtest::run(shell, args).await,
        Command::RotateSecret {
            which,
            overlap_hours,
        } => rotate_secret(shell, &which.sink, overlap_hours).await,
    }
}

async fn switch(shell: &Shell, which: &NameArgs, active: bool) -> Outcome {
    let client = shell.client()?;
    let patch = SinkPatch {
        active: Some(active),
        ..SinkPatch::default()
    };
    for name in &which.names {
        let sink: Sink = find(&client, name).await?;
        client.update::<Sink>(sink.id(), &patch).await?;
        let state = if active { "on" } else { "off" };
        eprintln!("sink `{}` is {state}", sink.name);
    }
    Ok(Exit::Ok)
}

async fn rotate_secret(shell: &Shell, reference: &str, overlap_hours: Option<u32>) -> Outcome {
    let (client, sink) = records::open::<Sink>(shell, reference).await?;
    let rotate = RotateSecret { overlap_hours };
    let rotated = client.act(&sink, &rotate).await?;
    eprintln!(
        "keep the secret now: it is not shown again. Until {} requests are signed with the old secret too",
        rotated.previous_until
    );
    shell.output.line_or_data(&rotated.secret, &rotated)
}

/// Whether a sink is active: `yes`, `no`, or `paused` if the service paused it after failures.
pub fn activity(sink: &Sink) -> String {
    match &sink.paused {
        Some(_) => "paused".to_owned(),
        None => yes_no(sink.active),
    }
}

fn last_delivery(sink: &Sink) -> String {
    let last = sink.last_delivery.as_ref();
    or_dash(last.map(|last| format!("{} {}", json_name(last.state), last.at)))
}

/// The progress of resends and replays: `2 (290 of 415 events queued)`.
fn progress(sink: &Sink) -> String {
    let sum = |of: fn(&FeedProgress) -> u64| sink.feed_progress.iter().map(of).sum::<u64>();
    let (queued, total) = (sum(|one| one.queued), sum(|one| one.total));
    format!("{} ({queued} of {total} events queued)", sink.feeds)
}

fn count_certificates(pem: &str) -> String {
    let count = pem.matches("-----BEGIN CERTIFICATE-----").count();
    format!("{count} certificates, PEM")
}

impl Record for Sink {
    const HEAD: &'static [&'static str] = &[
        "NAME", "TYPE", "OWNER", "ACTIVE", "PATTERNS", "QUEUED", "DROPPED", "LAST",
    ];

    async fn find(client: &Client, reference: &str) -> Result<Self, Error> {
        client.find_sink(reference).await
    }

    fn removed(&self) -> String {
        let waiting = match self.queue_depth {
            0 => String::new(),
            depth => format!(", with {depth} events in its queue"),
        };
        format!("removed sink `{}`{waiting}", self.name)
    }

    fn cell(&self, column: &str) -> Option<String> {
        (column == "ACTIVE").then(|| activity(self))
    }

    fn fields(&self) -> Fields {
        let hook = self.webhook.as_ref();
        let template = match (hook, &self.json_rpc) {
            (Some(hook), _) => hook.body_template.as_ref(),
            (None, part) => part.as_ref().and_then(|part| part.body_template.as_ref()),
        };
        let certificate = hook.and_then(|hook| hook.client_certificate.as_deref());
        let error = or_dash(self.filter_error.as_ref());
        fields! { self as Sink, without owner_id, webhook, json_rpc, attention, lost, dead,
            failures, feed_progress, filter_error, last_delivery:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "description" description = description.clone(),
            "patterns" patterns = joined(patterns),
            "type" r#type = json_name(r#type),
            "owner" owner = json_name(owner),
            "active" active = yes_no(*active),
            "url" = hook.map(|hook| hook.url.clone()),
            "headers" = hook.map(headers),
            "format" = hook.map(|hook| hook.format).filter(|it| !it.is_default()).map(json_name),
            "receiver CA" = hook.and_then(|hook| hook.ca.as_deref()).map(count_certificates),
            "client certificate" = certificate.map(count_certificates),
            "client key" = hook.and_then(|hook| hook.client_key.clone()),
            "HTTP/2" = hook.filter(|hook| hook.http2).map(|_| yes_no(true)),
            "secret" = hook.and_then(|hook| hook.secret.clone()),
            "script" script = script.as_ref().map(script_text),
            "paused" paused = paused.as_ref().map(pause_text),
            "body template" = or_dash(template),
            "delivery" delivery = policy::describe(delivery),
            "queued" queue_depth = queue_depth.to_string(),
            "dropped" dropped = dropped.to_string(),
            "held" held =
                held.then(|| "stored events wait until the sink can queue them".to_owned()),
            "resends and replays" feeds =
                (*feeds > 0).then(|| format!("{} unfinished", progress(self))),
            "filter errors" filter_errors =
                (*filter_errors > 0).then(|| format!("{filter_errors}, last: {error}")),
            "last delivery" = last_delivery(self),
            "created" created_at = created_at.to_string(),
        }
    }
}

fn headers(webhook: &WebhookConfig) -> String {
    let headers = webhook.headers.iter();
    joined(headers.map(|(name, value)| format!("{name}: {value}")))
}

fn script_text(script: &ScriptConfig) -> String {
    let inline = |source: &String| format!("inline, {} bytes", source.len());
    let id = script.script_id.map(|id| id.to_string());
    or_dash(id.or_else(|| script.source.as_ref().map(inline)))
}

fn pause_text(pause: &SinkPause) -> String {
    let remedy = match pause.until_corrected {
        true => "; correct the text: this enables the sink again",
        false => "",
    };
    format!("{}: {}{remedy}", pause.at, pause.reason)
}
