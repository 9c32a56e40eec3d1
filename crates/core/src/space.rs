//! States and health of a space, and the event of each transition (spec 3 and 6.1).

mod health_check;
mod log_level;
mod transition;

use std::collections::BTreeMap;

pub use health_check::{HealthCheck, HealthCheckError, Probe, health_after};
pub use log_level::LogLevel;
pub use transition::{Subject, Transition};

use crate::text_enum::text_enum;

text_enum! {
    /// created -> deployed <-> stopped -> deleted. A created space can also be stopped. A space can
    /// be deleted in any state.
    State {
        Created = "created",
        /// The agent's link is up, or was up within the grace period.
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
    /// How the agent is started.
    Runtime {
        /// A person or a tool runs `svc agent start` with the agent token.
        External = "external",
        /// The server runs the agent as a child process.
        Local = "local",
    }
}

text_enum! {
    /// Why a space is stopped. Only `Requested` makes the server reject the space's agent.
    StopReason {
        Requested = "requested",
        /// The agent ended the link on purpose.
        AgentStopped = "agent_stopped",
        /// The link was down for the whole grace period.
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

/// What decides whether a space fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    pub state: State,
    pub stop_reason: Option<StopReason>,
    pub health: Health,
    pub is_linked: bool,
    /// Whether the last registration was refused.
    pub is_refused: bool,
}

impl Condition {
    /// Whether a person has to look at the space. A space that a user or its agent stopped is no
    /// failure; a space that the service stopped after a lost link is one.
    ///
    /// `spaceState` in `web/app/src/lib/spaces.js` makes the same decision.
    pub fn is_failing(&self) -> bool {
        match self.state {
            State::Created => self.is_refused,
            State::Deployed => {
                self.is_refused || !self.is_linked || self.health == Health::Unhealthy
            }
            State::Stopped => self.stop_reason == Some(StopReason::LinkLost),
            State::Deleted => false,
        }
    }
}

/// The URL of each port of a space: `https://<user>--<space>--<port>.<domain>`. Empty without a
/// wildcard domain.
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
    fn s3_states_follow_the_lifecycle() {
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
    fn s3_a_space_that_users_must_look_at_fails() {
        let well = Condition {
            state: State::Deployed,
            stop_reason: None,
            health: Health::Healthy,
            is_linked: true,
            is_refused: false,
        };
        let stopped = |reason| Condition {
            state: State::Stopped,
            stop_reason: Some(reason),
            is_linked: false,
            ..well
        };
        let created = Condition {
            state: State::Created,
            health: Health::Unknown,
            is_linked: false,
            ..well
        };
        let cases = [
            (well, false),
            (
                Condition {
                    is_refused: true,
                    ..well
                },
                true,
            ),
            (
                Condition {
                    is_linked: false,
                    ..well
                },
                true,
            ),
            (
                Condition {
                    health: Health::Unhealthy,
                    ..well
                },
                true,
            ),
            (
                Condition {
                    health: Health::Unknown,
                    ..well
                },
                false,
            ),
            (stopped(StopReason::LinkLost), true),
            (stopped(StopReason::AgentStopped), false),
            (stopped(StopReason::Requested), false),
            (
                Condition {
                    health: Health::Unhealthy,
                    ..stopped(StopReason::Requested)
                },
                false,
            ),
            (created, false),
        ];
        for (condition, fails) in cases {
            assert_eq!(condition.is_failing(), fails, "{condition:?}");
        }
    }

    #[test]
    fn s6_1_space_urls_need_a_wildcard_domain() {
        let ports = [("web".to_owned(), 8080), ("api".to_owned(), 81)];
        assert!(space_urls("ann", "lab", &ports, None).is_empty());
        let urls = space_urls("ann", "lab", &ports, Some("example.org"));
        let urls: Vec<_> = urls
            .iter()
            .map(|(name, url)| (name.as_str(), url.as_str()))
            .collect();
        assert_eq!(
            urls,
            [
                ("api", "https://ann--lab--81.example.org"),
                ("web", "https://ann--lab--8080.example.org"),
            ]
        );
    }
}
