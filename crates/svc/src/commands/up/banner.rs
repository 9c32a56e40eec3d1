//! The text that `svc up` prints: the address, commands to paste, and where the data is.

use std::{fmt, path::Path};

use svc_server::bootstrap::SIGN_IN_LINK_LIFETIME;

use super::{Ready, SPACE_NAME, up_context::UpContext};
use crate::environment::Environment;

pub struct Banner<'a> {
    pub ready: &'a Ready,
    pub context: &'a UpContext,
    /// The command that runs this program from this folder.
    pub program: String,
    pub is_demo: bool,
}

impl fmt::Display for Banner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ready, context) = (self.ready, self.context);
        let program = match context.is_current {
            true => self.program.clone(),
            false => format!("{} --context {}", self.program, context.name),
        };
        writeln!(f, "svc is up at {}", ready.url)?;
        if let Some(link) = &ready.sign_in_link {
            let within = format!("within {} minutes", SIGN_IN_LINK_LIFETIME.as_secs() / 60);
            writeln!(f, "Sign in with one click (once, {within}): {link}")?;
        }
        let password = ready.password.as_deref();
        let password = password.unwrap_or("(the password you set)");
        let how = match ready.sign_in_link {
            Some(_) => "Or open the address",
            None => "Open it in a browser",
        };
        let user = &ready.state.username;
        writeln!(f, "{how} and sign in as {user} / {password}\n")?;
        writeln!(f, "In another shell:")?;
        writeln!(f, "  {program} method list")?;
        let call = format!("  {program} method call");
        let first = ready.registered.methods.first();
        if self.is_demo {
            writeln!(f, r#"{call} notes.add '{{"text":"hello"}}'"#)?;
            writeln!(f, r#"{call} math.add '{{"a":1,"b":2}}' --result"#)?;
        } else if let Some(name) = first {
            writeln!(f, "  {program} method list {name}")?;
            writeln!(f, "{call} {name} '{{}}'")?;
        }
        let (name, params) = match self.is_demo {
            true => ("math.add", r#"{"a":1,"b":2}"#),
            false => (first.map_or("rpc.discover", String::as_str), "{}"),
        };
        let probe = format!(r#""method":"{name}","params":{params}"#);
        let url = format!("{}/api/methods/call", ready.url);
        writeln!(f, "\nFrom anywhere on this machine:")?;
        writeln!(f, "  curl -sS {url} -H 'Content-Type: application/json' \\")?;
        writeln!(f, "    -H 'Authorization: Bearer {}' \\", ready.state.token)?;
        writeln!(f, "    -d '{{\"jsonrpc\":\"2.0\",{probe},\"id\":1}}'\n")?;
        let (space, data) = (ready.state.space_folder.display(), ready.data_dir.display());
        writeln!(f, "Space    {SPACE_NAME}, in {space}")?;
        writeln!(f, "Data     {data}")?;
        let name = &context.name;
        match context.is_current {
            true => writeln!(f, "Context  `{name}` is the current one while this runs\n")?,
            false => writeln!(
                f,
                "Context  `{name}`; the context of another running `svc up` stays the current one\n"
            )?,
        }
        write!(f, "Ctrl-C stops everything.")
    }
}

/// `svc` if the search path leads to this program, else its path.
pub fn program(environment: &Environment) -> String {
    let Ok(this) = std::env::current_exe() else {
        return "svc".to_owned();
    };
    let on_path = environment
        .get("PATH")
        .into_iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("svc"))
        .find(|candidate| candidate.is_file())
        .and_then(|found| found.canonicalize().ok());
    if on_path.is_some() && on_path == this.canonicalize().ok() {
        return "svc".to_owned();
    }
    shown(&this, &environment.working_folder)
}

fn shown(program: &Path, folder: &Path) -> String {
    match program.strip_prefix(folder) {
        Ok(inside) => format!("./{}", inside.display()),
        Err(_) => program.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_shown_as_a_command_that_can_be_pasted() {
        let check = |program: &str, folder: &str, expected: &str| {
            assert_eq!(shown(Path::new(program), Path::new(folder)), expected);
        };
        check("/a/b/target/release/svc", "/a/b", "./target/release/svc");
        check("/usr/bin/svc", "/a/b", "/usr/bin/svc");
    }
}
