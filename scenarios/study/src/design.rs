//! Points that are known beforehand.
use crate::{Method, Point, Range, sobol::Sobol};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::marker::PhantomData;

/// All combinations of the levels; the last parameter changes fastest.
///
/// ```
/// let points = superdense_study::design::grid(&[vec![1.0, 2.0], vec![0.0, 0.5]]);
/// assert_eq!(points, [[1.0, 0.0], [1.0, 0.5], [2.0, 0.0], [2.0, 0.5]]);
/// ```
pub fn grid(levels: &[Vec<f64>]) -> Vec<Point> {
    let mut points = vec![Point::new()];
    for values in levels {
        points = points
            .iter()
            .flat_map(|p| values.iter().map(|x| [p.as_slice(), &[*x]].concat()))
            .collect();
    }
    points
}

/// `n` points of which each `n`-th part of each range holds one, at random.
pub fn latin_hypercube(ranges: &[Range], n: usize, seed: u64) -> Vec<Point> {
    let mut points = vec![Point::new(); n];
    for (dimension, range) in ranges.iter().enumerate() {
        // Each parameter has a stream of its own, so that another one does not move the others.
        let mut random = Pcg64::seed_from_u64(crate::seed(seed, dimension as u32 + 1));
        let mut places: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            places.swap(i, below(i + 1, &mut random));
        }
        for (point, place) in points.iter_mut().zip(places) {
            let u = (place as f64 + share(&mut random)) / n as f64;
            point.push(range.at(u));
        }
    }
    points
}

/// The first `n` points of a scrambled Sobol' sequence; none in too many dimensions.
pub fn sobol(ranges: &[Range], n: u32, seed: u64) -> Option<Vec<Point>> {
    let sobol = Sobol::new(ranges.len(), Some(seed))?;
    let point = |i| sobol.point(i).iter().zip(ranges).map(|(u, range)| range.at(*u)).collect();
    Some((0..n).map(point).collect())
}

/// From 0 on and below 1.
fn share(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / 2f64.powi(53)
}

/// A whole number below `n`. Its bias is below 2^-32 for any number of points that can be run.
fn below(n: usize, random: &mut impl Rng) -> usize {
    ((u128::from(random.next_u64()) * n as u128) >> 64) as usize
}

/// A method that asks for all its points at once, and wants nothing back.
#[derive(Debug, Clone)]
pub struct Design<T> {
    points: Vec<Point>,
    told: bool,
    of: PhantomData<fn() -> T>,
}

impl<T> Design<T> {
    /// Of these points.
    pub fn new(points: Vec<Point>) -> Self {
        Self { points, told: false, of: PhantomData }
    }
}

impl<T> Method for Design<T> {
    type Told = T;

    fn ask(&mut self) -> Vec<Point> {
        if self.told { Vec::new() } else { self.points.clone() }
    }

    fn tell(&mut self, _: &[Vec<Option<T>>]) {
        self.told = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Range {
        Range::Interval { from: 0.0, to: 1.0, step: None }
    }

    #[test]
    fn each_row_and_column_of_a_latin_square_has_one_point() {
        for n in [1, 2, 7, 100] {
            let points = latin_hypercube(&[unit(), unit(), unit()], n, 1);
            for dimension in 0..3 {
                let place = |p: &Point| (p[dimension] * n as f64) as usize;
                let mut places: Vec<usize> = points.iter().map(place).collect();
                places.sort_unstable();
                assert_eq!(places, (0..n).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn parameters_have_streams_of_their_own() {
        let both = latin_hypercube(&[unit(), unit()], 50, 3);
        let one = latin_hypercube(&[unit()], 50, 3);
        assert!(both.iter().zip(&one).all(|(a, b)| a[0] == b[0] && a[0] != a[1]));
        assert_ne!(one, latin_hypercube(&[unit()], 50, 4));
    }

    #[test]
    fn more_sobol_points_only_add() {
        let ranges = [unit(), Range::Values(vec![2.0, 3.0])];
        let few = sobol(&ranges, 64, 5).unwrap();
        assert_eq!(few, sobol(&ranges, 128, 5).unwrap()[..64]);
        assert_eq!(few.iter().filter(|p| p[1] == 2.0).count(), 32);
    }

    #[test]
    fn designs_ask_once() {
        let mut design = Design::<()>::new(vec![vec![1.0], vec![2.0]]);
        assert_eq!(design.ask(), design.ask());
        design.tell(&[vec![Some(())], vec![None]]);
        assert!(design.ask().is_empty());
    }
}
