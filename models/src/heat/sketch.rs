//! Pictures of the map: lines of the grid, and lines of equal value in the body.
//!
//! The axis of the body lies horizontally: points are (eta, xi).
use super::{
    boundary::Boundary,
    complex::C,
    conformal::Conformal,
    lemniscate,
    mesh::{Geometry, Mesh},
};
use crate::maths::expr::{Expr, Names};

/// One of the planes between which the map goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// Of the grid.
    Square,
    /// Between square and body.
    Disk,
    /// Of the cross-section.
    Body,
}

/// The map of a cross-section, to be drawn.
///
/// ```
/// use superdense_models::heat::{Plane, Sketch};
/// let ball = Sketch::new("2", 5).unwrap();
/// let lines = ball.grid(Plane::Body);
/// let farthest = lines.iter().flatten().map(|(eta, xi)| eta.hypot(*xi)).fold(0.0, f64::max);
/// assert!((farthest - 2.0).abs() < 1e-12);
/// ```
#[derive(Debug)]
pub struct Sketch {
    map: Conformal,
    mesh: Mesh,
}

type Line = Vec<(f64, f64)>;

impl Sketch {
    /// For a boundary by a formula over theta, and an odd number of lines; none where there is no such map.
    pub fn new(rho: &str, n: usize) -> Option<Self> {
        let rho = Expr::parse(rho, &Names::new().var("theta", 0)).ok()?;
        let boundary = Boundary::formula(&rho);
        if n < 5 || n.is_multiple_of(2) || boundary.flaw().is_some() {
            return None;
        }
        let map = Conformal::new(&boundary, 4096).ok()?;
        let mesh = Mesh::new(&map, n, Geometry::Rotational, (0.0, 0.0));
        Some(Self { map, mesh })
    }

    /// The lines of the grid with their mirror images.
    pub fn grid(&self, plane: Plane) -> Vec<Line> {
        let image = |x: f64, y: f64| {
            let z = C::new(x.abs(), y);
            let p = match plane {
                Plane::Square => z,
                Plane::Disk => lemniscate::disk(z),
                Plane::Body => self.map.point(z),
            };
            (p.im, p.re.copysign(x))
        };
        let left = self.mesh.x.iter().skip(1).rev().map(|x| -x);
        let x: Vec<f64> = left.chain(self.mesh.x.iter().copied()).collect();
        let y = &self.mesh.y;
        let along = x.iter().map(|&x| y.iter().map(|&y| image(x, y)).collect());
        let across = y.iter().map(|&y| x.iter().map(|&x| image(x, y)).collect());
        along.chain(across).collect()
    }

    /// Pieces of the lines on which a value has some level; values are those of the nodes of the right half, line y by
    /// line y. Places beside one without a value are left out.
    pub fn level(&self, values: &[f64], level: f64) -> Vec<Line> {
        let (row, rows) = (self.mesh.x.len(), self.mesh.y.len());
        let mut pieces = Vec::new();
        if values.len() != row * rows {
            return pieces;
        }
        for first in (0..rows - 1).flat_map(|j| (0..row - 1).map(move |i| j * row + i)) {
            let [a, b, c, d] = [first, first + 1, first + row + 1, first + row];
            for corners in [[a, b, c], [a, c, d]] {
                let ends = (0..3).filter_map(|k| {
                    let (p, q) = (corners[k], corners[(k + 1) % 3]);
                    let (from, to) = (values[p] - level, values[q] - level);
                    if (from < 0.0) == (to < 0.0) || !(from - to).is_finite() {
                        return None;
                    }
                    let share = from / (from - to);
                    let at = self.mesh.nodes[p] * (1.0 - share) + self.mesh.nodes[q] * share;
                    Some((at.im, at.re))
                });
                let line: Line = ends.collect();
                if line.len() == 2 {
                    pieces.push(line);
                }
            }
        }
        pieces
    }

    /// The Christoffel symbols Γ¹₁₁ = Re f''/f' and Γ¹₁₂ = -Im f''/f' at the nodes; no numbers at the corners, where f' is
    /// zero.
    pub fn christoffel(&self) -> [Vec<f64>; 2] {
        let points =
            self.mesh.y.iter().flat_map(|&y| self.mesh.x.iter().map(move |&x| C::new(x, y)));
        let ratio = |z: C| {
            let jet = self.map.jet(z);
            let corner = z.re == 1.0 && z.im.abs() == 1.0;
            if corner { C::new(f64::NAN, f64::NAN) } else { jet.curvature / jet.slope }
        };
        let ratios: Vec<C> = points.map(ratio).collect();
        [ratios.iter().map(|r| r.re).collect(), ratios.iter().map(|r| -r.im).collect()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_equal_height_are_horizontal() {
        let ball = Sketch::new("1", 9).unwrap();
        let eta: Vec<f64> = ball.mesh.nodes.iter().map(|z| z.im).collect();
        let pieces = ball.level(&eta, 0.25);
        assert!(pieces.len() > 3);
        assert!(pieces.iter().flatten().all(|p| (p.0 - 0.25).abs() < 1e-12));
        assert!(ball.level(&eta, 1.5).is_empty() && ball.level(&eta[1..], 0.25).is_empty());
        assert_eq!(ball.grid(Plane::Square).len(), 18);
    }

    /// For the disk f'' / f' is h''/h', which is zero in the centre and without an imaginary part on the axis of xi.
    #[test]
    fn christoffel_symbols_are_those_of_the_map() {
        let ball = Sketch::new("1", 9).unwrap();
        let [one, two] = ball.christoffel();
        let centre = ball.mesh.nodes.iter().position(|z| z.norm() < 1e-12).unwrap();
        assert!(one[centre].abs() < 1e-12 && two[centre].abs() < 1e-12);
        let end = centre + ball.mesh.x.len() - 1;
        let w = C::new(1.0, 0.0);
        let exact = lemniscate::curvature(w) / lemniscate::slope(w);
        assert!((one[end] - exact.re).abs() < 1e-9 && two[end].abs() < 1e-9);
    }

    #[test]
    fn what_has_no_map_has_no_sketch() {
        for (rho, n) in [("0 - 1", 9), ("1 +", 9), ("1", 8), ("1", 3)] {
            assert!(Sketch::new(rho, n).is_none());
        }
    }
}
