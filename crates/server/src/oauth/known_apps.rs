//! Apps that this server knows without reading a document: its own command line, and copies of the
//! documents of widely used apps. The copies are used if a document cannot be read: this server
//! may have no access to the internet, or the app's site may block requests that do not come from a
//! browser.

use svc_core::oauth::ClientKind;

/// The `client_id` of `svc login`.
pub const COMMAND_LINE: &str = "svc-cli";

pub struct KnownApp {
    pub client_id: &'static str,
    pub kind: ClientKind,
    pub name: &'static str,
    pub redirect_uris: &'static [&'static str],
}

const APPS: [KnownApp; 6] = [
    KnownApp {
        client_id: COMMAND_LINE,
        kind: ClientKind::Builtin,
        name: "svc command line",
        redirect_uris: &["http://127.0.0.1/callback"],
    },
    KnownApp {
        client_id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
        kind: ClientKind::Metadata,
        name: "Claude",
        redirect_uris: &[
            "https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback",
        ],
    },
    KnownApp {
        client_id: "https://claude.ai/oauth/claude-code-client-metadata",
        kind: ClientKind::Metadata,
        name: "Claude Code",
        redirect_uris: &["http://localhost/callback", "http://127.0.0.1/callback"],
    },
    KnownApp {
        client_id: "https://chatgpt.com/oauth/client.json",
        kind: ClientKind::Metadata,
        name: "ChatGPT",
        redirect_uris: &["https://chatgpt.com/connector_platform_oauth_redirect"],
    },
    KnownApp {
        client_id: "https://chatgpt.com/oauth/codex/client.json",
        kind: ClientKind::Metadata,
        name: "Codex",
        redirect_uris: &["http://127.0.0.1/callback", "http://localhost/callback"],
    },
    KnownApp {
        client_id: "https://vscode.dev/oauth/client-metadata.json",
        kind: ClientKind::Metadata,
        name: "Visual Studio Code",
        redirect_uris: &[
            "http://127.0.0.1/",
            "https://vscode.dev/redirect",
            "https://insiders.vscode.dev/redirect",
        ],
    },
];

pub fn find(client_id: &str) -> Option<&'static KnownApp> {
    APPS.iter().find(|app| app.client_id == client_id)
}

#[cfg(test)]
mod tests {
    use svc_core::oauth::RedirectUri;

    use super::*;

    #[test]
    fn every_address_of_a_known_app_is_allowed() {
        for app in &APPS {
            for uri in app.redirect_uris {
                assert!(RedirectUri::parse(uri).is_ok(), "{uri}");
            }
        }
    }
}
