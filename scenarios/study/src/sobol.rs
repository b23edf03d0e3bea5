//! Sobol' points: any stretch of them fills the cube evenly, and more of them only add.
//!
//! A point is computed by its number, so that a study can grow and workers need no order. Scrambling is
//! Owen's: each binary digit flips or not, as decided at random by all digits before it. It keeps what
//! makes the points even, and makes their means unbiased.
use superdense_kernel::message::Digest;

/// Direction numbers of Joe and Kuo.
const NUMBERS: &str = include_str!("../data/joe_kuo.txt");
/// Binary digits of points before scrambling.
const BITS: u32 = 32;

/// Parameters at most.
pub const DIMENSIONS: usize = 256;

/// A sequence of points.
#[derive(Debug, Clone)]
pub struct Sobol {
    directions: Vec<[u32; BITS as usize]>,
    scramble: Option<u64>,
}

impl Sobol {
    /// The sequence in so many dimensions, scrambled by a seed if there is one; none in more than
    /// [`DIMENSIONS`].
    pub fn new(dimensions: usize, scramble: Option<u64>) -> Option<Self> {
        let lines = NUMBERS.lines().filter(|l| !l.starts_with('#')).take(dimensions);
        let directions: Vec<_> = lines.map(directions).collect();
        (directions.len() == dimensions).then_some(Self { directions, scramble })
    }

    /// The point of a number, each coordinate from 0 on and below 1. The order is that of Gray's code.
    pub fn point(&self, number: u32) -> Vec<f64> {
        let gray = number ^ (number >> 1);
        let coordinate = |(dimension, v): (usize, &[u32; BITS as usize])| {
            let bits = (0..BITS).filter(|b| gray >> b & 1 == 1).fold(0, |x, b| x ^ v[b as usize]);
            match self.scramble {
                None => f64::from(bits) / 2f64.powi(BITS as i32),
                Some(seed) => scrambled(bits, seed, dimension as u64),
            }
        };
        self.directions.iter().enumerate().map(coordinate).collect()
    }
}

/// The direction numbers of a dimension, from its polynomial and the first of them.
fn directions(line: &str) -> [u32; BITS as usize] {
    let mut words = line.split(' ').map(|w| w.parse::<u32>().unwrap_or(1));
    let polynomial = words.next().unwrap_or(1);
    let initial: Vec<u32> = words.collect();
    let degree = initial.len();
    let mut v = [0; BITS as usize];
    for k in 0..v.len() {
        v[k] = match initial.get(k) {
            Some(m) => m << (BITS - 1 - k as u32),
            // The first dimension has all numbers one.
            None if degree == 0 => 1 << (BITS - 1 - k as u32),
            None => (1..degree).fold(v[k - degree] ^ (v[k - degree] >> degree), |x, i| {
                let taken = polynomial >> (degree - i) & 1;
                x ^ (taken * v[k - i])
            }),
        };
    }
    v
}

/// Owen's scrambling of a coordinate. What is below its last digit is drawn as well, so that all 53 digits
/// of a float are there.
fn scrambled(bits: u32, seed: u64, dimension: u64) -> f64 {
    let drawn = |level: u32, before: u32| {
        let mut digest = Digest::new();
        digest.word(seed);
        digest.word(dimension << 8 | u64::from(level));
        digest.word(u64::from(before));
        digest.word(0);
        digest.finish()
    };
    let mut flipped = 0;
    for level in 0..BITS {
        let before = if level == 0 { 0 } else { bits >> (BITS - level) };
        flipped |= ((drawn(level, before) >> 63) as u32) << (BITS - 1 - level);
    }
    let whole = u64::from(bits ^ flipped) << (53 - BITS) | drawn(BITS, bits) >> (11 + BITS);
    whole as f64 / 2f64.powi(53)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.qmc.Sobol(d=…, scramble=False, bits=32).random(n)`, scipy 1.17.
    #[test]
    fn unscrambled_points_are_those_of_scipy() {
        let five = [
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25, 0.25, 0.75],
            [0.25, 0.75, 0.75, 0.75, 0.25],
            [0.375, 0.375, 0.625, 0.875, 0.375],
            [0.875, 0.875, 0.125, 0.375, 0.875],
            [0.625, 0.125, 0.875, 0.625, 0.625],
            [0.125, 0.625, 0.375, 0.125, 0.125],
            [0.1875, 0.3125, 0.9375, 0.4375, 0.5625],
            [0.6875, 0.8125, 0.4375, 0.9375, 0.0625],
            [0.9375, 0.0625, 0.6875, 0.1875, 0.3125],
        ];
        let sobol = Sobol::new(5, None).unwrap();
        for (number, expected) in (0..).zip(five) {
            assert_eq!(sobol.point(number), expected, "{number}");
        }
        let wide = Sobol::new(DIMENSIONS, None).unwrap();
        for (number, dimension, expected) in [
            (1000, 255, 0.2490234375),
            (2047, 100, 0.56298828125),
            (777, 17, 0.8642578125),
            (1500, 254, 0.30908203125),
        ] {
            assert_eq!(wide.point(number)[dimension], expected);
        }
        // Sums over all dimensions, weighted by the dimension.
        for (number, expected) in [(3, 16224.0), (1023, 17044.28515625), (2000, 16301.44140625)] {
            let point = wide.point(number);
            let sum: f64 = point.iter().zip(1..).map(|(x, d)| x * f64::from(d)).sum();
            assert_eq!(sum, expected, "{number}");
        }
        assert!(Sobol::new(DIMENSIONS + 1, None).is_none());
    }

    /// Scrambled or not, each of 2^k equal parts of a side holds one of 2^k points, and each box of 16
    /// by 16 one of 256.
    #[test]
    fn scrambling_keeps_points_even() {
        for scramble in [None, Some(1), Some(2)] {
            let sobol = Sobol::new(2, scramble).unwrap();
            let points: Vec<_> = (0..256).map(|i| sobol.point(i)).collect();
            for side in [1, 4, 16, 64, 256] {
                let other = 256 / side;
                let place = |p: &Vec<f64>| {
                    (p[0] * f64::from(side)) as u32 * other as u32
                        + (p[1] * f64::from(other)) as u32
                };
                let mut places: Vec<u32> = points.iter().map(place).collect();
                places.sort_unstable();
                assert_eq!(places, (0..256).collect::<Vec<u32>>(), "{scramble:?} {side}");
            }
        }
    }

    /// The error of a mean is far below that of random points, and the points of two seeds differ.
    #[test]
    fn scrambled_points_integrate_better_than_random_ones() {
        let f = |p: &[f64]| p.iter().map(|x| 1.0 + 0.5 * (x * x - 1.0 / 3.0)).product::<f64>();
        for seed in 1..=5 {
            let sobol = Sobol::new(6, Some(seed)).unwrap();
            let mean = (0..1024).map(|i| f(&sobol.point(i))).sum::<f64>() / 1024.0;
            assert!((mean - 1.0).abs() < 1e-3, "seed {seed}: {mean}");
        }
        let at = |seed| Sobol::new(3, Some(seed)).unwrap().point(9);
        assert_ne!(at(1), at(2));
        // Growing only adds, and the format never changes.
        assert_eq!(at(1), Sobol::new(4, Some(1)).unwrap().point(9)[..3]);
        assert_eq!(at(1), [0.00787496923435127, 0.4443876971377888, 0.18853288174853244]);
    }
}
