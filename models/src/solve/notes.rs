//! Notes of the solution between messages: output ports over each step, as polynomials.
use super::{
    bounded::Bounded,
    core::{Core, Scene},
    equations::{Dims, Equations, Work},
    ode::Path,
};
use crate::{
    maths::poly,
    signal::{
        cut::{Curves, Cuts, cut},
        piece::{Coefficients, Moment, Piece},
    },
};
use serde::{Deserialize, Serialize};

/// The ports that are noted, how far, and pieces that nobody has taken yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Notes {
    ports: Vec<u16>,
    until: Moment,
    /// Where the values of ports that are constant sums began to stand, as far as they are not noted.
    stood: Moment,
    pieces: Vec<Piece>,
    cuts: Cuts,
    /// The ports as sums, until something changes at a transition; empty before somebody asked.
    sums: Vec<Option<Sum>>,
}

/// The share of a variable by which its polynomial may be rounded.
const ROUNDED: f64 = 4.0 * f64::EPSILON;

/// An output that is a number and states with factors.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sum {
    number: f64,
    states: Vec<(usize, f64)>,
}

impl Notes {
    /// Notes of some outputs from the present on; `None` where one of them is no signal of the unit.
    pub(crate) fn begin<E>(scene: &Scene<E>, ports: &[u16]) -> Option<Box<Self>> {
        let signals = ports.iter().all(|&p| usize::from(p) < scene.dims.outputs);
        let until = Moment::at(scene.frame.last);
        let (ports, pieces, sums) = (ports.to_vec(), Vec::new(), Vec::new());
        let (stood, cuts) = (until, Cuts::default());
        signals.then(|| Box::new(Self { ports, until, stood, pieces, cuts, sums }))
    }

    /// Hands the notes out.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        self.note_standing();
        std::mem::take(&mut self.pieces)
    }

    /// Notes the values that have stood since `stood`: one piece each, however many steps the method made.
    fn note_standing(&mut self) {
        let (from, to) = (std::mem::replace(&mut self.stood, self.until), self.until);
        if from >= to {
            return;
        }
        for (&port, sum) in self.ports.iter().zip(&self.sums) {
            if let Some(value) = sum.as_ref().and_then(Sum::constant) {
                self.pieces.push(Piece::new(port, (from, to), Coefficients::from_slice(&[value])));
            }
        }
    }

    /// Notes the solution up to the beginning of the next step: it will not change any more.
    #[inline(never)]
    pub(crate) fn step<E: Equations>(&mut self, scene: &Scene<E>, core: &impl Core<E>) {
        let t = core.time();
        let ticks = t * scene.rate;
        // A step that ends on a tick but for rounding ends there, as a transition at that tick will say.
        let now = match (ticks - ticks.round()).abs() <= ROUNDED * ticks {
            true => Moment::at(scene.frame.last.saturating_add(ticks.round() as i64)),
            false => Moment::after(scene.frame.last, t, scene.rate),
        };
        self.go_on(scene, core, (t, now));
    }

    /// Notes the solution up to so many ticks after the last transition, where there may be the next one.
    #[inline(never)]
    pub(crate) fn arrive<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        core: &impl Core<E>,
        (ticks, transition): (i64, bool),
    ) {
        let now = Moment::at(scene.frame.last.saturating_add(ticks));
        self.go_on(scene, core, (scene.seconds(ticks), now));
        self.note_standing();
        self.sums.clear();
        let mut ended = self.pieces.iter_mut().rev().take_while(|piece| piece.to == now).peekable();
        match ended.peek() {
            Some(_) => ended.for_each(|piece| piece.event = transition),
            None if transition => self.end(scene, core, (scene.seconds(ticks), now)),
            None => {}
        }
    }

    /// Notes that a transition ends the pieces up to now, which have been taken: by one at this instant.
    fn end<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        core: &impl Core<E>,
        (t, now): (f64, Moment),
    ) {
        let vars = variables(scene, core, t);
        for &port in &self.ports {
            let value = scene.equations.output(port.into(), &vars);
            let piece = Piece::new(port, (now, now), Coefficients::from_slice(&[value]));
            self.pieces.push(Piece { event: true, ..piece });
        }
    }

    fn go_on<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        core: &impl Core<E>,
        (t, now): (f64, Moment),
    ) {
        let (rate, from) = (scene.rate, self.until);
        if now <= from {
            return;
        }
        let begin = from.since(Moment::at(scene.frame.last), rate);
        if let Some(path) = core.path().filter(|path| path.start() <= begin + 1e-6 * (t - begin)) {
            if self.sums.is_empty() {
                let vars = variables(scene, core, begin);
                let sum = |&port: &u16| Sum::of(scene, port.into(), &vars);
                self.sums = self.ports.iter().map(sum).collect();
            }
            if self.sums.iter().all(Option::is_some) {
                self.until = now;
                // Instants are rounded on their way through ticks: a step that is noted whole needs no shift.
                let begun = begin - path.start();
                let whole = begun.abs() <= 2.0 * ROUNDED * begin.abs().max(scene.tick);
                let step = (if whole { 0.0 } else { begun }, t - begin);
                let moving = self.ports.iter().zip(self.sums.iter().flatten());
                for (&port, sum) in moving.filter(|(_, sum)| sum.constant().is_none()) {
                    self.pieces.push(Piece::new(port, (from, now), sum.over(path, step)));
                }
                return;
            }
        }
        self.note_standing();
        (self.until, self.stood) = (now, now);
        let Self { ports, pieces, cuts, .. } = self;
        let mut outputs = Outputs { scene, core, ports, begin, end: t, rows: Rows::default() };
        let place = |theta: f64| match theta {
            0.0 => from,
            1.0 => now,
            _ => Moment::after(from.tick, from.part + theta * (t - begin), rate),
        };
        let rounding = f64::EPSILON * now.seconds(rate).abs() / (t - begin);
        let known = (rounding, &mut *cuts);
        let mut take = |(low, high), k: usize, coefficients: &[f64]| {
            let (from, to) = (place(low), place(high));
            pieces.push(Piece::new(ports[k], (from, to), coefficients.into()));
        };
        cut((ports.len(), 0), known, &mut outputs, &mut take);
        cuts.mark(pieces, ports, from);
    }
}

