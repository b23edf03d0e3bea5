//! Superdense time: integer ticks, micro-steps, and the only conversions to and from seconds.
//!
//! **Why integers.** With floating-point seconds ten steps of 0.1 s miss 1 s, and messages over
//! two paths of equal delay arrive apart. Ticks of a fixed power-of-ten resolution are exact, so
//! simultaneous means equal. There is no float-time variant of the kernel.
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a number could not become a time, or a time could not be advanced.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The sum lies beyond the largest tag.
    #[error(
        "time overflow: tick {ticks} + {advance} ticks is beyond the largest time; choose a coarser resolution or a shorter run"
    )]
    Overflow {
        /// The tick that was advanced.
        ticks: i64,
        /// The advance in ticks.
        advance: i64,
    },
    /// NaN seconds.
    #[error("a duration of NaN seconds; check the expression that computes it")]
    NotANumber,
    /// Negative seconds or ticks.
    #[error("a negative duration ({0}); a duration must be zero or more")]
    Negative(String),
    /// Positive, but less than one tick.
    #[error(
        "a duration of {seconds:e} s is below one tick ({resolution}); choose a finer resolution or a duration of at least one tick"
    )]
    BelowTick {
        /// The duration in seconds.
        seconds: f64,
        /// The resolution of the run.
        resolution: Resolution,
    },
    /// More seconds than ticks can count.
    #[error(
        "a duration of {0:e} s exceeds the largest time at this resolution; choose a coarser one"
    )]
    TooLarge(f64),
    /// A model whose ticks are not those of the run.
    #[error(
        "this was built for ticks of {own}, and the run has ticks of {run}; build both with one resolution"
    )]
    Unequal {
        /// The resolution for which the model was built.
        own: Resolution,
        /// That of the run.
        run: Resolution,
    },
    /// Text that is not a decimal number of seconds.
    #[error("'{0}' is not a decimal number of seconds at this resolution")]
    NotDecimal(String),
}

/// Ticks per second: a power of ten, fixed for a run and stored in traces and checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Resolution {
    exponent: u8,
}

const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut k = 1;
    while k < 19 {
        powers[k] = 10 * powers[k - 1];
        k += 1;
    }
    powers
};

impl Resolution {
    /// Of a model that was built for this resolution: refuses a run of another one.
    ///
    /// # Errors
    /// With both.
    pub fn of_run(self, run: Self) -> Result<(), TimeError> {
        if self == run { Ok(()) } else { Err(TimeError::Unequal { own: self, run }) }
    }

    /// One second per tick.
    pub const SECOND: Self = Self { exponent: 0 };
    /// 1 ms.
    pub const MILLI: Self = Self { exponent: 3 };
    /// 1 µs.
    pub const MICRO: Self = Self { exponent: 6 };
    /// 1 ns, the default: ±292 years.
    pub const NANO: Self = Self { exponent: 9 };
    /// 1 ps: ±106 days.
    pub const PICO: Self = Self { exponent: 12 };
    /// 1 fs: ±2.56 hours.
    pub const FEMTO: Self = Self { exponent: 15 };

    /// `10^-exponent` seconds per tick; `None` above 18.
    pub const fn from_exponent(exponent: u8) -> Option<Self> {
        if exponent <= 18 { Some(Self { exponent }) } else { None }
    }

    /// The exponent `k` of `10^k` ticks per second.
    pub const fn exponent(self) -> u8 {
        self.exponent
    }

    /// Ticks per second.
    #[inline]
    pub const fn ticks_per_second(self) -> i64 {
        POWERS[self.exponent as usize]
    }

    /// The duration nearest to `seconds`, for discrete models.
    ///
    /// # Errors
    /// NaN, negative, beyond the range, or positive and below one tick (conformance T6, T9).
    pub fn duration(self, seconds: f64) -> Result<Duration, TimeError> {
        if seconds.is_nan() {
            return Err(TimeError::NotANumber);
        }
        if seconds < 0.0 {
            return Err(TimeError::Negative(format!("{seconds} s")));
        }
        if seconds == f64::INFINITY {
            return Ok(Duration::INFINITE);
        }
        let ticks = (seconds * self.ticks_per_second() as f64).round();
        if ticks >= i64::MAX as f64 {
            return Err(TimeError::TooLarge(seconds));
        }
        if seconds > 0.0 && seconds * (self.ticks_per_second() as f64) < 1.0 - 1e-9 {
            return Err(TimeError::BelowTick { seconds, resolution: self });
        }
        Ok(Duration(ticks as i64))
    }

