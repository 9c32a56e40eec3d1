//! Finds the program of a registration and prepares its start. Never uses a shell.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use svc_core::registration::ServerDefinition;
use thiserror::Error;
use tokio::process::Command;

use crate::child::withhold_credentials;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    #[error(
        "command `{0}` was found neither on PATH nor beside svc; install it, or write its path with a `/`"
    )]
    NotOnPath(String),
    #[error(
        "command `{command}` does not exist: there is no file `{path}` (a command with a `/` is relative to the registration file)"
    )]
    NoFile { command: String, path: String },
    #[error(
        "command `{command}` cannot be run: `{path}` is not an executable file; try `chmod +x`"
    )]
    NotExecutable { command: String, path: String },
}

/// The program, arguments, folder and environment of a method server.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    args: Vec<String>,
    folder: PathBuf,
    env: BTreeMap<String, String>,
}

impl Launch {
    /// `folder` is the folder of the registration file. The registration may override variables of
    /// `agent_env`.
    pub fn new(
        server: &ServerDefinition,
        folder: &Path,
        agent_env: BTreeMap<String, String>,
    ) -> Result<Self, CommandError> {
        let own = env::current_exe().ok();
        let own_folder = own.as_deref().and_then(Path::parent);
        let path = env::var_os("PATH").unwrap_or_default();
        let mut env = agent_env;
        env.extend(server.env.clone());
        Ok(Self {
            program: find_program(&server.command, folder, &path, own_folder)?,
            args: server.args.clone(),
            folder: folder.to_owned(),
            env,
        })
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        withhold_credentials(&mut command);
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .envs(&self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

fn find_program(
    command: &str,
    folder: &Path,
    path: &OsStr,
    own_folder: Option<&Path>,
) -> Result<PathBuf, CommandError> {
    if command.contains('/') {
        let program = folder.join(command);
        let shown = || program.display().to_string();
        return if is_executable(&program) {
            Ok(program)
        } else if program.is_file() {
            Err(CommandError::NotExecutable {
                command: command.to_owned(),
                path: shown(),
            })
        } else {
            Err(CommandError::NoFile {
                command: command.to_owned(),
                path: shown(),
            })
        };
    }
    env::split_paths(path)
        // An empty entry would mean the agent's current folder.
        .filter(|entry| !entry.as_os_str().is_empty())
        .chain(own_folder.map(Path::to_owned))
        .map(|entry| entry.join(command))
        .find(|program| is_executable(program))
        .ok_or_else(|| CommandError::NotOnPath(command.to_owned()))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
        fs::write(path, "").expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn the_method_server_gets_no_credential_and_its_own_variables_take_precedence() {
        let server: ServerDefinition =
            serde_json::from_str(r#"{"command":"sh","env":{"A":"theirs"}}"#).expect("a definition");
        let ours = BTreeMap::from([("A".to_owned(), "ours".to_owned())]);
        let launch = Launch::new(&server, Path::new("/"), ours).expect("sh exists");
        let command = launch.command();
        let set: BTreeMap<_, _> = command.as_std().get_envs().collect();
        assert_eq!(set[OsStr::new("SVC_AGENT_TOKEN")], None);
        assert_eq!(set[OsStr::new("A")], Some(OsStr::new("theirs")));
    }

    #[test]
    fn a_path_is_relative_to_the_folder_and_a_name_is_searched_on_path_then_beside_svc() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        file(&at("reg/bin/tool"), 0o755);
        file(&at("reg/plain"), 0o644);
        file(&at("path/tool"), 0o755);
        file(&at("path/plain"), 0o644);
        file(&at("own/tool"), 0o755);
        file(&at("own/svc"), 0o755);
        let path = env::join_paths([at("nowhere"), at("path")]).expect("a PATH");
        let find = |command: &str| find_program(command, &at("reg"), &path, Some(&at("own")));
        assert_eq!(find("bin/tool"), Ok(at("reg/bin/tool")));
        assert_eq!(
            find("tool"),
            Ok(at("path/tool")),
            "PATH comes before the folder of svc"
        );
        assert_eq!(find("svc"), Ok(at("own/svc")));
        let absolute = at("path/tool").display().to_string();
        assert_eq!(find(&absolute), Ok(at("path/tool")));
        assert_eq!(find("plain"), Err(CommandError::NotOnPath("plain".into())));
        assert!(matches!(
            find("./plain"),
            Err(CommandError::NotExecutable { .. })
        ));
        assert!(matches!(find("./none"), Err(CommandError::NoFile { .. })));
    }
}
