//! Formulas over outputs, on intervals in which all outputs are polynomials.
use super::{
    Atom, Form, Gather, Signal,
    side::{self, LEFT, ROUNDING, Seen, Side},
};
use superdense_models::{
    maths::{
        expr::{Condition, Expr, Program, Registers, VarId},
        poly,
    },
    signal::{
        cut::{Curves, Cuts, cut},
        piece::Piece,
    },
    solve::roundings,
};

/// Takes a part's ends, the number of a function, and its coefficients.
type Take<'a> = &'a mut dyn FnMut((f64, f64), usize, &[f64]);

/// Polynomials of the outputs that a signal reads, in the order of its atoms' ports.
pub(super) type Parts = Vec<Vec<f64>>;

/// A signal, compiled.
pub(super) struct Compiled {
    /// The number, or the differences of all comparisons.
    formulas: Formulas,
    condition: Option<Condition>,
    /// Room for the differences on one part of an interval, and for their signs.
    rows: Vec<Vec<f64>>,
    known: Vec<Option<f64>>,
    signs: Vec<f64>,
    /// Roundings of the differences near their thresholds; empty where there are none.
    near: Vec<f64>,
    /// How far off units may know the differences by which they end an interval; empty where none does.
    bands: Vec<f64>,
}

impl Compiled {
    pub(super) fn new(signal: &Signal) -> Self {
        let (exprs, condition): (Vec<&Expr>, _) = match &signal.form {
            Form::Number(expr) => (vec![expr], None),
            Form::Truth(condition) => {
                (condition.atoms().iter().map(|atom| &atom.z).collect(), Some(condition.clone()))
            }
        };
        let rows = vec![Vec::new(); exprs.len()];
        let formulas = Formulas::new(&signal.atoms, exprs);
        Self {
            formulas,
            condition,
            rows,
            known: Vec::new(),
            signs: Vec::new(),
            near: Vec::new(),
            bands: Vec::new(),
        }
    }

    pub(super) fn is_truth(&self) -> bool {
        self.condition.is_some()
    }

    /// The number for values of all outputs, in the order of the atoms' ports; 1 or 0 for a condition.
    pub(super) fn value(&mut self, time: f64, port: impl FnMut(usize) -> f64) -> f64 {
        self.last(time, &[], port).1
    }

    /// As [`value`](Self::value) at the last instant of a window, where a comparison has been `seen`: rounding does not
    /// carry it over. Before it comes the value with the comparisons on their thresholds that an event has stopped there.
    pub(super) fn last(
        &mut self,
        time: f64,
        seen: &[Seen],
        port: impl FnMut(usize) -> f64,
    ) -> (Option<f64>, f64) {
        self.formulas.evaluate(time, port);
        let z = &mut self.formulas.out;
        let Some(condition) = &self.condition else { return (None, z[0]) };
        z.iter_mut().zip(seen).for_each(|(z, seen)| *z = seen.kept(*z));
        let truth = |z: &[f64]| condition.decided(z).map_or(f64::NAN, |holds| holds.into());
        let stopped = seen.iter().any(Seen::has_arrived).then(|| {
            let on = |(z, seen): (&f64, &Seen)| if seen.has_arrived() { 0.0 } else { *z };
            truth(&z.iter().zip(seen).map(on).collect::<Vec<_>>())
        });
        (stopped, truth(z))
    }

    /// The number on an interval that begins at `time`: calls `take(from, to, coefficients)` for parts of the
    /// interval, in shares of it. `cuts` go on from interval to interval.
    pub(super) fn number(
        &mut self,
        interval: (f64, f64),
        parts: &Parts,
        cuts: &mut Cuts,
        take: &mut dyn FnMut(f64, f64, &[f64]),
    ) {
        self.formulas.polynomials(interval, parts, cuts, &mut |(a, b), _, c| take(a, b, c));
    }

