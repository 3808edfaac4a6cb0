//! A fast digest of a launch's state.

use std::hash::Hasher;

/// Mixes words in; good enough to tell states apart that nobody chose, and much faster than a hash that withstands
/// attacks.
#[derive(Debug, Default)]
pub(super) struct Digest(u64);

/// An odd number with its ones spread about.
const FACTOR: u64 = 0x9E6C_63D0_876A_3F6B;

impl Digest {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        // The high half carries the low bits' mixture, the low half the high bits'.
        self.0 = (product >> 64) as u64 ^ (product as u64).rotate_left(1);
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.mix(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::Hash;

    use super::*;

    fn digest(value: impl Hash) -> u64 {
        let mut digest = Digest::default();
        value.hash(&mut digest);
        digest.finish()
    }

    #[test]
    fn every_bit_of_a_state_counts() {
        let mut seen = HashSet::from([digest([0u8; 100])]);
        for bit in 0..800 {
            let mut state = [0u8; 100];
            state[bit / 8] = 1 << (bit % 8);
            assert!(seen.insert(digest(state)), "bit {bit}");
        }
        assert_eq!(digest([7u32; 64]), digest([7u32; 64]));
        assert_ne!(digest([0u8; 3]), digest([0u8; 4]));
    }
}
