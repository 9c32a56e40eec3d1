//! `svc oidc`

use std::collections::BTreeMap;

use clap::Subcommand;
use svc_protocol::api::{ClaimMapping, NewOidcProvider, OidcProvider, OidcProviderPatch};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Fields, Table, joined, or_dash, yes_no},
    prompt,
};

/// Manage the OpenID Connect providers that users sign in with
#[derive(Subcommand, Debug)]
#[command(
    before_help = "  svc oidc create corp --issuer https://id.example.com/realms/corp --client-id svc --secret-stdin < secret.txt\n  svc oidc check corp"
)]
pub enum Command {
    /// List the providers
    #[command(before_help = "  svc oidc list")]
    List(ListArgs),
    /// Show a provider; its client secret is never shown
    #[command(before_help = "  svc oidc get corp")]
    Get(NameArg),
    Create(Box<CreateArgs>),
    Update(Box<UpdateArgs>),
    /// Test a provider step by step, and say what is wrong
    #[command(before_help = "  svc oidc check corp")]
    Check {
        /// Name or id
        name: String,
    },
    /// Remove providers and end the sessions that they opened
    #[command(visible_alias = "delete", before_help = "  svc oidc rm corp")]
    Rm(NameArgs),
}

/// Add a provider
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc oidc create corp --issuer https://id.example.com/realms/corp --client-id svc --secret-stdin < secret.txt\n  \
                   svc oidc create corp --issuer https://id.example.com --client-id svc --create-users true --require groups=staff\n  \
                   svc oidc create corp --issuer https://id.example.com --client-id svc --groups-claim groups --map admins=role:admin"
)]
pub struct CreateArgs {
    /// Name of the provider; the URLs of this server for the provider contain the name
    name: String,
    /// Issuer, exactly as the provider writes it
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// Client id that the provider gave to this server
    #[arg(long, value_name = "ID")]
    client_id: String,
    #[command(flatten)]
    settings: Settings,
}

/// Change a provider
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc oidc update corp --enabled false\n  \
                   svc oidc update corp --map admins=role:admin --map staff=group:ops\n  \
                   svc oidc update corp --secret-stdin < secret.txt")]
pub struct UpdateArgs {
    /// Name or id
    name: String,
    /// Client id that the provider gave to this server
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Remove the client secret, for a provider that treats this server as a public client
    #[arg(long, conflicts_with = "secret_stdin")]
    no_secret: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(clap::Args, Debug)]
struct Settings {
    /// Text of the button on the sign-in page [default: the name]
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Read the client secret from the first line of stdin
    #[arg(long)]
    secret_stdin: bool,
    /// Scope to ask for; may be repeated [default: openid, profile, email]
    #[arg(long = "scope", value_delimiter = ',', value_name = "NAME")]
    scopes: Vec<String>,
    /// Whether users may sign in with the provider
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// Whether unknown users get an account; needs --require
    #[arg(long, value_name = "BOOL")]
    create_users: Option<bool>,
    /// Claim that an unknown user needs, with an accepted value; may be repeated, '' for none
    #[arg(long = "require", value_name = "CLAIM=VALUE")]
    require: Vec<String>,
    /// Name or path of the claim with a user's groups, such as realm_access.roles; '' for none
    #[arg(long, value_name = "CLAIM")]
    groups_claim: Option<String>,
    /// Group or role for users with this value in the groups claim; may be repeated, '' for none
    #[arg(long = "map", value_name = "VALUE=group:NAME|role:NAME")]
    map: Vec<String>,
}

impl Settings {
    fn secret(&self) -> Result<Option<String>, Failure> {
        self.secret_stdin.then(prompt::read_secret).transpose()
    }

    fn required(&self) -> Result<Option<BTreeMap<String, Vec<String>>>, Failure> {
        let Some(pairs) = records::words_if_given(self.require.clone()) else {
            return Ok(None);
        };
        let mut required = BTreeMap::<_, Vec<_>>::new();
        for pair in pairs {
            let (claim, value) = split(&pair, "--require groups=staff")?;
            required.entry(claim).or_default().push(value);
        }
        Ok(Some(required))
    }

