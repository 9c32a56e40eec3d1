//! `svc login`: creates an API token for this machine, or reads one from stdin, and saves it as a
//! context.

mod browser;
mod device;
mod oauth;

use std::path::PathBuf;

use svc_client::{Client, Error, LoginStep, Target};
use svc_core::credential::CredentialKind;
use svc_protocol::api::{self, Login, MethodQuery, SecondFactorLogin, Setup, Token};

use self::oauth::{NewToken, find_metadata};
use super::{Shell, token::secret_of};
use crate::{
    context::{Context, Contexts},
    environment::Environment,
    exit::{Exit, Failure, Outcome},
    prompt,
};

/// Log in to a server and save it as the current context
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc login https://svc.example.com\n  \
                   svc login https://svc.example.com --device              with a browser on another machine\n  \
                   svc login https://svc.example.com --username ann --password-stdin < secret.txt\n  \
                   svc login 'http://127.0.0.1:12200/setup?token=svc_set_…'    the link of a first start")]
pub struct Args {
    /// Address of the server, or its one-time setup link
    url: String,
    /// Log in with your browser, even if there seems to be none
    #[arg(long, conflicts_with_all = ["username", "password_stdin", "token_stdin"])]
    browser: bool,
    /// Show a code to enter in a browser on another machine
    #[arg(long, conflicts_with_all = ["browser", "username", "password_stdin", "token_stdin"])]
    device: bool,
    /// Your user name; asks for the password instead of opening a browser
    #[arg(long, short)]
    username: Option<String>,
    /// Read the password from stdin; a second line may hold the code of a second factor
    #[arg(long, conflicts_with = "token_stdin")]
    password_stdin: bool,
    /// Code of your authenticator app, or a recovery code, if you have a second factor
    #[arg(long, value_name = "CODE", conflicts_with_all = ["browser", "device", "token_stdin"])]
    code: Option<String>,
    /// Read an API token from stdin and save it, instead of logging in
    #[arg(long)]
    token_stdin: bool,
    /// Name of the context [default: the server's host]
    #[arg(long)]
    name: Option<String>,
    /// PEM file of certificate authorities to trust in addition to the machine's own
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let link = SetupLink::parse(&args.url);
    let url = link.as_ref().map_or(args.url.as_str(), |link| &link.url);
    let url = url.trim_end_matches('/').to_owned();
    let ca_file = args.ca_file.as_deref();
    let ca_file = ca_file.map(|path| shell.environment.absolute(path));
    let target = Target::parse(&url, ca_file.as_deref())?;
    let name = args.name.clone().unwrap_or_else(|| target.host_header());
    let (token, token_id, username) = if args.token_stdin {
        let token = prompt::read_secret()?;
        let username = check_token(target, &token).await?;
        (token, None, username)
    } else if let Some(new) = log_in_by_page(shell, &args, link.is_some(), &target).await? {
        let username = check_token(target, &new.access_token).await?;
        (new.access_token, Some(new.token_id), username)
    } else {
        let (login, code) = ask_login(&args, link.is_some())?;
        let username = login.username.clone();
        let token = make_token(target, link, login, code).await?;
        let id = token.id.to_string();
        (secret_of(&token)?, Some(id), Some(username))
    };
    let folder = shell.environment.config_folder()?;
    let whom = username.as_deref().unwrap_or("the user of the token");
    let done = format!("logged in to {url} as {whom}; context `{name}` is now the current one");
    Contexts::change(&folder, |contexts| {
        contexts.current = Some(name.clone());
        contexts.put(Context {
            name,
            url,
            token,
            token_id,
            username,
            ca_file,
        });
        Ok(())
    })?;
    eprintln!("{done}");
    Ok(Exit::Ok)
}

/// Logs in on a page of the server. Returns `None` if the login needs a password instead.
async fn log_in_by_page(
    shell: &Shell,
    args: &Args,
    is_setup: bool,
    target: &Target,
) -> Result<Option<NewToken>, Failure> {
    let is_wanted = args.browser || args.device;
    let wants_password = args.username.is_some() || args.password_stdin || is_setup;
    if !is_wanted && (wants_password || !prompt::can_ask()) {
        return Ok(None);
    }
    let client = Client::new(target.clone());
    let Some(server) = find_metadata(&client).await? else {
        return match is_wanted {
            true => Err(Failure::usage("this server has no login by browser").hint(
                "log in with --username; an administrator can set `public_url` to an https address",
            )),
            false => Ok(None),
        };
    };
    let machine = host_name();
    let can_open = args.browser || has_display(&shell.environment);
    let token = match can_open && !args.device {
        true => browser::log_in(&client, &server, &machine).await?,
        false => device::log_in(&client, &machine).await?,
    };
    Ok(Some(token))
}

/// Whether a server lets clients log in with a browser.
pub async fn supports_browser(client: &Client) -> Result<bool, Failure> {
    Ok(find_metadata(client).await?.is_some())
}

