//! `svc migrate`: copies the embedded database of a single server to PostgreSQL.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use svc_store::{DatabaseUrl, OpenError, StoreError};

use svc_server::migrate::{self, MigrateError, MovedTable, Progress, Report, Step, TransferError};

use super::{Shell, server};
use crate::{
    config::Config,
    exit::{Exit, Failure, OrFail, Outcome},
    output::{Column, quote},
};

/// Optional prefix of the path of an embedded database.
const EMBEDDED_PREFIX: &str = "sqlite:";
/// Prefixes of the URL of a PostgreSQL database.
const POSTGRES_PREFIXES: [&str; 2] = ["postgres://", "postgresql://"];
/// Time between two progress lines about the same table.
const PRINT_INTERVAL: Duration = Duration::from_secs(1);

/// Move a stopped server's data to an empty PostgreSQL database, for a zone
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc migrate --to postgres://svc@db.example/svc\n  \
                   svc migrate --from sqlite:/var/lib/svc --to postgres://svc@db.example/svc\n  \
                   SVC_DATABASE_URL=postgres://… svc migrate    keeps a password off the command line")]
pub struct Args {
    /// Data folder to read, or the file svc.db in it [default: the server's, ~/.local/share/svc]
    #[arg(long, value_name = "sqlite:FOLDER")]
    from: Option<PathBuf>,
    /// Empty database to write [env: SVC_DATABASE_URL]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
}

pub fn run(shell: &Shell, args: Args) -> Outcome {
    shell.start_command_logs()?;
    let config = shell.config()?;
    let from = source(shell, &config, args.from)?;
    let to = target(args.to.or(config.server.database_url))?;
    let mut printer = ProgressPrinter::default();
    let mut print = |progress| printer.print(progress);
    let report = migrate::run(&from, to, &mut print).map_err(failure)?;
    let columns: [Column<MovedTable>; 3] = [
        ("TABLE", |moved| moved.name.to_owned()),
        ("ROWS", |moved| moved.rows.to_string()),
        ("SHA-256", |moved| moved.sha256.clone()),
    ];
    let output = &shell.output;
    output.list(&report, "no tables", &report.tables, &columns)?;
    print_next_steps(&report);
    Ok(Exit::Ok)
}

fn source(shell: &Shell, config: &Config, from: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let Some(from) = from else {
        return server::data_dir(shell, config);
    };
    if from.to_str().is_some_and(is_postgres) {
        return Err(Failure::usage("--from takes an embedded database")
            .hint("--from sqlite:<data folder> --to postgres://…"));
    }
    // A path that is not UTF-8 has no prefix.
    let text = from.to_str();
    let path = text.and_then(|text| text.strip_prefix(EMBEDDED_PREFIX));
    let path = path.map_or(from.as_path(), Path::new);
    Ok(shell.environment.absolute(path))
}

fn target(to: Option<String>) -> Result<DatabaseUrl, Failure> {
    let form = "postgres://user:password@host:5432/database";
    let Some(to) = to else {
        return Err(Failure::usage("no target database is given").hint(format!(
            "--to {form}, or SVC_DATABASE_URL, which keeps a password off the command line"
        )));
    };
    if !is_postgres(&to) {
        let hint = format!("--to {form}; `svc backup create` copies an embedded database");
        return Err(Failure::usage("--to takes a PostgreSQL database").hint(hint));
    }
    DatabaseUrl::parse(&to).or_usage("--to is not a valid database URL")
}

fn is_postgres(text: &str) -> bool {
    let mut prefixes = POSTGRES_PREFIXES.iter();
    prefixes.any(|prefix| text.starts_with(prefix))
}

/// Prints progress on stderr: once when a table begins, and repeatedly for a long table.
#[derive(Default)]
struct ProgressPrinter {
    last: Option<(Progress, Instant)>,
}

impl ProgressPrinter {
    fn print(&mut self, progress: Progress) {
        let due = self.last.is_none_or(|(last, at)| {
            (last.step, last.table) != (progress.step, progress.table)
                || at.elapsed() >= PRINT_INTERVAL
        });
        if !due {
            return;
        }
        self.last = Some((progress, Instant::now()));
        let doing = match progress.step {
            Step::Copy => "copying",
            Step::Check => "checking",
        };
        let (table, of) = (progress.table, progress.of);
        match progress.rows {
            0 => eprintln!("{doing} {table}: {of} rows"),
            rows => eprintln!("{doing} {table}: {rows} of {of} rows"),
        }
    }
}

fn failure(error: MigrateError) -> Failure {
    let exit = match &error {
        MigrateError::NoDatabase(_) => Exit::NotFound,
        MigrateError::OtherFile(_) => Exit::Refused,
        MigrateError::Running(_) | MigrateError::ServerId(_) => Exit::Failure,
        MigrateError::Transfer(error) => exit_of(error),
    };
    let failure = Failure::of_error(exit, &error);
    // The migrations failed, usually because the database has tables of another program.
    if let MigrateError::Transfer(TransferError::Target {
        source: OpenError::Migration { .. },
        ..
    }) = &error
    {
        return failure.hint("name an empty database; `createdb <name>` makes one");
    }
    failure
}

fn exit_of(error: &TransferError) -> Exit {
    match error {
        TransferError::NotADatabase { .. }
        | TransferError::NotOurs(_)
        | TransferError::NotEmpty { .. }
        | TransferError::Source(OpenError::NewerSchema { .. }) => Exit::Refused,
        TransferError::Target { source, .. } => match source {
            OpenError::Database(StoreError::Unavailable(_)) => Exit::Unreachable,
            OpenError::Database(_) => Exit::Failure,
            _ => Exit::Refused,
        },
        TransferError::Source(_)
        | TransferError::Busy { .. }
        | TransferError::Read { .. }
        | TransferError::Write { .. }
        | TransferError::Different { .. }
        | TransferError::Commit(_) => Exit::Failure,
    }
}

fn print_next_steps(report: &Report) {
    let folder = report.from.parent().unwrap_or(&report.from);
    let (from, to) = (report.from.display(), &report.to);
    eprintln!("all data was copied to {to} and verified; the data in `{from}` is unchanged");
    eprintln!("next, set in the environment of every server of the zone:");
    match &report.secret_key_file {
        Some(file) => eprintln!(
            "  export SVC_SECRET_KEY=\"$(cat {})\"    # the stored secrets are encrypted with this key",
            quote(&file.display().to_string())
        ),
        None => {
            eprintln!("  SVC_SECRET_KEY, unchanged: the stored secrets are encrypted with this key")
        }
    }
    eprintln!("  SVC_DATABASE_URL, the URL of the new database");
    eprintln!("then start this server with its data folder, which holds its id and its spaces:");
    let folder = quote(&folder.display().to_string());
    eprintln!("  svc server start --data-dir {folder}");
    eprintln!(
        "never start this server without SVC_DATABASE_URL: it would use the old database and deliver queued events a second time"
    );
}
