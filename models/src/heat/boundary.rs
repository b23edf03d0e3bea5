//! The boundary of a cross-section: its distance rho from the origin, by the angle from the axis of xi.
use crate::maths::expr::{Expr, Program, Registers};
use std::{
    cell::RefCell,
    f64::consts::{FRAC_PI_2, PI, TAU},
};

/// Why points are no boundary.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum NoBoundary {
    #[error("{0} points, where three are needed")]
    Few(usize),
    #[error("point {0} lies on the wrong side of the axis, or is no point")]
    Side(usize),
    #[error("the {0} point does not lie on the axis")]
    Ends(&'static str),
    #[error("point {0} lies at no larger angle than the one before")]
    Order(usize),
}

/// rho on the right half, from the lower end of the axis at -π/2 to the upper one at π/2; the left half is its mirror
/// image.
#[derive(Debug)]
pub(super) enum Boundary {
    Formula(Box<Program>, RefCell<Room>),
    Points(Spline),
}

/// Working memory of a formula.
#[derive(Debug, Default)]
pub(super) struct Room(Registers<f64>);

impl Boundary {
    /// By a formula over theta, its variable 0.
    pub(super) fn formula(rho: &Expr) -> Self {
        Self::Formula(Box::new(Program::compile([rho])), RefCell::default())
    }

    /// By points (xi, eta) from the lower end of the axis to the upper one.
    pub(super) fn points(points: &[(f64, f64)]) -> Result<Self, NoBoundary> {
        if points.len() < 3 {
            return Err(NoBoundary::Few(points.len()));
        }
        let last = points.len() - 1;
        for (k, &(xi, eta)) in points.iter().enumerate() {
            if !(xi.is_finite() && eta.is_finite() && xi >= 0.0) || (xi == 0.0 && eta == 0.0) {
                return Err(NoBoundary::Side(k + 1));
            }
        }
        for (end, ok) in [("first", points[0].0 == 0.0), ("last", points[last].0 == 0.0)] {
            if !ok {
                return Err(NoBoundary::Ends(end));
            }
        }
        let angles: Vec<f64> = points.iter().map(|p| libm::atan2(p.1, p.0)).collect();
        if let Some(k) = (1..=last).find(|&k| angles[k] <= angles[k - 1]) {
            return Err(NoBoundary::Order(k + 1));
        }
        let logs = points.iter().map(|p| libm::log(libm::hypot(p.0, p.1))).collect();
        Ok(Self::Points(Spline::new(angles, logs)))
    }

    /// ln rho at an angle.
    pub(super) fn log(&self, theta: f64) -> f64 {
        let mut angle = theta - TAU * (theta / TAU).round();
        if angle.abs() > FRAC_PI_2 {
            angle = PI.copysign(angle) - angle;
        }
        match self {
            Self::Formula(program, room) => {
                let mut rho = [0.0];
                program.eval(&[angle], &mut room.borrow_mut().0, &mut rho);
                libm::log(rho[0])
            }
            Self::Points(spline) => spline.value(angle),
        }
    }

    /// An angle at which rho is no distance, if there is one.
    pub(super) fn flaw(&self) -> Option<f64> {
        angles().find(|&theta| !self.log(theta).is_finite())
    }

    /// The largest |rho'/rho|.
    pub(super) fn steepness(&self) -> f64 {
        const STEP: f64 = 1e-5;
        let slope = |theta: f64| (self.log(theta + STEP) - self.log(theta - STEP)) / (2.0 * STEP);
        angles().map(|theta| slope(theta).abs()).fold(0.0, f64::max)
    }
}

/// Angles at which a boundary is looked at.
fn angles() -> impl Iterator<Item = f64> {
    const ANGLES: u32 = 1024;
    (0..=ANGLES).map(|k| -FRAC_PI_2 + PI * f64::from(k) / f64::from(ANGLES))
}

/// A cubic spline with slope zero at both ends, so that its mirror image goes on without an edge.
#[derive(Debug)]
pub(super) struct Spline {
    at: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

impl Spline {
    fn new(at: Vec<f64>, values: Vec<f64>) -> Self {
        let last = at.len() - 1;
        // Slopes of a continuous curvature, by elimination without pivots: the matrix is diagonally dominant.
        let (mut upper, mut slopes) = (vec![0.0; last + 1], vec![0.0; last + 1]);
        for k in 1..last {
            let (before, after) = (1.0 / (at[k] - at[k - 1]), 1.0 / (at[k + 1] - at[k]));
            let right = 3.0 * before * before * (values[k] - values[k - 1])
                + 3.0 * after * after * (values[k + 1] - values[k]);
            let pivot = 2.0 * (before + after) - before * upper[k - 1];
            upper[k] = after / pivot;
            slopes[k] = (right - before * slopes[k - 1]) / pivot;
        }
        for k in (1..last).rev() {
            slopes[k] -= upper[k] * slopes[k + 1];
        }
        Self { at, values, slopes }
    }

    fn value(&self, x: f64) -> f64 {
        let k = self.at.partition_point(|a| *a <= x).clamp(1, self.at.len() - 1) - 1;
        let width = self.at[k + 1] - self.at[k];
        let t = ((x - self.at[k]) / width).clamp(0.0, 1.0);
        let (a, b) = (self.values[k], self.values[k + 1]);
        let (c, d) = (self.slopes[k] * width, self.slopes[k + 1] * width);
        let rise = b - a;
        a + t * (c + t * (3.0 * rise - 2.0 * c - d + t * (c + d - 2.0 * rise)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_met_and_mirrored() {
        let points = [(0.0, -3.0), (1.5, -1.0), (2.0, 0.5), (0.0, 2.0)];
        let boundary = Boundary::points(&points).unwrap();
        for (xi, eta) in points {
            let rho = libm::hypot(xi, eta);
            let (theta, log) = (libm::atan2(eta, xi), libm::log(rho));
            assert!((boundary.log(theta) - log).abs() < 1e-14);
            assert!((boundary.log(PI - theta) - log).abs() < 1e-14);
        }
        assert_eq!(boundary.flaw(), None);
        assert!(boundary.steepness() < 2.0);
    }

    #[test]
    fn what_is_no_boundary_is_told() {
        let told = |points: &[(f64, f64)]| Boundary::points(points).unwrap_err().to_string();
        assert_eq!(told(&[(0.0, -1.0), (0.0, 1.0)]), "2 points, where three are needed");
        assert_eq!(
            told(&[(0.1, -1.0), (1.0, 0.0), (0.0, 1.0)]),
            "the first point does not lie on the axis"
        );
        assert_eq!(
            told(&[(0.0, -1.0), (1.0, 0.5), (1.0, 0.2), (0.0, 1.0)]),
            "point 3 lies at no larger angle than the one before"
        );
        assert!(told(&[(0.0, -1.0), (-1.0, 0.5), (0.0, 1.0)]).starts_with("point 2 lies on"));
    }
}
