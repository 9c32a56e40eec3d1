//! Which of two conflicting registrations stays in force, if different servers accepted them (D1).

use crate::id::SpaceId;

/// An accepted registration, with the facts that its precedence depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acceptance {
    /// Position in the order of registration; smaller is earlier.
    pub place: u64,
    pub space: SpaceId,
    /// Whether the registration replaces conflicting methods of the owner's other spaces.
    pub replaces: bool,
}

impl Acceptance {
    /// Whether this registration stays and the other one loses its conflicting methods: the earlier
    /// one stays, unless `replaces` is set for the later one. Every server of a zone makes the same
    /// decision.
    pub fn precedes(&self, other: &Self) -> bool {
        let is_earlier = (self.place, self.space) < (other.place, other.space);
        let later = if is_earlier { other } else { self };
        is_earlier != later.replaces
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn acceptance(place: u64, space: u128, replaces: bool) -> Acceptance {
        Acceptance {
            place,
            space: SpaceId(Uuid::from_u128(space)),
            replaces,
        }
    }

    #[test]
    fn d1_the_earlier_registration_stays_unless_the_later_one_replaces() {
        let check = |first: Acceptance, second: Acceptance, first_stays: bool| {
            assert_eq!(first.precedes(&second), first_stays, "{first:?} {second:?}");
            assert_eq!(
                second.precedes(&first),
                !first_stays,
                "{second:?} {first:?}"
            );
        };
        check(acceptance(1, 2, false), acceptance(2, 1, false), true);
        check(acceptance(1, 2, false), acceptance(2, 1, true), false);
        check(acceptance(1, 2, true), acceptance(2, 1, false), true);
        check(acceptance(1, 2, true), acceptance(2, 1, true), false);
        // On a tie, the lower id counts as earlier.
        check(acceptance(5, 1, false), acceptance(5, 2, false), true);
        check(acceptance(5, 1, false), acceptance(5, 2, true), false);
    }
}
