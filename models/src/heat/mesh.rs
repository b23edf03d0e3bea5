//! Finite volumes on the nodes of a grid that a conformal map takes from the square to the body.
//!
//! **Why fluxes through faces.** For a conformal map the flux through the image of a face is the slope along the other
//! line of the grid, times the length of the face in the square, times xi for a body of revolution. The face on the axis has
//! xi = 0, so that nothing is divided by xi, and what leaves one volume enters its neighbour.
//!
//! **Why graded lines.** Where the body is slender the map crowds: an ellipsoid of 3 and 8 has 1.7 mm between equal
//! lines (n = 101) at its ends, and 0.1 mm at its waist. Lines are denser where |f'| is large.
use super::{
    complex::{C, size},
    conformal::Conformal,
};

/// The least density of lines, as a part of the mean one.
const FLOOR: f64 = 0.1;

/// The shape of the body around its cross-section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Geometry {
    /// Revolution around the axis of eta; volumes are per 2π.
    Rotational,
    /// A long rod, of which volumes are per length, and of its right half.
    Plane,
}

/// Volumes, and what passes between them.
#[derive(Debug)]
pub(super) struct Mesh {
    /// Lines of the grid in the square, from 0 to 1 and from -1 to 1.
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    /// Images of the nodes, line y by line y.
    pub(super) nodes: Vec<C>,
    pub(super) volumes: Vec<f64>,
    /// Quarters of volumes, less at the boundary: their node, their centre of gravity, and how large they are.
    pub(super) cells: Vec<(usize, C, f64)>,
    /// Neighbours, and the flux between them for one degree and a unit of kappa.
    pub(super) faces: Vec<(usize, usize, f64)>,
    /// Flux to the surroundings for one degree and a unit of kappa.
    pub(super) losses: Vec<f64>,
    /// Nodes on the boundary from the lower end of the axis to the upper one, with the length of the boundary up to each.
    pub(super) edge: Vec<(usize, f64)>,
}

/// Nodes with weights.
pub(super) type Weights = Vec<(usize, f64)>;

impl Mesh {
    /// The grid with `n` lines across the whole square, of which the right half is kept. `alphas` are those of the root and
    /// the crown.
    pub(super) fn new(map: &Conformal, n: usize, geometry: Geometry, alphas: (f64, f64)) -> Self {
        let (across, along) = ((n - 1) / 2, n - 1);
        let (x, y) = graded(map, across, along);
        let doubled = Doubled::new(map, &x, &y, geometry);
        let row = across + 1;
        let mut mesh = Self {
            nodes: Vec::with_capacity(row * n),
            volumes: vec![0.0; row * n],
            cells: Vec::with_capacity(4 * row * n),
            faces: Vec::with_capacity(2 * row * n),
            losses: vec![0.0; row * n],
            edge: Vec::new(),
            x,
            y,
        };
        for j in 0..n {
            for i in 0..row {
                let k = j * row + i;
                mesh.nodes.push(doubled.at(2 * i, 2 * j));
                for (centre, volume) in doubled.cells(i, j) {
                    mesh.volumes[k] += volume;
                    mesh.cells.push((k, centre, volume));
                }
                let (dx, dy) = (doubled.width(i), doubled.height(j));
                if i < across {
                    mesh.faces.push((k, k + 1, doubled.upright(i, j) / dx));
                }
                if j < along {
                    mesh.faces.push((k, k + row, doubled.level(i, j) / dy));
                }
                let (root, crown) = alphas;
                if i == across {
                    mesh.losses[k] += root * doubled.outer(2 * across, 2 * j, false);
                }
                if j == 0 {
                    mesh.losses[k] += root * doubled.outer(2 * i, 0, true);
                }
                if j == along {
                    mesh.losses[k] += crown * doubled.outer(2 * i, 2 * along, true);
                }
            }
        }
        mesh.walk(across, along);
        mesh
    }

    /// Goes along the boundary.
    fn walk(&mut self, across: usize, along: usize) {
        let row = across + 1;
        let bottom = 0..row;
        let side = (1..along).map(|j| j * row + across);
        let top = (0..row).rev().map(|i| along * row + i);
        let mut length = 0.0;
        let mut last = self.nodes[0];
        for k in bottom.chain(side).chain(top) {
            length += size(self.nodes[k] - last);
            last = self.nodes[k];
            self.edge.push((k, length));
        }
    }

    /// All volumes together.
    pub(super) fn whole(&self) -> f64 {
        self.volumes.iter().sum()
    }

    /// A point of the square as a sum of nodes: parabolas through the nearest three lines of each direction.
    pub(super) fn weights(&self, z: C) -> Weights {
        let (a, b) = (parabola(&self.x, z.re), parabola(&self.y, z.im));
        let row = self.x.len();
        let product = |&(j, v): &(usize, f64)| a.map(|(i, u)| (j * row + i, u * v));
        let all = b.iter().flat_map(product);
        all.filter(|(_, weight)| *weight != 0.0).collect()
    }