    fn mappings(&self) -> Result<Option<Vec<ClaimMapping>>, Failure> {
        let Some(given) = records::words_if_given(self.map.clone()) else {
            return Ok(None);
        };
        given
            .iter()
            .map(|text| mapping(text))
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// Splits at the last `=`, because the left side may contain `=`: the name of a claim may be a URL
/// with a query, and a value of the groups claim may be `CN=admins`.
fn split(pair: &str, example: &str) -> Result<(String, String), Failure> {
    let (left, right) = pair.rsplit_once('=').ok_or_else(|| {
        Failure::usage(format!("`{pair}` has no `=`")).hint(format!("write it like {example}"))
    })?;
    Ok((left.to_owned(), right.to_owned()))
}

fn mapping(text: &str) -> Result<ClaimMapping, Failure> {
    let example = "--map admins=role:admin";
    let (value, target) = split(text, example)?;
    let (group, role) = match target.split_once(':') {
        Some(("group", name)) => (Some(name.to_owned()), None),
        Some(("role", name)) => (None, Some(name.to_owned())),
        _ => {
            return Err(Failure::usage(format!(
                "`{target}` is neither `group:NAME` nor `role:NAME`"
            ))
            .hint(format!("write it like {example}")));
        }
    };
    Ok(ClaimMapping { value, group, role })
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<OidcProvider>(shell, args).await,
        Command::Get(which) => records::get::<OidcProvider>(shell, &which).await,
        Command::Create(args) => create(shell, *args).await,
        Command::Update(args) => update(shell, *args).await,
        Command::Check { name } => check(shell, &name).await,
        Command::Rm(which) => records::remove::<OidcProvider>(shell, &which).await,
    }
}

async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let settings = args.settings;
    let new = NewOidcProvider {
        client_secret: settings.secret()?,
        required_claims: settings.required()?.unwrap_or_default(),
        mappings: settings.mappings()?.unwrap_or_default(),
        scopes: records::words_if_given(settings.scopes),
        groups_claim: settings.groups_claim.filter(|claim| !claim.is_empty()),
        enabled: settings.enabled.unwrap_or(true),
        create_users: settings.create_users.unwrap_or(false),
        name: args.name,
        label: settings.label,
        issuer: args.issuer,
        client_id: args.client_id,
    };
    records::create::<OidcProvider>(shell, &new).await
}

async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let settings = args.settings;
    let client_secret = match args.no_secret {
        true => Some(None),
        false => settings.secret()?.map(Some),
    };
    let patch = OidcProviderPatch {
        client_secret,
        required_claims: settings.required()?,
        mappings: settings.mappings()?,
        scopes: records::words_if_given(settings.scopes),
        groups_claim: settings
            .groups_claim
            .map(|claim| (!claim.is_empty()).then_some(claim)),
        enabled: settings.enabled,
        create_users: settings.create_users,
        label: settings.label,
        client_id: args.client_id,
    };
    records::update::<OidcProvider>(shell, &args.name, &patch).await
}

/// Prints the steps. A failed step determines the exit code.
async fn check(shell: &Shell, name: &str) -> Outcome {
    let client = shell.client()?;
    let provider: OidcProvider = records::find(&client, name).await?;
    let report = client.check_oidc_provider(provider.id).await?;
    shell.output.document(&report, || {
        let head = ["STEP", "RESULT", "DETAIL", "WHAT TO DO"];
        Table::list(&head, "no steps", &report.steps, |step| {
            let result = match (step.ok, &step.advice) {
                (false, _) => "failed",
                (true, Some(_)) => "note",
                (true, None) => "ok",
            };
            vec![
                step.step.clone(),
                result.to_owned(),
                step.detail.clone(),
                step.advice.clone().unwrap_or_default(),
            ]
        })
    })?;
    Ok(match report.ok {
        true => Exit::Ok,
        false => Exit::Refused,
    })
}

impl Record for OidcProvider {
    const HEAD: &'static [&'static str] = &["NAME", "ISSUER", "ENABLED", "USERS"];

    fn row(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.issuer.clone(),
            yes_no(self.enabled),
            self.identities.to_string(),
        ]
    }

    fn fields(&self) -> Fields {
        let required = self
            .required_claims
            .iter()
            .flat_map(|(claim, values)| values.iter().map(move |value| format!("{claim}={value}")));
        let mappings = self.mappings.iter().map(|mapping| {
            let target = match (&mapping.group, &mapping.role) {
                (Some(group), _) => format!("group:{group}"),
                (None, role) => format!("role:{}", role.as_deref().unwrap_or_default()),
            };
            format!("{}={target}", mapping.value)
        });
        vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("label", self.label.clone()),
            ("issuer", self.issuer.clone()),
            ("client id", self.client_id.clone()),
            ("has secret", yes_no(self.has_secret)),
            ("scopes", joined(&self.scopes)),
            ("enabled", yes_no(self.enabled)),
            ("creates users", yes_no(self.create_users)),
            ("required claims", joined(required)),
            ("groups claim", or_dash(self.groups_claim.as_ref())),
            ("mappings", joined(mappings)),
            ("users", self.identities.to_string()),
            ("created", self.created_at.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_name_a_group_or_a_role() {
        let made = mapping("CN=admins=role:admin").expect("valid");
        assert_eq!(made.value, "CN=admins");
        assert_eq!(made.role.as_deref(), Some("admin"));
        assert_eq!(made.group, None);
        let made = mapping("staff=group:ops").expect("valid");
        assert_eq!(made.group.as_deref(), Some("ops"));
        for bad in ["staff", "staff=ops", "staff=team:ops", "staff="] {
            assert_eq!(mapping(bad).expect_err(bad).exit, Exit::Usage, "{bad}");
        }
    }
}
