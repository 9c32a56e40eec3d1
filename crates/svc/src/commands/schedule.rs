//! `svc schedule`: manages schedules, which emit events at certain times.

use clap::{Subcommand, ValueEnum};
use svc_client::Resource;
use svc_core::{json_text::JsonText, schedule::MissedPolicy};
use svc_protocol::api::{
    NewSchedule, NextRuns, NextRunsQuery, PreviewQuery, Schedule, SchedulePatch,
};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record, find},
    sink::read_text,
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Fields, Table, or_dash, yes_no},
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
    #[arg(long, value_enum)]
    missed: Option<Missed>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Missed {
    /// Skip all of them
    Skip,
    /// Run only the latest of them
    Once,
    /// Run each of them, at most the 100 latest
    All,
}

impl From<Missed> for MissedPolicy {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Skip => Self::Skip,
            Missed::Once => Self::Once,
            Missed::All => Self::All,
        }
    }
}

impl Settings {
    fn payload(&self, shell: &Shell) -> Result<Option<JsonText>, Failure> {
        let text = read_text(&shell.environment, self.payload.clone())?;
        let parse = |text: &str| -> Result<JsonText, Failure> {
            let object = prompt::parse_object("`--payload`", text)?;
            JsonText::parse(object.get()).map_err(|error| Failure::usage(error.to_string()))
        };
        text.as_deref().map(parse).transpose()
    }
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<Schedule>(shell, args).await,
        Command::Get(which) => records::get::<Schedule>(shell, &which).await,
        Command::Create {
            name,
            cron,
            inactive,
            settings,
        } => {
            let new = NewSchedule {
                name,
                cron,
                payload: settings.payload(shell)?,
                description: settings.description.unwrap_or_default(),
                timezone: settings.timezone.unwrap_or_else(|| "UTC".to_owned()),
                missed: settings.missed.map_or(MissedPolicy::Once, Into::into),
                active: !inactive,
            };
            records::create::<Schedule>(shell, &new).await
        }
        Command::Update {
            schedule,
            name,
            cron,
            active,
            inactive,
            settings,
        } => {
            let patch = SchedulePatch {
                name,
                cron,
                payload: settings.payload(shell)?,
                description: settings.description,
                timezone: settings.timezone,
                missed: settings.missed.map(Into::into),
                active: match (active, inactive) {
                    (true, _) => Some(true),
                    (_, true) => Some(false),
                    _ => None,
                },
            };
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
            print_runs(shell, &runs)
        }
        Command::Run(which) => {
            let client = shell.client()?;
            let schedule: Schedule = find(&client, &which.name).await?;
            let emitted = client.run_schedule(schedule.id).await?;
            shell
                .output
                .line_or_data(&emitted.event_id.to_string(), &emitted)
        }
    }
}

fn print_runs(shell: &Shell, runs: &NextRuns) -> Outcome {
    shell.output.document(runs, || {
        Table::list(&["NEXT RUNS"], "no runs".to_owned(), &runs.runs, |run| {
            vec![run.to_string()]
        })
    })?;
    Ok(Exit::Ok)
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

    fn row(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.cron.clone(),
            self.timezone.clone(),
            yes_no(self.active),
            or_dash(self.next_at),
            or_dash(self.last_at),
            or_dash(self.failure.as_ref()),
        ]
    }

    fn fields(&self) -> Fields {
        vec![
            ("name", self.name.clone()),
            ("id", self.id().to_string()),
            ("description", self.description.clone()),
            ("event type", format!("schedule.{}", self.name)),
            ("cron", self.cron.clone()),
            ("time zone", self.timezone.clone()),
            ("payload", self.payload.to_string()),
            ("missed runs", self.missed.to_string()),
            ("active", yes_no(self.active)),
            ("next run", or_dash(self.next_at)),
            ("last run", or_dash(self.last_at)),
            ("last event", or_dash(self.last_event_id)),
            ("failure", or_dash(self.failure.as_ref())),
            ("created", self.created_at.to_string()),
        ]
    }
}
