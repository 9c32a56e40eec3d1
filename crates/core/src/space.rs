//! A space's states, its health, and what each transition announces (spec 3 and 6.1).

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    id::{ServerId, SpaceId, TemplateId},
    timestamp::Timestamp,
};

macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

text_enum! {
    /// created -> deployed <-> stopped -> deleted; a space can be deleted from any state.
    State {
        Created = "created",
        /// The agent's link is up, or was within the grace period.
        Deployed = "deployed",
        Stopped = "stopped",
        Deleted = "deleted",
    }
}

text_enum! {
    Health {
        Unknown = "unknown",
        Healthy = "healthy",
        Unhealthy = "unhealthy",
    }
}

text_enum! {
    /// Who starts the agent.
    Runtime {
        /// Someone runs `svc agent start` with the agent token.
        External = "external",
        /// The server runs the agent as a child process.
        Local = "local",
    }
}

text_enum! {
    /// Why a space is stopped: only one that was *asked* to stop refuses its agent.
    StopReason {
        Requested = "requested",
        /// The agent said goodbye.
        AgentStopped = "agent_stopped",
        /// The link was gone for the grace period.
        LinkLost = "link_lost",
    }
}

impl State {
    pub fn may_become(self, next: Self) -> bool {
        use State::{Created, Deleted, Deployed, Stopped};
        matches!(
            (self, next),
            (Created, Deployed | Stopped)
                | (Deployed, Stopped)
                | (Stopped, Deployed)
                | (Created | Deployed | Stopped, Deleted)
        )
    }
}

/// How an agent checks its space.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "WrittenHealthCheck", into = "WrittenHealthCheck")]
pub struct HealthCheck {
    pub probe: Probe,
    pub interval_seconds: u32,
    pub timeout_seconds: u32,
    /// Failures in a row that make a space unhealthy; one success makes it healthy.
    pub failures: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Probe {
    None,
    /// Something listens on this port of the loopback address.
    Tcp {
        port: u16,
    },
    /// A GET answers 2xx.
    Http {
        url: String,
    },
    /// A shell command ends with 0.
    Command {
        command: String,
    },
}

/// The health check as it is written: flat, one optional field per kind of probe.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHealthCheck {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default = "default_interval")]
    interval_seconds: u32,
    #[serde(default = "default_timeout")]
    timeout_seconds: u32,
    #[serde(default = "default_failures")]
    failures: u32,
}

impl TryFrom<WrittenHealthCheck> for HealthCheck {
    type Error = HealthCheckError;

    fn try_from(written: WrittenHealthCheck) -> Result<Self, HealthCheckError> {
        let missing = |field| HealthCheckError::Missing {
            kind: written.r#type.clone(),
            field,
        };
        let probe = match written.r#type.as_str() {
            "none" => Probe::None,
            "tcp" => Probe::Tcp {
                port: written.port.ok_or_else(|| missing("port"))?,
            },
            "http" => Probe::Http {
                url: written.url.clone().ok_or_else(|| missing("url"))?,
            },
            "command" => Probe::Command {
                command: written.command.clone().ok_or_else(|| missing("command"))?,
            },
            other => return Err(HealthCheckError::UnknownType(other.to_owned())),
        };
        let check = Self {
            probe,
            interval_seconds: written.interval_seconds,
            timeout_seconds: written.timeout_seconds,
            failures: written.failures,
        };
        check.check()?;
        Ok(check)
    }
}

impl From<HealthCheck> for WrittenHealthCheck {
    fn from(check: HealthCheck) -> Self {
        let (kind, port, url, command) = match check.probe {
            Probe::None => ("none", None, None, None),
            Probe::Tcp { port } => ("tcp", Some(port), None, None),
            Probe::Http { url } => ("http", None, Some(url), None),
            Probe::Command { command } => ("command", None, None, Some(command)),
        };
        Self {
            r#type: kind.to_owned(),
            port,
            url,
            command,
            interval_seconds: check.interval_seconds,
            timeout_seconds: check.timeout_seconds,
            failures: check.failures,
        }
    }
}

fn default_interval() -> u32 {
    10
}

fn default_timeout() -> u32 {
    5
}

