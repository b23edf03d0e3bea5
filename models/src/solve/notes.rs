//! Notes of the solution between messages: output ports over each step, as polynomials.
use super::{
    core::{Core, Scene},
    equations::{Dims, Equations},
    ode::Path,
};
use crate::{
    maths::poly,
    signal::piece::{Moment, Piece},
};
use serde::{Deserialize, Serialize};

/// The ports that are noted, how far, and pieces that nobody has taken yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Notes {
    ports: Vec<u16>,
    until: Moment,
    pieces: Vec<Piece>,
}

impl Notes {
    /// Notes of some outputs from the present on; `None` where one of them is no signal of the unit.
    pub(crate) fn begin<E>(scene: &Scene<E>, ports: &[u16]) -> Option<Box<Self>> {
        let signals = ports.iter().all(|&p| usize::from(p) < scene.dims.outputs);
        let until = Moment::at(scene.frame.last);
        signals.then(|| Box::new(Self { ports: ports.to_vec(), until, pieces: Vec::new() }))
    }

    /// Hands the notes out.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Notes the solution up to the beginning of the next step: it will not change any more.
    #[inline(never)]
    pub(crate) fn step<E: Equations>(&mut self, scene: &Scene<E>, core: &impl Core<E>) {
        let t = core.time();
        self.go_on(scene, core, (t, Moment::after(scene.frame.last, t, scene.rate)));
    }

    /// Notes the solution up to so many ticks after the last transition.
    #[inline(never)]
    pub(crate) fn arrive<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        core: &impl Core<E>,
        ticks: i64,
    ) {
        let now = Moment::at(scene.frame.last.saturating_add(ticks));
        self.go_on(scene, core, (scene.seconds(ticks), now));
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
        let (mut vars, mut x) = (Vec::new(), vec![0.0; scene.dims.states]);
        self.until = now;
        if let Some(path) = core.path().filter(|path| path.start() <= begin + 1e-6 * (t - begin)) {
            core.states(begin, &mut x);
            scene.fill(begin, &x, &mut vars);
            let step = Step { path, scene, vars: &vars, begin, length: t - begin };
            let mut sums = self.ports.iter().map(|&port| step.sum(port));
            if let Some(all) = sums.by_ref().collect::<Option<Vec<_>>>() {
                let piece = |(&port, coefficients)| Piece { port, from, to: now, coefficients };
                self.pieces.extend(self.ports.iter().zip(all).map(piece));
                return;
            }
        }
        let Self { ports, pieces, .. } = self;
        let mut sample = |theta: f64, row: &mut [f64]| {
            let at = if theta == 1.0 { t } else { begin + theta * (t - begin) };
            core.states(at, &mut x);
            scene.fill(at, &x, &mut vars);
            for (value, &port) in row.iter_mut().zip(&*ports) {
                *value = scene.equations.output(port.into(), &vars);
            }
        };
        let place = |theta: f64| match theta {
            0.0 => from,
            1.0 => now,
            _ => Moment::after(from.tick, from.part + theta * (t - begin), rate),
        };
        let rounding = f64::EPSILON * now.seconds(rate).abs() / (t - begin);
        Piece::cut(ports.len(), rounding, &mut sample, &mut |(low, high), k, coefficients| {
            let (from, to) = (place(low), place(high));
            let coefficients = coefficients.to_vec();
            pieces.push(Piece { port: ports[k], from, to, coefficients });
        });
    }
}

/// A step whose states are polynomials.
struct Step<'a, E> {
    path: &'a Path,
    scene: &'a Scene<E>,
    /// Where it begins.
    vars: &'a [f64],
    begin: f64,
    length: f64,
}

impl<E: Equations> Step<'_, E> {
    /// An output over the step, if it is a sum of states.
    fn sum(&self, port: u16) -> Option<Vec<f64>> {
        let Self { path, scene, vars, .. } = *self;
        let (mut terms, mut c) = (Vec::new(), vec![0.0; path.order() + 1]);
        if !scene.equations.sum(port.into(), vars, &mut terms) {
            return None;
        }
        for (place, factor) in terms {
            let state = place.checked_sub(Dims::STATES).filter(|&i| i < scene.dims.states);
            match state {
                Some(i) => c.iter_mut().zip(path.row(i)).for_each(|(c, row)| *c += factor * row),
                // Only events change discrete values; the time and inputs go on.
                None if place >= scene.dims.first_discrete() => {}
                None => return None,
            }
        }
        poly::shift(&mut c, self.begin - path.start());
        let mut power = 1.0;
        for c in &mut c {
            *c *= power;
            power *= self.length;
        }
        c[0] = scene.equations.output(port.into(), vars);
        c.truncate(Piece::length(&c));
        Some(c)
    }
}
