//! Random streams and distributions whose numbers are equal on every platform.
//!
//! **Why named streams.** A stream is named by the path of its unit (and a purpose within the
//! unit) and by the seed of the run. Adding a unit, or running units in another order or in
//! parallel, leaves the numbers of all others alone. A stream is plain data, held in the state of
//! its model: a model that is rolled back draws the same numbers again.
//!
//! Distributions use inversion and functions of the `libm` crate, one uniform number per draw
//! (Erlang: one per stage).
use rand_core::Rng;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use superdense_kernel::message::Digest;

/// A stream of random numbers.
///
/// ```
/// use superdense_models::maths::random::RandomStream;
/// let mut a = RandomStream::new(1, "plant/source#interval");
/// let mut b = a.clone();
/// assert_eq!(a.uniform(), b.uniform());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RandomStream {
    /// PCG XSL RR 128/64 (O'Neill 2014), period 2^128, one of 2^127 sequences per name.
    Pcg(Pcg64),
    /// The "minimal standard" generator of Park, Miller and Stockmeyer (CACM 36, 1993):
    /// `x <- 48271 x mod (2^31 - 1)`, `u = x / (2^31 - 1)`; for comparison with references that
    /// use it, too short for long runs.
    Minstd(u32),
}

/// The modulus of MINSTD, a Mersenne prime.
const MERSENNE: u64 = (1 << 31) - 1;

impl RandomStream {
    /// The stream of `path` (a unit's path, perhaps with `#purpose`) in a run with `seed`.
    pub fn new(seed: u64, path: &str) -> Self {
        let word = |salt: u64| {
            let mut d = Digest::new();
            d.word(salt);
            d.word(seed);
            d.bytes(path.as_bytes());
            u128::from(d.finish())
        };
        Self::Pcg(Pcg64::new(word(1) << 64 | word(2), word(3) << 64 | word(4)))
    }

    /// The MINSTD generator from state `x`; a state outside `1..2^31 - 1` is brought into it.
    ///
    /// ```
    /// use superdense_models::maths::random::RandomStream;
    /// let mut s = RandomStream::minstd(1);
    /// // The published check: the 10 000th state from 1 is 399 268 537.
    /// (0..9_999).for_each(|_| drop(s.uniform()));
    /// assert_eq!(s.uniform(), 399_268_537.0 / 2_147_483_647.0);
    /// ```
    pub fn minstd(x: u64) -> Self {
        Self::Minstd((x.wrapping_sub(1) % (MERSENNE - 1) + 1) as u32)
    }

    /// The stream behind so many of its numbers.
    #[must_use]
    pub fn from(&self, numbers: u64) -> Self {
        let mut later = self.clone();
        match &mut later {
            Self::Pcg(g) => g.advance(u128::from(numbers)),
            Self::Minstd(_) => (0..numbers).for_each(|_| _ = later.uniform()),
        }
        later
    }

    /// A number uniform in `[0, 1)`: 53 random bits, or the 31-bit ratio of MINSTD.
    pub fn uniform(&mut self) -> f64 {
        match self {
            Self::Pcg(g) => (g.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64),
            Self::Minstd(x) => {
                *x = (48_271 * u64::from(*x) % MERSENNE) as u32;
                f64::from(*x) / MERSENNE as f64
            }
        }
    }

    /// An integer uniform in `0..n` (0 for `n = 0`).
    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

/// A distribution of real numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Distribution {
    /// Always the same number.
    Constant(f64),
    /// Uniform between two numbers.
    Uniform {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean, the reciprocal of the rate.
        mean: f64,
    },
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Sum of `stages` exponential times.
    Erlang {
        /// Mean of the sum.
        mean: f64,
        /// Number of stages.
        stages: u32,
    },
    /// Triangular.
    Triangular {
        /// Lower end.
        low: f64,
        /// Most frequent value.
        mode: f64,
        /// Upper end.
        high: f64,
    },
    /// 1 with a probability, else 0.
    Bernoulli {
        /// The probability of 1.
        probability: f64,
    },
}

impl Distribution {
    /// The next number from `stream`.
    ///
    /// ```
    /// use superdense_models::maths::random::{Distribution, RandomStream};
    /// let mut s = RandomStream::minstd(1);
    /// let x = Distribution::Exponential { mean: 2.0 }.draw(&mut s);
    /// assert_eq!(x, -2.0 * libm::log1p(-48271.0 / 2147483647.0));
    /// ```
    pub fn draw(&self, stream: &mut RandomStream) -> f64 {
        match *self {
            Self::Constant(x) => x,
            Self::Uniform { low, high } => low + (high - low) * stream.uniform(),
            Self::Exponential { mean } => -mean * libm::log1p(-stream.uniform()),
            Self::Normal { mean, deviation } => mean + deviation * quantile(stream.uniform()),
            Self::Erlang { mean, stages } => {
                let sum: f64 = (0..stages).map(|_| -libm::log1p(-stream.uniform())).sum();
                mean / f64::from(stages) * sum
            }
            Self::Triangular { low, mode, high } => triangular(low, mode, high, stream.uniform()),
            Self::Bernoulli { probability } => f64::from(u8::from(stream.uniform() < probability)),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(x) => x,
            Self::Uniform { low, high } => 0.5 * (low + high),
            Self::Exponential { mean }
            | Self::Normal { mean, .. }
            | Self::Erlang { mean, .. }
            | Self::Bernoulli { probability: mean } => mean,
            Self::Triangular { low, mode, high } => (low + mode + high) / 3.0,
        }
    }
}

