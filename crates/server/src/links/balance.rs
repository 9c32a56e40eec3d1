//! Spreads the home links evenly over the servers of a zone. A server that was restarted has no
//! home links, because its agents moved to the other servers when it stopped.
//!
//! A server with clearly more home links than the average asks some of its agents to move their
//! home to a server with fewer. It chooses these agents at random, and moves only a part of its
//! surplus at a time, because every server decides on its own, with numbers that are some seconds
//! old.

use std::sync::Arc;

use svc_core::ServerId;
use svc_link::Control;
use tracing::info;

use super::Links;
use crate::live::Link;

/// The part of its surplus of home links that a server moves at a time.
const MOVED_PART: f64 = 1.0 / 4.0;
/// The maximum number of agents that a server asks to move at a time.
const MOVES_MAX: f64 = 100.0;
/// A server moves home links only if it has more than this many times the average.
const SURPLUS_FACTOR: f64 = 1.1;
/// A server moves home links only if it has at least this many more than the server with the
/// fewest.
const SURPLUS_MIN: u32 = 2;

/// A server of the zone and the number of its home links.
#[derive(Clone, Copy, Debug)]
pub struct HomeCount {
    pub server: ServerId,
    pub homes: u32,
}

impl Links {
    /// Asks some agents to move, if this server has clearly more home links than others. `counted`
    /// are the servers that agents may link to, this one included.
    pub fn spread_homes(&self, counted: &[HomeCount]) {
        if !counted.iter().any(|count| count.server == self.server_id) {
            return; // This server is not announced: an agent that moves away could not come back.
        }
        let (own, _) = self.count();
        let others: Vec<_> = counted
            .iter()
            .copied()
            .filter(|count| count.server != self.server_id)
            .collect();
        let moves = count_moves(own, &others, random_fraction());
        if moves == 0 {
            return;
        }
        let mut movable = self.movable();
        let mut asked = 0;
        for _ in 0..moves.min(movable.len()) {
            let link = movable.swap_remove(random_below(movable.len()));
            let Some(server) = choose_target(own, &others, random_fraction()) else {
                return;
            };
            asked += usize::from(link.control(0, &Control::MoveHome { server }).is_ok());
        }
        if asked > 0 {
            info!(
                home_links = own,
                "asked {asked} agents to make another server their home"
            );
        }
    }

    /// The home links whose agents may move.
    fn movable(&self) -> Vec<Arc<Link>> {
        let live = self.live.read();
        let links = live.values().filter_map(|live| live.link());
        let movable = |link: &Arc<Link>| !link.is_side() && !link.closing().is_ended();
        links.filter(movable).collect()
    }
}

/// The number of agents to move now. `random` is a number from 0 to 1 that is added before rounding
/// down, so that a small surplus moves after a random time.
fn count_moves(own: u32, others: &[HomeCount], random: f64) -> usize {
    let Some(least) = others.iter().map(|count| count.homes).min() else {
        return 0;
    };
    let average = average(own, others);
    let own_share = f64::from(own);
    if own < least.saturating_add(SURPLUS_MIN) || own_share <= average * SURPLUS_FACTOR {
        return 0;
    }
    let moves = ((own_share - average) * MOVED_PART).min(MOVES_MAX) + random;
    moves as usize
}

/// Chooses a server with fewer home links than the average, at random. The more home links a server
/// lacks, the more likely it is chosen.
fn choose_target(own: u32, others: &[HomeCount], random: f64) -> Option<ServerId> {
    let average = average(own, others);
    let lacks = |count: &HomeCount| (average - f64::from(count.homes)).max(0.0);
    let mut left = others.iter().map(lacks).sum::<f64>() * random;
    let lacking = others.iter().filter(|count| lacks(count) > 0.0);
    let mut chosen = None;
    for count in lacking {
        chosen = Some(count.server);
        left -= lacks(count);
        if left < 0.0 {
            break;
        }
    }
    chosen
}

fn average(own: u32, others: &[HomeCount]) -> f64 {
    let sum = others
        .iter()
        .map(|count| f64::from(count.homes))
        .sum::<f64>()
        + f64::from(own);
    sum / (others.len() + 1) as f64
}

/// A random number from 0 to 1, never 1 itself.
fn random_fraction() -> f64 {
    f64::from(svc_crypto::random::u32().unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

fn random_below(limit: usize) -> usize {
    (random_fraction() * limit as f64) as usize
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn counts(homes: &[u32]) -> Vec<HomeCount> {
        let counts = (0..).zip(homes);
        counts
            .map(|(number, &homes)| HomeCount {
                server: ServerId(Uuid::from_u128(number)),
                homes,
            })
            .collect()
    }

    #[test]
    fn a_server_moves_a_part_of_a_clear_surplus() {
        let moves = |own, others: &[u32]| {
            let others = counts(others);
            (
                count_moves(own, &others, 0.0),
                count_moves(own, &others, 0.99),
            )
        };
        // A small surplus moves after a random time.
        assert_eq!(moves(3, &[0, 0]), (0, 1));
        assert_eq!(moves(2, &[1, 0]), (0, 1));
        // A move would not make the numbers more even.
        assert_eq!(moves(2, &[1, 1]), (0, 0));
        assert_eq!(moves(0, &[5]), (0, 0));
        assert_eq!(moves(5, &[]), (0, 0));
        assert_eq!(moves(3_600, &[3_300, 3_100]), (0, 0));
        // Another server of a large zone has just started, without home links.
        assert_eq!(moves(600, &[600, 0]), (50, 50));
        assert_eq!(moves(50_000, &[50_000, 0]), (100, 100));
    }

    #[test]
    fn the_servers_with_the_fewest_homes_are_chosen_most_often() {
        let others = counts(&[9, 0, 6]);
        let target = |random| choose_target(25, &others, random).map(|server| server.0.as_u128());
        assert_eq!(
            [0.0, 0.4, 0.6, 0.9, 0.99].map(target),
            [0, 1, 1, 2, 2].map(Some)
        );
        assert_eq!(choose_target(1, &counts(&[1]), 0.5), None);
    }

    #[test]
    fn the_homes_of_a_zone_become_even_and_stay_so() {
        // In each step, every server decides with the numbers of the previous step.
        let mut homes = [40_u32, 41, 0];
        let mut moved_late = 0;
        for step in 0..300 {
            let before = homes;
            for own in 0..homes.len() {
                let known = counts(&before);
                let others: Vec<_> = known
                    .iter()
                    .copied()
                    .filter(|count| count.server.0.as_u128() != own as u128)
                    .collect();
                for _ in 0..count_moves(before[own], &others, random_fraction()) {
                    let target = choose_target(before[own], &others, random_fraction());
                    let target = target.expect("a server has fewer").0.as_u128() as usize;
                    homes[own] -= 1;
                    homes[target] += 1;
                    moved_late += u32::from(step >= 200);
                }
            }
        }
        assert_eq!(homes.iter().sum::<u32>(), 81);
        assert!(
            homes.iter().all(|homes| (23..=29).contains(homes)),
            "{homes:?}"
        );
        assert_eq!(moved_late, 0, "{homes:?}");
    }
}
