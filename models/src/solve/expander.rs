//! Taylor series of states, outputs and indicators of a unit.
use super::{
    core::Scene,
    dual::Dual,
    equations::{Dims, Equations, Programs, Work},
    linear::Linear,
    ode::Path,
    series::Series,
    speed::Speed,
};
use crate::{
    maths::{
        expr::{Degree, Program, Tape, TapeMemory, VarId},
        poly,
    },
    signal::value::Segment,
};

/// Highest power of a segment.
pub const MAX_SEGMENT_ORDER: usize = 12;

/// How a function of the variables is known along a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It is this variable.
    Variable(usize),
    /// It has this series.
    Series(Degree),
    /// It can be evaluated, no more.
    Sampled,
}

/// A program with its tape.
#[derive(Debug, Clone)]
pub(super) struct Functions {
    pub tape: Tape,
    pub forms: Vec<Form>,
    /// Largest degree of a polynomial among the functions; plain variables are of degree one.
    pub degree: u32,
    /// Whether they all are states, so that no other variable is needed.
    pub plain: bool,
    memory: TapeMemory,
}

impl Functions {
    /// `degrees` are those of the functions. `largest` is the degree up to which polynomials are
    /// followed where the path itself is one exactly; none if the path is the beginning of a series,
    /// along which all smooth functions have one too.
    fn new(program: Program, dims: &Dims, degrees: Vec<Degree>, largest: Option<u32>) -> Self {
        let (states, past) = (Dims::STATES..dims.first_input(), dims.first_discrete());
        let moves = |var: VarId| (var.0 as usize) < past;
        let form = |(k, degree): (usize, Degree)| match program.variable(k) {
            Some(var) => Form::Variable(var),
            None if is_followed(degree, largest) => Form::Series(degree),
            None => Form::Sampled,
        };
        let forms: Vec<Form> = degrees.into_iter().enumerate().map(form).collect();
        let degree = |form: &Form| match form {
            Form::Series(Degree::Polynomial(d)) => Some(*d),
            _ => None,
        };
        let degree = forms.iter().filter_map(degree).fold(1, u32::max);
        let state = |form: &Form| matches!(form, Form::Variable(var) if states.contains(var));
        let plain = forms.iter().all(state);
        let tape = Tape::new(program, moves);
        Self { tape, forms, degree, plain, memory: TapeMemory::default() }
    }

    /// Whether any function has a series.
    #[inline]
    pub(super) fn expands(&self) -> bool {
        self.forms.iter().any(|f| matches!(f, Form::Series(_)))
    }

    /// The same as [`along`](Self::along) for `plain` functions, straight from a path at `t`.
    pub(super) fn states_along(&self, path: &Path, t: f64, stride: usize, rows: &mut Vec<f64>) {
        rows.resize(self.forms.len() * stride, 0.0);
        let by = t - path.start();
        let mut rest = &mut rows[..];
        for form in &self.forms {
            let (row, others) = rest.split_at_mut(stride);
            rest = others;
            if let Form::Variable(var) = *form {
                copy(path.row(var - Dims::STATES), row);
                if by != 0.0 {
                    poly::shift(row, by);
                }
            }
        }
    }

    /// Writes the series of the functions around the start of `states`, in rows of `stride` in the
    /// order of the functions. `vars` are the variables there.
    pub(super) fn along<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        states: &impl Rows,
        stride: usize,
        rows: &mut Vec<f64>,
    ) {
        rows.resize(self.forms.len() * stride, 0.0);
        if self.expands() {
            let fill = |var: usize, row: &mut [f64]| fill(scene, t, states, var, row);
            self.tape.along(&mut self.memory, vars, stride, fill);
        }
        let mut rest = &mut rows[..];
        for (k, form) in self.forms.iter().enumerate() {
            let (row, others) = rest.split_at_mut(stride);
            rest = others;
            match *form {
                Form::Variable(var) => {
                    row[0] = vars[var];
                    fill(scene, t, states, var, &mut row[1..]);
                }
                Form::Series(_) => copy(self.tape.result(&self.memory, k), row),
                Form::Sampled => row.fill(0.0),
            }
        }
    }
}

/// Whether a function of this form has a series along a path; see [`Functions::new`].
fn is_followed(degree: Degree, largest: Option<u32>) -> bool {
    match (degree, largest) {
        (Degree::Switching, _) | (Degree::Smooth, Some(_)) => false,
        (Degree::Polynomial(d), Some(largest)) => d <= largest,
        _ => true,
    }
}

