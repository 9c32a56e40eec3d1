//! The health check of a space: its kinds, its limits, and how results change the health (spec 3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Health;

/// How an agent checks its space.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(with = "SerializedHealthCheck")]
#[serde(try_from = "SerializedHealthCheck", into = "SerializedHealthCheck")]
pub struct HealthCheck {
    pub probe: Probe,
    pub interval_seconds: u32,
    pub timeout_seconds: u32,
    /// Consecutive failures that make a space unhealthy. One success makes it healthy.
    pub failures: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Probe {
    None,
    /// Healthy if this port of the loopback address accepts a connection.
    Tcp {
        port: u16,
    },
    /// Healthy if a GET request returns 2xx.
    Http {
        url: String,
    },
    /// Healthy if this shell command exits with 0.
    Command {
        command: String,
    },
}

/// How an agent checks its space. The type `tcp` requires `port`, `http` requires `url`, and
/// `command` requires `command`.
// The serialised form: flat, one optional field per kind of probe.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HealthCheck", example = serde_json::json!({"type": "tcp", "port": 8080}))]
#[serde(deny_unknown_fields)]
struct SerializedHealthCheck {
    #[schemars(with = "ProbeType")]
    r#type: String,
    /// For `tcp`: a port of the loopback address.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// For `http`: begins with `http://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// For `command`: run by a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default = "default_interval")]
    #[schemars(range(min = 1, max = INTERVAL_SECONDS_MAX))]
    interval_seconds: u32,
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = TIMEOUT_SECONDS_MAX))]
    timeout_seconds: u32,
    /// Consecutive failures that make a space unhealthy. One success makes it healthy.
    #[serde(default = "default_failures")]
    #[schemars(range(min = 1, max = FAILURES_MAX))]
    failures: u32,
}

const INTERVAL_SECONDS_MAX: u32 = 86_400;
const TIMEOUT_SECONDS_MAX: u32 = 3_600;
const FAILURES_MAX: u32 = 1_000;

/// The kinds of [`Probe`], only for the schema. The parser reads a string, so that it can report an
/// unknown kind with its own message.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only a schema")]
enum ProbeType {
    None,
    Tcp,
    Http,
    Command,
}

impl TryFrom<SerializedHealthCheck> for HealthCheck {
    type Error = HealthCheckError;

    fn try_from(serialized: SerializedHealthCheck) -> Result<Self, HealthCheckError> {
        let missing = |field| HealthCheckError::Missing {
            kind: serialized.r#type.clone(),
            field,
        };
        let probe = match serialized.r#type.as_str() {
            "none" => Probe::None,
            "tcp" => Probe::Tcp {
                port: serialized.port.ok_or_else(|| missing("port"))?,
            },
            "http" => Probe::Http {
                url: serialized.url.clone().ok_or_else(|| missing("url"))?,
            },
            "command" => Probe::Command {
                command: serialized
                    .command
                    .clone()
                    .ok_or_else(|| missing("command"))?,
            },
            other => return Err(HealthCheckError::UnknownType(other.to_owned())),
        };
        let given = [
            ("port", serialized.port.is_some(), "tcp"),
            ("url", serialized.url.is_some(), "http"),
            ("command", serialized.command.is_some(), "command"),
        ];
        let kind = &serialized.r#type;
        let foreign = given.iter().find(|(_, is, of)| *is && kind != of);
        if let Some((field, _, of)) = foreign {
            return Err(HealthCheckError::Foreign {
                kind: kind.clone(),
                field,
                of,
            });
        }
        let check = Self {
            probe,
            interval_seconds: serialized.interval_seconds,
            timeout_seconds: serialized.timeout_seconds,
            failures: serialized.failures,
        };
        check.check()?;
        Ok(check)
    }
}

impl From<HealthCheck> for SerializedHealthCheck {
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
    #[error(
        "`{field}` is for health checks of type `{of}`, and the type is `{kind}`; leave `{field}` out"
    )]
    Foreign {
        kind: String,
        field: &'static str,
        of: &'static str,
    },
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
        in_range(
            "interval_seconds",
            self.interval_seconds,
            INTERVAL_SECONDS_MAX,
        )?;
        in_range("timeout_seconds", self.timeout_seconds, TIMEOUT_SECONDS_MAX)?;
        in_range("failures", self.failures, FAILURES_MAX)?;
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