    /// A place on the boundary, as a part of its length, as a sum of two nodes.
    pub(super) fn along(&self, part: f64) -> Weights {
        let whole = self.edge.last().map_or(0.0, |e| e.1);
        let goal = part * whole;
        let k = self.edge.partition_point(|e| e.1 <= goal).clamp(1, self.edge.len() - 1);
        let ((a, from), (b, to)) = (self.edge[k - 1], self.edge[k]);
        let share = ((goal - from) / (to - from)).clamp(0.0, 1.0);
        vec![(a, 1.0 - share), (b, share)]
    }
}

/// The three nearest lines with the weights of their parabola.
fn parabola(lines: &[f64], at: f64) -> [(usize, f64); 3] {
    let next = lines.partition_point(|x| *x < at).clamp(1, lines.len() - 1);
    let nearest = if at - lines[next - 1] < lines[next] - at { next - 1 } else { next };
    let first = nearest.saturating_sub(1).min(lines.len() - 3);
    std::array::from_fn(|k| {
        let others = (0..3).filter(|m| *m != k).map(|m| lines[first + m]);
        let here = lines[first + k];
        (first + k, others.map(|x| (at - x) / (here - x)).product())
    })
}

/// Lines whose density is that of |f'|.
fn graded(map: &Conformal, across: usize, along: usize) -> (Vec<f64>, Vec<f64>) {
    let even = |from: f64, k: usize, of: usize| from + (1.0 - from) * k as f64 / of as f64;
    let (mut columns, mut rows) = (vec![0.0_f64; across + 1], vec![0.0_f64; along + 1]);
    for (j, row) in rows.iter_mut().enumerate() {
        for (i, column) in columns.iter_mut().enumerate() {
            let z = C::new(even(0.0, i, across), even(-1.0, j, along));
            let stretch = map.stretch(z);
            *column = column.max(stretch);
            *row = row.max(stretch);
        }
    }
    (lines(0.0, &columns), lines(-1.0, &rows))
}

/// As many lines from `from` to 1 as there are even samples of a density, between which it is linear.
fn lines(from: f64, samples: &[f64]) -> Vec<f64> {
    let parts = samples.len() - 1;
    let width = (1.0 - from) / parts as f64;
    let mean = |d: &[f64]| d.windows(2).map(|w| (w[0] + w[1]) / 2.0).sum::<f64>() / parts as f64;
    let scale = (1.0 - FLOOR) / mean(samples);
    let density: Vec<f64> = samples.iter().map(|m| FLOOR + scale * m).collect();
    let whole = mean(&density) * parts as f64;
    let (mut k, mut before) = (0, 0.0);
    let mut out = vec![from];
    for line in 1..parts {
        let goal = whole * line as f64 / parts as f64;
        loop {
            let here = (density[k] + density[k + 1]) / 2.0;
            if before + here >= goal || k + 2 == density.len() {
                break;
            }
            before += here;
            k += 1;
        }
        let (d, rise, rest) = (density[k], density[k + 1] - density[k], goal - before);
        let share = 2.0 * rest / (d + libm::sqrt((d * d + 2.0 * rise * rest).max(0.0)));
        out.push(from + width * (k as f64 + share));
    }
    out.push(1.0);
    out
}

/// The grid with a line between each two.
struct Doubled {
    x: Vec<f64>,
    y: Vec<f64>,
    points: Vec<C>,
    geometry: Geometry,
}

/// Lines, and the middle between each two.
fn doubled(lines: &[f64]) -> Vec<f64> {
    let mut out = vec![lines[0]];
    lines.windows(2).for_each(|w| out.extend([(w[0] + w[1]) / 2.0, w[1]]));
    out
}

impl Doubled {
    fn new(map: &Conformal, x: &[f64], y: &[f64], geometry: Geometry) -> Self {
        let (x, y) = (doubled(x), doubled(y));
        let point = |&b: &f64| x.iter().map(move |&a| C::new(a, b));
        let points = y.iter().flat_map(point).map(|z| map.point(z)).collect();
        Self { x, y, points, geometry }
    }

    fn at(&self, a: usize, b: usize) -> C {
        self.points[b * self.x.len() + a]
    }

    /// xi of a point, or 1 in the plane.
    fn radius(&self, a: usize, b: usize) -> f64 {
        match self.geometry {
            Geometry::Rotational => self.at(a, b).re,
            Geometry::Plane => 1.0,
        }
    }

    /// Between the line through nodes and the next one.
    fn width(&self, i: usize) -> f64 {
        self.x.get(2 * i + 2).map_or(1.0, |x| x - self.x[2 * i])
    }

    fn height(&self, j: usize) -> f64 {
        self.y.get(2 * j + 2).map_or(1.0, |y| y - self.y[2 * j])
    }

    /// The cells around a node: four, or less at the boundary.
    fn cells(&self, i: usize, j: usize) -> impl Iterator<Item = (C, f64)> {
        let row = move |b: usize| halves(i, self.x.len()).map(move |a| self.cell(a, b));
        halves(j, self.y.len()).flat_map(row)
    }