/// Series of states.
pub(super) trait Rows {
    /// Coefficients of state `i`.
    fn row(&self, i: usize) -> &[f64];
}

impl Rows for Path {
    fn row(&self, i: usize) -> &[f64] {
        Path::row(self, i)
    }
}

/// Rows of one length, one after another.
pub(super) struct Table<'a>(pub &'a [f64], pub usize);

impl Rows for Table<'_> {
    fn row(&self, i: usize) -> &[f64] {
        &self.0[i * self.1..][..self.1]
    }
}

/// Coefficients of a variable from the first power on, at offset `t`.
#[inline]
fn fill<E: Equations>(scene: &Scene<E>, t: f64, states: &impl Rows, var: usize, row: &mut [f64]) {
    let (first, past) = (scene.dims.first_input(), scene.dims.first_discrete());
    if var == 0 {
        row.fill(0.0);
        row[0] = 1.0;
    } else if var < first {
        copy(&states.row(var - Dims::STATES)[1..], row);
    } else if var < past {
        let held = &scene.frame.inputs[var - first];
        let (c, length) = expanded(&held.segment, scene.age(held, t));
        copy(&c[1..length], row);
    } else {
        row.fill(0.0);
    }
}

/// The first coefficients of a row; those that it does not have are zero.
// One by one: there are few, and a call to copy them costs more.
#[inline]
pub(super) fn copy(from: &[f64], to: &mut [f64]) {
    let both = from.len().min(to.len());
    let (common, rest) = to.split_at_mut(both);
    for (to, from) in common.iter_mut().zip(from) {
        *to = *from;
    }
    for to in rest {
        *to = 0.0;
    }
}

/// Coefficients of a segment around `age` seconds after its tag, and how many there are.
pub(super) fn expanded(segment: &Segment, age: f64) -> ([f64; poly::MAX_DEGREE + 1], usize) {
    let mut c = [0.0; poly::MAX_DEGREE + 1];
    let own = segment.coefficients();
    let length = own.len().min(c.len());
    c[..length].copy_from_slice(&own[..length]);
    poly::shift(&mut c[..length], age);
    (c, length)
}

/// Segments that last less than this share of a step are too many.
const CROWDED: f64 = 1.0 / 16.0;

/// Whether the last segment of some output did not last long on a step that has room for many.
fn is_crowded<E>(scene: &Scene<E>, path: &Path, t: f64) -> bool {
    let sent = scene.connected.iter().zip(&scene.frame.sent).filter(|(connected, _)| **connected);
    let Some(last) = sent.map(|(_, held)| held.at).max() else { return false };
    let lasted = scene.seconds(scene.frame.last.saturating_sub(last));
    let within = path.start() <= t && t < path.end();
    !scene.frame.resting && within && lasted < CROWDED * (path.end() - path.start())
}

/// Rows of the states around `t`, by the polynomials of a step.
fn along(path: &Path, t: f64, stride: usize, rows: &mut [f64]) {
    for (i, row) in rows.chunks_exact_mut(stride).enumerate() {
        let mut c = [0.0; poly::MAX_DEGREE + 1];
        let length = path.row(i).len();
        c[..length].copy_from_slice(path.row(i));
        poly::shift(&mut c[..length], t - path.start());
        row.copy_from_slice(&c[..stride]);
    }
}

/// Series of states that do not move.
fn still(x: &[f64], stride: usize, rows: &mut [f64]) {
    for (row, x) in rows.chunks_exact_mut(stride).zip(x) {
        row.fill(0.0);
        row[0] = *x;
    }
}

/// Highest power among the inputs.
pub(super) fn input_order<E: Equations>(scene: &Scene<E>) -> usize {
    scene.frame.inputs.iter().map(|held| held.segment.order()).max().unwrap_or(0)
}

/// Everything about a unit that is known as series.
#[derive(Debug, Clone)]
pub(super) struct Expander {
    /// None if the equations cannot be recorded.
    programs: Option<Compiled>,
    work: Work<Series<4>>,
    rows: Vec<f64>,
    results: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Compiled {
    derivatives: Tape,
    /// Powers to which the equations' explicit time goes, if they are affine.
    affine: Option<usize>,
    /// For steps of affine equations, if their matrix says all.
    linear: Option<Linear>,
    speed: Speed,
    /// For steps, and for segments, which have other lengths.
    steps: TapeMemory,
    segments: TapeMemory,
    outputs: Functions,
}

impl Compiled {
    /// The highest power of time by which affine equations are driven.
    fn driven<E: Equations>(&self, scene: &Scene<E>) -> Option<usize> {
        self.affine.map(|time| input_order(scene).max(time))
    }