fn default_failures() -> u32 {
    3
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            probe: Probe::None,
            interval_seconds: default_interval(),
            timeout_seconds: default_timeout(),
            failures: default_failures(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HealthCheckError {
    #[error("health check type `{0}` does not exist; the types are none, tcp, http and command")]
    UnknownType(String),
    #[error("a health check of type `{kind}` needs `{field}`")]
    Missing { kind: String, field: &'static str },
    #[error("`{field}` is {value}; it must be between 1 and {max}")]
    OutOfRange {
        field: &'static str,
        value: u32,
        max: u32,
    },
    #[error("`url` is `{0}`; it must begin with `http://` and name a host")]
    NotHttp(String),
    #[error("`command` is empty")]
    EmptyCommand,
    #[error("`port` is 0; it must be between 1 and 65535")]
    ZeroPort,
}

impl HealthCheck {
    fn check(&self) -> Result<(), HealthCheckError> {
        let in_range = |field, value, max| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(HealthCheckError::OutOfRange { field, value, max })
            }
        };
        in_range("interval_seconds", self.interval_seconds, 86_400)?;
        in_range("timeout_seconds", self.timeout_seconds, 3_600)?;
        in_range("failures", self.failures, 1_000)?;
        match &self.probe {
            Probe::None => Ok(()),
            Probe::Tcp { port: 0 } => Err(HealthCheckError::ZeroPort),
            Probe::Tcp { .. } => Ok(()),
            Probe::Http { url } => match url.strip_prefix("http://") {
                Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(()),
                _ => Err(HealthCheckError::NotHttp(url.clone())),
            },
            Probe::Command { command } if command.trim().is_empty() => {
                Err(HealthCheckError::EmptyCommand)
            }
            Probe::Command { .. } => Ok(()),
        }
    }
}

/// What a run of checks says about health: `failed_in_a_row` counts up to now.
pub fn health_after(current: Health, failed_in_a_row: u32, failures: u32) -> Health {
    match failed_in_a_row {
        0 => Health::Healthy,
        n if n >= failures => Health::Unhealthy,
        _ => current,
    }
}

/// What a transition announces; `event_type` and `payload` are those of spec 6.1.
#[derive(Clone, PartialEq, Debug)]
pub enum Transition {
    Created {
        template_id: Option<TemplateId>,
        startup_script_id: Option<String>,
    },
    Started {
        node_id: ServerId,
        at: Timestamp,
    },
    Stopped {
        at: Timestamp,
    },
    Deleted {
        at: Timestamp,
    },
    HealthChanged {
        previous: Health,
        current: Health,
        consecutive_failures: u32,
        at: Timestamp,
    },
}

/// The space a transition happened to.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    pub id: SpaceId,
    pub name: &'a str,
    pub urls: &'a BTreeMap<String, String>,
}

impl Transition {
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Created { .. } => "space.created",
            Self::Started { .. } => "space.started",
            Self::Stopped { .. } => "space.stopped",
            Self::Deleted { .. } => "space.deleted",
            Self::HealthChanged {
                current: Health::Healthy,
                ..
            } => "space.healthy",
            Self::HealthChanged { .. } => "space.unhealthy",
        }
    }

    pub fn payload(&self, space: &Subject<'_>) -> Value {
        let (name, id, urls) = (space.name, space.id, space.urls);
        match self {
            Self::Created {
                template_id,
                startup_script_id,
            } => json!({
                "space_name": name, "space_id": id, "space_urls": urls,
                "template_id": template_id, "startup_script_id": startup_script_id,
            }),
            Self::Started { node_id, at } => json!({
                "space_name": name, "space_id": id, "space_urls": urls,
                "node_id": node_id, "started_at": at,
            }),
            Self::Stopped { at } => {
                json!({"space_name": name, "space_id": id, "stopped_at": at})
            }
            Self::Deleted { at } => {
                json!({"space_name": name, "space_id": id, "deleted_at": at})
            }
            Self::HealthChanged {
                previous,
                current: Health::Healthy,
                at,
                ..
            } => json!({
                "space_name": name, "space_id": id, "previous": previous,
                "current": Health::Healthy, "checked_at": at,
            }),
            Self::HealthChanged {
                previous,
                current,
                consecutive_failures,
                at,
            } => json!({
                "space_name": name, "space_id": id, "previous": previous, "current": current,
                "consecutive_failures": consecutive_failures, "checked_at": at,
            }),
        }
    }
}

