//! Generates requests to routes whose method is not `GET`, from the state of the model.

mod act;
pub mod apps;
mod code;
mod factors;
mod identity;
mod spaces;

pub use act::{Act, FactorAct, UserChange};
pub use factors::CodeProof;

use serde_json::{Value, json};

use crate::{
    model::{Model, Perms, UserIx},
    rng::Rng,
    world::World,
};

pub struct Plan {
    pub path: String,
    pub body: Option<Value>,
    pub act: Act,
}

/// The input of a generator: the caller of the next request, the model and the random numbers.
pub struct Draft<'a> {
    pub rng: &'a mut Rng,
    pub model: &'a Model,
    pub world: &'a World,
    /// The user who received the credential; not always the `subject`.
    pub person: UserIx,
    /// The user whom the credential authenticates.
    pub subject: UserIx,
}

type Generator = fn(&mut Draft<'_>) -> Option<Plan>;

/// Every tested route whose method is not `GET`, with its weight in the random choice.
#[rustfmt::skip]
pub const CHANGES: &[(&str, &str, usize, Generator)] = &[
    ("POST",   "/api/auth/setup", 1, identity::setup),
    ("POST",   "/api/auth/login", 6, identity::login),
    ("POST",   "/api/auth/sign-in", 1, identity::sign_in),
    ("POST",   "/api/auth/logout", 2, identity::logout),
    ("POST",   "/api/auth/password", 4, identity::password),
    ("POST",   "/api/auth/second-factor", 8, factors::complete_login),
    ("POST",   "/api/auth/totp", 2, factors::begin_app),
    ("POST",   "/api/auth/totp/confirm", 4, factors::confirm_app),
    ("POST",   "/api/auth/totp/remove", 3, factors::remove_app),
    ("POST",   "/api/auth/passkeys/challenge", 2, factors::challenge),
    ("POST",   "/api/auth/passkeys/login", 6, factors::passkey_login),
    ("POST",   "/api/auth/passkeys/begin", 2, factors::begin_passkey),
    ("POST",   "/api/auth/passkeys", 4, factors::add_passkey),
    ("PATCH",  "/api/auth/passkeys/{id}", 1, factors::rename_passkey),
    ("POST",   "/api/auth/passkeys/{id}/remove", 4, factors::remove_passkey),
    ("POST",   "/api/auth/recovery-codes", 2, factors::renew_codes),
    ("DELETE", "/api/users/{id}/second-factor", 4, factors::reset),
    ("POST",   "/api/auth/identities/{id}/remove", 3, factors::unlink),
    ("DELETE", "/api/auth/identities/{id}", 3, factors::unlink_other),
    ("DELETE", "/api/auth/sessions", 1, identity::end_other_sessions),
    ("DELETE", "/api/auth/sessions/{id}", 2, identity::end_session),
    ("POST",   "/api/users", 6, identity::new_user),
    ("PATCH",  "/api/users/{id}", 16, identity::patch_user),
    ("DELETE", "/api/users/{id}", 3, identity::delete_user),
    ("POST",   "/api/groups", 3, identity::new_group),
    ("PATCH",  "/api/groups/{id}", 3, identity::rename_group),
    ("DELETE", "/api/groups/{id}", 2, identity::delete_group),
    ("POST",   "/api/roles", 4, identity::new_role),
    ("PATCH",  "/api/roles/{id}", 10, identity::patch_role),
    ("DELETE", "/api/roles/{id}", 4, identity::delete_role),
    ("POST",   "/api/tokens", 10, identity::new_token),
    ("DELETE", "/api/tokens/{id}", 5, identity::delete_token),
    ("POST",   "/api/spaces", 8, spaces::new_space),
    ("PATCH",  "/api/spaces/{id}", 8, spaces::patch_space),
    ("DELETE", "/api/spaces/{id}", 3, spaces::delete_space),
    ("POST",   "/api/spaces/{id}/start", 5, spaces::start_space),
    ("POST",   "/api/spaces/{id}/stop", 5, spaces::stop_space),
    ("POST",   "/api/spaces/{id}/agent-token", 8, spaces::rotate_agent),
    ("POST",   "/api/templates", 3, spaces::new_template),
    ("PATCH",  "/api/templates/{id}", 4, spaces::patch_template),
    ("DELETE", "/api/templates/{id}", 2, spaces::delete_template),
    ("POST",   "/api/scripts", 3, code::new_script),
    ("PATCH",  "/api/scripts/{id}", 4, code::patch_script),
    ("DELETE", "/api/scripts/{id}", 3, code::delete_script),
    ("POST",   "/api/scripts/run", 2, code::run_draft),
    ("POST",   "/api/scripts/{id}/run", 2, code::run_script),
    ("POST",   "/api/methods/call", 4, code::call),
    ("POST",   "/mcp", 3, code::mcp),
    ("POST",   "/api/events/emit", 4, code::emit),
    ("POST",   "/api/event-sinks", 5, code::new_sink),
    ("POST",   "/api/event-sinks/preview", 3, code::preview),
    ("PATCH",  "/api/event-sinks/{id}", 5, code::patch_sink),
    ("DELETE", "/api/event-sinks/{id}", 3, code::delete_sink),
    ("POST",   "/api/event-sinks/{id}/test", 4, code::test_sink),
    ("POST",   "/api/event-sinks/{id}/rotate-secret", 3, code::rotate_secret),
    ("POST",   "/api/event-sinks/{id}/replay", 2, code::replay),
    ("POST",   "/api/event-sinks/{id}/backtest", 2, code::backtest),
    ("POST",   "/api/event-sinks/{id}/resend", 2, code::resend_many),
    ("POST",   "/api/event-sinks/{id}/deliveries/{n}/resend", 2, code::resend),
    ("POST",   "/api/oauth/clients", 2, apps::new_app),
    ("PATCH",  "/api/oauth/clients/{id}", 2, apps::block_app),
    ("DELETE", "/api/oauth/clients/{id}", 1, apps::delete_app),
    ("POST",   "/api/oauth/requests/{id}", 6, apps::decide),
    ("POST",   "/token", 8, apps::token),
    ("POST",   "/revoke", 2, apps::revoke),
    ("DELETE", "/api/oauth/grants/{id}", 5, apps::end_grant),
    ("POST",   "/device_authorization", 3, apps::start_device),
    ("POST",   "/api/oauth/devices/{user_code}", 5, apps::decide_device),
];

/// Routes that need an earlier request, each with the route of that request. The earlier request is
/// usually sent first.
pub const PRELUDES: &[(&str, &str)] = &[
    ("/api/auth/second-factor", "/api/auth/login"),
    ("/api/auth/totp/confirm", "/api/auth/totp"),
    ("/api/auth/passkeys/login", "/api/auth/passkeys/challenge"),
    ("/api/auth/passkeys", "/api/auth/passkeys/begin"),
    ("/api/oauth/devices/{user_code}", "/device_authorization"),
];

/// Routes that are not tested here: preflights of browsers and registrations of apps, because they
/// give no permissions; and routes whose records are not in the model.
pub const EXCLUDED_CHANGES: &[(&str, &str)] = &[
    // Compiles a text of the caller, and stores and runs nothing.
    ("POST", "/api/scripts/check"),
    ("POST", "/register"),
    ("OPTIONS", "/token"),
    ("OPTIONS", "/register"),
    ("OPTIONS", "/revoke"),
    ("OPTIONS", "/device_authorization"),
    ("OPTIONS", "/.well-known/oauth-protected-resource"),
    ("OPTIONS", "/.well-known/oauth-protected-resource/mcp"),
    ("OPTIONS", "/.well-known/oauth-authorization-server"),
    ("OPTIONS", "/.well-known/oauth-authorization-server/mcp"),
    // These routes need a provider, which `crates/svc/tests/it/oidc` starts. Here,
    // `sequence/provider` links accounts and signs in with them, without these routes.
    ("POST", "/api/auth/oidc/{name}/backchannel-logout"),
    ("POST", "/api/auth/oidc/{name}/link"),
    // All sequences share the provider, so no sequence may change it.
    ("POST", "/api/oidc/providers"),
    ("PATCH", "/api/oidc/providers/{id}"),
    ("DELETE", "/api/oidc/providers/{id}"),
    // Sources and schedules emit events of their owner only. `crates/svc/tests/it/sources` tests
    // the sources.
    ("POST", "/in/{token}"),
    ("POST", "/api/sources"),
    ("PATCH", "/api/sources/{id}"),
    ("DELETE", "/api/sources/{id}"),
    ("POST", "/api/sources/{id}/rotate"),
    ("POST", "/api/sources/{id}/test"),
    ("POST", "/api/schedules"),
    ("PATCH", "/api/schedules/{id}"),
    ("DELETE", "/api/schedules/{id}"),
    ("POST", "/api/schedules/{id}/run"),
];

fn plan(path: impl Into<String>, body: Value, act: Act) -> Option<Plan> {
    Some(Plan {
        path: path.into(),
        body: Some(body),
        act,
    })
}

fn bare(path: impl Into<String>, act: Act) -> Option<Plan> {
    Some(Plan {
        path: path.into(),
        body: None,
        act,
    })
}

impl Draft<'_> {
    fn name(&self, kind: char) -> String {
        self.world.marker(kind)
    }

    fn secret(&self) -> String {
        format!("a long password {}", self.world.name(""))
    }

    fn user(&mut self) -> UserIx {
        let users = self.model.live_users();
        self.rng.pick(&users).expect("a user is left")
    }

    fn role(&mut self) -> Option<usize> {
        self.rng.pick(&self.model.live_roles())
    }

    fn group(&mut self) -> Option<usize> {
        self.rng.pick(&self.model.live_groups())
    }

    /// A random space: in 30 % of the cases a space of the subject, otherwise of any user.
    fn space(&mut self) -> Option<usize> {
        let mut spaces = self.model.live_spaces();
        if self.rng.percent(30) {
            spaces.retain(|&space| self.model.spaces[space].owner == self.subject);
        }
        self.rng.pick(&spaces)
    }

    fn sink(&mut self) -> Option<usize> {
        let mut sinks = self.model.live_sinks();
        if self.rng.percent(70) {
            sinks.retain(|&sink| {
                let sink = &self.model.sinks[sink];
                sink.global || sink.owner == self.subject
            });
        }
        self.rng.pick(&sinks)
    }

    /// Usually permissions that the subject holds, so that requests succeed; sometimes any
    /// permissions.
    fn perms(&mut self) -> Perms {
        let held = self.model.perms(self.subject);
        let drawn = Perms(self.rng.next() as u32 & Perms::ALL.0);
        match self.rng.below(4) {
            0 => Perms(drawn.0 & self.rng.next() as u32),
            1 => held,
            _ => Perms(drawn.0 & held.0),
        }
    }

    fn role_names(&self, roles: &[usize]) -> Vec<&str> {
        roles
            .iter()
            .map(|&role| self.model.roles[role].name.as_str())
            .collect()
    }

    fn group_names(&self, groups: &[usize]) -> Vec<&str> {
        groups
            .iter()
            .map(|&group| self.model.groups[group].name.as_str())
            .collect()
    }

    fn startup(&mut self) -> Option<usize> {
        let mut scripts = self.model.live_scripts(|script| script.kind == "startup");
        if self.rng.percent(80) {
            scripts.retain(|&script| {
                let script = &self.model.scripts[script];
                script.global || script.owner == self.subject
            });
        }
        self.rng.pick(&scripts)
    }

    fn script_id(&self, script: Option<usize>) -> Value {
        json!(script.map(|script| &self.model.scripts[script].id))
    }

    fn health_check(&mut self) -> Value {
        match self.rng.below(3) {
            0 => json!({"type": "tcp", "port": 80}),
            1 => json!({"type": "http", "url": "http://127.0.0.1/"}),
            _ => json!({"type": "command", "command": "true"}),
        }
    }

    /// Returns the source of a script, and the library that the script imports. The source contains
    /// a marker, which only users who may read the script may see. The source of a tool returns the
    /// user for whom the tool runs.
    fn source(&mut self, kind: &str, global: bool) -> (String, Option<usize>) {
        let marker = self.name(if global { 't' } else { 'c' });
        let libraries = self
            .model
            .live_scripts(|script| script.kind == "library" && script.global);
        let imports = match kind {
            "tool" if self.rng.percent(30) => self.rng.pick(&libraries),
            _ => None,
        };
        let import =
            imports.map(|library| format!("import {}\n", self.model.scripts[library].name));
        let import = import.unwrap_or_default();
        let body = match kind {
            "tool" => {
                "from svc import api\ndef main(params):\n    return api.request('GET', '/api/auth/me')\n"
            }
            "library" => "value = 1\n",
            _ => "print('hello')\n",
        };
        (format!("# {marker}\n{import}{body}"), imports)
    }
}
