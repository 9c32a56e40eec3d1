//! `svc mcp config`: prints the configuration of an MCP client, and says where it belongs.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};
use svc_protocol::{
    api::{NewToken, Token},
    env,
};

use crate::{
    commands::{Shell, login, token::secret_of},
    context::{self, Connection, Contexts, Via},
    exit::{Exit, Failure, Outcome},
    runtime::own_program,
};

/// The environment variable that holds the token, unless `--token-env` names another one.
const TOKEN_VARIABLE: &str = "SVC_MCP_TOKEN";
/// Placeholder for a token that the user fills in.
const PLACEHOLDER: &str = "<token>";
const CREATE_TOKEN: &str = "svc token create agent --scope mcp";
const NAME_MAX: usize = 32;

/// Print the configuration of an MCP client
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc mcp config --client claude-code --create-token | sh\n  \
                   svc mcp config --client vscode > .vscode/mcp.json\n  \
                   svc mcp config --client codex --token-env SVC_MCP_TOKEN >> ~/.codex/config.toml"
)]
pub struct Args {
    /// Client to configure
    #[arg(long, value_enum)]
    client: ClientKind,
    /// Name of this server in the client
    #[arg(long, default_value = "svc")]
    name: String,
    /// Environment variable from which the client reads the token
    #[arg(long, value_name = "VAR", conflicts_with = "create_token")]
    token_env: Option<String>,
    /// Create a token with the scope `mcp` and write it into the configuration
    #[arg(long)]
    create_token: bool,
    /// Offer two tools that find and call the others, for users with hundreds of tools
    #[arg(long)]
    search: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ClientKind {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
    Json,
    Stdio,
}

/// Where the token comes from.
#[derive(Debug, PartialEq, Eq)]
enum Secret {
    /// Written into the configuration.
    Written(String),
    /// The client opens a browser, in which the user logs in.
    Login,
    /// Read from an environment variable. `chosen`: the user named the variable.
    Variable { name: String, chosen: bool },
}

struct Entry {
    name: String,
    url: String,
    secret: Secret,
    /// The path of this program, for a client without HTTP, which starts `svc mcp stdio`. The name
    /// `svc` is not enough, because the `PATH` of graphical clients often lacks its folder.
    program: String,
    /// The address of the server.
    server: String,
    ca_file: Option<PathBuf>,
    search: bool,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    check_name(&args.name)?;
    let connection = context::to_server(shell.globals.context.as_deref(), &shell.environment)?;
    let query = if args.search { "?tools=search" } else { "" };
    let url = connection.client.target().url(&format!("/mcp{query}"));
    let secret = match args.token_env {
        Some(name) => {
            check_variable(&name)?;
            Secret::Variable { name, chosen: true }
        }
        None if args.create_token => {
            let new = NewToken {
                name: format!("mcp {} {}", args.client.label(), args.name),
                scopes: Some(vec!["mcp".to_owned()]),
                expires_in_days: None,
            };
            let token = connection.client.create::<Token>(&new).await?;
            let name = &token.name;
            eprintln!(
                "created the token `{name}` with the scope `mcp`; svc token revoke revokes it"
            );
            Secret::Written(secret_of(&token)?)
        }
        None if args.client.can_log_in() && login::supports_browser(&connection.client).await? => {
            Secret::Login
        }
        None => Secret::Variable {
            name: TOKEN_VARIABLE.to_owned(),
            chosen: false,
        },
    };
    let entry = Entry {
        name: args.name,
        url,
        secret,
        program: own_program()?.to_string_lossy().into_owned(),
        server: connection.client.target().url(""),
        ca_file: ca_file(shell, &connection)?,
        search: args.search,
    };
    shell.output.line(args.client.write(&entry).trim_end())?;
    eprintln!("{}", args.client.advice(&entry.secret));
    Ok(Exit::Ok)
}

/// The file of certificate authorities that the connection trusts.
fn ca_file(shell: &Shell, connection: &Connection) -> Result<Option<PathBuf>, Failure> {
    if let Via::Context(name) = &connection.via {
        let contexts = Contexts::load(&shell.environment.config_folder()?)?;
        return Ok(contexts.get(name)?.ca_file.clone());
    }
    Ok(shell.environment.get(env::CA_FILE).map(PathBuf::from))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(fits) {
        let what = format!("`{name}` is not a name that every client accepts");
        return Err(Failure::usage(what).hint("use at most 32 letters, digits, `-` and `_`"));
    }
    Ok(())
}

fn check_variable(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |c: char| fits(c) && !c.is_ascii_digit();
    if !name.starts_with(begins) || !name.chars().all(fits) {
        let what = format!("`{name}` is not a name of an environment variable");
        return Err(Failure::usage(what));
    }
    Ok(())
}

impl ClientKind {
    /// The name that `--client` accepts.
    fn label(self) -> String {
        let value = self.to_possible_value().expect("no client is hidden");
        value.get_name().to_owned()
    }

    /// Whether the client needs only the address, because it can log in with OAuth.
    fn can_log_in(self) -> bool {
        match self {
            Self::ClaudeCode | Self::Cursor | Self::Vscode | Self::Codex => true,
            Self::ClaudeDesktop | Self::Json | Self::Stdio => false,
        }
    }

    fn write(self, entry: &Entry) -> String {
        match self {
            Self::ClaudeCode => entry.claude_code(),
            Self::ClaudeDesktop | Self::Stdio => pretty(&entry.stdio()),
            Self::Cursor => pretty(&entry.cursor()),
            Self::Vscode => pretty(&entry.vscode()),
            Self::Codex => entry.codex(),
            Self::Json => pretty(&entry.json()),
        }
    }