/// A space's address for each port of its template: `https://<user>--<space>--<port>.<domain>`.
pub fn space_urls(
    user: &str,
    space: &str,
    ports: &[(String, u16)],
    wildcard_domain: Option<&str>,
) -> BTreeMap<String, String> {
    let Some(domain) = wildcard_domain else {
        return BTreeMap::new();
    };
    ports
        .iter()
        .map(|(name, port)| {
            (
                name.clone(),
                format!("https://{user}--{space}--{port}.{domain}"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_follow_the_lifecycle() {
        use State::{Created, Deleted, Deployed, Stopped};
        let all = [Created, Deployed, Stopped, Deleted];
        let allowed = [
            (Created, Deployed),
            (Created, Stopped),
            (Deployed, Stopped),
            (Stopped, Deployed),
            (Created, Deleted),
            (Deployed, Deleted),
            (Stopped, Deleted),
        ];
        for from in all {
            for to in all {
                assert_eq!(
                    from.may_become(to),
                    allowed.contains(&(from, to)),
                    "{from} -> {to}"
                );
            }
        }
    }

    #[test]
    fn system_events_carry_exactly_their_fields() {
        let urls = BTreeMap::from([("web".to_owned(), "https://x".to_owned())]);
        let space = Subject {
            id: SpaceId::NIL,
            name: "lab",
            urls: &urls,
        };
        let at = Timestamp(0);
        let check = |transition: Transition, event_type: &str, fields: &[&str]| {
            assert_eq!(transition.event_type(), event_type);
            let payload = transition.payload(&space);
            let keys: Vec<_> = payload
                .as_object()
                .expect("object")
                .keys()
                .cloned()
                .collect();
            assert_eq!(keys, fields, "{event_type}");
        };
        check(
            Transition::Created {
                template_id: None,
                startup_script_id: None,
            },
            "space.created",
            &[
                "space_name",
                "space_id",
                "space_urls",
                "template_id",
                "startup_script_id",
            ],
        );
        check(
            Transition::Started {
                node_id: ServerId::NIL,
                at,
            },
            "space.started",
            &[
                "space_name",
                "space_id",
                "space_urls",
                "node_id",
                "started_at",
            ],
        );
        check(
            Transition::Stopped { at },
            "space.stopped",
            &["space_name", "space_id", "stopped_at"],
        );
        check(
            Transition::Deleted { at },
            "space.deleted",
            &["space_name", "space_id", "deleted_at"],
        );
        let health = |previous, current| Transition::HealthChanged {
            previous,
            current,
            consecutive_failures: 3,
            at,
        };
        check(
            health(Health::Unknown, Health::Healthy),
            "space.healthy",
            &[
                "space_name",
                "space_id",
                "previous",
                "current",
                "checked_at",
            ],
        );
        check(
            health(Health::Healthy, Health::Unhealthy),
            "space.unhealthy",
            &[
                "space_name",
                "space_id",
                "previous",
                "current",
                "consecutive_failures",
                "checked_at",
            ],
        );
    }

    #[test]
    fn health_checks_are_read_strictly() {
        let read =
            |text: &str| serde_json::from_str::<HealthCheck>(text).map_err(|e| e.to_string());
        let check = read(r#"{"type":"tcp","port":80}"#).expect("valid");
        assert_eq!(
            check,
            HealthCheck {
                probe: Probe::Tcp { port: 80 },
                ..HealthCheck::default()
            }
        );
        assert_eq!(
            serde_json::to_string(&check).expect("writes"),
            r#"{"type":"tcp","port":80,"interval_seconds":10,"timeout_seconds":5,"failures":3}"#
        );
        for bad in [
            r#"{"type":"tcp"}"#,
            r#"{"type":"tcp","port":0}"#,
            r#"{"type":"udp","port":1}"#,
            r#"{"type":"http","url":"ftp://x"}"#,
            r#"{"type":"http","url":"http://"}"#,
            r#"{"type":"command","command":" "}"#,
            r#"{"type":"none","interval_seconds":0}"#,
            r#"{"type":"none","retries":1}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_success_makes_healthy_and_only_enough_failures_unhealthy() {
        assert_eq!(health_after(Health::Unknown, 0, 3), Health::Healthy);
        assert_eq!(health_after(Health::Unknown, 2, 3), Health::Unknown);
        assert_eq!(health_after(Health::Healthy, 2, 3), Health::Healthy);
        assert_eq!(health_after(Health::Healthy, 3, 3), Health::Unhealthy);
        assert_eq!(health_after(Health::Unhealthy, 0, 3), Health::Healthy);
    }

    #[test]
    fn urls_need_a_wildcard_domain() {
        let ports = [("web".to_owned(), 8080)];
        assert!(space_urls("ann", "lab", &ports, None).is_empty());
        assert_eq!(
            space_urls("ann", "lab", &ports, Some("example.org"))["web"],
            "https://ann--lab--8080.example.org"
        );
    }
}
