//! Batch means: a confidence interval for the mean of correlated observations.
use serde::{Deserialize, Serialize};

/// Large batches of the estimate.
const BATCHES: usize = 20;
/// Quantile of Student's t with 19 degrees of freedom for 95 %.
const T: f64 = 2.093;
/// Small batches that are kept at most; then neighbours merge.
const KEPT: usize = 2 * BATCHES * 32;

/// Observations in small batches of equal size, which double when there are too many of them: any
/// number of observations in fixed memory.
///
/// The estimate takes 20 large batches of whole small ones, as many in each as in all others or one
/// more; the interval lies around the mean of all observations.
///
/// ```
/// use superdense_models::blocks::sink::BatchMeans;
/// let mut b = BatchMeans::new();
/// (0..100).for_each(|k| b.push(f64::from(k % 2)));
/// let (low, high) = b.interval().unwrap();
/// assert!(low <= 0.5 && 0.5 <= high);
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BatchMeans {
    count: u64,
    total: f64,
    /// Sums of the full small batches.
    sums: Vec<f64>,
    /// Observations in each.
    size: u64,
    part: f64,
    in_part: u64,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchMeans {
    /// No observations.
    pub fn new() -> Self {
        Self { count: 0, total: 0.0, sums: Vec::new(), size: 1, part: 0.0, in_part: 0 }
    }

    /// One more observation.
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        self.total += x;
        self.part += x;
        self.in_part += 1;
        if self.in_part == self.size {
            self.sums.push(self.part);
            (self.part, self.in_part) = (0.0, 0);
            if self.sums.len() == KEPT {
                self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
                self.size *= 2;
            }
        }
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean of all.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total / self.count as f64)
    }

    /// The 95 % confidence interval; `None` below 20 observations.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let small = self.sums.len();
        if small < BATCHES {
            return None;
        }
        let part = |k: usize| &self.sums[k * small / BATCHES..(k + 1) * small / BATCHES];
        let mean_of =
            |sums: &[f64]| sums.iter().sum::<f64>() / (sums.len() as f64 * self.size as f64);
        let means: Vec<f64> = (0..BATCHES).map(|k| mean_of(part(k))).collect();
        let mean = means.iter().sum::<f64>() / BATCHES as f64;
        let squares: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
        let half = T * (squares / ((BATCHES - 1) * BATCHES) as f64).sqrt();
        let mean = self.mean()?;
        Some((mean - half, mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::random::{Distribution, RandomStream};

    #[test]
    fn intervals_cover_the_mean() {
        let mut hits = 0;
        for run in 0..400 {
            let mut s = RandomStream::new(run, "batches");
            let mut b = BatchMeans::new();
            let d = Distribution::Exponential { mean: 2.0 };
            (0..2_000).for_each(|_| b.push(d.draw(&mut s)));
            let (low, high) = b.interval().unwrap();
            hits += u32::from(low < 2.0 && 2.0 < high);
        }
        assert!((365..=395).contains(&hits), "{hits} of 400 for 95 %");
    }

    #[test]
    fn small_numbers() {
        let mut b = BatchMeans::new();
        assert_eq!((b.mean(), b.interval()), (None, None));
        (0..20).for_each(|_| b.push(3.0));
        assert_eq!((b.mean(), b.interval()), (Some(3.0), Some((3.0, 3.0))));
        // The mean lies within, wherever there is one.
        for k in 0..200 {
            b.push(f64::from(k * k % 17));
            let ((low, high), mean) = (b.interval().unwrap(), b.mean().unwrap());
            assert!(low <= mean && mean <= high, "{k}: {low} {mean} {high}");
        }
    }
}