fn triangular(low: f64, mode: f64, high: f64, u: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    if u * width < mode - low {
        low + (u * width * (mode - low)).sqrt()
    } else {
        high - ((1.0 - u) * width * (high - mode)).sqrt()
    }
}

/// Coefficients of AS 241, constant term first: numerator and denominator of each branch.
type Rational = ([f64; 8], [f64; 8]);

const CENTRE: Rational = (
    [
        3.387_132_872_796_366_6,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
);

const SHOULDER: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const TAIL: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

fn ratio((numerator, denominator): &Rational, x: f64) -> f64 {
    let eval = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &k| sum * x + k);
    eval(numerator) / eval(denominator)
}

/// Quantile of the standard normal distribution: Wichura, Algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988), relative accuracy about 1e-16. `u = 0` gives the quantile of 2^-54.
pub fn quantile(u: f64) -> f64 {
    let u = u.clamp(f64::EPSILON / 4.0, 1.0 - f64::EPSILON / 2.0);
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180_625 - q * q);
    }
    let r = (-libm::log(if q < 0.0 { u } else { 1.0 - u })).sqrt();
    let x = if r <= 5.0 { ratio(&SHOULDER, r - 1.6) } else { ratio(&TAIL, r - 5.0) };
    x.copysign(q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_distribution() {
        // Check values of AS 241 and of the 68-95-99.7 rule.
        let cases = [
            (0.5, 0.0),
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1.0 / (1u64 << 54) as f64, -8.292_361_075_813_595),
            (0.975, 1.959_963_984_540_054),
        ];
        for (u, x) in cases {
            assert!((quantile(u) - x).abs() < 1e-13 * (1.0 + x.abs()), "{u}: {}", quantile(u));
        }
    }

    #[test]
    fn streams_are_independent_of_each_other_and_survive_a_checkpoint() {
        let mut a = RandomStream::new(1, "a");
        let mut b = RandomStream::new(1, "b");
        let mut c = RandomStream::new(2, "a");
        let (x, y, z) = (a.uniform(), b.uniform(), c.uniform());
        assert!(x != y && x != z && y != z);
        let bytes = postcard::to_stdvec(&a).unwrap();
        let mut restored: RandomStream = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(restored.uniform().to_bits(), a.uniform().to_bits());
    }

    #[test]
    fn the_numbers_of_a_stream_are_fixed() {
        let mut s = RandomStream::new(1, "source");
        let first: Vec<u64> = (0..3).map(|_| (s.uniform() * 1e9) as u64).collect();
        assert_eq!(first, FIRST_OF_SOURCE);
    }
    const FIRST_OF_SOURCE: [u64; 3] = [116_503_018, 12_683_128, 607_994_432];

    #[test]
    fn means_and_spreads() {
        let cases = [
            (Distribution::Constant(3.0), 0.0),
            (Distribution::Uniform { low: 1.0, high: 4.0 }, 3.0 / 12f64.sqrt()),
            (Distribution::Exponential { mean: 2.0 }, 2.0),
            (Distribution::Normal { mean: -1.0, deviation: 0.5 }, 0.5),
            (Distribution::Erlang { mean: 2.0, stages: 4 }, 1.0),
            (Distribution::Triangular { low: 0.0, mode: 1.0, high: 4.0 }, (13.0f64 / 18.0).sqrt()),
            (Distribution::Bernoulli { probability: 0.25 }, (0.1875f64).sqrt()),
        ];
        let n = 200_000;
        for (d, deviation) in cases {
            let mut s = RandomStream::new(7, "test");
            let draws: Vec<f64> = (0..n).map(|_| d.draw(&mut s)).collect();
            let mean = draws.iter().sum::<f64>() / n as f64;
            let spread = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            let band = 4.5 * deviation / (n as f64).sqrt() + 1e-12;
            assert!((mean - d.mean()).abs() < band, "{d:?}: mean {mean}");
            assert!((spread - deviation).abs() <= 0.02 * deviation, "{d:?}: deviation {spread}");
        }
    }

    #[test]
    fn integers_cover_their_range() {
        let mut s = RandomStream::new(1, "dice");
        let mut counts = [0; 6];
        (0..6_000).for_each(|_| counts[s.below(6)] += 1);
        assert!(counts.iter().all(|&c| (850..1150).contains(&c)), "{counts:?}");
        assert_eq!(s.below(0), 0);
    }
}
