//! Power-balanced coupling: what two units are told of each other carries the same power.
//!
//! Moshagen, "On meeting energy balance errors in co-simulations" (2019), as given in SNE 31(1)
//! 2021, pages 9 to 15. A *bond* is a pair of signals whose product is power: unit A
//! gives the effort e and is told the flow, unit B gives the flow f and is told the effort.
//! Extrapolated signals let energy appear from nothing: A gets e ũ_f, B gives ũ_e f, and these
//! differ. Here both are told what gives one and the same power P (equation 17): ũ_f = P/e and
//! ũ_e = P/f, with P = ef as extrapolated at the exchange, to the order of the extrapolation.
//!
//! # The receivers' own states
//! In P/e stands what A *does* under ũ_f, not what it was expected to do. The paper has units take
//! P as an input and divide by their own state. Here units are as ever: within a macro step the
//! coupler hears A's own output, and tells the quotient of series anew whenever A's solution leaves
//! what it last sent, or the quotient leaves P by more than a tolerance.
//!
//! # Where P/e or P/f is singular
//! The paper gives no rule for steps in which e or f comes near to zero. There the unit that would
//! be given a quotient by that is told the plain extrapolation, and the *other* one is given the
//! power which that one really takes: with f near zero B hears ẽ, and A hears ẽf/e. So the balance
//! holds in such steps, too. Where both are near zero, both hear the extrapolation.
//!
//! A signal is near zero if, extrapolated straight, it falls by more than `FALL` of itself within
//! the step. Under constant power f² moves linearly, f(H)² = (f + f'H)² - (f'H)², and comes to zero
//! when f falls by a half. A signal that grows more than `GROWTH`-fold began too near to zero. A
//! signal that falls to `LEAST` of itself after all is divided by no longer.
//!
//! # Outputs that follow what is told
//! A damper in the unit of the spring makes the force follow the told speed at once: then P/e is found by
//! fixed-point iteration at that instant, e being heard again after each telling. It contracts where
//! the damper's force is below the whole one. Where it does not settle in `ROUNDS` rounds, e
//! is treated as a signal near zero for the rest of the step.
use super::line::Line;
use crate::{
    maths::poly::{MAX_DEGREE, eval},
    signal::{NEVER, Poly, Timer, horizon, shift, trimmed},
};
use serde::{Deserialize, Serialize};

/// See the module: greatest relative fall and growth of a signal to divide by.
const FALL: f64 = 0.4;
const GROWTH: f64 = 4.0;
const LEAST: f64 = 0.25;
/// Tellings at one instant after which a quotient does not settle.
const ROUNDS: u32 = 64;
/// Nor does one with coefficients beyond this; on the way high powers may be far off.
const BEYOND: f64 = 1e150;
/// Residual of energy, relative to 1 + what passed, up to which the balance counts as exact.
const EXACT: f64 = 1e-9;
/// Highest power of a quotient.
const ORDER: usize = 12;

/// The information for one side of a bond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Side {
    /// The plain extrapolation.
    Free,
    /// The agreed power by its own output.
    Agreed,
    /// The power that the other side really takes by its own output.
    Follows,
}

/// Two signals whose product is power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bond {
    /// The unit that gives signal 0 is told signal 1, and the other way round.
    signals: [u16; 2],
    /// Their extrapolations at the last exchange.
    ahead: [Vec<f64>; 2],
    /// Per signal, how those who hear it are told.
    sides: [Side; 2],
    /// The agreed power since the last exchange.
    power: Vec<f64>,
    /// Per signal, the last instant at which its quotient was told, and how often.
    rounds: [(i64, u32); 2],
    /// Energy that one unit gave and the other one did not take, and all that passed.
    residual: f64,
    passed: f64,
}

