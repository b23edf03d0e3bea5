//! Formulas over outputs, on intervals in which all outputs are polynomials.
use super::{Atom, Form, Gather, Signal};
use serde::{Deserialize, Serialize};
use superdense_models::{
    maths::{
        expr::{Expr, Program, Registers, VarId},
        poly::{self, Direction},
    },
    signal::piece::Piece,
};

/// Takes a part's ends, the number of a function, and its coefficients.
type Take<'a> = &'a mut dyn FnMut((f64, f64), usize, &[f64]);

/// A signal, compiled.
pub(super) struct Compiled {
    signal: Signal,
    /// Of the number, or of the differences of all comparisons.
    program: Program,
    results: usize,
    registers: Registers,
    values: Vec<f64>,
    out: Vec<f64>,
    /// The formula is one output and nothing else: its place among the atoms.
    plain: Option<usize>,
    /// Of each formula the atoms with their factors, where all are sums.
    sums: Option<Vec<Vec<(VarId, f64)>>>,
}

/// Polynomials of the outputs that a signal reads, in the order of its atoms' ports.
pub(super) type Parts = Vec<Vec<f64>>;

impl Compiled {
    pub(super) fn new(signal: &Signal) -> Self {
        let exprs: Vec<&Expr> = match &signal.form {
            Form::Number(expr) => vec![expr],
            Form::Truth(condition) => condition.atoms().iter().map(|atom| &atom.z).collect(),
        };
        let results = exprs.len();
        let plain = match (&signal.form, &signal.atoms[..]) {
            (Form::Number(expr), [Atom::Port(_)]) => expr.as_var().map(|var| var.0 as usize),
            _ => None,
        };
        let program = Program::compile(exprs);
        let many = signal.atoms.iter().any(|atom| matches!(atom, Atom::Many(..)));
        let sums = program.sums().into_iter().collect::<Option<Vec<_>>>();
        Self {
            sums: sums.filter(|_| !many),
            program,
            values: vec![0.0; signal.atoms.len()],
            out: vec![0.0; results],
            registers: Registers::default(),
            signal: signal.clone(),
            results,
            plain,
        }
    }

    pub(super) fn is_truth(&self) -> bool {
        matches!(self.signal.form, Form::Truth(_))
    }

    /// The numbers for values of all outputs, in the order of the atoms' ports.
    fn evaluate(&mut self, time: f64, mut port: impl FnMut(usize) -> f64) -> &[f64] {
        let mut next = 0;
        for (value, atom) in self.values.iter_mut().zip(&self.signal.atoms) {
            *value = match atom {
                Atom::Time => time,
                Atom::Port(_) => {
                    next += 1;
                    port(next - 1)
                }
                Atom::Many(how, members) => {
                    let all = (next..next + members.len()).map(&mut port);
                    next += members.len();
                    gathered(*how, all)
                }
            };
        }
        self.program.eval(&self.values, &mut self.registers, &mut self.out);
        &self.out
    }

    /// The number for values of all outputs; 1 or 0 for a condition.
    pub(super) fn value(&mut self, time: f64, port: impl FnMut(usize) -> f64) -> f64 {
        let truth = self.is_truth();
        let z = self.evaluate(time, port);
        if !truth {
            return z[0];
        }
        let z = z.to_vec();
        match &self.signal.form {
            Form::Truth(condition) => f64::from(u8::from(condition.truth(&z))),
            Form::Number(_) => f64::NAN,
        }
    }

    /// As [`value`](Self::value), where a comparison has been `seen`: rounding does not carry it over.
    pub(super) fn present(
        &mut self,
        time: f64,
        seen: &[Seen],
        port: impl FnMut(usize) -> f64,
    ) -> f64 {
        if !self.is_truth() {
            return self.value(time, port);
        }
        let mut z = self.evaluate(time, port).to_vec();
        for (z, seen) in z.iter_mut().zip(seen) {
            if *z != 0.0 && z.abs() <= ROUNDING * seen.size {
                *z = seen.sign;
            }
        }
        match &self.signal.form {
            Form::Truth(condition) => f64::from(u8::from(condition.truth(&z))),
            Form::Number(_) => f64::NAN,
        }
    }

    /// The number on an interval that begins at `time`: calls `take(from, to, coefficients)` for parts of the
    /// interval, in shares of it.
    pub(super) fn number(
        &mut self,
        (time, seconds): (f64, f64),
        parts: &Parts,
        take: &mut dyn FnMut(f64, f64, &[f64]),
    ) {
        match self.plain {
            Some(_) => take(0.0, 1.0, &parts[0]),
            None => self.polynomials((time, seconds), parts, &mut |(a, b), _, c| take(a, b, c)),
        }
    }

    fn polynomials(&mut self, (time, seconds): (f64, f64), parts: &Parts, take: Take<'_>) {
        let constant =
            parts.iter().all(|c| c.len() == 1) && !self.signal.atoms.contains(&Atom::Time);
        if constant {
            for (k, z) in self.evaluate(time, |port| parts[port][0]).to_vec().iter().enumerate() {
                take((0.0, 1.0), k, &[*z]);
            }
            return;
        }
        if self.sums.is_some() {
            return self.summed((time, seconds), parts, take);
        }
        let results = self.results;
        let mut sample = |theta: f64, row: &mut [f64]| {
            let z = self.evaluate(time + theta * seconds, |port| poly::eval(&parts[port], theta));
            row.copy_from_slice(z);
        };
        let rounding = f64::EPSILON * time.abs() / seconds;
        Piece::cut(results, rounding, &mut sample, take);
    }

