//! `svc schedule`: manages schedules, which emit events at certain times.

use clap::Subcommand;
use serde_json::json;
use svc_core::{Timestamp, json_text::JsonText, schedule::MissedPolicy};
use svc_protocol::api::{NextRunsQuery, PreviewQuery, Schedule, SchedulePatch};

use super::{
    Shell,
    choice::choice,
    records::{self, ListArgs, NameArg, NameArgs, Record, find},
    sink::read_text,
};
use crate::{
    exit::{Failure, Outcome},
    output::{Column, Fields, fields, or_dash, yes_no},
    prompt,
};

/// Manage schedules: events at the times of a cron expression
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc schedule create nightly --cron '0 2 * * *' --timezone Europe/Berlin\n  \
                   svc schedule next nightly\n  \
                   svc sink create backup --patterns schedule.nightly --url https://example.com/hook"
)]
pub enum Command {
    /// List your schedules
    #[command(before_help = "  svc schedule list")]
    List(ListArgs),
    /// Show a schedule
    #[command(before_help = "  svc schedule get nightly")]
    Get(NameArg),
    /// Create a schedule
    #[command(
        before_help = "  svc schedule create nightly --cron '0 2 * * *' --timezone Europe/Berlin --payload '{\"job\":\"backup\"}'"
    )]
    Create {
        /// Name, unique among your schedules; a part of event types
        name: String,
        /// Minute, hour, day of month, month, day of week
        #[arg(long)]
        cron: String,
        /// Create the schedule disabled
        #[arg(long)]
        inactive: bool,
        #[command(flatten)]
        settings: Settings,
    },
    /// Change a schedule; with --cron, --timezone or --active, the next run is computed from now
    #[command(before_help = "  svc schedule update nightly --cron '30 2 * * *'")]
    Update {
        /// Name or id
        schedule: String,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// Minute, hour, day of month, month, day of week
        #[arg(long)]
        cron: Option<String>,
        /// Enable the schedule
        #[arg(long, conflicts_with = "inactive")]
        active: bool,
        /// Disable the schedule
        #[arg(long)]
        inactive: bool,
        #[command(flatten)]
        settings: Settings,
    },
    /// Remove schedules
    #[command(visible_alias = "delete", before_help = "  svc schedule rm nightly")]
    Rm(NameArgs),
    /// Show the next runs of a schedule, or of a cron expression
    #[command(
        before_help = "  svc schedule next nightly --count 10\n  svc schedule next --cron '0 2 * * 1-5' --timezone Europe/Berlin"
    )]
    Next {
        /// Name or id
        #[arg(required_unless_present = "cron", conflicts_with = "cron")]
        schedule: Option<String>,
        /// Cron expression instead of a schedule
        #[arg(long)]
        cron: Option<String>,
        /// Time zone of --cron [default: UTC]
        #[arg(long, requires = "cron", value_name = "ZONE")]
        timezone: Option<String>,
        /// Number of runs [default: 5]
        #[arg(long, value_name = "N")]
        count: Option<u32>,
    },
    /// Emit the event of a schedule now, in addition to its runs
    #[command(before_help = "  svc schedule run nightly")]
    Run(NameArg),
}

#[derive(clap::Args, Debug)]
pub struct Settings {
    /// What the schedule is for
    #[arg(long)]
    description: Option<String>,
    /// Time zone, by its IANA name [default: UTC]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Payload in the data of each event, as a JSON object or @file
    #[arg(long, value_name = "JSON|@FILE")]
    payload: Option<String>,
    /// What happens to runs that were missed while the server was down [default: once]
    #[arg(long, value_parser = choice::<MissedPolicy>(&[
        "skip: Skip all of them",
        "once: Run only the latest of them",
        "all: Run each of them, at most the 100 latest",
    ]))]
    missed: Option<MissedPolicy>,
}

impl Settings {
    fn patch(
        self,
        shell: &Shell,
        name: Option<String>,
        cron: Option<String>,
        active: Option<bool>,
    ) -> Result<SchedulePatch, Failure> {
        let payload = read_text(&shell.environment, self.payload)?;
        let parse = |text: &str| -> Result<JsonText, Failure> {
            let object = prompt::parse_object("`--payload`", text)?;
            JsonText::parse(object.get()).map_err(|error| Failure::usage(error.to_string()))
        };
        Ok(SchedulePatch {
            name,
            description: self.description,
            cron,
            timezone: self.timezone,
            payload: payload.as_deref().map(parse).transpose()?,
            missed: self.missed,
            active,
        })
    }
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Schedule>(shell, args).await,
        Command::Get(which) => records::get::<Schedule>(shell, &which.name).await,
        Command::Create {
            name,
            cron,
            inactive,
            settings,
        } => {
            let new = settings.patch(shell, Some(name), Some(cron), Some(!inactive))?;
            records::create::<Schedule>(shell, json!({}), &new).await
        }
        Command::Update {
            schedule,
            name,
            cron,
            active,
            inactive,
            settings,
        } => {
            let active = (active || inactive).then_some(active);
            let patch = settings.patch(shell, name, cron, active)?;
            records::update::<Schedule>(shell, &schedule, &patch).await
        }
        Command::Rm(which) => records::remove::<Schedule>(shell, &which).await,
        Command::Next {
            schedule,
            cron,
            timezone,
            count,
        } => {
            let client = shell.client()?;
            let runs = match (schedule, cron) {
                (_, Some(cron)) => {
                    let query = PreviewQuery {
                        cron,
                        timezone,
                        count,
                    };
                    client.preview_schedule(&query).await?
                }
                (schedule, None) => {
                    let found: Schedule = find(&client, &schedule.unwrap_or_default()).await?;
                    client.next_runs(found.id, &NextRunsQuery { count }).await?
                }
            };
            let columns: [Column<Timestamp>; 1] = [("NEXT RUNS", Timestamp::to_string)];
            shell.output.list(&runs, "no runs", &runs.runs, &columns)
        }
        Command::Run(which) => {
            let (client, schedule) = records::open::<Schedule>(shell, &which.name).await?;
            let emitted = client.run_schedule(schedule.id).await?;
            let id = emitted.event_id.to_string();
            shell.output.line_or_data(&id, &emitted)
        }
    }
}

impl Record for Schedule {
    const HEAD: &'static [&'static str] = &[
        "NAME",
        "CRON",
        "TIME ZONE",
        "ACTIVE",
        "NEXT",
        "LAST",
        "FAILURE",
    ];

    fn fields(&self) -> Fields {
        fields! { self as Schedule, without owner_id:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "description" description = description.clone(),
            "event type" = format!("schedule.{name}"),
            "cron" cron = cron.clone(),
            "time zone" timezone = timezone.clone(),
            "payload" payload = payload.to_string(),
            "missed runs" missed = missed.to_string(),
            "active" active = yes_no(*active),
            "next run" next_at = or_dash(*next_at),
            "last run" last_at = or_dash(*last_at),
            "last event" last_event_id = or_dash(*last_event_id),
            "failure" failure = or_dash(failure.as_ref()),
            "created" created_at = created_at.to_string(),
        }
    }
}
