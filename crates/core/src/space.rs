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