/// Whether a browser that the user of this terminal sees can probably be opened.
fn has_display(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some();
    let is_remote = is_set("SSH_CONNECTION") || is_set("SSH_TTY");
    !is_remote && (cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

/// `<url>/setup?token=svc_set_…`
struct SetupLink {
    url: String,
    token: String,
}

impl SetupLink {
    fn parse(text: &str) -> Option<Self> {
        let (path, query) = text.split_once('?')?;
        let token = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="))?;
        (CredentialKind::recognise(token) == Some(CredentialKind::Setup)).then_some(())?;
        Some(Self {
            url: path.strip_suffix("/setup")?.to_owned(),
            token: token.to_owned(),
        })
    }
}

/// User name, password, and the code of a second factor if it was given.
fn ask_login(args: &Args, is_setup: bool) -> Result<(Login, Option<String>), Failure> {
    let can_ask = prompt::can_ask();
    let username = match &args.username {
        Some(username) => username.clone(),
        None if is_setup && !can_ask => "admin".to_owned(),
        None if can_ask => prompt::ask("user name")?,
        None => {
            let what = "a user name is required, and there is no terminal to ask on";
            return Err(Failure::usage(what).hint("give it with --username"));
        }
    };
    let mut code = args.code.clone();
    let password = if args.password_stdin {
        let mut lines = prompt::read_secrets()?.into_iter();
        let password = lines.next().unwrap_or_default();
        code = code.or_else(|| lines.next().filter(|line| !line.is_empty()));
        password
    } else if can_ask && is_setup {
        prompt::ask_twice(&format!("new password of {username}"))?
    } else if can_ask {
        prompt::ask_secret("password")?
    } else {
        return Err(
            Failure::usage("a password is required, and there is no terminal to ask on")
                .hint("--password-stdin reads it from stdin; --token-stdin reads a token instead"),
        );
    };
    Ok((Login { username, password }, code))
}

/// Logs in, creates a token and logs out.
async fn make_token(
    target: Target,
    link: Option<SetupLink>,
    login: Login,
    code: Option<String>,
) -> Result<Token, Failure> {
    let client = Client::new(target);
    if let Some(link) = link {
        let setup = Setup {
            setup_token: link.token,
            username: login.username.clone(),
            password: login.password.clone(),
        };
        client.setup(&setup).await?;
    }
    let session = match client.login(&login).await.map_err(login_failure)? {
        LoginStep::SignedIn(session) => session,
        LoginStep::SecondFactor(client, pending) => {
            let code = match code {
                Some(code) => code,
                None => ask_code()?,
            };
            let login = SecondFactorLogin {
                token: pending.token,
                code,
            };
            let completing = client.complete_login(&login);
            completing.await.map_err(login_failure)?
        }
    };
    let new = api::NewToken {
        name: format!("cli@{}", host_name()),
        ..api::NewToken::default()
    };
    let token = session.create::<Token>(&new).await;
    // A session that cannot be ended here expires by itself.
    let _ = session.logout().await;
    Ok(token?)
}

fn login_failure(error: Error) -> Failure {
    let is_wrong_code = error.problem_code() == Some("wrong_code");
    if is_wrong_code || error.status() == Some(http::StatusCode::UNAUTHORIZED) {
        return Failure::credentials(error.to_string());
    }
    error.into()
}

fn ask_code() -> Result<String, Failure> {
    if prompt::can_ask() {
        return prompt::ask("code of your authenticator app, or a recovery code");
    }
    Err(Failure::usage(
        "this user has a second factor, and there is no terminal to ask for its code",
    )
    .hint("give it with --code, or as the second line of --password-stdin"))
}

/// Checks the token and returns its user. If the scopes of the token do not permit reading the
/// user, a second request checks that the server accepts the token, or rejects it only because of
/// its scopes. Then the result is `None`.
async fn check_token(target: Target, token: &str) -> Result<Option<String>, Failure> {
    let client = Client::new(target).with_token(token);
    let is_denied = |error: &Error| error.problem_code() == Some("scope_denied");
    match client.me().await {
        Ok(me) => return Ok(Some(me.username.to_string())),
        Err(error) if is_denied(&error) => {}
        Err(error) => return Err(error.into()),
    }
    match client.methods(&MethodQuery::default()).await {
        Err(error) if !is_denied(&error) => Err(error.into()),
        _ => Ok(None),
    }
}

fn host_name() -> String {
    let system = rustix::system::uname();
    let mut name = system.nodename().to_string_lossy().into_owned();
    name.retain(|character| character.is_ascii_alphanumeric() || "-._".contains(character));
    name.truncate(40);
    match name.is_empty() {
        true => "unknown".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use svc_core::credential::SECRET_BYTES;

    use super::*;

    #[test]
    fn a_setup_link_is_distinguished_from_an_address() {
        let token = CredentialKind::Setup.format(&[7; SECRET_BYTES]);
        let link = SetupLink::parse(&format!("http://127.0.0.1:1/setup?token={token}"))
            .expect("a setup link");
        assert_eq!(link.url, "http://127.0.0.1:1");
        assert_eq!(link.token, token);
        let other = CredentialKind::ApiToken.format(&[7; SECRET_BYTES]);
        for text in [
            "http://127.0.0.1:1".to_owned(),
            format!("http://127.0.0.1:1/x?token={token}"),
            format!("http://127.0.0.1:1/setup?token={other}"),
        ] {
            assert!(SetupLink::parse(&text).is_none(), "{text}");
        }
    }
}