    /// The duration nearest to `seconds`, and at least `least`, for random durations: an exponential number
    /// may be as small as it likes. With a mean of n ticks, rounding makes the mean of exponential durations
    /// less by about 1/(24 n²) of itself if `least` is zero, and greater by 11/(24 n²) if it is one tick: choose a
    /// resolution for which that does not matter.
    ///
    /// With `least` of zero two events may fall onto one tick, as micro-steps. With one tick time goes on from
    /// each event to the next.
    ///
    /// # Errors
    /// NaN, negative, or beyond the range. Infinity is [`Duration::INFINITE`].
    ///
    /// ```
    /// use superdense_kernel::time::{Duration, Resolution};
    /// let (r, tick) = (Resolution::MICRO, Duration::from_ticks(1));
    /// assert!(r.duration(3e-7).is_err());
    /// assert_eq!(r.duration_rounded(3e-7, Duration::ZERO).unwrap(), Duration::ZERO);
    /// assert_eq!(r.duration_rounded(3e-7, tick).unwrap(), tick);
    /// assert_eq!(r.duration_rounded(2.6e-6, tick).unwrap(), Duration::from_ticks(3));
    /// ```
    pub fn duration_rounded(self, seconds: f64, least: Duration) -> Result<Duration, TimeError> {
        match self.duration(seconds) {
            Err(TimeError::BelowTick { .. }) => {
                let ticks = (seconds * self.ticks_per_second() as f64).round() as i64;
                Ok(Duration(ticks).max(least))
            }
            rounded => rounded.map(|duration| duration.max(least)),
        }
    }

    /// The tick of a root `seconds` after the last tag of a continuous unit (rule R14):
    /// `ceil(r·R − 2⁻¹⁰)`, and at least one tick for a positive offset.
    ///
    /// Never early by more than the 2⁻¹⁰ tick that absorbs the rounding of a root finder, never
    /// zero for a root that is ahead. The unit evaluates its state at this tick.
    ///
    /// # Errors
    /// NaN, negative, or beyond the range. Infinity is [`Duration::INFINITE`].
    ///
    /// ```
    /// use superdense_kernel::time::{Duration, Resolution};
    /// let r = Resolution::NANO;
    /// assert_eq!(r.crossing(1.0 / 3.0).unwrap(), Duration::from_ticks(333_333_334));
    /// assert_eq!(r.crossing(0.3).unwrap(), Duration::from_ticks(300_000_000));
    /// assert_eq!(r.crossing(1e-20).unwrap(), Duration::from_ticks(1));
    /// ```
    pub fn crossing(self, seconds: f64) -> Result<Duration, TimeError> {
        if seconds.is_nan() {
            return Err(TimeError::NotANumber);
        }
        if seconds < 0.0 {
            return Err(TimeError::Negative(format!("{seconds} s")));
        }
        if seconds == 0.0 || seconds == f64::INFINITY {
            return Ok(if seconds == 0.0 { Duration::ZERO } else { Duration::INFINITE });
        }
        let ticks = (seconds * self.ticks_per_second() as f64 - 1.0 / 1024.0).ceil().max(1.0);
        if ticks >= i64::MAX as f64 {
            return Err(TimeError::TooLarge(seconds));
        }
        Ok(Duration(ticks as i64))
    }

    /// Seconds of a number of ticks, rounded to the nearest f64.
    #[inline]
    pub fn seconds(self, ticks: i64) -> f64 {
        ticks as f64 / self.ticks_per_second() as f64
    }