    /// Centre of gravity and size of a cell: two triangles, as areas or as volumes per 2π.
    fn cell(&self, a: usize, b: usize) -> (C, f64) {
        let [p, q, r, s] = [(a, b), (a + 1, b), (a + 1, b + 1), (a, b + 1)];
        let (mut centre, mut whole) = (C::new(0.0, 0.0), 0.0);
        for corners in [[p, q, r], [p, r, s]] {
            let [u, v, w] = corners.map(|(a, b)| self.at(a, b));
            let radii = corners.map(|(a, b)| self.radius(a, b));
            let (side, other) = (v - u, w - u);
            let area = (side.re * other.im - other.re * side.im) / 2.0;
            let sum: f64 = radii.iter().sum();
            let moment = u * radii[0] + v * radii[1] + w * radii[2];
            whole += area * sum / 3.0;
            centre += ((u + v + w) * sum + moment) * (area / 12.0);
        }
        (centre / whole, whole)
    }

    /// The integral of xi over the face to the right of a node.
    fn upright(&self, i: usize, j: usize) -> f64 {
        let part = |b: usize| {
            let radius = self.radius(2 * i + 1, b) + self.radius(2 * i + 1, b + 1);
            (self.y[b + 1] - self.y[b]) * radius / 2.0
        };
        halves(j, self.y.len()).map(part).sum()
    }

    /// The integral of xi over the face above a node.
    fn level(&self, i: usize, j: usize) -> f64 {
        let part = |a: usize| {
            let radius = self.radius(a, 2 * j + 1) + self.radius(a + 1, 2 * j + 1);
            (self.x[a + 1] - self.x[a]) * radius / 2.0
        };
        halves(i, self.x.len()).map(part).sum()
    }

    /// The outer surface of the volume around a boundary node (a, b), along x or along y.
    fn outer(&self, a: usize, b: usize, along_x: bool) -> f64 {
        let (k, lines) = if along_x { (a / 2, self.x.len()) } else { (b / 2, self.y.len()) };
        let point = |m: usize| if along_x { (m, b) } else { (a, m) };
        let part = |m: usize| {
            let (p, q) = (point(m), point(m + 1));
            let radius = self.radius(p.0, p.1) + self.radius(q.0, q.1);
            size(self.at(q.0, q.1) - self.at(p.0, p.1)) * radius / 2.0
        };
        halves(k, lines).map(part).sum()
    }
}

/// The cells beside the line of node `k`, of so many lines of the doubled grid.
fn halves(k: usize, lines: usize) -> std::ops::RangeInclusive<usize> {
    (2 * k).saturating_sub(1)..=(2 * k).min(lines - 2)
}

#[cfg(test)]
mod tests {
    use super::{
        super::conformal::tests::{ELLIPSE, formula},
        *,
    };
    use std::f64::consts::PI;

    /// Volume of an ellipsoid per 2π, its surface, and the area of half an ellipse.
    #[test]
    fn sizes_are_those_of_the_body() {
        let map = Conformal::new(&formula(ELLIPSE), 2048).unwrap();
        let mesh = Mesh::new(&map, 41, Geometry::Rotational, (1.0, 1.0));
        assert!((mesh.whole() / (2.0 / 3.0 * 9.0 * 8.0) - 1.0).abs() < 2e-3);
        let e = libm::sqrt(1.0 - 9.0 / 64.0);
        let surface = 9.0 + 24.0 / e * libm::asin(e);
        assert!((mesh.losses.iter().sum::<f64>() / surface - 1.0).abs() < 2e-3);
        assert!(mesh.faces.iter().all(|f| f.2 > 0.0 && f.2.is_finite()));
        assert!(mesh.volumes.iter().all(|v| *v > 0.0));
        // The ends of the axis, where equal lines would lie 3 mm apart.
        let first = (mesh.nodes[mesh.x.len()] - mesh.nodes[0]).norm();
        assert!(first < 1.0, "{first}");
        let plane = Mesh::new(&map, 41, Geometry::Plane, (1.0, 1.0));
        assert!((plane.whole() / (PI * 12.0) - 1.0).abs() < 2e-3);
    }

    #[test]
    fn points_between_nodes_are_sums_of_them() {
        let map = Conformal::new(&formula("1"), 64).unwrap();
        let mesh = Mesh::new(&map, 11, Geometry::Plane, (1.0, 1.0));
        for z in [C::new(0.0, 0.0), C::new(0.37, -0.81), C::new(1.0, 1.0)] {
            let weights = mesh.weights(z);
            let sum = |f: &dyn Fn(C) -> f64| {
                weights.iter().map(|(k, w)| w * f(mesh.nodes[*k])).sum::<f64>()
            };
            assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-12);
            assert!((sum(&|p| p.im) - map.point(z).im).abs() < 2e-3);
        }
        let middle = mesh.along(0.5);
        let height: f64 = middle.iter().map(|(k, w)| w * mesh.nodes[*k].im).sum();
        assert!(height.abs() < 1e-9);
        assert!((mesh.edge.last().unwrap().1 / PI - 1.0).abs() < 1e-2);
    }
}