    /// The solution's series where the matrix does not say all.
    // Not inlined: what is done where it does stays short.
    #[inline(never)]
    fn solve<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        stride: usize,
        rows: &mut [f64],
    ) -> usize {
        if scene.frame.resting {
            still(&vars[Dims::STATES..], stride, rows);
            return 1;
        }
        let ends = self.driven(scene);
        let fill = |var: usize, row: &mut [f64]| fill(scene, t, &Table(&[], 0), var, row);
        let (tape, memory) = (&self.derivatives, &mut self.steps);
        let algebraic = scene.dims.algebraic;
        if algebraic > 0 {
            let at = (vars, Dims::STATES);
            tape.solve_algebraic(memory, at, algebraic, stride, fill, rows);
            return stride;
        }
        tape.solve(memory, (vars, Dims::STATES), (stride, ends), fill, rows)
    }
}

impl Expander {
    /// The expander, and the indicators and the outputs as the event search needs them: `exact`
    /// tells whether paths are polynomials rather than the beginnings of series.
    pub(super) fn new<E: Equations>(
        equations: &E,
        exact: bool,
    ) -> (Self, Option<(Functions, Functions)>) {
        let dims = equations.dims();
        let past = dims.first_discrete();
        let moves = move |var: VarId| (var.0 as usize) < past;
        // Up to degree three, so that powers of a fifth-order path stay within bounds.
        let largest = exact.then_some(3);
        let mut watched = None;
        let programs = equations.programs().map(|programs| {
            let Programs { derivatives, outputs, indicators } = programs;
            let linear = |d: &Degree| *d <= Degree::Polynomial(1);
            let timed = derivatives.inputs().iter().any(|id| id.0 == 0);
            let affine = derivatives.degrees(moves).iter().all(linear);
            let linear = Linear::of(&derivatives, &dims).filter(|_| affine);
            let degrees = outputs.degrees(moves);
            let forms = indicators.degrees(moves);
            watched = Some((
                Functions::new(indicators, &dims, forms, largest),
                Functions::new(outputs.clone(), &dims, degrees.clone(), largest),
            ));
            // A segment follows the branch that is taken at its tag.
            let mut sent = Functions::new(outputs, &dims, degrees, None);
            for form in sent.forms.iter_mut().filter(|f| **f == Form::Sampled) {
                *form = Form::Series(Degree::Switching);
            }
            Compiled {
                affine: affine.then_some(usize::from(timed)),
                linear,
                speed: Speed::default(),
                derivatives: Tape::new(derivatives, moves),
                steps: TapeMemory::default(),
                segments: TapeMemory::default(),
                outputs: sent,
            }
        });
        let (work, rows, results) = (Work::default(), Vec::new(), Vec::new());
        (Self { programs, work, rows, results }, watched)
    }

    /// Whether there are series of any order.
    pub(super) fn any_order(&self) -> bool {
        self.programs.is_some()
    }

    /// Whether the equations are affine in time, states and inputs together.
    pub(super) fn affine(&self) -> bool {
        self.programs.as_ref().is_some_and(|c| c.affine.is_some())
    }

