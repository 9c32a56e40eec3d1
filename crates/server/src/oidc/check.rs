//! Tests a provider step by step, and reports each problem with its solution.

use std::net::IpAddr;

use svc_core::{OidcProviderId, oidc::jose::ALGORITHMS};
use svc_protocol::api::{Group, OidcCheck, OidcCheckStep, Role};
use svc_store::{oidc::providers::ProviderRow, records};

use super::{Oidc, OidcError, endpoints::Metadata, take};

/// The report of a test. Each step adds a line.
#[derive(Default)]
struct Report(Vec<OidcCheckStep>);

impl Report {
    fn good(&mut self, step: &str, detail: impl Into<String>) {
        self.add(step, true, detail.into(), None);
    }

    fn note(&mut self, step: &str, detail: impl Into<String>, advice: impl Into<String>) {
        self.add(step, true, detail.into(), Some(advice.into()));
    }

    fn bad(&mut self, step: &str, detail: impl Into<String>, advice: impl Into<String>) {
        self.add(step, false, detail.into(), Some(advice.into()));
    }

    fn add(&mut self, step: &str, ok: bool, detail: String, advice: Option<String>) {
        self.0.push(OidcCheckStep {
            step: step.to_owned(),
            ok,
            detail,
            advice,
        });
    }
}

impl Oidc {
    /// Tests everything that can be tested without a user. `origin` is the address of this server.
    pub async fn check(
        &self,
        id: OidcProviderId,
        origin: Option<&str>,
        address: IpAddr,
    ) -> Result<OidcCheck, OidcError> {
        take(&self.checks, address)?;
        let provider = self.provider(id).await?;
        let mut report = Report::default();
        check_origin(&mut report, &provider, origin);
        match self.read_metadata(&provider.issuer).await {
            Err(why) => report.bad(
                "discovery",
                why,
                "Compare the issuer with the provider's page. A provider in a private network must be in `oidc.allow` (SVC_OIDC_ALLOW) of this server.",
            ),
            Ok(metadata) => {
                report.good("discovery", format!("the issuer is `{}`", metadata.issuer));
                check_metadata(&mut report, &provider, &metadata);
                self.check_keys(&mut report, &metadata).await;
                self.check_client(&mut report, &provider, &metadata).await;
            }
        }
        self.check_mappings(&mut report, &provider).await?;
        let steps = report.0;
        Ok(OidcCheck {
            ok: steps.iter().all(|step| step.ok),
            steps,
        })
    }

    async fn check_keys(&self, report: &mut Report, metadata: &Metadata) {
        match self.read_keys(&metadata.jwks_uri).await {
            Ok(keys) => report.good("keys", format!("{} usable keys", keys.len())),
            Err(why) => report.bad(
                "keys",
                why,
                format!(
                    "Let the provider sign id_tokens with {}.",
                    ALGORITHMS.join(", ")
                ),
            ),
        }
    }

    /// Sends a code that cannot exist: a provider that knows the client answers `invalid_grant`.
    async fn check_client(&self, report: &mut Report, provider: &ProviderRow, metadata: &Metadata) {
        let refusal = self.try_code(provider, metadata).await;
        match refusal {
            Err(error) => report.bad(
                "client",
                error.to_string(),
                "Check whether this server can reach the token endpoint of the provider.",
            ),
            Ok((_, Some(error))) if error == "invalid_grant" => {
                report.good(
                    "client",
                    "the provider accepts the client id and the secret",
                );
            }
            Ok((_, Some(error))) if error == "invalid_client" || error == "unauthorized_client" => {
                report.bad(
                    "client",
                    format!("the provider answers `{error}`"),
                    "Compare the client id and the client secret, and let the provider allow the authorization code flow for this client.",
                );
            }
            Ok((status, error)) => report.note(
                "client",
                format!(
                    "the provider answers {} {}, which says nothing about the client",
                    status.as_u16(),
                    error.unwrap_or_default()
                ),
                "Sign in once to see whether the client id and the secret are right.",
            ),
        }
    }

    async fn check_mappings(
        &self,
        report: &mut Report,
        provider: &ProviderRow,
    ) -> Result<(), OidcError> {
        let mappings = provider.mappings.clone();
        let reading = self.store.read(move |tx| {
            let mut missing = Vec::new();
            for mapping in mappings {
                if let Some(name) = mapping.group
                    && records::find_named::<Group>(tx, &(), &name)?.is_none()
                {
                    missing.push(format!("group `{name}`"));
                }
                if let Some(name) = mapping.role
                    && records::find_named::<Role>(tx, &(), &name)?.is_none()
                {
                    missing.push(format!("role `{name}`"));
                }
            }
            Ok(missing)
        });
        let missing = reading.await?;
        if !missing.is_empty() {
            report.bad(
                "mappings",
                format!("there is no {}", missing.join(", no ")),
                "Create what is missing, or change the mappings.",
            );
        } else if !provider.mappings.is_empty() {
            let count = provider.mappings.len();
            report.good(
                "mappings",
                format!("{count} mappings; every group and role in them exists"),
            );
        }
        Ok(())
    }
}

fn check_origin(report: &mut Report, provider: &ProviderRow, origin: Option<&str>) {
    match origin {
        Some(origin) => {
            let base = format!("{origin}/api/auth/oidc/{}", provider.name);
            report.note(
                "addresses",
                format!("{base}/callback and {base}/backchannel-logout"),
                "Enter the first address at the provider as a redirect address. For back-channel logout, also enter the second address.",
            );
        }
        None => report.bad(
            "addresses",
            "this server does not know its own https address",
            "Set `public_url` (SVC_PUBLIC_URL) to the https address that browsers use.",
        ),
    }
}

fn check_metadata(report: &mut Report, provider: &ProviderRow, metadata: &Metadata) {
    let offered = &metadata.id_token_signing_alg_values_supported;
    let is_usable = offered.iter().any(|one| ALGORITHMS.contains(&one.as_str()));
    if !offered.is_empty() && !is_usable {
        report.bad(
            "algorithms",
            format!("the provider signs with {}", offered.join(", ")),
            format!(
                "Let the provider sign id_tokens with {}.",
                ALGORITHMS.join(", ")
            ),
        );
    }
    if let Some(methods) = &metadata.code_challenge_methods_supported
        && !methods.iter().any(|method| method == "S256")
    {
        report.note(
            "pkce",
            "the provider does not offer PKCE with S256",
            "Sign-in works without PKCE, but is safer with it.",
        );
    }
    if let Some(scopes) = &metadata.scopes_supported {
        let missing = provider
            .scopes
            .iter()
            .filter(|scope| !scopes.contains(scope));
        let missing: Vec<_> = missing.map(|scope| format!("`{scope}`")).collect();
        if !missing.is_empty() {
            report.note(
                "scopes",
                format!("the provider does not list {}", missing.join(", ")),
                "Remove these scopes if the provider refuses the sign-in.",
            );
        }
    }
    if !metadata.backchannel_logout_supported {
        report.note(
            "logout",
            "the provider does not offer back-channel logout",
            "Sessions end when they expire, or when an administrator deactivates the user.",
        );
    }
}
