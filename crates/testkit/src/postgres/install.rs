//! Finds the programs of PostgreSQL, and the user who may run its server.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::skip::require;

/// Names a folder with `initdb`, `postgres` and `psql`, to use instead of the installed programs.
const BIN_VARIABLE: &str = "SVC_POSTGRES_BIN";
/// The folder in which Debian has these programs, in a subfolder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "psql"];
/// The user that runs the server when tests run as root: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

#[derive(Clone)]
pub(super) struct Installation {
    pub programs: PathBuf,
    /// Uid and gid of [`USER`], if this process runs as root.
    unprivileged: Option<(u32, u32)>,
}

impl Installation {
    pub fn find() -> Result<Self, String> {
        let programs = find_programs()?;
        require("setpriv")
            .map_err(|why| format!("{why} (Debian has it in the package `util-linux`)"))?;
        let unprivileged = match geteuid().is_root() {
            true => Some((id_of_user("-u")?, id_of_user("-g")?)),
            false => None,
        };
        Ok(Self {
            programs,
            unprivileged,
        })
    }

    /// A program of the installation. Of the environment, it gets only `PATH`.
    pub fn command(&self, program: &str) -> Command {
        bare(&self.programs.join(program))
    }

    /// The command prefix that runs a program as [`USER`] if necessary, and kills the program when
    /// the process that started it ends.
    pub fn runner(&self) -> Vec<String> {
        let mut words = vec!["setpriv".to_owned(), "--pdeathsig=KILL".to_owned()];
        if let Some((uid, gid)) = self.unprivileged {
            words.extend([
                format!("--reuid={uid}"),
                format!("--regid={gid}"),
                "--clear-groups".to_owned(),
            ]);
        }
        words
    }

    /// A new folder of the user who runs the server. It is not removed automatically.
    pub fn folder(&self) -> PathBuf {
        let folder = TempDir::with_prefix_in("svc-postgres-", self.temporary())
            .expect("a temporary folder can be made");
        if let Some((uid, gid)) = self.unprivileged {
            chown(folder.path(), Some(uid), Some(gid)).expect("root may change owners");
        }
        folder.keep()
    }

    /// Lets only the user of the server read and write a file.
    pub fn entrust(&self, path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .expect("the owner may set permissions");
        if let Some((uid, gid)) = self.unprivileged {
            chown(path, Some(uid), Some(gid)).expect("root may change owners");
        }
    }

    /// The folder for temporary files; `/tmp` if the user of the server cannot reach that folder.
    fn temporary(&self) -> PathBuf {
        let folder = env::temp_dir();
        let open = |folder: &Path| {
            fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
        };
        match self.unprivileged.is_none() || folder.ancestors().all(open) {
            true => folder,
            false => PathBuf::from("/tmp"),
        }
    }
}

pub(super) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

fn find_programs() -> Result<PathBuf, String> {
    if let Some(folder) = env::var_os(BIN_VARIABLE).map(PathBuf::from) {
        return match has_programs(&folder) {
            true => Ok(folder),
            false => Err(format!(
                "`{}`, which `{BIN_VARIABLE}` names, does not have `initdb`, `postgres` and `psql`",
                folder.display()
            )),
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    // `initdb` may be a symbolic link. Its target is in the folder of the other programs.
    let in_path = env::split_paths(&path).filter_map(|folder| {
        Some(
            folder
                .join("initdb")
                .canonicalize()
                .ok()?
                .parent()?
                .to_owned(),
        )
    });
    debian_folders()
        .into_iter()
        .chain(in_path)
        .find(|folder| has_programs(folder))
        .ok_or_else(|| {
            format!(
                "no `initdb`, `postgres` and `psql` in {DEBIAN} or `PATH`; install Debian's package \
                 `postgresql`, or let `{BIN_VARIABLE}` name their folder"
            )
        })
}

fn has_programs(folder: &Path) -> bool {
    PROGRAMS.iter().all(|name| folder.join(name).is_file())
}

/// The folders of all versions, newest first.
fn debian_folders() -> Vec<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut versions: Vec<u32> = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let folder = |version| Path::new(DEBIAN).join(format!("{version}/bin"));
    versions.into_iter().map(folder).collect()
}

fn id_of_user(option: &str) -> Result<u32, String> {
    let said = Command::new("id").args([option, USER]).output();
    let id = said
        .ok()
        .and_then(|said| String::from_utf8(said.stdout).ok()?.trim().parse().ok());
    id.ok_or_else(|| {
        format!(
            "PostgreSQL refuses to run as root, and there is no user `{USER}`; Debian's package \
             `postgresql` creates this user"
        )
    })
}