impl Bond {
    /// Settles how both sides are told in a step of `step` seconds; `slopes` are those of the
    /// sources, for signals that are held.
    fn agree(&mut self, step: f64, slopes: [f64; 2]) {
        let [a, b] = &self.ahead;
        self.power = product(a, b, a.len().max(b.len()) - 1);
        let falls = |k: usize| {
            let p: &[f64] = &self.ahead[k];
            let held = [p[0], slopes[k]];
            divides(if p.len() > 1 { p } else { &held }, step)
        };
        // Receivers of a signal divide by the other one.
        self.sides = match (falls(1), falls(0)) {
            (true, true) => [Side::Agreed; 2],
            (true, false) => [Side::Follows, Side::Free],
            (false, true) => [Side::Free, Side::Follows],
            (false, false) => [Side::Free; 2],
        };
    }

    /// Stops a division by a signal that has come too near to zero, or one that does not settle.
    fn look_after(&mut self, now: i64, values: [f64; 2]) {
        for k in 0..2 {
            let (value, start) = (values[1 - k], self.ahead[1 - k][0]);
            let near_zero = value * start <= LEAST * start * start;
            if self.sides[k] != Side::Free && (near_zero || self.tellings(k, now) >= ROUNDS) {
                let other = self.sides[1 - k];
                self.sides[k] = Side::Free;
                self.sides[1 - k] = if other == Side::Agreed { Side::Follows } else { Side::Free };
            }
        }
    }
}

impl Bond {
    /// How often a quotient was told at this instant.
    fn tellings(&self, k: usize, now: i64) -> u32 {
        let (at, rounds) = self.rounds[k];
        if at == now { rounds } else { 0 }
    }
}

/// The bonds of a coupler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    bonds: Vec<Bond>,
    tolerance: f64,
    /// Tick of the last exchange, and of the next time to tell quotients anew.
    since: i64,
    due: Option<i64>,
    /// Seconds from the last exchange to the next one.
    step: f64,
    /// Tick up to which energy has been counted, and the residual, relative to what passed, that is told next.
    counted: i64,
    limit: f64,
}

impl Balance {
    /// Bonds between signals, whose power may be off by `tolerance` (1 + |P|).
    pub fn new(bonds: Vec<[u16; 2]>, tolerance: f64) -> Self {
        let bond = |signals| Bond {
            signals,
            ahead: Default::default(),
            sides: [Side::Free; 2],
            power: Vec::new(),
            rounds: [(NEVER, 0); 2],
            residual: 0.0,
            passed: 0.0,
        };
        let bonds = bonds.into_iter().map(bond).collect();
        Self { bonds, tolerance, since: 0, due: None, step: 0.0, counted: 0, limit: EXACT }
    }

    /// When quotients are told anew, at the latest.
    pub fn due(&self) -> i64 {
        self.due.unwrap_or(NEVER)
    }

    /// Counts the energy that passed since the last call, by what sources sent and receivers held: the unit
    /// that gives signal 0 gives its product with what is told of signal 1, and the other one takes what it
    /// is told of signal 0 times signal 1.
    pub fn count(&mut self, now: i64, lines: &[Line], timer: &Timer) {
        let (from, span) = (self.counted, timer.seconds(self.counted, now));
        self.counted = now;
        if span <= 0.0 {
            return;
        }
        for bond in &mut self.bonds {
            let [a, b] = bond.signals.map(|s| &lines[usize::from(s)]);
            if [a, b].iter().any(|line| line.last().is_none()) {
                continue;
            }
            let energy = |own: &Line, told: &Line| {
                let (p, q) = (own.source(from, timer), told.told(from, timer));
                integral(&product(p.coefficients(), q.coefficients(), usize::MAX - 1), span)
            };
            let (given, taken) = (energy(a, b), energy(b, a));
            bond.residual += given - taken;
            bond.passed += given.abs().max(taken.abs());
        }
    }

