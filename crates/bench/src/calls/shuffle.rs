//! The order in which cases are measured: a new random order for each pass over the cases.

/// A small generator (xorshift). It generates the same orders in every run, so that only the
/// machine causes differences between two runs.
pub struct Shuffle(u64);

impl Shuffle {
    pub fn seeded() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = usize::try_from(self.next() % (last as u64 + 1)).unwrap_or_default();
            order.swap(last, other);
        }
        order
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