    /// Where the configuration belongs, and what the user has to add.
    fn advice(self, secret: &Secret) -> String {
        let place = match self {
            Self::ClaudeCode => "run this command in your shell",
            Self::ClaudeDesktop => {
                "merge this into claude_desktop_config.json (Settings, Developer, Edit Config) and restart Claude"
            }
            Self::Cursor => {
                "put this into .cursor/mcp.json, or ~/.cursor/mcp.json for all projects"
            }
            Self::Vscode => "put this into .vscode/mcp.json",
            Self::Codex => "add this to ~/.codex/config.toml",
            Self::Json | Self::Stdio => "put this where your client keeps its MCP servers",
        };
        let token = match (self, secret) {
            (Self::Codex, Secret::Written(token)) => {
                format!("and set its variable: export {TOKEN_VARIABLE}={token}")
            }
            (Self::ClaudeCode, Secret::Login) => {
                "then log in: `/mcp` in Claude Code opens your browser".to_owned()
            }
            (Self::Codex, Secret::Login) => "then log in: codex mcp login".to_owned(),
            (_, Secret::Login) => {
                "the client opens your browser to log in; --create-token needs no browser"
                    .to_owned()
            }
            (_, Secret::Written(_)) => "this contains the token: keep it secret".to_owned(),
            (Self::ClaudeDesktop | Self::Stdio, _)
            | (Self::Json, Secret::Variable { chosen: false, .. }) => {
                format!("and replace {PLACEHOLDER} with a token: {CREATE_TOKEN}")
            }
            (Self::Vscode, Secret::Variable { chosen: false, .. }) => {
                format!("VS Code will ask for a token: {CREATE_TOKEN}")
            }
            (_, Secret::Variable { name, .. }) => {
                format!("and set {name} to a token: {CREATE_TOKEN}")
            }
        };
        format!("{place}\n{token}")
    }
}

impl Entry {
    /// The value of the header `Authorization`; `None` if the client logs in by itself. `variable`
    /// writes a variable in the client's own notation.
    fn bearer(&self, variable: impl Fn(&str) -> String) -> Option<String> {
        match &self.secret {
            Secret::Login => None,
            Secret::Written(token) => Some(format!("Bearer {token}")),
            Secret::Variable { name, .. } => Some(format!("Bearer {}", variable(name))),
        }
    }

    /// The server's entry in a JSON file. `kind` is the member `type`, which some clients need.
    fn server(&self, kind: Option<&str>, bearer: Option<String>) -> Value {
        let mut server = json!({"url": self.url});
        if let Some(kind) = kind {
            server["type"] = json!(kind);
        }
        if let Some(bearer) = bearer {
            server["headers"] = json!({"Authorization": bearer});
        }
        server
    }

    fn claude_code(&self) -> String {
        let bearer = self.bearer(|name| format!("${name}"));
        let header = bearer.map(|bearer| format!(" --header \"Authorization: {bearer}\""));
        let (name, url, header) = (&self.name, &self.url, header.unwrap_or_default());
        format!("claude mcp add --transport http {name} '{url}'{header}")
    }

    /// For clients such as Claude Desktop, which start a command and cannot send a token over HTTP.
    fn stdio(&self) -> Value {
        let mut args = vec!["mcp", "stdio"];
        args.extend(self.search.then_some("--search"));
        let token = match &self.secret {
            Secret::Written(token) => token,
            // Such a client has no notation for variables.
            Secret::Login | Secret::Variable { .. } => PLACEHOLDER,
        };
        let mut variables = json!({env::URL: self.server, env::TOKEN: token});
        if let Some(file) = &self.ca_file {
            variables[env::CA_FILE] = json!(file);
        }
        json!({"mcpServers": {&self.name: {
            "command": self.program,
            "args": args,
            "env": variables,
        }}})
    }

    fn cursor(&self) -> Value {
        let bearer = self.bearer(|name| format!("${{env:{name}}}"));
        json!({"mcpServers": {&self.name: self.server(None, bearer)}})
    }

    fn vscode(&self) -> Value {
        let asks = matches!(self.secret, Secret::Variable { chosen: false, .. });
        let input = format!("{}-token", self.name);
        let bearer = self.bearer(|name| match asks {
            true => format!("${{input:{input}}}"),
            false => format!("${{env:{name}}}"),
        });
        let server = self.server(Some("http"), bearer);
        let mut config = json!({"servers": {&self.name: server}});
        if asks {
            config["inputs"] = json!([{
                "type": "promptString",
                "id": input,
                "description": format!("API token of {}", self.name),
                "password": true,
            }]);
        }
        config
    }

    /// Codex reads tokens from variables only.
    fn codex(&self) -> String {
        let (name, url) = (&self.name, json!(self.url));
        let server = format!("[mcp_servers.{name}]\nurl = {url}");
        let variable = match &self.secret {
            Secret::Login => return server,
            Secret::Written(_) => TOKEN_VARIABLE,
            Secret::Variable { name, .. } => name,
        };
        format!("{server}\nbearer_token_env_var = {}", json!(variable))
    }

    fn json(&self) -> Value {
        let chosen = matches!(self.secret, Secret::Variable { chosen: true, .. });
        let bearer = self.bearer(|name| match chosen {
            true => format!("${{{name}}}"),
            false => PLACEHOLDER.to_owned(),
        });
        json!({"mcpServers": {&self.name: self.server(Some("http"), bearer)}})
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests;