    /// How often all states of affine equations can change by themselves per second at most, and the highest
    /// power of time by which they are driven.
    pub(super) fn speed<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        dual: &mut Dual,
        vars: &[f64],
    ) -> Option<(f64, usize)> {
        // With algebraic variables the matrix is not that of the states alone.
        let compiled = self.programs.as_mut().filter(|_| scene.dims.algebraic == 0)?;
        let power = compiled.driven(scene)?;
        Some((compiled.speed.of(scene, dual, vars), power))
    }

    /// The matrix of the equations, if it is known to make parabolas of all solutions.
    #[inline]
    pub(super) fn parabolic<E>(&mut self, scene: &Scene<E>) -> Option<&mut Linear> {
        let linear = self.programs.as_mut()?.linear.as_mut()?;
        (!scene.frame.resting && linear.parabolic(&scene.frame.discrete)).then_some(linear)
    }

    /// The solution's series around `t`; see [`Tape::solve`].
    #[inline]
    pub(super) fn solve<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        memory: (&mut Dual, &mut Work),
        (t, vars): (f64, &[f64]),
        stride: usize,
        rows: &mut [f64],
    ) -> Option<usize> {
        let compiled = self.programs.as_mut()?;
        match &mut compiled.linear {
            Some(linear) if !scene.frame.resting => {
                Some(linear.solve(scene, memory, vars, stride, rows))
            }
            _ => Some(compiled.solve(scene, (t, vars), stride, rows)),
        }
    }

    /// Learns what stays the same, for the variables `vars`.
    pub(super) fn prepare<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        dual: &mut Dual,
        vars: &[f64],
    ) {
        if let Some(linear) = self.programs.as_mut().and_then(|c| c.linear.as_mut()) {
            linear.learn(scene, dual, vars);
        }
    }

    /// The connected outputs' series around `t`, up to powers of `order`.
    ///
    /// **Why there are two.** The series of the equations goes beyond the present step. But the solution is off by the
    /// tolerance, and so are its slopes; where that is much beside the band that receivers want, a series by the
    /// equations leaves the solution at once, and again. Then it is the series of the `path` of the step, if there is
    /// one.
    pub(super) fn segments<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        order: usize,
        path: Option<&Path>,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        if !scene.connected.contains(&true) {
            return;
        }
        let stride = order + 1;
        let Some(compiled) = &mut self.programs else {
            return self.evaluated(scene, (t, vars), order, take);
        };
        self.rows.resize(scene.dims.states * stride, 0.0);
        let inputs = |var: usize, row: &mut [f64]| fill(scene, t, &Table(&[], 0), var, row);
        let Compiled { derivatives, segments, outputs, .. } = compiled;
        let rows = &mut self.rows;
        if let Some(path) = path.filter(|path| is_crowded(scene, path, t)) {
            along(path, t, stride, rows);
        } else if scene.frame.resting {
            still(&vars[Dims::STATES..], stride, rows);
        } else if scene.dims.algebraic > 0 {
            let (at, algebraic) = ((vars, Dims::STATES), scene.dims.algebraic);
            derivatives.solve_algebraic(segments, at, algebraic, stride, inputs, rows);
        } else {
            derivatives.solve(segments, (vars, Dims::STATES), (stride, None), inputs, rows);
        }
        let states = Table(&self.rows, stride);
        outputs.along(scene, (t, vars), &states, stride, &mut self.results);
        for (port, row) in self.results.chunks_exact(stride).enumerate() {
            if scene.connected[port] {
                take(port, within(row, scene.tick, scene.allowed(row[0])));
            }
        }
    }

    /// The same where there are no programs, up to the third power, by running the equations on
    /// series as often as there are powers.
    fn evaluated<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (t, vars): (f64, &[f64]),
        order: usize,
        take: &mut dyn FnMut(usize, &[f64]),
    ) {
        let dims = scene.dims;
        let order = order.min(3);
        let mut s: Vec<Series<4>> = vars.iter().map(|&v| Series::from_slice(&[v])).collect();
        s[0].0[1] = 1.0;
        for (held, var) in scene.frame.inputs.iter().zip(&mut s[dims.first_input()..]) {
            let (c, length) = expanded(&held.segment, scene.age(held, t));
            *var = Series::from_slice(&c[..length]);
        }
        let mut dx = vec![Series::default(); dims.states];
        for k in 1..=if scene.frame.resting { 0 } else { order } {
            scene.equations.derivatives(&s, &mut self.work, &mut dx);
            for (x, dx) in s[Dims::STATES..].iter_mut().zip(&dx) {
                x.0[k] = dx.0[k - 1] / k as f64;
            }
        }
        let mut y = vec![Series::default(); dims.outputs];
        scene.equations.outputs(&s, &mut self.work, &mut y);
        for (port, y) in y.iter().enumerate() {
            if scene.connected[port] {
                take(port, &y.0[..=order]);
            }
        }
    }
}

/// The part of a series that holds for a tick, for which receivers have it at least: the series of a root just behind zero
/// holds for less, and leads far away.
fn within(row: &[f64], tick: f64, band: f64) -> &[f64] {
    if row.len() < 3 || row.last() == Some(&0.0) {
        return row;
    }
    let (mut power, mut most) = (tick, (row[1] * tick).abs());
    for (k, c) in row.iter().enumerate().skip(2) {
        power *= tick;
        let term = (c * power).abs();
        if most > 0.0 && term > band.max(2.0 * most) {
            return &row[..k];
        }
        most = most.max(term);
    }
    row
}