    /// A bond that is not balanced any more, by ten times as much as was told last: its signals, and the
    /// energy that came of nothing or was lost.
    pub fn worse(&mut self) -> Option<([u16; 2], f64)> {
        let off = |bond: &Bond| bond.residual.abs() / (1.0 + bond.passed);
        let worst = self.bonds.iter().max_by(|x, y| off(x).total_cmp(&off(y)))?;
        if off(worst) <= self.limit {
            return None;
        }
        self.limit = 10.0 * off(worst);
        Some((worst.signals, worst.residual))
    }

    /// Whether a signal belongs to a bond.
    pub fn concerns(&self, signal: usize) -> bool {
        self.bonds.iter().any(|b| b.signals.iter().any(|&s| usize::from(s) == signal))
    }

    /// Takes the extrapolation of a signal over, if it belongs to a bond.
    pub fn take(&mut self, signal: usize, p: &[f64]) -> bool {
        let mut taken = false;
        for bond in &mut self.bonds {
            for (ahead, s) in bond.ahead.iter_mut().zip(bond.signals) {
                if usize::from(s) == signal {
                    *ahead = trimmed(p).to_vec();
                    taken = true;
                }
            }
        }
        taken
    }

    /// After all extrapolations of an exchange, with `step` seconds to the next one.
    pub fn agree(&mut self, now: i64, step: f64, lines: &[Line], timer: &Timer) {
        (self.since, self.step) = (now, step);
        for bond in &mut self.bonds {
            let slope = |s: u16| {
                let p = lines[usize::from(s)].source(now, timer);
                p.coefficients().get(1).copied().unwrap_or(0.0)
            };
            bond.agree(step, bond.signals.map(slope));
        }
    }

    /// Tells all signals of bonds, at an exchange or between two; gives which have something to send.
    pub fn tell(&mut self, now: i64, lines: &mut [Line], timer: &Timer) -> Vec<u16> {
        let (mut told, mut due) = (Vec::new(), NEVER);
        let elapsed = timer.seconds(self.since, now);
        let shifted = |c: &[f64]| {
            let mut p = Poly::new(c);
            shift(&mut p, elapsed);
            p
        };
        let (rest, tolerance) = ((self.step - elapsed).max(0.0), self.tolerance);
        for bond in &mut self.bonds {
            bond.look_after(now, bond.signals.map(|s| lines[usize::from(s)].value(now, timer)));
            // A free side comes first: the other side follows it.
            let order = if bond.sides[1] == Side::Free { [1, 0] } else { [0, 1] };
            for k in order {
                let own = usize::from(bond.signals[k]);
                let other = &lines[usize::from(bond.signals[1 - k])];
                let power = match bond.sides[k] {
                    Side::Free => None,
                    Side::Agreed => Some(shifted(&bond.power)),
                    Side::Follows => {
                        let (u, y) = (other.told(now, timer), lines[own].source(now, timer));
                        Some(Poly::new(&product(u.coefficients(), y.coefficients(), MAX_DEGREE)))
                    }
                };
                let Some(power) = power else {
                    let p = shifted(&bond.ahead[k]);
                    if lines[own].tell(p.coefficients(), now, timer).is_some() {
                        told.push(bond.signals[k]);
                    }
                    continue;
                };
                let by = other.source(now, timer);
                let (p, within) = quotient(&power, &by, tolerance);
                due = due.min(timer.within(within));
                let tellings = bond.tellings(k, now);
                let off = distance(&p, &lines[own].told(now, timer), rest) * by.value(0.0).abs();
                let off = off / (1.0 + power.value(0.0).abs());
                if tellings > 0 && off <= tolerance {
                    continue;
                }
                if lines[own].tell(p.coefficients(), now, timer).is_some() {
                    let beyond = p.coefficients().iter().any(|c| c.abs() > BEYOND);
                    bond.rounds[k] = (now, if beyond { ROUNDS } else { tellings + 1 });
                    told.push(bond.signals[k]);
                }
            }
        }
        self.due = (due < NEVER).then_some(due);
        told
    }
}

