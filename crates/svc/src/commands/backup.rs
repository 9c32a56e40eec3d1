//! `svc backup`: backs up the embedded database, also while the server runs, and restores it.

use std::path::PathBuf;

use clap::Subcommand;
use svc_server::backup::{self, ArchiveError, BackupError, Report};

use super::{Shell, server};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Fields, joined},
};

/// Back up the embedded database, and restore it
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc backup create svc.backup\n  svc backup verify svc.backup\n  svc backup restore svc.backup"
)]
pub enum Command {
    /// Write a backup; the server may keep running
    #[command(before_help = "  svc backup create svc-$(date +%F).backup")]
    Create {
        /// File to write
        file: PathBuf,
        #[command(flatten)]
        folder: Folder,
    },
    /// Restore a backup into a data folder that no server uses
    #[command(before_help = "  svc backup restore svc.backup --data-dir /var/lib/svc")]
    Restore {
        /// File to read
        file: PathBuf,
        #[command(flatten)]
        folder: Folder,
        /// Replace an existing database; the old files are renamed
        #[arg(long)]
        force: bool,
    },
    /// Check that a backup is complete and undamaged
    #[command(before_help = "  svc backup verify svc.backup")]
    Verify {
        /// File to read
        file: PathBuf,
    },
}

#[derive(clap::Args, Debug)]
pub struct Folder {
    /// Folder of the database [default: ~/.local/share/svc] [env: SVC_DATA_DIR]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

impl Folder {
    fn path(self, shell: &Shell) -> Result<PathBuf, Failure> {
        match self.data_dir {
            Some(folder) => Ok(shell.environment.absolute(&folder)),
            None => server::data_dir(shell, &shell.config()?),
        }
    }
}

pub fn run(shell: &Shell, command: Command) -> Outcome {
    let path = |file: PathBuf| shell.environment.absolute(&file);
    let report = match command {
        Command::Create { file, folder } => backup::create(&folder.path(shell)?, &path(file)),
        Command::Restore {
            file,
            folder,
            force,
        } => backup::restore(&path(file), &folder.path(shell)?, force),
        Command::Verify { file } => backup::verify(&path(file)),
    };
    let report = report.map_err(failure)?;
    shell.output.record(&report, || fields(&report))
}

fn failure(error: BackupError) -> Failure {
    let exit = match &error {
        BackupError::Archive(ArchiveError::Io { .. })
        | BackupError::Io { .. }
        | BackupError::Folder(_) => Exit::Failure,
        BackupError::OutExists(_) | BackupError::DatabaseExists(_) | BackupError::Archive(_) => {
            Exit::Refused
        }
        BackupError::NoDatabase(_) => Exit::NotFound,
    };
    Failure::of_error(exit, &error)
}

fn fields(report: &Report) -> Fields {
    let tables = report.tables.iter();
    let tables = tables.map(|(name, rows)| format!("{name} {rows}"));
    vec![
        ("created", report.created_at.to_string()),
        ("bytes", report.bytes.to_string()),
        ("svc version", report.svc_version.clone()),
        ("schema", report.schema_version.to_string()),
        ("rows", joined(tables)),
        ("files", joined(&report.files)),
    ]
}
