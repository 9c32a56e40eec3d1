//! `svc source create` and `svc source update`.

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use svc_core::source::settings::{
    Deduplicate, HmacAlgorithm, SignatureEncoding, TypeRule, Verification, VerifyType,
};
use svc_protocol::api::{NewSource, Source, SourcePatch};

use crate::{
    commands::{
        Shell,
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
    #[arg(long, value_enum)]
    verify: Verify,
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
    /// Seconds that a signed time may differ from the server's clock [default: 300]
    #[arg(long, value_name = "SECONDS")]
    tolerance: Option<u32>,
    /// Whether a request with the body of an earlier one is a repetition; for senders that sign the
    /// body alone [default: body]
    #[arg(long, value_enum)]
    deduplicate: Option<DeduplicateArg>,
    /// hmac: header that contains the signature
    #[arg(long, value_name = "NAME")]
    signature_header: Option<String>,
    /// hmac: text before the signature, such as sha256=
    #[arg(long, value_name = "TEXT")]
    signature_prefix: Option<String>,
    /// hmac: hash function [default: sha256]
    #[arg(long, value_enum)]
    algorithm: Option<Algorithm>,
    /// hmac: how the signature is written [default: hex]
    #[arg(long, value_enum)]
    encoding: Option<Encoding>,
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Verify {
    Github,
    Gitlab,
    Stripe,
    Slack,
    Shopify,
    /// Standard Webhooks
    Standard,
    /// Any HMAC, described by the other options
    Hmac,
    /// User name and password
    Basic,
    /// No verification: anyone who knows the URL can send events
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DeduplicateArg {
    /// A repetition, for 24 hours
    Body,
    /// Each request is an event
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Encoding {
    Hex,
    Base64,
}

impl From<Verify> for VerifyType {
    fn from(verify: Verify) -> Self {
        match verify {
            Verify::Github => Self::Github,
            Verify::Gitlab => Self::Gitlab,
            Verify::Stripe => Self::Stripe,
            Verify::Slack => Self::Slack,
            Verify::Shopify => Self::Shopify,
            Verify::Standard => Self::Standard,
            Verify::Hmac => Self::Hmac,
            Verify::Basic => Self::Basic,
            Verify::None => Self::None,
        }
    }
}

impl From<Algorithm> for HmacAlgorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha1 => Self::Sha1,
            Algorithm::Sha256 => Self::Sha256,
            Algorithm::Sha512 => Self::Sha512,
        }
    }
}

impl From<DeduplicateArg> for Deduplicate {
    fn from(deduplicate: DeduplicateArg) -> Self {
        match deduplicate {
            DeduplicateArg::Body => Self::Body,
            DeduplicateArg::None => Self::None,
        }
    }
}

impl From<Encoding> for SignatureEncoding {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Hex => Self::Hex,
            Encoding::Base64 => Self::Base64,
        }
    }
}

impl Settings {
    fn event_type(&self) -> TypeRule {
        TypeRule {
            header: self.type_header.clone(),
            body: self.type_body.clone(),
            fixed: self.type_fixed.clone(),
        }
    }

    /// The options that were given, as members of `verify`.
    fn verify_members(&self) -> Map<String, Value> {
        let algorithm = self.algorithm.map(HmacAlgorithm::from);
        let encoding = self.encoding.map(SignatureEncoding::from);
        let members = [
            ("tolerance_seconds", json!(self.tolerance)),
            ("header", json!(self.signature_header)),
            ("prefix", json!(self.signature_prefix)),
            ("algorithm", json!(algorithm)),
            ("encoding", json!(encoding)),
            ("signed", json!(self.signed)),
            ("timestamp_header", json!(self.timestamp_header)),
            ("id_header", json!(self.id_header)),
            (
                "deduplicate",
                json!(self.deduplicate.map(Deduplicate::from)),
            ),
        ];
        members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

pub async fn create(shell: &Shell, args: CreateArgs) -> Outcome {
    let secret = args.secret_stdin.then(prompt::read_secret).transpose()?;
    let settings = args.settings;
    let verify = Verification {
        secret,
        tolerance_seconds: settings.tolerance,
        header: settings.signature_header.clone(),
        algorithm: settings.algorithm.map(Into::into),
        encoding: settings.encoding.map(Into::into),
        prefix: settings.signature_prefix.clone(),
        signed: settings.signed.clone(),
        timestamp_header: settings.timestamp_header.clone(),
        id_header: settings.id_header.clone(),
        deduplicate: settings.deduplicate.map(Into::into),
        ..Verification::of(args.verify.into())
    };
    let new = NewSource {
        name: args.name,
        event_type: settings.event_type(),
        description: settings.description.unwrap_or_default(),
        verify,
        headers: records::words(settings.copy_headers),
        active: !args.inactive,
    };
    let source: Source = shell.client()?.create(&new).await?;
    match args.verify {
        Verify::None => eprintln!("keep the URL now: it is not shown again"),
        _ => eprintln!("keep the URL and the secret now: they are not shown again"),
    }
    records::show(shell, &source)
}

pub async fn update(shell: &Shell, args: UpdateArgs) -> Outcome {
    let settings = args.settings;
    let verify = settings.verify_members();
    let event_type = settings.event_type();
    // The given option replaces the whole rule: the members of the other options become `null`.
    let members = |rule: TypeRule| {
        let members = [
            ("header", rule.header),
            ("body", rule.body),
            ("fixed", rule.fixed),
        ];
        let members = members.into_iter();
        members.map(|(name, value)| (name.to_owned(), json!(value)))
    };
    let patch = SourcePatch {
        name: args.name,
        description: settings.description,
        verify: (!verify.is_empty()).then_some(verify),
        event_type: (event_type != TypeRule::default()).then(|| members(event_type).collect()),
        headers: words_if_given(settings.copy_headers),
        active: match (args.active, args.inactive) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
    };
    records::update::<Source>(shell, &args.source, &patch).await
}

/// Parses `Name: value`.
pub fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` is not of the form `Name: value`"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
