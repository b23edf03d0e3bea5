//! Random choices of the generator: one stream for each model, so that a model can be made alone.
use rand_core::Rng;
use rand_pcg::Pcg64;

/// Choices from one stream.
#[derive(Debug, Clone)]
pub struct Random(Pcg64);

impl Random {
    /// The stream of model `number` of a campaign; `salt` names one of several streams of it.
    pub fn new(seed: u64, number: u64, salt: &str) -> Self {
        // FNV-1a of the salt, so that the stream does not hang on the library.
        let hash = salt.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        let state = u128::from(seed) << 64 | u128::from(number);
        Self(Pcg64::new(
            state.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_0c0f_ee4d_2b1b),
            u128::from(hash),
        ))
    }

    /// A number below `n`; 0 for `n = 0`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % (n.max(1) as u64)) as usize
    }

    /// A number from `a` to `b`, both included.
    pub fn within(&mut self, a: i64, b: i64) -> i64 {
        a + self.below((b - a + 1) as usize) as i64
    }

    /// True in `percent` of 100 draws.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list that is not empty.
    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// The place of a weight, drawn in proportion.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        for (k, &w) in weights.iter().enumerate() {
            if at < w {
                return k;
            }
            at -= w;
        }
        0
    }

    /// Uniform in 0..1.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_of_its_model_and_purpose() {
        let draw = |seed, number, salt| Random::new(seed, number, salt).below(1 << 30);
        assert_eq!(draw(1, 2, "a"), draw(1, 2, "a"));
        assert_ne!(draw(1, 2, "a"), draw(1, 3, "a"));
        assert_ne!(draw(1, 2, "a"), draw(2, 2, "a"));
        assert_ne!(draw(1, 2, "a"), draw(1, 2, "b"));
    }

    #[test]
    fn weights_are_proportions() {
        let mut random = Random::new(7, 0, "");
        let mut counts = [0; 3];
        (0..4000).for_each(|_| counts[random.weighted(&[1, 0, 3])] += 1);
        assert_eq!(counts[1], 0);
        assert!((900..1100).contains(&counts[0]), "{counts:?}");
    }
}
