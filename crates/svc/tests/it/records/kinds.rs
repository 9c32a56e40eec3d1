//! The kinds of records, one row each.

use serde_json::{Value, json};

/// Who manages the records of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Each user has records of their own, and other users do not see them.
    Owner,
    /// Users with a permission manage all records. The records belong to the server.
    Administrator,
}

/// How a test creates a record.
#[derive(Clone, Copy)]
pub enum Creation {
    /// `POST` to the path of the list, with the body for a name.
    Post(fn(&str) -> Value),
    /// A login with the password creates a session.
    Login,
    /// A browser adds a passkey in two steps.
    Passkey,
    /// A user allows an app to connect.
    Connection,
}

/// The rule for the names of the records of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// No two records of an owner have the same name.
    Unique,
    /// Two records may have the same name.
    Any,
    /// The records have no name.
    None,
}

pub struct Patch {
    /// Changes a new record, as JSON.
    pub change: &'static str,
    /// Members that `null` resets to their default. In other members, `null` is refused.
    pub nullable: &'static [&'static str],
    /// Whether the name can be changed.
    pub renames: bool,
    /// Members of the record that every change sets.
    pub moving: &'static [&'static str],
}

/// The actions of audit entries whose target is the record. The actions of other entries about a
/// record are in the table of actions (`audit`).
pub struct Audit {
    pub target: &'static str,
    pub created: Option<&'static str>,
    pub updated: Option<&'static str>,
    pub deleted: Option<&'static str>,
}

pub struct Kind {
    /// The path of the list and of `POST`. The path of one record has the id after it.
    pub path: &'static str,
    pub manager: Manager,
    pub creation: Creation,
    /// Members that only the answer to the creation shows.
    pub shown_once: &'static [&'static str],
    /// The member of the list with the records, if there is a list of pages.
    pub list: Option<&'static str>,
    /// Whether one record can be read.
    pub get: bool,
    pub patch: Option<Patch>,
    /// Whether `DELETE` deletes a record.
    pub delete: bool,
    pub names: Names,
    /// The quota that limits the number of records of a user.
    pub quota: Option<&'static str>,
    pub audit: Audit,
}

macro_rules! audit {
    ($target:literal) => {
        Audit {
            target: $target,
            created: Some(concat!($target, ".created")),
            updated: Some(concat!($target, ".updated")),
            deleted: Some(concat!($target, ".deleted")),
        }
    };
}

const DESCRIPTION: Patch = Patch {
    change: r#"{"description": "changed"}"#,
    nullable: &[],
    renames: true,
    moving: &[],
};

/// Records of a user, with all operations. Each row has a path, a list and an audit of its own.
const OWNED: Kind = Kind {
    path: "",
    manager: Manager::Owner,
    creation: Creation::Post(|name| json!({"name": name})),
    shown_once: &[],
    list: None,
    get: true,
    patch: Some(DESCRIPTION),
    delete: true,
    names: Names::Unique,
    quota: None,
    audit: audit!(""),
};

/// Records of the server.
const SHARED: Kind = Kind {
    manager: Manager::Administrator,
    ..OWNED
};