/// All variables at `t`.
fn variables<E: Equations>(scene: &Scene<E>, core: &impl Core<E>, t: f64) -> Vec<f64> {
    let (mut vars, mut x) = (Vec::new(), vec![0.0; scene.dims.states]);
    core.states(t, &mut x);
    scene.fill(t, &x, &mut vars);
    vars
}

impl Sum {
    /// A port, if it is one with these variables.
    fn of<E: Equations>(scene: &Scene<E>, port: usize, vars: &[f64]) -> Option<Self> {
        let (mut terms, dims) = (Vec::new(), scene.dims);
        if !scene.equations.sum(port, vars, &mut terms) {
            return None;
        }
        // Discrete values change at transitions only; sides, inputs and the time do not wait for these.
        let discrete = dims.first_discrete()..dims.first_side();
        terms.retain(|(place, _)| !discrete.contains(place));
        let state = |&(place, factor): &(usize, f64)| {
            let i = place.checked_sub(Dims::STATES).filter(|&i| i < dims.states)?;
            Some((i, factor))
        };
        let states = terms.iter().map(state).collect::<Option<Vec<_>>>()?;
        let known: f64 = states.iter().map(|(i, factor)| factor * vars[Dims::STATES + i]).sum();
        Some(Self { number: scene.equations.output(port, vars) - known, states })
    }

    /// Its value, if it does not move.
    fn constant(&self) -> Option<f64> {
        self.states.is_empty().then_some(self.number)
    }

    /// Its polynomial on a part of a step: from where, and how long, in seconds.
    fn over(&self, path: &Path, (from, length): (f64, f64)) -> Coefficients {
        let mut c = Coefficients::from_elem(0.0, path.order() + 1);
        for (i, factor) in &self.states {
            c.iter_mut().zip(path.row(*i)).for_each(|(c, row)| *c += factor * row);
        }
        poly::shift(&mut c, from);
        let mut power = 1.0;
        for c in &mut c {
            *c *= power;
            power *= length;
        }
        c[0] += self.number;
        c.truncate(Piece::length(&c));
        c
    }
}

/// Outputs of a unit over a part of a step, from `begin` to `end` in seconds.
struct Outputs<'a, E, C> {
    scene: &'a Scene<E>,
    core: &'a C,
    ports: &'a [u16],
    begin: f64,
    end: f64,
    rows: Rows,
}

/// Room for states, variables, and outputs with their roundings.
#[derive(Default)]
struct Rows {
    x: Vec<f64>,
    vars: Vec<f64>,
    doubted: Vec<Bounded<1>>,
    work: Work<Bounded<1>>,
    y: Vec<Bounded<1>>,
}

impl<E: Equations, C: Core<E>> Outputs<'_, E, C> {
    /// Leaves the variables at a place in the rows.
    fn look(&mut self, theta: f64) {
        let Rows { x, vars, .. } = &mut self.rows;
        let at = if theta == 1.0 { self.end } else { self.begin + theta * (self.end - self.begin) };
        x.resize(self.scene.dims.states, 0.0);
        self.core.states(at, x);
        self.scene.fill(at, x, vars);
    }
}

impl<E: Equations, C: Core<E>> Curves for Outputs<'_, E, C> {
    fn values(&mut self, theta: f64, row: &mut [f64]) {
        self.look(theta);
        for (value, &port) in row.iter_mut().zip(self.ports) {
            *value = self.scene.equations.output(port.into(), &self.rows.vars);
        }
    }

    fn roundings(&mut self, theta: f64, row: &mut [f64]) {
        self.look(theta);
        let Rows { vars, doubted, work, y, .. } = &mut self.rows;
        doubted.clear();
        doubted.extend(vars.iter().map(|v| Bounded::new(*v, ROUNDED * v.abs())));
        y.resize(self.scene.dims.outputs, Bounded::default());
        self.scene.equations.outputs(doubted, work, y);
        for (bound, &port) in row.iter_mut().zip(self.ports) {
            *bound = y[usize::from(port)].error[0];
        }
    }
}
