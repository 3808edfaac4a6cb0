//! Random numbers that are the same everywhere: a sequence depends on its seed and number alone.

/// A generator of the splitmix kind: a counter, mixed.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    /// The generator of one sequence.
    #[must_use]
    pub(crate) fn new(seed: u64, sequence: u64) -> Rng {
        let mut rng = Rng { state: seed };
        rng.state = rng.next() ^ sequence.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        rng
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below a bound, which is not zero.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        // The upper half of a product spreads the numbers evenly enough.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of the items, if there are any.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let count = u32::try_from(items.len()).ok().filter(|count| *count > 0)?;
        items.get(self.below(count) as usize).copied()
    }

    /// The place of one of some weights, in proportion to them. Their sum is not zero.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return place;
            }
            rest -= weight;
        }
        weights.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_differ_and_repeat() {
        let draw = |seed, sequence| {
            let mut rng = Rng::new(seed, sequence);
            [rng.below(1000), rng.below(1000), rng.below(1000)]
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn weights_of_zero_are_never_drawn() {
        let mut rng = Rng::new(7, 0);
        assert!((0..1000).all(|_| rng.weighted(&[0, 3, 0, 1]) % 2 == 1));
    }
}
