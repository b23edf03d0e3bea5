//! Outputs and reports of a grid's machines.
use super::{
    super::ports::{Input, Output},
    Machines, Pair,
};
use crate::{maths::expr::Scalar, solve::Dims};

impl Machines {
    /// The share of a load that is shed after what has arrived.
    pub(super) fn shed(&self, k: usize, vars: &[f64]) -> f64 {
        let before = vars[self.places().shed + k];
        (before + vars[self.dims.received()]).clamp(before.min(0.0), 1.0)
    }

    /// The part of an event's word that cannot be done.
    pub(super) fn beyond(&self, port: usize, vars: &[f64]) -> Option<String> {
        let value = vars[self.dims.received()];
        let (input, name) = &self.inputs[port];
        let (said, done) = match *input {
            Input::Shed(k) => (value, self.shed(k, vars) - vars[self.places().shed + k]),
            Input::Load(_) => (value, value.max(0.0)),
            _ => return None,
        };
        // Shares that are summed differ by their rounding.
        ((said - done).abs() > 1e-9).then(|| {
            let name = name.as_deref().unwrap_or("an input");
            format!("`{name}` says {said}, and {done} of the load is left to take: the rest has no effect")
        })
    }

    /// The frequency in Hz of machines with these shares; 0 where there is no voltage.
    pub(super) fn frequency<S: Scalar>(&self, vars: &[S], lit: &S, shares: &[S]) -> S {
        let hz = S::constant(self.frequency);
        let mean = shares
            .iter()
            .enumerate()
            .fold(S::constant(0.0), |sum, (k, share)| sum.add(&share.mul(self.speed(vars, k))));
        hz.mul(lit).add(&hz.mul(&mean))
    }

    /// Internal voltages, if an output needs them.
    pub(super) fn needed(&self, what: Output, vars: &[f64]) -> Vec<Pair<f64>> {
        if what.reads_voltages() { self.internal(vars) } else { Vec::new() }
    }

    /// An output as a sum of states, if it is one.
    pub(super) fn told_as_sum(
        &self,
        what: Output,
        vars: &[f64],
        to: &mut Vec<(usize, f64)>,
    ) -> bool {
        let (places, n) = (self.places(), self.units.len());
        let speed = |k: usize, factor: f64| (Dims::STATES + n + k, self.frequency * factor);
        to.clear();
        match what {
            Output::Centre => to.extend((0..n).map(|k| speed(k, vars[places.centre + k]))),
            Output::Frequency(k) => to.push(speed(k, 1.0)),
            Output::Angle(k) => to.push((Dims::STATES + k, 1.0)),
            Output::Shed | Output::Lost | Output::Islands => {}
            _ => return false,
        }
        true
    }

    /// An output, by voltages of buses (and whether they are dark) and by the frequencies of islands.
    pub(super) fn tell<S: Scalar>(
        &self,
        what: Output,
        (vars, e): (&[S], &[Pair<S>]),
        bus: &dyn Fn(usize) -> (Pair<S>, S),
        island: &dyn Fn(usize) -> S,
    ) -> S {
        let (places, n) = (self.places(), self.units.len());
        let mega = S::constant(self.base);
        let off = |place: usize| S::constant(1.0).sub(&vars[place]);
        match what {
            Output::Centre => {
                self.frequency(vars, &vars[places.alive], &vars[places.centre..places.centre + n])
            }
            Output::Shed => {
                let loads = self.topology.loads.iter().enumerate();
                loads.fold(S::constant(0.0), |sum, (k, load)| {
                    sum.add(&vars[places.shed + k].mul(&S::constant(load.power)))
                })
            }
            Output::Lost => vars[places.lost].clone(),
            Output::Islands => vars[places.lit].clone(),
            Output::Frequency(k) => {
                let hz = S::constant(self.frequency);
                hz.add(&hz.mul(self.speed(vars, k)))
            }
            Output::Angle(k) => vars[Dims::STATES + k].clone(),
            Output::Island(k) => island(k),
            Output::Generated(k, part) => {
                let (re, im) = self.current(vars, e, k);
                let x = S::constant(self.units[k].reactance);
                let v = (e[k].0.add(&x.mul(&im)), e[k].1.sub(&x.mul(&re)));
                power(&v, &(re, im), part).mul(&mega)
            }
            Output::Voltage(k) => {
                let (v, dark) = bus(k);
                // The root of a voltage that is zero for good has no derivative.
                v.0.mul(&v.0).add(&v.1.mul(&v.1)).add(&dark).sqrt().sub(&dark)
            }
            Output::Demanded(k, part) => {
                let load = &self.topology.loads[k];
                let (v, _) = bus(load.bus);
                let square = v.0.mul(&v.0).add(&v.1.mul(&v.1));
                let y = [load.admittance.re, -load.admittance.im][part];
                square.mul(&S::constant(y)).mul(&off(places.shed + k)).mul(&mega)
            }
            Output::Flow(k, part) => {
                let ([from, to], entries) = &self.topology.branches[k];
                let ends = [bus(*from).0, bus(*to).0];
                let [real, imaginary] = [
                    [entries[0].re, entries[1].re].map(S::constant),
                    [entries[0].im, entries[1].im].map(S::constant),
                ];
                let current = combine(&ends, &real, &imaginary);
                power(&ends[0], &current, part).mul(&off(places.open + k)).mul(&mega)
            }
        }
    }
}

/// The sum of numbers times factors, given by their parts.
pub(super) fn combine<S: Scalar>(numbers: &[Pair<S>], real: &[S], imaginary: &[S]) -> Pair<S> {
    let (mut re, mut im) = (S::constant(0.0), S::constant(0.0));
    for (((a, b), g), h) in numbers.iter().zip(real).zip(imaginary) {
        re = re.add(&g.mul(a)).sub(&h.mul(b));
        im = im.add(&g.mul(b)).add(&h.mul(a));
    }
    (re, im)
}

/// Active (0) or reactive (1) power of a voltage and a current.
fn power<S: Scalar>(v: &Pair<S>, i: &Pair<S>, part: usize) -> S {
    if part == 0 { v.0.mul(&i.0).add(&v.1.mul(&i.1)) } else { v.1.mul(&i.0).sub(&v.0.mul(&i.1)) }
}
