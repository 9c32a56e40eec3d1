//! [`Timelines`]: recognises a former primary.
//!
//! A standby that is promoted begins a new timeline with a higher number. If the former primary
//! comes back and still accepts writes, its timeline has a lower number. Everything that is written
//! there is missing on the new primary, so a host with such a timeline is refused.

use std::fmt;

use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio_postgres::Client;

use super::{connect::Messages, single_text};

/// The cluster, and the timeline of its next write: the first eight digits of a WAL file's name.
const FIND: &str = "SELECT system_identifier || ' ' || \
     substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timeline {
    /// Identifies the cluster. A standby has the identifier of its primary.
    cluster: i64,
    number: u32,
}

/// Remembers the newest timeline that this server has used.
#[derive(Default)]
pub(super) struct Timelines(Mutex<State>);

#[derive(Default)]
struct State {
    newest: Option<Timeline>,
    /// Whether a former primary was refused since the last accepted timeline.
    is_refusing: bool,
}

/// A host was the primary in an earlier timeline.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct FormerPrimary {
    found: u32,
    newest: u32,
}

impl Timelines {
    /// Refuses a timeline of the same cluster that is older than the newest one. A different
    /// cluster is accepted: the database was replaced, for example by `pg_upgrade`. The first
    /// refusal is logged.
    pub(super) fn check(&self, found: Timeline) -> Result<(), FormerPrimary> {
        let mut state = self.0.lock();
        match state.newest {
            Some(newest) if newest.cluster == found.cluster && newest.number > found.number => {
                let refused = FormerPrimary {
                    found: found.number,
                    newest: newest.number,
                };
                if !std::mem::replace(&mut state.is_refusing, true) {
                    tracing::warn!(target: crate::LOG_TARGET, "{refused}");
                }
                Err(refused)
            }
            _ => {
                *state = State {
                    newest: Some(found),
                    is_refusing: false,
                };
                Ok(())
            }
        }
    }
}

impl fmt::Display for FormerPrimary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, newest } = self;
        write!(
            f,
            "a host of the database is a former primary and is not used: its timeline is {found}, but this server has \
             used timeline {newest}; if you restored the database from an earlier backup, restart this server"
        )
    }
}

impl Timeline {
    /// Asks a host for its timeline, on a connection that no task drives yet. `None` if the host
    /// does not say: some services are compatible with PostgreSQL but have no timelines.
    pub(super) async fn find(client: &Client, messages: &mut Messages) -> Option<Self> {
        let driving = async { while let Some(Ok(_)) = messages.next().await {} };
        tokio::select! {
            biased;
            answer = client.simple_query(FIND) => Self::parse(single_text(&answer.ok()?)?),
            () = driving => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (cluster, number) = text.split_once(' ')?;
        Some(Self {
            cluster: cluster.parse().ok()?,
            number: u32::from_str_radix(number, 16).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(text: &str) -> Timeline {
        Timeline::parse(text).expect(text)
    }

    #[test]
    fn an_older_timeline_of_the_same_cluster_is_refused() {
        let timelines = Timelines::default();
        for accepted in ["7 00000001", "7 0000000B", "7 0000000B"] {
            assert_eq!(timelines.check(timeline(accepted)), Ok(()), "{accepted}");
        }
        let refused = timelines
            .check(timeline("7 00000002"))
            .expect_err("an older timeline");
        let said = refused.to_string();
        assert!(said.contains("timeline is 2"), "{said}");
        assert!(said.contains("used timeline 11"), "{said}");
        // The refused timeline was not remembered.
        assert!(timelines.check(timeline("7 0000000A")).is_err());
        assert_eq!(timelines.check(timeline("8 00000001")), Ok(()));
    }

    #[test]
    fn other_answers_are_no_timeline() {
        for text in ["", "7", "7 ", "7 xyz", "x 00000001"] {
            assert_eq!(Timeline::parse(text), None, "{text}");
        }
    }
}