    /// The truth on an interval: calls `take(from, to, holds)` for parts of it, without a truth where it hangs on what is
    /// no number. `sizes` are the largest of each output so far. Per comparison `seen` and `cuts` go on
    /// from interval to interval. A tick may precede the event that it stands for by `early` seconds. `ends` is given where
    /// an event ends the interval, or comes at the next tick: how far off the unit that brings it about may know each
    /// output.
    pub(super) fn truth(
        &mut self,
        (interval, early, ends): ((f64, f64), f64, Option<&[f64]>),
        (parts, sizes): (&Parts, &[f64]),
        (seen, cuts): (&mut Vec<Seen>, &mut Cuts),
        take: &mut dyn FnMut(f64, f64, Option<bool>),
    ) {
        let Self { formulas, condition, rows, known, signs, near, bands } = self;
        let Some(condition) = condition else { return };
        seen.resize(rows.len(), Seen::default());
        near.clear();
        if seen.iter().any(Seen::is_near) {
            near.resize(formulas.out.len(), 0.0);
            bands.resize(formulas.out.len(), 0.0);
            formulas.near(interval, (parts, sizes), near, bands);
        }
        bands.clear();
        if let Some(of) = ends {
            let end = interval.0 + interval.1;
            bands.resize(formulas.out.len(), 0.0);
            formulas.evaluate(end, |port| poly::eval(&parts[port], 1.0));
            formulas.roundings(end, |port| of[port], bands);
        }
        let Some(last) = rows.len().checked_sub(1) else {
            // A condition of constants has no comparison left.
            return take(0.0, 1.0, Some(condition.truth(&[])));
        };
        let early = early / interval.1;
        // At a single instant a quotient may have no number.
        let mut take = |from: f64, to: f64, holds: Option<bool>| {
            if holds.is_some() || to - from > INSTANT {
                take(from, to, holds);
            }
        };
        cuts.of_signs();
        formulas.polynomials(interval, parts, cuts, &mut |(a, b), k, c| {
            rows[k].clear();
            rows[k].extend_from_slice(c);
            if k < last {
                return;
            }
            let all = rows.iter().zip(&mut *seen).enumerate();
            // Between two kinks within a part of a tick signals keep their sides.
            let kink = a > 0.0 && b < 1.0 && b - a < SHORT * early;
            known.clear();
            known.extend(all.map(|(k, (c, seen))| {
                if kink {
                    return Some(seen.sign());
                }
                let rounding = near.get(k).copied().filter(|_| seen.is_near());
                let band = bands.get(k).copied().filter(|_| b == 1.0);
                seen.side(c, (early / (b - a), band), rounding)
            }));
            signs.clear();
            signs.extend(known.iter().flatten());
            if signs.len() == rows.len() {
                return take(a, b, condition.decided(signs));
            }
            let all = rows.iter().zip(&mut *seen).zip(&*known);
            let sides = all.map(|((c, seen), sign)| match sign {
                Some(sign) => vec![Side { to: 1.0, sign: *sign }],
                None => seen.sides(c, early / (b - a), ends.is_some() && b == 1.0),
            });
            part(condition, &sides.collect::<Vec<_>>(), &mut |from, to, holds| {
                take(a + from * (b - a), a + to * (b - a), holds);
            });
        });
    }
}

/// The truth of a condition over a part in which the differences of all comparisons have these signs, and at the
/// instant at which it begins if that is one of its own.
fn part(condition: &Condition, sides: &[Vec<Side>], take: &mut dyn FnMut(f64, f64, Option<bool>)) {
    let mut ends: Vec<f64> = sides.iter().flatten().map(|side| side.to).collect();
    let instant = ends.contains(&0.0).then_some([0.0, 0.0]);
    ends.push(0.0);
    ends.sort_unstable_by(f64::total_cmp);
    ends.dedup();
    let pairs = ends.windows(2).map(|pair| [pair[0], pair[1]]);
    for [from, to] in instant.into_iter().chain(pairs) {
        let z: Vec<f64> = sides.iter().map(|sides| side::before(sides, to)).collect();
        take(from, to, condition.decided(&z));
    }
}

/// Formulas over atoms.
struct Formulas {
    atoms: Vec<Atom>,
    program: Program,
    registers: Registers,
    values: Vec<f64>,
    /// How many formulas there are; behind their numbers come those at whose zeros they switch.
    formulas: usize,
    out: Vec<f64>,
    /// Of each formula the atoms with their factors, where all are sums.
    sums: Option<Vec<Vec<(VarId, f64)>>>,
    /// The only formula is one output and nothing else.
    plain: bool,
    /// Of each atom of a sum the place of its port; none of the time.
    slots: Vec<Option<usize>>,
    /// Room for one polynomial.
    sum: Vec<f64>,
}

impl Formulas {
    fn new(atoms: &[Atom], exprs: Vec<&Expr>) -> Self {
        let plain =
            matches!((&exprs[..], atoms), ([expr], [Atom::Port(_)]) if expr.as_var().is_some());
        let guides: Vec<Expr> = exprs.iter().flat_map(|expr| expr.switches()).collect();
        let formulas = exprs.len();
        let out = vec![0.0; formulas + guides.len()];
        let program = Program::compile(exprs.into_iter().chain(&guides));
        let many = atoms.iter().any(|atom| matches!(atom, Atom::Many(..)));
        let sums = program.sums().into_iter().collect::<Option<Vec<_>>>();
        let mut ports = 0..;
        let slot = |atom: &Atom| if *atom == Atom::Time { None } else { ports.next() };
        Self {
            sums: sums.filter(|_| !many),
            slots: atoms.iter().map(slot).collect(),
            values: vec![0.0; atoms.len()],
            registers: Registers::default(),
            atoms: atoms.to_vec(),
            sum: Vec::new(),
            program,
            plain,
            formulas,
            out,
        }
    }

