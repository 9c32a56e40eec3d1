//! The side links: one to each announced server except the home server, as far as
//! `Policy::links_max` permits. Side links carry calls, and never change the state of the space.
//!
//! A server that leaves the list of announced servers gets no new attempts. Its side link stays
//! while it is up, because calls may be in flight.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use svc_core::ServerId;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    Link,
    side::{SideEnd, SideLinkTask},
};
use crate::{backoff::random_within, servers::choose_sides};

/// The maximum time by which the agent delays its first link to a server. If the home server asks
/// for a longer time, this limit applies.
const SPREAD_MAX: Duration = Duration::from_secs(60);

/// Keeps side links until `finish` is cancelled.
pub async fn run(link: Arc<Link>, finish: CancellationToken) {
    if link.policy.links_max <= 1 {
        return;
    }
    let mut status = link.status.subscribe();
    let mut announced = link.announced.subscribe();
    let mut sides = Sides {
        link,
        finish: finish.clone(),
        tasks: JoinSet::new(),
        running: HashMap::new(),
        refused: HashSet::new(),
    };
    loop {
        let home = status.borrow_and_update().server;
        let list = announced.borrow_and_update().clone();
        if let Some(home) = home {
            let spread = Duration::from_millis(list.spread_millis.into()).min(SPREAD_MAX);
            let usable = sides.link.servers.learn(&list.servers);
            let most = sides.link.policy.links_max - 1;
            let wanted = choose_sides(usable, home, &sides.link.instance, most);
            sides.follow(wanted, spread);
        }
        // A server that refused a link may accept it after a change of the home link or of the list
        // of announced servers.
        tokio::select! {
            Ok(()) = status.changed() => sides.refused.clear(),
            Ok(()) = announced.changed() => sides.refused.clear(),
            Some(ended) = sides.tasks.join_next_with_id() => match ended {
                Ok((task, end)) => sides.note_end(task, end),
                Err(error) => {
                    // The next pass of the loop starts another task for the server.
                    tracing::error!(%error, "the task of a side link failed; it is started again");
                    sides.note_end(error.id(), SideEnd::Finished);
                }
            },
            () = finish.cancelled() => break,
        }
    }
    while sides.tasks.join_next().await.is_some() {}
}

struct Sides {
    link: Arc<Link>,
    finish: CancellationToken,
    tasks: JoinSet<SideEnd>,
    /// The tasks that are running, by server.
    running: HashMap<ServerId, RunningSide>,
    /// Servers that refused the link. Cleared when the home link or the list of announced servers
    /// changes.
    refused: HashSet<ServerId>,
}

struct RunningSide {
    task: Id,
    /// Ends the attempts of the task, but not a link that is up.
    no_retry: CancellationToken,
}

impl Sides {
    /// Starts the tasks of new servers, and ends the attempts of tasks whose server is not wanted.
    fn follow(&mut self, wanted: Vec<crate::servers::UsableServer>, spread: Duration) {
        let ids: HashSet<_> = wanted.iter().map(|server| server.id).collect();
        for (id, side) in &self.running {
            if !ids.contains(id) {
                side.no_retry.cancel();
            }
        }
        for server in wanted {
            if self.running.contains_key(&server.id) || self.refused.contains(&server.id) {
                continue;
            }
            let no_retry = CancellationToken::new();
            let task = SideLinkTask {
                link: Arc::clone(&self.link),
                server: server.id,
                target: server.target,
                no_retry: no_retry.clone(),
                finish: self.finish.clone(),
            };
            let task = self.tasks.spawn(task.run(random_within(spread))).id();
            self.running
                .insert(server.id, RunningSide { task, no_retry });
        }
    }

    fn note_end(&mut self, task: Id, end: SideEnd) {
        let ended = self.running.extract_if(|_, side| side.task == task);
        for (server, _) in ended {
            if end == SideEnd::Refused {
                self.refused.insert(server);
            }
        }
    }
}
