//! *Hold* and *ring*: the classical loads of an event list, as whole models.
//!
//! *Hold*: n entities, each with a timer of its own; on expiry it draws the next increment.
//! *Ring*: each of n entities starts with one token; when a token's time is up, the entity sends
//! it to the next entity, which holds it for a newly drawn time. An entity may hold several.
//!
//! All engines draw from the same generator, one per entity, in ticks of a nanosecond: they see
//! the same increments and so must count exactly the same events (SimPy, whose draws are its own,
//! about as many).
//!
//! [`lists`] is *hold* without models: the event lists alone.
pub mod bare;
pub mod lists;
pub mod nexo;
pub mod ours;
#[cfg(test)]
mod tests;
pub mod xdevs;

use serde::{Deserialize, Serialize};

/// The mean increment in ticks.
pub const MEAN: i64 = 1_000_000_000;

/// How increments are distributed; the mean is always [`MEAN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Increments {
    /// Exponential: the usual case.
    Exponential,
    /// `10 u⁹`: nearly all short, a few up to ten times the mean.
    Skewed,
    /// Exponential, rounded to eighths of the mean, plus up to a millionth: events come in clumps.
    Clustered,
    /// Nine in ten around a tenth of the mean, one in ten around nine times the mean.
    Bimodal,
    /// All equal: every entity fires at every whole second.
    Equal,
}

impl Increments {
    /// All of them, the usual one first.
    pub const ALL: [Self; 5] =
        [Self::Exponential, Self::Skewed, Self::Clustered, Self::Bimodal, Self::Equal];

    /// The suffix of a workload's name.
    pub fn suffix(self) -> &'static str {
        ["", "-skewed", "-clustered", "-bimodal", "-equal"][self as usize]
    }
}

/// Which load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Load {
    /// Independent timers.
    Hold,
    /// Tokens passed on.
    Ring,
}

/// A load of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// Hold or ring.
    pub load: Load,
    /// Number of entities.
    pub entities: u32,
    /// About how many events to run.
    pub events: u64,
    /// Distribution of increments.
    pub increments: Increments,
}

impl Timers {
    /// The run ends before this tick.
    pub fn end(&self) -> i64 {
        (self.events as i128 * i128::from(MEAN) / i128::from(self.entities)) as i64
    }
}

/// A source of increments: xorshift64* and a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    state: u64,
}

impl Source {
    /// The source of entity number `entity`.
    pub fn of(entity: u32) -> Self {
        // One round of splitmix64, so that neighbours start far apart.
        let mut z = (u64::from(entity) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self { state: (z ^ (z >> 31)) | 1 }
    }

    /// Uniform in (0, 1].
    #[inline]
    pub fn unit(&mut self) -> f64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        (bits + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The next increment, at least one tick.
    // In every loop that is compared, whatever else is in it.
    #[inline(always)]
    pub fn draw(&mut self, increments: Increments) -> i64 {
        const M: f64 = MEAN as f64;
        let ticks = match increments {
            Increments::Exponential => -self.unit().ln() * M,
            Increments::Skewed => 10.0 * self.unit().powi(9) * M,
            Increments::Clustered => {
                let eighths = (-self.unit().ln() * 8.0).round();
                (eighths * 0.125 + 1e-6 * self.unit()) * M
            }
            Increments::Bimodal => {
                let short = self.unit() <= 0.9;
                (if short { 0.2 * self.unit() } else { 9.0 + 0.2 * self.unit() }) * M
            }
            Increments::Equal => return MEAN,
        };
        (ticks as i64).max(1)
    }
}