    /// Puts the numbers for values of all outputs into `out`, and behind them where they switch.
    fn evaluate(&mut self, time: f64, mut port: impl FnMut(usize) -> f64) {
        let mut next = 0;
        for (value, atom) in self.values.iter_mut().zip(&self.atoms) {
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
    }

    fn polynomials(
        &mut self,
        (time, seconds): (f64, f64),
        parts: &Parts,
        cuts: &mut Cuts,
        take: Take<'_>,
    ) {
        if self.plain {
            return take((0.0, 1.0), 0, &parts[0]);
        }
        let constant = parts.iter().all(|c| c.len() == 1) && !self.atoms.contains(&Atom::Time);
        if constant || self.sums.is_some() {
            self.evaluate(time, |port| parts[port][0]);
        }
        if constant {
            let all = self.out[..self.formulas].iter().enumerate();
            all.for_each(|(k, z)| take((0.0, 1.0), k, &[*z]));
        } else if let Self { sums: Some(sums), slots, out, sum, .. } = self {
            // Sums of polynomials are polynomials.
            let clock = [time, seconds];
            let part = |id: &VarId| slots[id.0 as usize].map_or(&clock[..], |port| &parts[port]);
            for (k, (terms, begin)) in sums.iter().zip(out).enumerate() {
                let length = terms.iter().map(|(id, _)| part(id).len()).max().unwrap_or(1);
                sum.clear();
                sum.resize(length, 0.0);
                for (id, factor) in terms {
                    sum.iter_mut().zip(part(id)).for_each(|(c, p)| *c += factor * p);
                }
                sum[0] = *begin;
                take((0.0, 1.0), k, &sum[..Piece::length(sum)]);
            }
        } else {
            let dim = (self.formulas, self.out.len() - self.formulas);
            let rounding = f64::EPSILON * time.abs() / seconds;
            let mut curves = Over { formulas: self, time, seconds, parts };
            cut(dim, (rounding, cuts), &mut curves, take);
        }
    }

    /// Writes how far rounding moves the numbers on an interval, of outputs that were as large as `sizes` before, with room
    /// for as many. Beyond a kink within it others count.
    fn near(
        &mut self,
        interval: (f64, f64),
        (parts, sizes): (&Parts, &[f64]),
        near: &mut [f64],
        room: &mut [f64],
    ) {
        let size = |port: usize| parts[port].iter().map(|c| c.abs()).sum::<f64>();
        let rounding = |port: usize| (ROUNDING * size(port)).max(LEFT * sizes[port]);
        for share in [0.0, 0.5, 1.0] {
            let at = interval.0 + share * interval.1;
            self.evaluate(at, |port| poly::eval(&parts[port], share));
            self.roundings(at, rounding, room);
            let finite = room.iter().map(|x| if x.is_finite() { *x } else { 0.0 });
            near.iter_mut().zip(finite).for_each(|(near, x)| *near = near.max(x));
        }
    }

    /// Writes how far rounding moves the numbers for values with these roundings, and where formulas switch.
    fn roundings(&mut self, time: f64, mut port: impl FnMut(usize) -> f64, out: &mut [f64]) {
        let mut next = 0;
        let mut errors = Vec::with_capacity(self.atoms.len());
        for atom in &self.atoms {
            let members = match atom {
                Atom::Time => 0,
                Atom::Port(_) => 1,
                Atom::Many(_, members) => members.len(),
            };
            let of_time = if *atom == Atom::Time { f64::EPSILON * time.abs() } else { 0.0 };
            errors.push((next..next + members).map(&mut port).fold(of_time, |sum, e| sum + e));
            next += members;
        }
        roundings(&self.program, &self.values, &errors, out);
    }
}

/// Formulas over an interval that begins at a time.
struct Over<'a> {
    formulas: &'a mut Formulas,
    time: f64,
    seconds: f64,
    parts: &'a Parts,
}

impl Curves for Over<'_> {
    fn values(&mut self, theta: f64, row: &mut [f64]) {
        let Self { formulas, parts, .. } = self;
        formulas.evaluate(self.time + theta * self.seconds, |port| poly::eval(&parts[port], theta));
        row.copy_from_slice(&formulas.out);
    }

    fn roundings(&mut self, theta: f64, row: &mut [f64]) {
        self.values(theta, row);
        // Coefficients are rounded one by one.
        let size = |port: usize| self.parts[port].iter().map(|c| c.abs()).sum::<f64>();
        let at = self.time + theta * self.seconds;
        self.formulas.roundings(at, |port| ROUNDED * size(port), row);
    }
}

/// Half a tick, in the parts of it by which it may precede an event.
const SHORT: f64 = 256.0;
/// The largest part of an interval that counts as an instant: what rounding makes of a threshold is no longer.
const INSTANT: f64 = 1e-8;
/// The share of the coefficients of an output by which it may be rounded.
const ROUNDED: f64 = 4.0 * f64::EPSILON;

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