pub const KINDS: &[Kind] = &[
    Kind {
        path: "/api/users",
        list: Some("users"),
        creation: Creation::Post(|name| json!({"username": name, "password": "a long password"})),
        patch: Some(Patch {
            change: r#"{"roles": []}"#,
            renames: false,
            ..DESCRIPTION
        }),
        audit: audit!("user"),
        ..SHARED
    },
    Kind {
        path: "/api/groups",
        list: Some("groups"),
        patch: Some(Patch {
            change: r#"{"name": "changed"}"#,
            ..DESCRIPTION
        }),
        audit: audit!("group"),
        ..SHARED
    },
    Kind {
        path: "/api/roles",
        list: Some("roles"),
        patch: Some(Patch {
            change: r#"{"permissions": ["view_audit"]}"#,
            ..DESCRIPTION
        }),
        audit: audit!("role"),
        ..SHARED
    },
    Kind {
        path: "/api/tokens",
        list: Some("tokens"),
        shown_once: &["token"],
        patch: None,
        names: Names::Any,
        quota: Some("tokens"),
        audit: Audit {
            target: "token",
            created: Some("token.created"),
            updated: None,
            deleted: Some("token.revoked"),
        },
        ..OWNED
    },
    Kind {
        path: "/api/spaces",
        list: Some("spaces"),
        shown_once: &["agent_token"],
        patch: Some(Patch {
            change: r#"{"health_check": {"type": "tcp", "port": 8080}}"#,
            nullable: &["health_check", "startup_script_id"],
            renames: false,
            ..DESCRIPTION
        }),
        quota: Some("spaces"),
        audit: audit!("space"),
        ..OWNED
    },
    Kind {
        path: "/api/templates",
        list: Some("templates"),
        patch: Some(Patch {
            change: r#"{"ports": [{"name": "http", "port": 8080}]}"#,
            nullable: &[
                "ports",
                "startup_script_id",
                "health_check",
                "custom_fields",
            ],
            ..DESCRIPTION
        }),
        audit: audit!("template"),
        ..SHARED
    },
    Kind {
        path: "/api/event-sinks",
        list: Some("event_sinks"),
        creation: Creation::Post(
            |name| json!({"name": name, "patterns": "custom.*", "type": "json-rpc"}),
        ),
        quota: Some("sinks"),
        audit: audit!("event_sink"),
        ..OWNED
    },
    Kind {
        path: "/api/scripts",
        list: Some("scripts"),
        creation: Creation::Post(|name| {
            let source = "def main(params):\n    return 1\n";
            json!({"name": name, "kind": "tool", "source": source})
        }),
        patch: Some(Patch {
            nullable: &["title", "annotations", "params_schema"],
            moving: &["updated_at"],
            ..DESCRIPTION
        }),
        quota: Some("scripts"),
        audit: audit!("script"),
        ..OWNED
    },
    Kind {
        path: "/api/sources",
        list: Some("sources"),
        creation: Creation::Post(|name| json!({"name": name, "verify": {"type": "none"}})),
        shown_once: &["url"],
        quota: Some("sources"),
        audit: audit!("source"),
        ..OWNED
    },
    Kind {
        path: "/api/schedules",
        list: Some("schedules"),
        creation: Creation::Post(|name| json!({"name": name, "cron": "@yearly"})),
        quota: Some("schedules"),
        audit: audit!("schedule"),
        ..OWNED
    },
    Kind {
        path: "/api/oidc/providers",
        list: Some("providers"),
        creation: Creation::Post(|name| {
            let issuer = format!("https://{name}.example.com");
            json!({"name": name, "issuer": issuer, "client_id": "svc"})
        }),
        patch: Some(Patch {
            change: r#"{"label": "changed"}"#,
            nullable: &["client_secret", "groups_claim"],
            renames: false,
            ..DESCRIPTION
        }),
        audit: Audit {
            target: "oidc_provider",
            created: Some("oidc.provider_created"),
            updated: Some("oidc.provider_updated"),
            deleted: Some("oidc.provider_deleted"),
        },
        ..SHARED
    },
    Kind {
        path: "/api/oauth/clients",
        list: Some("apps"),
        creation: Creation::Post(|name| {
            let redirect_uris = ["https://example.com/"];
            json!({"name": name, "redirect_uris": redirect_uris, "confidential": true})
        }),
        shown_once: &["secret"],
        patch: Some(Patch {
            change: r#"{"blocked": true}"#,
            renames: false,
            ..DESCRIPTION
        }),
        names: Names::Any,
        audit: Audit {
            target: "oauth_client",
            created: Some("oauth.client_created"),
            updated: Some("oauth.client_blocked"),
            deleted: Some("oauth.client_deleted"),
        },
        ..SHARED
    },
    Kind {
        path: "/api/oauth/grants",
        list: Some("grants"),
        creation: Creation::Connection,
        get: false,
        patch: None,
        names: Names::None,
        audit: Audit {
            target: "oauth_grant",
            // The entry `oauth.granted` is about the app.
            created: None,
            updated: None,
            deleted: Some("oauth.revoked"),
        },
        ..OWNED
    },
    Kind {
        path: "/api/auth/sessions",
        list: Some("sessions"),
        creation: Creation::Login,
        get: false,
        patch: None,
        names: Names::None,
        audit: Audit {
            target: "session",
            created: Some("session.created"),
            updated: None,
            deleted: Some("session.deleted"),
        },
        ..OWNED
    },
    Kind {
        path: "/api/auth/passkeys",
        // `GET /api/auth/second-factor` lists the passkeys.
        list: None,
        creation: Creation::Passkey,
        get: false,
        patch: Some(Patch {
            change: r#"{"name": "changed"}"#,
            ..DESCRIPTION
        }),
        // `POST /api/auth/passkeys/{id}/remove` takes the password.
        delete: false,
        names: Names::Any,
        // The entries are about the user.
        audit: Audit {
            target: "user",
            created: None,
            updated: None,
            deleted: None,
        },
        ..OWNED
    },
];

impl Kind {
    /// The rows with `PATCH`.
    pub fn patched() -> impl Iterator<Item = (&'static Self, &'static Patch)> {
        KINDS
            .iter()
            .filter_map(|kind| Some((kind, kind.patch.as_ref()?)))
    }

    /// The rows with a list, with the member that has the records.
    pub fn listed() -> impl Iterator<Item = (&'static Self, &'static str)> {
        KINDS.iter().filter_map(|kind| Some((kind, kind.list?)))
    }

    /// The rows that `POST` to the path of the list creates, with the function for the body.
    pub fn posted() -> impl Iterator<Item = (&'static Self, fn(&str) -> Value)> {
        KINDS.iter().filter_map(|kind| match kind.creation {
            Creation::Post(body) => Some((kind, body)),
            Creation::Login | Creation::Passkey | Creation::Connection => None,
        })
    }

    pub fn path_of(&self, id: &str) -> String {
        format!("{}/{id}", self.path)
    }
}

impl Patch {
    pub fn change(&self) -> Value {
        serde_json::from_str(self.change).unwrap()
    }
}
