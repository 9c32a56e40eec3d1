//! The share of a limit that a server may use.

/// The least demand that a server assumes for itself, as a part of the limit, so that the first
/// request at an idle server is not rejected.
const SHARE_MIN: f64 = 0.02;

/// This server's share. The limit is divided equally. The part that a server does not need goes to
/// the servers that need more, and what nobody needs is divided equally again. The shares of all
/// servers add up to the limit. Only idle servers can raise the sum above the limit, each by at most
/// [`SHARE_MIN`] of it.
pub(super) fn fair_share(limit: f64, own: f64, others: impl Iterator<Item = f64>) -> f64 {
    let own = own.max(limit * SHARE_MIN);
    let mut demands: Vec<f64> = others.chain([own]).collect();
    demands.sort_by(f64::total_cmp);
    let mut left = limit;
    for (index, demand) in demands.iter().enumerate() {
        let level = left / (demands.len() - index) as f64;
        if *demand >= level {
            return own.min(level);
        }
        left -= demand;
    }
    own + left / demands.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_demand_and_add_up_to_the_limit() {
        for (demands, shares) in [
            (vec![1_000.0], vec![100.0]),
            (vec![1_000.0, 1_000.0], vec![50.0, 50.0]),
            (vec![10.0, 1_000.0], vec![10.0, 90.0]),
            (vec![10.0, 30.0, 80.0], vec![10.0, 30.0, 60.0]),
            (vec![20.0, 40.0], vec![40.0, 60.0]),
            (vec![50.0, 50.0], vec![50.0, 50.0]),
        ] {
            let computed: Vec<_> = (0..demands.len())
                .map(|index| {
                    let mut others = demands.clone();
                    let own = others.remove(index);
                    fair_share(100.0, own, others.into_iter())
                })
                .collect();
            assert_eq!(computed, shares, "{demands:?}");
        }
    }

    #[test]
    fn a_server_without_demand_keeps_a_small_share() {
        assert_eq!(fair_share(100.0, 0.0, [1_000.0].into_iter()), 2.0);
    }
}
