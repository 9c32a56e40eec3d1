//! Keys that the servers of a zone share: one for tickets, and one for the numbers that stand for
//! users.
//!
//! A ticket proves to the other servers that the agent's home server has accepted a registration.
//! The agent carries the ticket, so servers need not contact each other, and no server has to trust
//! an agent.
//!
//! Frames to an agent name a user by a number. All servers compute the same number from the same
//! key.

use base64::prelude::{BASE64_STANDARD_NO_PAD, Engine as _};
use svc_core::SpaceId;
use svc_crypto::{HmacHash, HmacKey};
use svc_link::Ticket;

use crate::{methods::publish::RegistrationDigest, secrets::SecretKey};

pub struct ZoneKeys {
    tickets: HmacKey,
    users: HmacKey,
}

/// The values that a ticket covers. If one of them differs, the ticket is not valid.
#[derive(Clone, Copy, Debug)]
pub struct AcceptedClaim<'a> {
    pub space: SpaceId,
    /// The agent process. A new process needs new tickets.
    pub instance: &'a str,
    pub generation: u32,
    pub place: u64,
    pub replaces: bool,
    pub digest: &'a RegistrationDigest,
}

impl AcceptedClaim<'_> {
    /// All parts except the last have a fixed length, so different claims have different bytes.
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(self.space.0.as_bytes());
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.place.to_le_bytes());
        bytes.push(u8::from(self.replaces));
        bytes.extend_from_slice(self.digest);
        bytes.extend_from_slice(self.instance.as_bytes());
        bytes
    }
}

impl ZoneKeys {
    pub fn new(secret: &SecretKey) -> Self {
        let key = |purpose| HmacKey::new(HmacHash::Sha256, &secret.derive(purpose));
        Self {
            tickets: key("tickets of registrations"),
            users: key("numbers of users"),
        }
    }

    pub fn issue(&self, claim: AcceptedClaim<'_>) -> Ticket {
        let tag = self.tickets.sign(&claim.to_bytes());
        Ticket {
            replaces: claim.replaces,
            mac: BASE64_STANDARD_NO_PAD.encode(tag),
        }
    }

    /// Whether a server of this zone issued the ticket for exactly this claim.
    pub fn is_valid(&self, ticket: &Ticket, claim: AcceptedClaim<'_>) -> bool {
        let Ok(mac) = BASE64_STANDARD_NO_PAD.decode(&ticket.mac) else {
            return false;
        };
        self.tickets.verify(&claim.to_bytes(), &mac)
    }

    /// The key from which the links of a space compute the numbers that stand for users.
    pub fn users_of(&self, space: SpaceId) -> [u8; 32] {
        let tag = self.users.sign(space.0.as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(tag.as_ref());
        key
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn keys(secret: &str) -> ZoneKeys {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = SecretKey::load_or_create(folder.path(), Some(secret.repeat(64)));
        ZoneKeys::new(&key.expect("a key in hex"))
    }

    #[test]
    fn a_ticket_is_valid_in_its_zone_and_for_its_own_claim_only() {
        let (zone, same_zone, other_zone) = (keys("1"), keys("1"), keys("2"));
        let claim = AcceptedClaim {
            space: SpaceId(Uuid::from_u128(1)),
            instance: "process",
            generation: 2,
            place: 3,
            replaces: false,
            digest: &[4; 32],
        };
        let ticket = zone.issue(claim);
        assert!(same_zone.is_valid(&ticket, claim));
        assert!(!other_zone.is_valid(&ticket, claim));
        let other_space = SpaceId(Uuid::from_u128(9));
        let others = [
            AcceptedClaim {
                space: other_space,
                ..claim
            },
            AcceptedClaim {
                instance: "another",
                ..claim
            },
            AcceptedClaim {
                generation: 1,
                ..claim
            },
            AcceptedClaim { place: 2, ..claim },
            AcceptedClaim {
                replaces: true,
                ..claim
            },
            AcceptedClaim {
                digest: &[5; 32],
                ..claim
            },
        ];
        for other in others {
            assert!(!zone.is_valid(&ticket, other), "{other:?}");
        }
        for mac in ["", "?", "AAAA", &ticket.mac[1..]] {
            let forged = Ticket {
                mac: mac.to_owned(),
                ..ticket.clone()
            };
            assert!(!zone.is_valid(&forged, claim), "{mac}");
        }
    }

    #[test]
    fn the_numbers_of_users_have_one_key_per_space_which_all_servers_share() {
        let [one, two] = [1, 2].map(|n| SpaceId(Uuid::from_u128(n)));
        assert_eq!(keys("1").users_of(one), keys("1").users_of(one));
        assert_ne!(keys("1").users_of(one), keys("1").users_of(two));
        assert_ne!(keys("1").users_of(one), keys("2").users_of(one));
    }
}
