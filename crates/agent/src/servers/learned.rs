//! Which announced servers of the zone the agent may use.
//!
//! An agent with one configured address learns the announced addresses. An agent with several
//! configured addresses uses only these. An agent with an `https` address ignores announced `http`
//! addresses: its token would cross the network unencrypted.

use svc_client::Target;
use svc_core::ServerId;
use svc_link::{ANNOUNCED_MAX, AnnouncedServer};

use super::Servers;

/// An announced server that the agent may use.
#[derive(Clone, Debug)]
pub struct UsableServer {
    pub id: ServerId,
    pub target: Target,
}

impl Servers {
    /// Learns the announced servers, and returns those that the agent may use.
    pub fn learn(&self, announced: &[AnnouncedServer]) -> Vec<UsableServer> {
        let usable: Vec<_> = announced
            .iter()
            .take(ANNOUNCED_MAX)
            .filter_map(|server| self.find_usable(server))
            .collect();
        let is_configured = |target: &Target| {
            let mut configured = self.targets.iter();
            configured.any(|known| known.is_same_address(target))
        };
        *self.learned.write() = usable
            .iter()
            .map(|server| server.target.clone())
            .filter(|target| !is_configured(target))
            .collect();
        usable
    }

    fn find_usable(&self, server: &AnnouncedServer) -> Option<UsableServer> {
        let secure = self.targets.iter().find(|target| target.is_tls());
        let beside = secure.unwrap_or(&self.targets[0]);
        let target = match beside.parse_beside(&server.url, self.ca_file.as_deref()) {
            Ok(target) => target,
            Err(error) => {
                tracing::warn!(server.id = %server.id, %error, "ignored an announced server");
                return None;
            }
        };
        let is_downgrade = !target.is_tls() && (secure.is_some() || self.current().is_tls());
        if is_downgrade {
            tracing::warn!(
                server.id = %server.id,
                server.url = %target,
                "ignored an announced server: the agent uses https, and the address is http"
            );
            return None;
        }
        let is_pinned = self.targets.len() > 1;
        let is_named = || {
            let mut named = self.targets.iter();
            named.any(|named| named.is_same_address(&target))
        };
        (!is_pinned || is_named()).then_some(UsableServer {
            id: server.id,
            target,
        })
    }
}

/// The servers for side links: at most `most` of the usable servers, without the home server. The
/// choice depends on `instance`, so that all servers get about the same number of links.
pub fn choose_sides(
    mut usable: Vec<UsableServer>,
    home: ServerId,
    instance: &str,
    most: usize,
) -> Vec<UsableServer> {
    usable.retain(|server| server.id != home);
    usable.sort_by_cached_key(|server| preference(instance, server.id));
    usable.truncate(most);
    usable
}

/// FNV-1a: spreads well, and stays the same in every version.
fn preference(instance: &str, server: ServerId) -> u64 {
    let bytes = instance.bytes().chain(*server.0.as_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use uuid::Uuid;

    use super::*;

    fn id(number: usize) -> ServerId {
        ServerId(Uuid::from_u128(number as u128))
    }

    fn announced(urls: &[&str]) -> Vec<AnnouncedServer> {
        let servers = urls.iter().enumerate();
        servers
            .map(|(number, url)| AnnouncedServer {
                id: id(number),
                url: (*url).to_owned(),
            })
            .collect()
    }

    #[test]
    fn the_agent_uses_announced_servers_unless_it_is_pinned_or_they_are_less_secure() {
        let check = |configured: &str, urls: &[&str], usable: &[&str], learned: &[&str]| {
            let servers = Servers::parse(configured, None).expect("valid");
            let found = servers.learn(&announced(urls));
            let found: Vec<_> = found.iter().map(|s| s.target.to_string()).collect();
            assert_eq!(found, usable, "{configured}");
            let new: Vec<_> = servers.learned().iter().map(Target::to_string).collect();
            assert_eq!(new, learned, "{configured}");
            assert_eq!(
                servers.is_single(),
                learned.is_empty() && !configured.contains(',')
            );
        };
        let (a, b, c) = ("http://a", "http://b:81", "http://c");
        check(a, &[], &[], &[]);
        check(a, &[a, b], &[a, b], &[b]);
        // An agent with several configured addresses uses no others. Names are compared without
        // case.
        check(
            "http://a,http://b:81",
            &["http://A/", b, c],
            &["http://A", b],
            &[],
        );
        // An agent with an https address ignores announced http addresses. An agent with an http
        // address may use announced https addresses.
        check(
            "https://a",
            &[b, "https://b"],
            &["https://b"],
            &["https://b"],
        );
        check(
            "https://a,http://b:81",
            &[b, "https://a"],
            &["https://a"],
            &[],
        );
        check(a, &["https://b"], &["https://b"], &["https://b"]);
        // Invalid addresses are ignored.
        let bad = ["", "x", "http://ann:x@host", "ftp://b", b];
        check(a, &bad, &[b], &[b]);
    }

    #[test]
    fn the_number_of_side_links_is_limited_and_agents_spread_over_the_servers() {
        let urls: Vec<_> = (0..10).map(|n| format!("http://s{n}")).collect();
        let urls: Vec<_> = urls.iter().map(String::as_str).collect();
        let servers = Servers::parse("http://s0", None).expect("valid");
        let usable = servers.learn(&announced(&urls));
        let chosen = |instance: &str, most| -> BTreeSet<_> {
            let sides = choose_sides(usable.clone(), id(0), instance, most);
            sides.into_iter().map(|server| server.id).collect()
        };
        assert_eq!(chosen("x", 7).len(), 7);
        assert_eq!(chosen("x", 7), chosen("x", 7));
        assert_eq!(chosen("x", 20).len(), 9);
        assert!(!chosen("x", 20).contains(&id(0)), "the home server");
        let all: BTreeSet<_> = (0..50).flat_map(|n| chosen(&n.to_string(), 2)).collect();
        assert_eq!(all.len(), 9);
    }
}
