//! Whether a registration changes anything that callers see.

use super::State;
use crate::methods::registry::Publication;

impl State {
    /// Whether a space already offers exactly these definitions at this place. Agents repeat their
    /// registration on each new link, and this must not invalidate the lists of all users.
    pub(super) fn is_unchanged(&self, publication: &Publication, place: u64) -> bool {
        let space = &publication.space;
        let Some((owner, names)) = self.spaces.get(&space.id) else {
            return false;
        };
        names.len() == publication.methods.len()
            && publication.methods.iter().all(|(definition, _)| {
                let entry = self.find(*owner, definition.name.as_str());
                entry.is_some_and(|entry| {
                    let mut providers = entry.providers.iter();
                    entry.definition == *definition
                        && providers.any(|it| it.space.id == space.id && it.place == place)
                })
            })
    }
}
