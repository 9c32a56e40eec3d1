//! `svc oidc`

use std::collections::BTreeMap;

use clap::Subcommand;
use serde_json::json;
use svc_protocol::api::{ClaimMapping, OidcCheckStep, OidcProvider, OidcProviderPatch};

use super::{
    Shell,
    records::{self, ListArgs, NameArg, NameArgs, Record},
};
use crate::{
    exit::{Exit, Failure, Outcome},
    output::{Column, Fields, fields, joined, joined_pairs, or_dash, yes_no},
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
    fn patch(
        self,
        client_id: Option<String>,
        no_secret: bool,
    ) -> Result<OidcProviderPatch, Failure> {
        let secret = self.secret_stdin.then(prompt::read_secret).transpose()?;
        Ok(OidcProviderPatch {
            client_secret: (no_secret || secret.is_some()).then_some(secret),
            required_claims: self.required()?,
            mappings: self.mappings()?,
            scopes: records::words_if_given(self.scopes),
            groups_claim: self
                .groups_claim
                .map(|claim| (!claim.is_empty()).then_some(claim)),
            enabled: self.enabled,
            create_users: self.create_users,
            label: self.label,
            client_id,
        })
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
        let mappings: Result<_, Failure> = given.iter().map(|text| mapping(text)).collect();
        mappings.map(Some)
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
            let what = format!("`{target}` is neither `group:NAME` nor `role:NAME`");
            return Err(Failure::usage(what).hint(format!("write it like {example}")));
        }
    };
    Ok(ClaimMapping { value, group, role })
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List(args) => records::list::<OidcProvider>(shell, args).await,
        Command::Get(which) => records::get::<OidcProvider>(shell, &which.name).await,
        Command::Create(args) => create(shell, *args).await,
        Command::Update(args) => update(shell, *args).await,
        Command::Check { name } => check(shell, &name).await,
        Command::Rm(which) => records::remove::<OidcProvider>(shell, &which).await,
    }
}

async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let fixed = json!({"name": args.name, "issuer": args.issuer});
    let settings = args.settings.patch(Some(args.client_id), false)?;
    records::create::<OidcProvider>(shell, fixed, &settings).await
}

async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let patch = args.settings.patch(args.client_id, args.no_secret)?;
    records::update::<OidcProvider>(shell, &args.name, &patch).await
}

/// Prints the steps. A failed step determines the exit code.
async fn check(shell: &Shell, name: &str) -> Outcome {
    let (client, provider) = records::open::<OidcProvider>(shell, name).await?;
    let report = client.check_oidc_provider(provider.id).await?;
    let columns: [Column<OidcCheckStep>; 4] = [
        ("STEP", |step| step.step.clone()),
        ("RESULT", |step| result(step).to_owned()),
        ("DETAIL", |step| step.detail.clone()),
        ("WHAT TO DO", |step| step.advice.clone().unwrap_or_default()),
    ];
    let output = &shell.output;
    output.list(&report, "no steps", &report.steps, &columns)?;
    Ok(Exit::ok_if(report.ok, Exit::Refused))
}

fn result(step: &OidcCheckStep) -> &'static str {
    match (step.ok, &step.advice) {
        (false, _) => "failed",
        (true, Some(_)) => "note",
        (true, None) => "ok",
    }
}

impl Record for OidcProvider {
    const HEAD: &'static [&'static str] = &["NAME", "ISSUER", "ENABLED", "USERS"];

    fn fields(&self) -> Fields {
        fields! { self as OidcProvider:
            "name" name = name.clone(),
            "id" id = id.to_string(),
            "label" label = label.clone(),
            "issuer" issuer = issuer.clone(),
            "client id" client_id = client_id.clone(),
            "has secret" has_secret = yes_no(*has_secret),
            "scopes" scopes = joined(scopes),
            "enabled" enabled = yes_no(*enabled),
            "creates users" create_users = yes_no(*create_users),
            "required claims" required_claims = claims_text(required_claims),
            "groups claim" groups_claim = or_dash(groups_claim.as_ref()),
            "mappings" mappings = joined(mappings.iter().map(mapping_text)),
            "users" identities = identities.to_string(),
            "created" created_at = created_at.to_string(),
        }
    }
}

fn claims_text(required: &BTreeMap<String, Vec<String>>) -> String {
    let claims = required.iter();
    joined_pairs(claims.flat_map(|(claim, values)| values.iter().map(move |value| (claim, value))))
}

fn mapping_text(mapping: &ClaimMapping) -> String {
    let target = match (&mapping.group, &mapping.role) {
        (Some(group), _) => format!("group:{group}"),
        (None, role) => format!("role:{}", role.as_deref().unwrap_or_default()),
    };
    format!("{}={target}", mapping.value)
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