/// How far two polynomials can be apart in `span` seconds.
fn distance(a: &Poly, b: &Poly, span: f64) -> f64 {
    let (a, b) = (a.coefficients(), b.coefficients());
    let of = |c: &[f64], k: usize| c.get(k).copied().unwrap_or(0.0);
    let each = (0..a.len().max(b.len())).map(|k| (of(a, k) - of(b, k)).abs() * span.powi(k as i32));
    each.sum()
}

/// The integral of a polynomial over `span` seconds.
fn integral(p: &[f64], span: f64) -> f64 {
    let terms = p.iter().enumerate().rev();
    terms.fold(0.0, |sum, (k, c)| (sum + c / (k + 1) as f64) * span)
}

/// Whether a signal, told as `p`, can be divided by for `step` seconds.
fn divides(p: &[f64], step: f64) -> bool {
    let (start, end) = (p[0], eval(p, step));
    let growth = (end - start) / start;
    start != 0.0 && (-FALL..=GROWTH).contains(&growth)
}

/// The product of two polynomials up to the power `order`.
fn product(a: &[f64], b: &[f64], order: usize) -> Vec<f64> {
    let mut c = vec![0.0; (a.len() + b.len() - 1).min(order + 1)];
    for (i, a) in a.iter().enumerate() {
        c.iter_mut().skip(i).zip(b).for_each(|(c, b)| *c += a * b);
    }
    c
}

/// The quotient of two series, and for how many seconds `numerator` - quotient · `by` is within
/// `tolerance` (1 + |numerator(0)|). A divisor that is zero after all gives zero.
fn quotient(numerator: &Poly, by: &Poly, tolerance: f64) -> (Poly, f64) {
    let (n, y) = (numerator.coefficients(), by.coefficients());
    if y[0] == 0.0 {
        return (Poly::constant(0.0), f64::INFINITY);
    }
    let mut q = [0.0; ORDER + 1];
    for k in 0..=ORDER {
        let known: f64 = (1..=k).map(|i| y.get(i).unwrap_or(&0.0) * q[k - i]).sum();
        q[k] = (n.get(k).unwrap_or(&0.0) - known) / y[0];
    }
    let mut rest = product(&q, y, usize::MAX - 1);
    rest.resize(rest.len().max(n.len()), 0.0);
    rest.iter_mut().zip(n).for_each(|(r, n)| *r -= n);
    let tail = rest.get(ORDER + 1..).unwrap_or_default();
    (Poly::new(&q), horizon(ORDER + 1, tail, tolerance * (1.0 + n[0].abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quotient_gives_the_power_as_long_as_it_says() {
        let (n, y) = (Poly::new(&[2.0, -1.0, 0.5]), Poly::new(&[1.0, 0.7, -0.3]));
        let (q, within) = quotient(&n, &y, 1e-9);
        assert!(within > 0.1 && within < 1.0, "{within}");
        assert!((integral(&[2.0, -1.0, 0.5], 2.0) - (4.0 - 2.0 + 4.0 / 3.0)).abs() < 1e-15);
        for t in [0.0, 0.5 * within, within] {
            let off = (q.value(t) * y.value(t) - n.value(t)).abs();
            assert!(off <= 3e-9, "{t}: {off}");
        }
        let off = (q.value(3.0) * y.value(3.0) - n.value(3.0)).abs();
        assert!(off > 1e-9, "{off}");
    }

    #[test]
    fn near_zero_is_where_the_square_root_would_end() {
        for (p, divisible) in [
            (&[1.0, -1.0][..], true), // down to 0.8
            (&[1.0, -3.0], false),    // down to 0.4
            (&[-1.0, 3.0], false),
            (&[1.0, -6.0], false), // through zero
            (&[1.0, 5.0], true),
            (&[0.01, 5.0], false), // from zero
            (&[0.0], false),
            (&[-3.0], true),
        ] {
            assert_eq!(divides(p, 0.2), divisible, "{p:?}");
        }
    }
}
