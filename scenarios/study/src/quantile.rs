//! Quantiles of the normal distribution and of Student's.
//!
//! **Why not a crate.** Those that exist call the exponential function of the system, whose last digit
//! differs between machines, and a study promises equal bytes. Both quantiles are found by halving, from
//! distribution functions that `libm` computes alike everywhere.

/// The z below which a standard normal number stays with probability `p`.
///
/// ```
/// let z = superdense_study::quantile::normal(0.975);
/// assert!((z - 1.959_963_984_540_054).abs() < 1e-12);
/// ```
pub fn normal(p: f64) -> f64 {
    by_halves(p, |z| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2))
}

/// The t below which a number of Student's distribution with `freedom` degrees of freedom stays with
/// probability `p`.
///
/// ```
/// let t = superdense_study::quantile::student(0.975, 7.0);
/// assert!((t - 2.364_624_251_592_784).abs() < 1e-9);
/// ```
pub fn student(p: f64, freedom: f64) -> f64 {
    by_halves(p, |t| {
        let tail = 0.5 * beta_share(freedom / 2.0, 0.5, freedom / (freedom + t * t));
        if t < 0.0 { tail } else { 1.0 - tail }
    })
}

/// Where a distribution function that is symmetric about zero comes to `p`.
fn by_halves(p: f64, below: impl Fn(f64) -> f64) -> f64 {
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return if p >= 1.0 { f64::INFINITY } else { -f64::INFINITY };
    }
    if p == 0.5 {
        return 0.0;
    }
    // Small probabilities keep their digits.
    if p > 0.5 {
        return -by_halves(1.0 - p, below);
    }
    let mut low = -1.0;
    while below(low) > p && low > -1e300 {
        low *= 2.0;
    }
    let mut high = 0.0;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if below(middle) < p { low = middle } else { high = middle }
    }
}

/// The regularised incomplete beta function, by its continued fraction.
fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(b, a, 1.0 - x);
    }
    let log = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    libm::exp(log) / a * fraction(a, b, x)
}

/// The continued fraction of the incomplete beta function, by the algorithm of Lentz.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let apart = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut d = 1.0 / apart(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut value) = (1.0, d);
    for m in 1..=10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for step in [even, odd] {
            d = 1.0 / apart(1.0 + step * d);
            c = apart(1.0 + step / c);
            factor = c * d;
            value *= factor;
        }
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of `scipy.stats.t.ppf` 1.17.
    #[test]
    fn students_quantiles_are_those_of_tables() {
        let tables: [(f64, [(f64, f64); 9]); 2] = [
            (
                0.975,
                [
                    (1.0, 12.706204736174694),
                    (2.0, 4.302652729749462),
                    (3.0, 3.1824463052837078),
                    (5.0, 2.5705818356363146),
                    (11.0, 2.200985160091639),
                    (26.0, 2.0555294386428735),
                    (100.0, 1.9839715185235518),
                    (1000.0, 1.9623390808264083),
                    (1e6, 1.959966356814107),
                ],
            ),
            (
                0.995,
                [
                    (1.0, 63.656741162871526),
                    (2.0, 9.924843200918287),
                    (3.0, 5.840909309733355),
                    (5.0, 4.032142983555228),
                    (11.0, 3.1058065155392804),
                    (26.0, 2.778714533329683),
                    (100.0, 2.6258905214380173),
                    (1000.0, 2.580754698065951),
                    (1e6, 2.5758342201053344),
                ],
            ),
        ];
        for (p, rows) in tables {
            for (freedom, expected) in rows {
                let t = student(p, freedom);
                assert!((t / expected - 1.0).abs() < 1e-9, "{p} {freedom}: {t}, not {expected}");
                assert_eq!(student(1.0 - p, freedom).to_bits(), (-student(p, freedom)).to_bits());
            }
        }
    }

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (p, expected) in [(0.95, 1.6448536269514722), (0.995, 2.5758293035489004)] {
            assert!((normal(p) - expected).abs() < 1e-12, "{p}: {}", normal(p));
        }
        assert_eq!(normal(0.5), 0.0);
        assert_eq!((normal(0.0), normal(1.0)), (-f64::INFINITY, f64::INFINITY));
    }
}
