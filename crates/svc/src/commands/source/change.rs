//! `svc source create` and `svc source update`.

use serde::Serialize;
use serde_json::{Value, json};
use svc_core::source::settings::{Deduplicate, HmacAlgorithm, SignatureEncoding, VerifyType};
use svc_protocol::api::{Members, Source, SourcePatch};

use crate::{
    commands::{
        Shell,
        choice::choice,
        records::{self, words_if_given},
    },
    exit::Outcome,
    prompt,
};

/// Create a source; its URL and its secret are shown once
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc source create github --verify github\n  \
                   svc source create stripe --verify stripe --secret-stdin < secret.txt\n  \
                   svc source create ci --verify hmac --signature-header X-Signature --signature-prefix sha256= --type-body kind")]
pub struct CreateArgs {
    /// Name, unique among your sources; a part of event types
    name: String,
    /// Sender of the requests, which determines how they are verified
    #[arg(long, value_parser = choice::<VerifyType>(&[
        "github",
        "gitlab",
        "stripe",
        "slack",
        "shopify",
        "standard: Standard Webhooks",
        "hmac: Any HMAC, described by the other options",
        "basic: User name and password",
        "none: No verification: anyone who knows the URL can send events",
    ]))]
    verify: VerifyType,
    /// Read the sender's secret from stdin instead of creating one
    #[arg(long)]
    secret_stdin: bool,
    /// Create the source disabled
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Change a source; each given option replaces the old value
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc source update github --type-body action\n  svc source update github --inactive"
)]
pub struct UpdateArgs {
    /// Name or id
    source: String,
    /// New name
    #[arg(long)]
    name: Option<String>,
    /// Accept requests again
    #[arg(long, conflicts_with = "inactive")]
    active: bool,
    /// Disable the source: all requests are answered like requests to an unknown path
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(clap::Args, Debug)]
pub struct Settings {
    /// What the source is for
    #[arg(long)]
    description: Option<String>,
    /// Take the type of events from this header
    #[arg(long, value_name = "NAME", group = "event_type")]
    type_header: Option<String>,
    /// Take the type of events from this path of the body, such as event.type
    #[arg(long, value_name = "PATH", group = "event_type")]
    type_body: Option<String>,
    /// Give all events this type
    #[arg(long, value_name = "TYPE", group = "event_type")]
    type_fixed: Option<String>,
    /// Header of requests to copy into events; may be repeated, on update '' for none
    #[arg(long = "copy-header", value_name = "NAME")]
    copy_headers: Vec<String>,
    #[command(flatten)]
    verify: VerifySettings,
}

/// Members of `verify`, named as there.
#[derive(clap::Args, Serialize, Debug)]
struct VerifySettings {
    /// Seconds that a signed time may differ from the server's clock [default: 300]
    #[arg(long = "tolerance", value_name = "SECONDS")]
    tolerance_seconds: Option<u32>,
    /// Whether a request with the body of an earlier one is a repetition; for senders that sign the
    /// body alone [default: body]
    #[arg(long, value_parser = choice::<Deduplicate>(&[
        "body: A repetition, for 24 hours",
        "none: Each request is an event",
    ]))]
    deduplicate: Option<Deduplicate>,
    /// hmac: header that contains the signature
    #[arg(long = "signature-header", value_name = "NAME")]
    header: Option<String>,
    /// hmac: text before the signature, such as sha256=
    #[arg(long = "signature-prefix", value_name = "TEXT")]
    prefix: Option<String>,
    /// hmac: hash function [default: sha256]
    #[arg(long, value_parser = choice::<HmacAlgorithm>(&["sha1", "sha256", "sha512"]))]
    algorithm: Option<HmacAlgorithm>,
    /// hmac: how the signature is written [default: hex]
    #[arg(long, value_parser = choice::<SignatureEncoding>(&["hex", "base64"]))]
    encoding: Option<SignatureEncoding>,
    /// hmac: signed text [default: {body}], such as '{timestamp}.{body}'
    #[arg(long, value_name = "TEXT")]
    signed: Option<String>,
    /// hmac: header that contains {timestamp}
    #[arg(long, value_name = "NAME")]
    timestamp_header: Option<String>,
    /// hmac: header that contains {id}
    #[arg(long, value_name = "NAME")]
    id_header: Option<String>,
}

impl Settings {
    fn patch(
        self,
        name: Option<String>,
        active: Option<bool>,
        fixed: Option<(VerifyType, Option<String>)>,
    ) -> SourcePatch {
        let rule = [
            ("header", self.type_header),
            ("body", self.type_body),
            ("fixed", self.type_fixed),
        ];
        let has_rule = rule.iter().any(|(_, value)| value.is_some());
        // The given option replaces the whole rule: the members of the other options become `null`.
        let rule = rule.into_iter();
        let rule: Members = rule
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let mut verify = match json!(self.verify) {
            Value::Object(members) => members,
            _ => Members::new(),
        };
        if let Some((r#type, secret)) = fixed {
            verify.insert("type".to_owned(), json!(r#type));
            verify.insert("secret".to_owned(), json!(secret));
        }
        verify.retain(|_, value| !value.is_null());
        SourcePatch {
            name,
            description: self.description,
            verify: (!verify.is_empty()).then_some(verify),
            event_type: has_rule.then_some(rule),
            headers: words_if_given(self.copy_headers),
            active,
        }
    }
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let secret = args.secret_stdin.then(prompt::read_secret).transpose()?;
    let (name, verify) = (args.name, Some((args.verify, secret)));
    let settings = args
        .settings
        .patch(Some(name), Some(!args.inactive), verify);
    let new = records::new_record::<Source>(json!({}), &settings)?;
    let source: Source = shell.client()?.create(&new).await?;
    match args.verify {
        VerifyType::None => eprintln!("keep the URL now: it is not shown again"),
        _ => eprintln!("keep the URL and the secret now: they are not shown again"),
    }
    records::show(shell, &source)
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let active = (args.active || args.inactive).then_some(args.active);
    let patch = args.settings.patch(args.name, active, None);
    records::update::<Source>(shell, &args.source, &patch).await
}

/// Parses `Name: value`.
pub fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` is not of the form `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
