use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
};

use super::*;
use crate::context::Context;
use crate::exit::Exit;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("svc-resolve-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("work/inner")).expect("a folder");
        Self(folder)
    }

    fn environment(&self, more: &[(&str, &str)]) -> Environment {
        let home = self.0.join("config").display().to_string();
        let mut variables = vec![("XDG_CONFIG_HOME", home.as_str())];
        variables.extend_from_slice(more);
        Environment::of(&self.0.join("work/inner"), &variables)
    }

    fn save_contexts(&self) {
        let context = |name: &str, port: u16| Context {
            name: name.into(),
            url: format!("http://127.0.0.1:{port}"),
            token: format!("svc_pat_{name}"),
            token_id: None,
            username: None,
            ca_file: None,
        };
        let contexts = Contexts {
            current: Some("a".into()),
            contexts: vec![context("a", 1), context("b", 2)],
        };
        contexts.save(&self.0.join("config/svc")).expect("saved");
    }

    /// Writes the files of an agent, which listens until the listener is dropped.
    fn leave_agent_file(&self) -> (PathBuf, UnixListener) {
        let socket = self.0.join("agent.sock");
        let listener = UnixListener::bind(&socket).expect("bound");
        let discovery = Discovery {
            pid: 1,
            agent_url: Some("http://127.0.0.1:3".into()),
            agent_socket: socket.display().to_string(),
            space_id: None,
            space: None,
            server_url: "http://127.0.0.1:1".into(),
        };
        let folder = self.0.join("work").join(FOLDER);
        fs::create_dir_all(&folder).expect("a folder");
        let text = serde_json::to_vec(&discovery).expect("JSON");
        fs::write(folder.join(DISCOVERY_FILE), text).expect("writable");
        (socket, listener)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn via(result: Result<Connection, Failure>) -> Result<Via, Exit> {
    result
        .map(|connection| connection.via)
        .map_err(|failure| failure.exit)
}

#[test]
fn an_explicit_choice_wins_over_the_agent_and_the_agent_over_the_saved_context() {
    let folder = Folder::new("order");
    folder.save_contexts();
    let (socket, _listener) = folder.leave_agent_file();
    let agent = || Ok(Via::Agent(socket.clone()));
    let context = |name: &str| Ok(Via::Context(name.into()));

    let plain = folder.environment(&[]);
    assert_eq!(via(for_calls(None, &plain)), agent());
    assert_eq!(via(connect(None, &plain)), context("a"));
    assert_eq!(via(for_calls(Some("b"), &plain)), context("b"));

    let both = folder.environment(&[("SVC_URL", "http://127.0.0.1:9"), ("SVC_TOKEN", "t")]);
    assert_eq!(via(for_calls(None, &both)), Ok(Via::Environment));
    assert_eq!(via(for_calls(Some("b"), &both)), context("b"));

    // `SVC_URL`, which a child inherits from its agent, does not bypass the agent.
    let url = folder.environment(&[("SVC_URL", "http://127.0.0.1:2/")]);
    assert_eq!(via(for_calls(None, &url)), agent());
    assert_eq!(via(connect(None, &url)), context("b"));
}

#[test]
fn of_several_servers_the_first_is_used() {
    let folder = Folder::new("several");
    folder.save_contexts();
    let list = "http://127.0.0.1:2 , http://127.0.0.1:9";
    let alone = folder.environment(&[("SVC_URL", list)]);
    let saved = via(connect(None, &alone));
    assert_eq!(saved, Ok(Via::Context("b".into())));
    let both = folder.environment(&[("SVC_URL", list), ("SVC_TOKEN", "t")]);
    let connection = connect(None, &both).expect("the first server");
    assert_eq!(connection.client.target().to_string(), "http://127.0.0.1:2");
}

#[test]
fn a_token_never_goes_to_another_server() {
    let folder = Folder::new("other");
    folder.save_contexts();
    let environment = folder.environment(&[("SVC_URL", "http://127.0.0.1:9")]);
    assert_eq!(via(connect(None, &environment)), Err(Exit::Credentials));
    let environment = folder.environment(&[("SVC_TOKEN", "t")]);
    let connection = connect(None, &environment).expect("the current server");
    assert_eq!(connection.client.target().to_string(), "http://127.0.0.1:1");
}

#[test]
fn no_server_is_exit_credentials_and_no_agent_is_exit_unreachable() {
    let folder = Folder::new("none");
    let environment = folder.environment(&[]);
    assert_eq!(via(connect(None, &environment)), Err(Exit::Credentials));
    assert_eq!(via(for_calls(None, &environment)), Err(Exit::Credentials));
    let failure = find_agent(&environment).expect_err("none");
    assert_eq!(failure.exit, Exit::Unreachable);
    assert!(failure.what.starts_with("no agent found"));
}

#[test]
fn the_file_of_a_dead_agent_is_ignored() {
    let folder = Folder::new("dead");
    folder.save_contexts();
    drop(folder.leave_agent_file().1);
    let environment = folder.environment(&[]);
    assert_eq!(
        via(for_calls(None, &environment)),
        Ok(Via::Context("a".into()))
    );
    let named = folder.environment(&[("SVC_AGENT_SOCKET", "x.sock")]);
    let socket = folder.0.join("work/inner/x.sock");
    assert_eq!(find_agent_socket(&named), Some(socket));
}

#[test]
fn events_go_to_the_agent_if_there_is_one_and_else_to_the_server() {
    let folder = Folder::new("events");
    folder.save_contexts();
    let named = [
        ("SVC_URL", "http://127.0.0.1:9"),
        ("SVC_TOKEN", "svc_pat_x"),
    ];
    let is_agent = |context, variables: &[(&str, &str)]| {
        let emitter = for_events(context, &folder.environment(variables)).expect("found");
        matches!(emitter, Emitter::Agent(_))
    };
    assert!(!is_agent(None, &[]));
    let (_socket, listener) = folder.leave_agent_file();
    assert!(is_agent(None, &[]));
    assert!(is_agent(None, &named));
    assert!(!is_agent(Some("b"), &[]));
    let server = to_server(None, &folder.environment(&[])).expect("a saved context");
    assert_eq!(server.via, Via::Context("a".into()));
    drop(listener);
    assert!(!is_agent(None, &[]));
}

#[test]
fn an_agent_file_that_another_user_can_write_is_ignored() {
    let folder = Folder::new("untrusted");
    let (socket, _listener) = folder.leave_agent_file();
    let environment = folder.environment(&[]);
    assert_eq!(find_agent_socket(&environment), Some(socket.clone()));
    let (svc, mode) = (
        folder.0.join("work").join(FOLDER),
        fs::Permissions::from_mode,
    );
    fs::set_permissions(&svc, mode(0o777)).expect("a mode");
    let (found, untrusted) = look_for_agent(&environment);
    assert_eq!(found, None);
    let message = untrusted[0].to_string();
    assert!(
        message.contains("is ignored: other users can write"),
        "{message}"
    );
    // An agent that the user names needs no discovery file.
    let named = folder.environment(&[("SVC_AGENT_SOCKET", &socket.display().to_string())]);
    assert_eq!(look_for_agent(&named), (Some(socket), Vec::new()));
}

#[test]
fn a_saved_credential_goes_only_to_the_url_it_was_saved_for() {
    let folder = Folder::new("saved");
    folder.save_contexts();
    for url in [
        "https://127.0.0.1:1",
        "http://127.0.0.1:10",
        "http://127.0.0.1:1/other",
    ] {
        let environment = folder.environment(&[("SVC_URL", url)]);
        assert_eq!(
            via(connect(None, &environment)),
            Err(Exit::Credentials),
            "{url}"
        );
    }
    let same = folder.environment(&[("SVC_URL", "http://127.0.0.1:1")]);
    assert_eq!(via(connect(None, &same)), Ok(Via::Context("a".into())));
}