    /// Reads a decimal number of seconds exactly: `"0.1"`, `"-3"`, `"2.5e-9"`.
    ///
    /// # Errors
    /// When the text is no decimal number, or has digits below one tick.
    ///
    /// ```
    /// use superdense_kernel::time::Resolution;
    /// assert_eq!(Resolution::NANO.parse_ticks("0.1").unwrap(), 100_000_000);
    /// assert!(Resolution::NANO.parse_ticks("1e-10").is_err());
    /// ```
    pub fn parse_ticks(self, text: &str) -> Result<i64, TimeError> {
        let bad = || TimeError::NotDecimal(text.to_owned());
        let (mantissa, exp) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().map_err(|_| bad())?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes().first() {
            Some(b'-') => (true, &mantissa[1..]),
            Some(b'+') => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || digits.len() > 64 || exp.unsigned_abs() > 64 {
            return Err(bad());
        }
        let mut value: i128 = 0;
        for c in whole.bytes().chain(fraction.bytes()) {
            if !c.is_ascii_digit() {
                return Err(bad());
            }
            value = value.checked_mul(10).ok_or_else(bad)? + i128::from(c - b'0');
        }
        let mut shift = i32::from(self.exponent) + exp - fraction.len() as i32;
        while shift > 0 && value != 0 {
            value = value.checked_mul(10).ok_or_else(bad)?;
            shift -= 1;
        }
        while shift < 0 && value != 0 {
            if value % 10 != 0 {
                return Err(bad());
            }
            value /= 10;
            shift += 1;
        }
        let value = if negative { -value } else { value };
        i64::try_from(value).ok().filter(|&v| v != i64::MAX).ok_or_else(bad)
    }

    /// The exact decimal of a tick count, in seconds, without trailing zeros.
    ///
    /// ```
    /// use superdense_kernel::time::Resolution;
    /// assert_eq!(Resolution::NANO.format(-1_500_000_000), "-1.5");
    /// ```
    pub fn format(self, ticks: i64) -> String {
        let per = self.ticks_per_second().unsigned_abs();
        let sign = if ticks < 0 { "-" } else { "" };
        let (whole, rest) = (ticks.unsigned_abs() / per, ticks.unsigned_abs() % per);
        if rest == 0 {
            return format!("{sign}{whole}");
        }
        let digits = format!("{rest:0width$}", width = self.exponent as usize);
        format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl From<Resolution> for u8 {
    fn from(resolution: Resolution) -> u8 {
        resolution.exponent
    }
}

/// Bytes from outside may hold any number.
impl TryFrom<u8> for Resolution {
    type Error = String;
    fn try_from(exponent: u8) -> Result<Self, String> {
        Self::from_exponent(exponent).ok_or_else(|| format!("a resolution of 1e-{exponent} s"))
    }
}

impl Default for Resolution {
    fn default() -> Self {
        Self::NANO
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["s", "ms", "us", "ns", "ps", "fs", "as"];
        let (unit, rest) = (self.exponent.div_ceil(3) as usize, self.exponent % 3);
        let factor = ["1", "100", "10"][rest as usize];
        write!(f, "{factor} {}", names[unit])
    }
}

/// A span of ticks, zero or more, or infinite.
///
/// A negative value can be built (a model may compute one by mistake); the kernel refuses it
/// where it meets one, naming the model, the tag and the value (rule R7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Duration(i64);

impl Duration {
    /// No time: the next micro-step.
    pub const ZERO: Self = Self(0);
    /// Never.
    pub const INFINITE: Self = Self(i64::MAX);
    const NAN: i64 = i64::MIN;

    /// `ticks` ticks; `i64::MAX` is infinite.
    pub const fn from_ticks(ticks: i64) -> Self {
        Self(ticks)
    }

    /// The span from `earlier` to `later`, in ticks.
    pub const fn between(earlier: i64, later: i64) -> Self {
        Self(later.saturating_sub(earlier))
    }

    /// The number of ticks (`i64::MAX` when infinite).
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// True for [`Duration::INFINITE`].
    pub const fn is_infinite(self) -> bool {
        self.0 == i64::MAX
    }

    /// `self - other`, with infinity absorbing; used for `sigma -= elapsed`.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        if self.is_infinite() { self } else { Self(self.0.saturating_sub(other.0)) }
    }

    /// A time advance computed as a number of seconds; what is not a duration (NaN, negative,
    /// below one tick) is carried along and refused by the kernel with its reason.
    pub fn of_seconds(seconds: f64, resolution: Resolution) -> Self {
        match resolution.duration(seconds) {
            Ok(d) => d,
            Err(TimeError::NotANumber) => Self(Self::NAN),
            Err(TimeError::Negative(_)) => {
                let ticks = seconds * resolution.ticks_per_second() as f64;
                Self((ticks.floor() as i64).clamp(Self::NAN + 3, -1))
            }
            Err(TimeError::BelowTick { .. }) => Self(Self::NAN + 1),
            Err(_) => Self(Self::NAN + 2),
        }
    }

    /// The defect that the kernel reports for a value that is no duration.
    pub(crate) fn defect(self) -> String {
        match self.0.wrapping_sub(Self::NAN) {
            0 => "NaN".into(),
            1 => "positive but below one tick".into(),
            2 => "beyond the largest time".into(),
            _ => format!("{} ticks", self.0),
        }
    }
}

/// A superdense instant: ticks, then the micro-step of that tick, in lexicographic order.
///
/// ```
/// use superdense_kernel::time::{Duration, Tag};
/// let t = Tag::new(1, 1);
/// assert_eq!(t.after(Duration::ZERO).unwrap(), Tag::new(1, 2));
/// assert_eq!(t.after(Duration::from_ticks(4)).unwrap(), Tag::new(5, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Ticks since the origin.
    pub ticks: i64,
    /// Simulation cycles already run at this tick.
    pub micro: u32,
}

impl Tag {
    /// The origin.
    pub const ZERO: Self = Self::new(0, 0);
    /// After every instant.
    pub const NEVER: Self = Self::new(i64::MAX, u32::MAX);

    /// `(ticks, micro)`.
    pub const fn new(ticks: i64, micro: u32) -> Self {
        Self { ticks, micro }
    }

