//! Limits of one owner's methods on a server: their number, and the bytes of their definitions.

use std::{collections::HashSet, ops::AddAssign};

use svc_core::{CanonicalName, Quota, SpaceId};

use super::State;
use crate::methods::registry::{Conflict, Publication};

/// Bytes of definitions for each method that the quota allows.
const BYTES_PER_METHOD: u64 = 4 * 1024;
/// Lowest limit in bytes: one registration file of the largest size.
const BYTES_MIN: u64 = svc_protocol::registration_file::FILE_BYTES_MAX as u64;

/// A number of distinct methods and the bytes of their definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct MethodTotals {
    methods: u64,
    bytes: u64,
}

impl AddAssign<usize> for MethodTotals {
    /// Adds one method whose definition has this many bytes.
    fn add_assign(&mut self, bytes: usize) {
        self.methods += 1;
        self.bytes += bytes as u64;
    }
}

impl State {
    /// Checks the number and the bytes of the methods that the owner has after the publication. The
    /// publication removes the methods in `conflicting`. A publication that adds no more than it
    /// removes is accepted even if the owner exceeds a lowered quota.
    pub(super) fn check_limits(
        &self,
        publication: &Publication,
        conflicting: &[(SpaceId, CanonicalName)],
    ) -> Result<(), Conflict> {
        let (ended, added) = self.ended_and_added(publication, conflicting);
        let owned = self.owners.get(&publication.space.owner);
        let (methods, bytes) = owned.map_or((0, 0), |namespace| {
            (namespace.methods.len() as u64, namespace.bytes)
        });
        let quotas = &publication.quotas;
        if added.methods > ended.methods {
            quotas.check(Quota::Methods, methods + added.methods - ended.methods)?;
        }
        let limit = quotas
            .methods
            .saturating_mul(BYTES_PER_METHOD)
            .max(BYTES_MIN);
        let wanted = (bytes + added.bytes).saturating_sub(ended.bytes);
        match added.bytes > ended.bytes && wanted > limit {
            true => Err(Conflict::DefinitionBytes { wanted, limit }),
            false => Ok(()),
        }
    }

    /// The totals of the methods that the publication removes, and of the methods that it adds. A
    /// method that another space still offers counts in neither total.
    fn ended_and_added(
        &self,
        publication: &Publication,
        conflicting: &[(SpaceId, CanonicalName)],
    ) -> (MethodTotals, MethodTotals) {
        let (space, owner) = (publication.space.id, publication.space.owner);
        let displaced: HashSet<_> = conflicting.iter().map(|(_, name)| name).collect();
        let stays = |name: &CanonicalName| {
            !displaced.contains(name)
                && self.find(owner, name).is_some_and(|entry| {
                    let mut providers = entry.providers.iter();
                    providers.any(|provider| provider.space.id != space)
                })
        };
        let own = self.spaces.get(&space).map_or(&[][..], |(_, names)| names);
        let own: HashSet<_> = own.iter().filter(|name| !stays(name)).collect();
        let mut ended = MethodTotals::default();
        for name in own.union(&displaced) {
            if let Some(entry) = self.find(owner, name) {
                ended += entry.definition.bytes;
            }
        }
        let mut added = MethodTotals::default();
        for (definition, _) in &publication.methods {
            if !stays(&definition.name) {
                added += definition.bytes;
            }
        }
        (ended, added)
    }
}
