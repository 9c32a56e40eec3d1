//! The choice of the provider for a call (spec 4.1, D2).

/// A provider, with the facts that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Calls of this method that the provider has not answered yet.
    pub in_flight: u32,
    /// Position in the order of registration; smaller is earlier.
    pub place: u64,
}

/// Returns the index of the candidate with the fewest calls in flight. Among candidates with
/// equally many, chooses the one that registered first. `None` if there is no candidate.
pub fn choose(candidates: impl IntoIterator<Item = (usize, Candidate)>) -> Option<usize> {
    candidates
        .into_iter()
        .min_by_key(|(_, candidate)| (candidate.in_flight, candidate.place))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(candidates: &[(u32, u64)], expected: Option<usize>) {
        let candidates = candidates
            .iter()
            .map(|&(in_flight, place)| Candidate { in_flight, place })
            .enumerate();
        assert_eq!(choose(candidates), expected);
    }

    #[test]
    fn d2_the_provider_with_the_fewest_calls_is_chosen_then_the_first_registered() {
        check(&[], None);
        check(&[(0, 1)], Some(0));
        check(&[(2, 1), (1, 2), (1, 3)], Some(1));
        check(&[(0, 9), (0, 2), (0, 5)], Some(1));
        check(&[(5, 1), (4, 2), (4, 1)], Some(2));
    }
}