    /// Rule R1: a positive advance lands at micro-step 0, a zero advance at the next micro-step.
    ///
    /// # Errors
    /// Overflow, or a negative duration.
    pub fn after(self, advance: Duration) -> Result<Self, TimeError> {
        match advance.0 {
            i64::MAX => Ok(Self::NEVER),
            0 => match self.micro.checked_add(1) {
                Some(micro) => Ok(Self { ticks: self.ticks, micro }),
                None => Err(TimeError::Overflow { ticks: self.ticks, advance: 0 }),
            },
            d if d < 0 => Err(TimeError::Negative(advance.defect())),
            d => match self.ticks.checked_add(d) {
                Some(ticks) if ticks != i64::MAX => Ok(Self::new(ticks, 0)),
                _ => Err(TimeError::Overflow { ticks: self.ticks, advance: d }),
            },
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "({}, {})", self.ticks, self.micro)
    }
}

/// A periodic clock with a rational period, which rounds each instant from its index.
///
/// Nothing accumulates: the k-th instant is `offset + round(k · numerator / denominator)` seconds
/// in ticks, so a clock of 1/3 s meets a clock of 1 s at every third instant (conformance T7). A
/// first instant between ticks is rounded together with the periods after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RationalClock {
    offset: i64,
    /// The part of a tick by which the first instant comes after `offset`.
    part: (i64, i64),
    numerator: i64,
    denominator: i64,
    ticks_per_second: i64,
}

impl RationalClock {
    /// A period of `numerator/denominator` seconds, first instant at tick `offset` (k = 0).
    ///
    /// # Errors
    /// A period that is not positive.
    pub fn new(
        numerator: i64,
        denominator: i64,
        offset: i64,
        resolution: Resolution,
    ) -> Result<Self, TimeError> {
        if numerator <= 0 || denominator <= 0 {
            return Err(TimeError::Negative(format!("period {numerator}/{denominator} s")));
        }
        let ticks_per_second = resolution.ticks_per_second();
        Ok(Self { offset, part: (0, 1), numerator, denominator, ticks_per_second })
    }

    /// The clock with its first instant at `numerator/denominator` seconds, which may lie between
    /// ticks.
    ///
    /// # Errors
    /// A denominator that is not positive, or overflow.
    pub fn starting(self, numerator: i64, denominator: i64) -> Result<Self, TimeError> {
        if denominator <= 0 {
            return Err(TimeError::Negative(format!("first instant {numerator}/{denominator} s")));
        }
        let (per, d) = (i128::from(self.ticks_per_second), i128::from(denominator));
        let ticks = i128::from(numerator) * per;
        let offset = i64::try_from(ticks.div_euclid(d))
            .map_err(|_| TimeError::Overflow { ticks: i64::MAX, advance: i64::MAX })?;
        // Below the denominator, so it fits.
        let part = match ticks.rem_euclid(d) {
            0 => (0, 1),
            part => (part as i64, denominator),
        };
        Ok(Self { offset, part, ..self })
    }

    /// Twice the k-th instant in ticks after `offset`, plus one tick, as a fraction: its whole part
    /// halved is the rounded instant.
    fn twice(&self, k: u64) -> Option<(i128, i128)> {
        let per = i128::from(self.numerator) * i128::from(self.ticks_per_second);
        let (first, parts) = (i128::from(self.part.0), i128::from(self.part.1));
        let periods = per.checked_mul(i128::from(k))?.checked_mul(parts)?;
        let d = i128::from(self.denominator) * parts;
        let sum = periods.checked_add(first * i128::from(self.denominator))?;
        Some((sum.checked_mul(2)?.checked_add(d)?, d))
    }

    /// The tick of instant `k`.
    ///
    /// # Errors
    /// Overflow.
    pub fn tick(&self, k: u64) -> Result<i64, TimeError> {
        let overflow = TimeError::Overflow { ticks: self.offset, advance: i64::MAX };
        let Some((twice, d)) = self.twice(k) else { return Err(overflow) };
        let rounded = twice.div_euclid(2 * d);
        i64::try_from(rounded + i128::from(self.offset)).map_err(|_| overflow)
    }

    /// The index of the first instant at or after tick `at` (0 when `at` is before the offset).
    pub fn index_from(&self, at: i64) -> u64 {
        let ahead = i128::from(at) - i128::from(self.offset);
        if ahead <= 0 {
            return 0;
        }
        // round(first + k · per / d) >= ahead  <=>  2 · k · per >= d · (2 · ahead - 1 - 2 · first)
        let d = i128::from(self.denominator);
        let (first, parts) = (i128::from(self.part.0), i128::from(self.part.1));
        let per = i128::from(self.numerator) * i128::from(self.ticks_per_second);
        let ahead = (2 * ahead - 1).saturating_mul(parts) - 2 * first;
        if ahead <= 0 {
            return 0;
        }
        let reach = d.saturating_mul(ahead);
        u64::try_from((reach - 1) / 2 / per.saturating_mul(parts) + 1).unwrap_or(u64::MAX)
    }
}