/// The health after a check. `failed_in_a_row` includes that check; 0 means that it succeeded.
pub fn health_after(current: Health, failed_in_a_row: u32, failures: u32) -> Health {
    match failed_in_a_row {
        0 => Health::Healthy,
        n if n >= failures => Health::Unhealthy,
        _ => current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_health_checks_are_parsed_strictly() {
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
        for (bad, expected) in [
            (
                r#"{"type":"tcp"}"#,
                "a health check of type `tcp` needs `port`",
            ),
            (
                r#"{"type":"http"}"#,
                "a health check of type `http` needs `url`",
            ),
            (
                r#"{"type":"command"}"#,
                "a health check of type `command` needs `command`",
            ),
            (
                r#"{"type":"tcp","port":0}"#,
                "`port` is 0; it must be between 1 and 65535",
            ),
            (
                r#"{"type":"udp","port":1}"#,
                "health check type `udp` does not exist; the types are none, tcp, http and command",
            ),
            (r#"{"type":"command","command":" "}"#, "`command` is empty"),
            (
                r#"{"type":"none","port":80}"#,
                "`port` is for health checks of type `tcp`, and the type is `none`; leave `port` out",
            ),
            (
                r#"{"type":"tcp","port":80,"url":"http://localhost"}"#,
                "`url` is for health checks of type `http`",
            ),
            (
                r#"{"type":"http","url":"http://localhost","command":"x"}"#,
                "`command` is for health checks of type `command`",
            ),
            (
                r#"{"type":"none","retries":1}"#,
                "unknown field `retries`, expected one of",
            ),
        ] {
            let refused = read(bad).expect_err(bad);
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    #[test]
    fn s3_health_checks_of_every_type_are_written_as_they_were_read() {
        for (probe, expected) in [
            (r#""type":"none""#, Probe::None),
            (r#""type":"tcp","port":65535"#, Probe::Tcp { port: 65_535 }),
            (
                r#""type":"http","url":"http://localhost:80/x""#,
                Probe::Http {
                    url: "http://localhost:80/x".to_owned(),
                },
            ),
            (
                r#""type":"command","command":"true""#,
                Probe::Command {
                    command: "true".to_owned(),
                },
            ),
        ] {
            let text =
                format!(r#"{{{probe},"interval_seconds":7,"timeout_seconds":6,"failures":5}}"#);
            let check: HealthCheck = serde_json::from_str(&text).expect(&text);
            assert_eq!(
                check,
                HealthCheck {
                    probe: expected,
                    interval_seconds: 7,
                    timeout_seconds: 6,
                    failures: 5,
                }
            );
            assert_eq!(serde_json::to_string(&check).expect("JSON"), text);
        }
    }

    #[test]
    fn s3_the_url_of_a_health_check_is_http_with_a_host() {
        for (url, valid) in [
            ("http://localhost", true),
            ("http://localhost/health", true),
            ("http://", false),
            ("http:///health", false),
            ("https://localhost", false),
            ("localhost", false),
            ("", false),
        ] {
            let check = HealthCheck {
                probe: Probe::Http {
                    url: url.to_owned(),
                },
                ..HealthCheck::default()
            };
            let expected = match valid {
                true => Ok(()),
                false => Err(HealthCheckError::NotHttp(url.to_owned())),
            };
            assert_eq!(check.check(), expected, "{url}");
        }
    }

    #[test]
    fn s3_the_numbers_of_a_health_check_have_limits() {
        for (field, max) in [
            ("interval_seconds", 86_400),
            ("timeout_seconds", 3_600),
            ("failures", 1_000),
        ] {
            for value in [0, 1, max, max + 1] {
                let text = format!(r#"{{"type":"none","{field}":{value}}}"#);
                let read = serde_json::from_str::<HealthCheck>(&text);
                if (1..=max).contains(&value) {
                    assert!(read.is_ok(), "{text}");
                } else {
                    assert_eq!(
                        read.expect_err(&text).to_string(),
                        format!("`{field}` is {value}; it must be between 1 and {max}")
                    );
                }
            }
        }
    }

    #[test]
    fn s3_one_success_makes_healthy_and_only_enough_failures_unhealthy() {
        assert_eq!(health_after(Health::Unknown, 0, 3), Health::Healthy);
        assert_eq!(health_after(Health::Unknown, 2, 3), Health::Unknown);
        assert_eq!(health_after(Health::Healthy, 2, 3), Health::Healthy);
        assert_eq!(health_after(Health::Unhealthy, 2, 3), Health::Unhealthy);
        assert_eq!(health_after(Health::Healthy, 3, 3), Health::Unhealthy);
        assert_eq!(health_after(Health::Unknown, 4, 3), Health::Unhealthy);
        assert_eq!(health_after(Health::Unhealthy, 0, 3), Health::Healthy);
    }
}