    /// Sums of polynomials are polynomials.
    fn summed(&mut self, (time, seconds): (f64, f64), parts: &Parts, take: Take<'_>) {
        let begin = self.evaluate(time, |port| parts[port][0]).to_vec();
        let clock = vec![time, seconds];
        let mut ports = parts.iter();
        let of = |atom: &Atom| if *atom == Atom::Time { Some(&clock) } else { ports.next() };
        let atoms: Vec<Option<&Vec<f64>>> = self.signal.atoms.iter().map(of).collect();
        for (k, (terms, begin)) in self.sums.iter().flatten().zip(begin).enumerate() {
            let mut c = vec![begin];
            for (id, factor) in terms {
                let Some(part) = atoms[id.0 as usize] else { continue };
                c.resize(c.len().max(part.len()), 0.0);
                c.iter_mut().zip(part).skip(1).for_each(|(c, p)| *c += factor * p);
            }
            take((0.0, 1.0), k, &c[..Piece::length(&c)]);
        }
    }

    /// The truth on an interval: calls `take(from, to, holds)` for parts of it. Per comparison `seen` goes on from
    /// interval to interval.
    pub(super) fn truth(
        &mut self,
        interval: (f64, f64),
        parts: &Parts,
        seen: &mut Vec<Seen>,
        take: &mut dyn FnMut(f64, f64, bool),
    ) {
        let mut rows: Vec<(f64, f64, Vec<Vec<f64>>)> = Vec::new();
        self.polynomials(interval, parts, &mut |(a, b), k, c| {
            if k == 0 {
                rows.push((a, b, Vec::new()));
            }
            if let Some((_, _, all)) = rows.last_mut() {
                all.push(c.to_vec());
            }
        });
        let Form::Truth(condition) = &self.signal.form else { return };
        seen.resize(condition.atoms().len(), Seen::default());
        for (a, b, all) in &rows {
            let sides: Vec<Vec<Side>> =
                all.iter().zip(&mut *seen).map(|(c, seen)| seen.sides(c)).collect();
            let mut ends: Vec<f64> = sides.iter().flatten().map(|side| side.to).collect();
            ends.push(0.0);
            ends.sort_unstable_by(f64::total_cmp);
            ends.dedup();
            for pair in ends.windows(2) {
                let at = |sides: &Vec<Side>| {
                    sides.iter().find(|side| side.to >= pair[1]).map_or(0.0, |side| side.sign)
                };
                let z: Vec<f64> = sides.iter().map(at).collect();
                take(a + pair[0] * (b - a), a + pair[1] * (b - a), condition.truth(&z));
            }
        }
    }
}

/// The sign of a comparison's difference up to a place between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Side {
    to: f64,
    sign: f64,
}

/// The history of a comparison's difference.
///
/// **Why.** A signal that begins on its threshold, is put onto it or touches it is beyond it by rounding, for a
/// while that depends on the method. Such a while is none: the side before goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Its largest coefficient.
    size: f64,
    /// Its last sign; zero before the first.
    sign: f64,
}

/// The share of the largest difference so far within which a sign is rounding: pieces are as good as that.
const ROUNDING: f64 = 1e-11;

impl Seen {
    /// The signs of a polynomial between 0 and 1.
    fn sides(&mut self, c: &[f64]) -> Vec<Side> {
        self.size = c.iter().fold(self.size, |size, c| size.max(c.abs()));
        if let [level] = c {
            // Equal numbers are equal.
            self.sign = if *level == 0.0 { 0.0 } else { level.signum() };
            return vec![Side { to: 1.0, sign: self.sign }];
        }
        let mut ends = vec![0.0];
        ends.extend(roots(c).into_iter().filter(|&at| at > 0.0 && at < 1.0));
        ends.push(1.0);
        let known = |pair: &[f64]| {
            let z = |share: f64| poly::eval(c, pair[0] + share * (pair[1] - pair[0]));
            let most = [0.25, 0.5, 0.75].map(z).into_iter().fold(0.0f64, |m, z| m.max(z.abs()));
            (most > ROUNDING * self.size).then(|| z(0.5).signum())
        };
        let signs: Vec<Option<f64>> = ends.windows(2).map(known).collect();
        let first = signs.iter().flatten().next().copied().unwrap_or(0.0);
        let mut last = if self.sign == 0.0 { first } else { self.sign };
        let side = |(pair, sign): (&[f64], &Option<f64>)| {
            last = sign.unwrap_or(last);
            Side { to: pair[1], sign: last }
        };
        let sides: Vec<Side> = ends.windows(2).zip(&signs).map(side).collect();
        self.sign = last;
        sides
    }
}

/// Where a polynomial turns between 0 and 1.
pub(super) fn extrema(c: &[f64]) -> Vec<f64> {
    let mut slope = vec![0.0; c.len().saturating_sub(1)];
    poly::derivative(c, &mut slope);
    roots(&slope)
}

/// Where a polynomial changes its sign between 0 and 1.
fn roots(c: &[f64]) -> Vec<f64> {
    let (mut out, mut from) = (Vec::new(), 0.0);
    while let Some(root) = poly::earliest_root(c, from, 1.0, Direction::Both)
        && root.at > from
        && out.len() < c.len()
    {
        out.push(root.at);
        from = root.at;
    }
    out
}

fn gathered(how: Gather, values: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut count) = (0u64, 0.0, 0u64);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for x in values {
        n += 1;
        sum += x;
        count += u64::from(x != 0.0);
        least = if x < least || x.is_nan() { x } else { least };
        most = if x > most || x.is_nan() { x } else { most };
    }
    match how {
        Gather::Sum => sum,
        Gather::Mean => sum / n as f64,
        Gather::Min => least,
        Gather::Max => most,
        Gather::Count => count as f64,
    }
}
