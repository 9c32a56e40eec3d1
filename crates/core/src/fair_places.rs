//! Named values of many owners, such as the series of a metric. A place holds the value of one
//! name. The number of places is limited. All names without a place share one value, `other`.
//!
//! While places are free, an owner takes as many as it needs. When no place is free, an owner first
//! takes a place that was idle for a day. If there is none, it takes a place of an owner that has
//! the most places, if that owner has at least two places more. So no owner keeps others out. A
//! name keeps its place as long as possible, because its value is lost with the place.

use std::{collections::HashMap, hash::Hash};

/// A place that was not used for this many minutes may be given to any owner.
const IDLE_MINUTES: u64 = 24 * 60;

#[derive(Debug)]
pub struct FairPlaces<O, K, V> {
    limit: usize,
    places: HashMap<K, Place<O, V>>,
    /// The number of places of each owner; at least 1.
    held: HashMap<O, usize>,
    /// The largest number in `held`.
    held_max: usize,
    /// The last minute in which a search found no idle place.
    none_idle_at: Option<i64>,
    other: V,
}

#[derive(Debug)]
struct Place<O, V> {
    owner: O,
    used_at: i64,
    value: V,
}

impl<O: Clone + Eq + Hash, K: Clone + Eq + Hash + Ord, V: Default> FairPlaces<O, K, V> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            places: HashMap::new(),
            held: HashMap::new(),
            held_max: 0,
            none_idle_at: None,
            other: V::default(),
        }
    }

    /// The value of a name. A name without a place takes one if possible; otherwise returns the
    /// shared value `other`. `minute` is the current time, in minutes.
    pub fn find_or_other(&mut self, owner: &O, key: &K, minute: i64) -> &mut V {
        if !self.places.contains_key(key) && !self.make_room(owner, minute) {
            return &mut self.other;
        }
        let held = &mut self.held;
        let place = self.places.entry(key.clone()).or_insert_with(|| {
            *held.entry(owner.clone()).or_default() += 1;
            Place {
                owner: owner.clone(),
                used_at: minute,
                value: V::default(),
            }
        });
        let of_owner = self.held.get(&place.owner).copied().unwrap_or_default();
        self.held_max = self.held_max.max(of_owner);
        place.used_at = minute;
        &mut place.value
    }

    /// The value of a name that has a place.
    pub fn find(&self, key: &K) -> Option<&V> {
        self.places.get(key).map(|place| &place.value)
    }

    /// The value of all names without a place.
    pub fn other(&self) -> &V {
        &self.other
    }

    /// The value of all names without a place.
    pub fn other_mut(&mut self) -> &mut V {
        &mut self.other
    }

    /// The values of all places, and the value of all names without a place.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let placed = self.places.values_mut().map(|place| &mut place.value);
        placed.chain(std::iter::once(&mut self.other))
    }

    /// Every name with a place, in the order of the names.
    pub fn list(&self) -> Vec<(&K, &V)> {
        let mut places: Vec<_> = self
            .places
            .iter()
            .map(|(key, place)| (key, &place.value))
            .collect();
        places.sort_unstable_by_key(|(key, _)| *key);
        places
    }

    /// Frees a place for the owner if none is free. Returns whether a place is free now.
    fn make_room(&mut self, owner: &O, minute: i64) -> bool {
        self.places.len() < self.limit || self.free_idle(minute) || self.free_for(owner)
    }

    /// Frees an idle place. After a search without a result, does not search again in the same
    /// minute.
    fn free_idle(&mut self, minute: i64) -> bool {
        if self.none_idle_at == Some(minute) {
            return false;
        }
        let is_idle = |place: &Place<O, V>| minute.abs_diff(place.used_at) >= IDLE_MINUTES;
        let places = self.places.iter();
        let idle = places.filter(|(_, place)| is_idle(place));
        match idle.map(|(key, _)| key).min().cloned() {
            Some(key) => {
                self.free(&key);
                true
            }
            None => {
                self.none_idle_at = Some(minute);
                false
            }
        }
    }

    /// If the owners with the most places have at least two places more than `owner`, frees the
    /// least recently used place of these owners.
    fn free_for(&mut self, owner: &O) -> bool {
        let own = self.held.get(owner).copied().unwrap_or_default();
        if self.held_max < own + 2 {
            return false;
        }
        let of_largest = self
            .places
            .iter()
            .filter(|(_, place)| self.held.get(&place.owner) == Some(&self.held_max));
        let oldest = of_largest.min_by_key(|(key, place)| (place.used_at, *key));
        let Some(key) = oldest.map(|(key, _)| key.clone()) else {
            return false;
        };
        self.free(&key);
        true
    }

    fn free(&mut self, key: &K) {
        let Some(place) = self.places.remove(key) else {
            return;
        };
        if let Some(held) = self.held.get_mut(&place.owner) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&place.owner);
            }
        }
        self.held_max = self.held.values().copied().max().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Places = FairPlaces<char, String, u64>;

    fn count(places: &mut Places, owner: char, names: std::ops::Range<usize>, minute: i64) {
        for name in names {
            *places.find_or_other(&owner, &format!("{owner}{name:03}"), minute) += 1;
        }
    }

    fn held(places: &Places, owner: char) -> usize {
        let names = places.list();
        names
            .iter()
            .filter(|(name, _)| name.starts_with(owner))
            .count()
    }

    #[test]
    fn an_owner_alone_uses_all_places_and_the_rest_counts_as_other() {
        let mut places = Places::new(10);
        count(&mut places, 'a', 0..15, 1);
        count(&mut places, 'a', 0..15, 2);
        assert_eq!((held(&places, 'a'), *places.other()), (10, 10));
        assert_eq!(places.find(&"a000".to_owned()), Some(&2));
        assert_eq!(places.find(&"a014".to_owned()), None);
    }

    #[test]
    fn no_owner_keeps_others_out() {
        let mut places = Places::new(12);
        count(&mut places, 'a', 0..100, 1);
        for owner in ['b', 'c'] {
            count(&mut places, owner, 0..100, 2);
        }
        count(&mut places, 'd', 0..1, 3);
        let shares = ['a', 'b', 'c', 'd'].map(|owner| held(&places, owner));
        assert_eq!(shares.iter().sum::<usize>(), 12);
        assert_eq!(shares[3], 1);
        assert!(
            shares[..3].iter().all(|share| (3..=4).contains(share)),
            "{shares:?}"
        );
        // Counting the same names again moves no place.
        let before: Vec<String> = places
            .list()
            .iter()
            .map(|(name, _)| (*name).clone())
            .collect();
        for owner in ['a', 'b', 'c'] {
            count(&mut places, owner, 0..100, 4);
        }
        let after: Vec<String> = places
            .list()
            .iter()
            .map(|(name, _)| (*name).clone())
            .collect();
        assert_eq!(before, after);
    }

    #[test]
    fn more_owners_than_places_leave_the_last_ones_in_other() {
        let mut places = Places::new(2);
        for owner in ['a', 'b', 'c'] {
            count(&mut places, owner, 0..1, 1);
        }
        assert_eq!((places.list().len(), *places.other()), (2, 1));
    }

    #[test]
    fn a_place_that_is_not_used_for_a_day_is_given_away() {
        let (mut places, day) = (Places::new(2), 1_440);
        count(&mut places, 'a', 0..1, 1);
        count(&mut places, 'b', 0..1, day - 1);
        count(&mut places, 'c', 0..1, day);
        assert_eq!(held(&places, 'c'), 0);
        count(&mut places, 'c', 0..1, day + 1);
        assert_eq!((held(&places, 'a'), held(&places, 'c')), (0, 1));
    }

    #[test]
    fn without_places_everything_is_other() {
        let mut places = Places::new(0);
        count(&mut places, 'a', 0..3, 1);
        assert_eq!((places.list().len(), *places.other()), (0, 3));
    }

    #[test]
    fn an_owner_takes_a_place_only_from_an_owner_with_two_more() {
        for (limit, first, second, other) in
            [(1, 1, 0, 5), (2, 1, 1, 4), (3, 2, 1, 4), (4, 2, 2, 3)]
        {
            let mut places = Places::new(limit);
            count(&mut places, 'a', 0..limit, 1);
            count(&mut places, 'b', 0..5, 2);
            let shares = (held(&places, 'a'), held(&places, 'b'));
            assert_eq!(shares, (first, second), "{limit} places");
            assert_eq!(*places.other(), other, "{limit} places");
        }
    }

    #[test]
    fn all_values_can_be_changed_including_the_shared_one() {
        let mut places = Places::new(2);
        count(&mut places, 'a', 0..5, 1);
        *places.other_mut() += 10;
        assert_eq!(*places.other(), 13);
        for value in places.values_mut() {
            *value += 100;
        }
        let values: Vec<u64> = places.list().iter().map(|(_, value)| **value).collect();
        assert_eq!((values, *places.other()), (vec![101, 101], 113));
    }
}
