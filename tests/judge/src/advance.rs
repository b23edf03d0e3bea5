//! From one instant to the next: smooth pieces, and the roots along them.
use crate::cycle::Flip;
use crate::eval::{Class, class};
use crate::graph::Scope;
use crate::model::Variable;
use crate::number::{Ball, Dd};
use crate::roots::{self, Scan};
use crate::sim::{Sim, Stop, undecided};
use crate::tape::{ORDER, Series, Switch, Tape};
use crate::verdict::{Reason, Sample, Ticks};
use std::collections::HashMap;

/// R14: so much of a tick early is on the tick.
const SNAP: f64 = 1.0 / 1024.0;
/// Errors that die out along a piece leave those that the steps of the judged program add: this part of those at its
/// beginning, which is some tens of tolerances.
const STEPS: f64 = 1.0 / 30.0;
/// So small is the argument of a square root that is zero.
const ZERO: f64 = 1e-20;
/// Rule 6.
const IGNORED: f64 = 1.0 / 512.0;

/// A root, or a turning point that counts as one.
#[derive(Debug, Clone)]
pub(crate) struct Root<const M: usize> {
    pub(crate) switch: Switch,
    /// Seconds since the piece began.
    at: Dd,
    pub(crate) tick: i64,
    pub(crate) range: Ticks,
    to: f64,
    up: bool,
    touch: Option<f64>,
    /// Where it is certainly before its tick.
    beyond: bool,
    /// Passed only just.
    pub(crate) shaky: bool,
    /// How its time changes with each error.
    shift: [f64; M],
}

/// A smooth piece.
pub(crate) struct Piece<const M: usize> {
    tape: Tape,
    base: i64,
    /// Seconds since its beginning.
    offset: Dd,
    first: bool,
    /// Sides and whole numbers with the roots so far.
    running: HashMap<Switch, f64>,
    pub(crate) found: Vec<Root<M>>,
}

/// A square root that comes to zero turns negative in its series: the solution is another one there.
fn square_roots_hold<const M: usize>(tape: &Tape, series: &Series<M>, end: Dd) -> Result<(), Stop> {
    let ends = |step: u32| {
        let (begun, ended) = (series.of(step)[0].c.hi, roots::value(series.of(step), end).hi);
        ended < if begun > ZERO { ZERO } else { -ZERO }
    };
    match tape.square_roots().any(ends) {
        true => undecided(Reason::Singular, "a square root comes to zero"),
        false => Ok(()),
    }
}

impl<const M: usize> Sim<'_, M> {
    /// Goes on to the next instant at which something flips, at most to the tick `limit`.
    pub(crate) fn advance(&mut self, limit: i64) -> Result<Vec<Flip>, Stop> {
        let tape = self.tape()?;
        self.settle(&tape)?;
        let mut piece = Piece {
            tape,
            base: self.tick,
            offset: Dd::ZERO,
            first: true,
            running: HashMap::new(),
            found: Vec::new(),
        };
        self.leave(&mut piece);
        loop {
            let here = self.seconds(piece.base) + piece.offset;
            self.time = Ball::exact(here);
            let mut series = self.expand(&piece.tape, ORDER)?;
            if self.freshen(&series) {
                series = self.expand(&piece.tape, ORDER)?;
            }
            let h = self.step_size(&piece, &series)?;
            let rest = self.seconds(limit - piece.base) - piece.offset;
            let margin = (self.seconds(8).hi).max(1e-6);
            let span = h.min(rest.hi + margin);
            self.scan_all(&mut piece, &series, span)?;
            let next = piece.found.iter().map(|r| r.tick).min().unwrap_or(i64::MAX);
            let end = self.seconds(next.min(limit) - piece.base) - piece.offset;
            square_roots_hold(&piece.tape, &series, if end.hi <= h { end } else { Dd::new(h) })?;
            if end.hi <= h {
                return self.arrive(piece, &series, next.min(limit), end, limit);
            }
            let to = Dd::new(h);
            self.sample_between(&piece, &series, to, i64::MAX)?;
            let v = self.values(&piece.tape, &series, to);
            piece.found.retain(|r| (r.at - piece.offset).hi <= h);
            for root in &piece.found {
                piece.running.insert(root.switch, root.to);
            }
            self.v = v;
            piece.offset = piece.offset + to;
            piece.first = false;
        }
    }

    /// What the uncertain time of the last instant means for the states after it.
    fn settle(&mut self, tape: &Tape) -> Result<(), Stop> {
        if self.time.e == [0.0; M] {
            return Ok(());
        }
        let series = self.expand(tape, 1)?;
        for slot in 0..self.sys.states {
            let speed = series.free[slot].get(1).map_or(0.0, |x| x.c.hi);
            for k in 0..M {
                self.v[slot].e[k] -= speed * self.time.e[k];
            }
        }
        self.time.e = [0.0; M];
        Ok(())
    }

    /// Rule 7: what leaves zero, or a whole number, at the start flips at tick 1.
    fn leave(&mut self, piece: &mut Piece<M>) {
        for (switch, before) in &self.leaving {
            let tick = piece.base + 1;
            let to = match switch {
                Switch::Relation(r) => f64::from(self.sides.side[*r as usize]),
                Switch::Floor(f) => self.sides.floor[*f as usize],
            };
            piece.found.push(Root {
                switch: *switch,
                at: Dd::ZERO,
                tick,
                range: Ticks { lo: tick, hi: tick },
                to,
                up: to > *before,
                touch: None,
                beyond: true,
                shaky: false,
                shift: [0.0; M],
            });
        }
    }

    /// How far the series can be trusted.
    fn step_size(&self, piece: &Piece<M>, series: &Series<M>) -> Result<f64, Stop> {
        let mut h = series.cap(&piece.tape);
        let mut limit = |c: &[Ball<M>]| -> bool {
            let size = c[0].c.hi.abs().max(1e-3);
            for (k, x) in c.iter().enumerate().skip(c.len().max(4) - 4) {
                if !x.finite() {
                    return false;
                }
                if k > 0 && x.c.hi != 0.0 {
                    h = h.min(0.9 * (1e-24 * size / x.c.hi.abs()).powf(1.0 / k as f64));
                }
                let error = x.error();
                if k > 0 && error > 0.0 {
                    h = h.min((1e-3 * c[0].error().max(1e-12) / error).powf(1.0 / k as f64));
                }
            }
            true
        };
        let mut finite = true;
        for c in series.free.iter().filter(|c| !c.is_empty()) {
            finite &= limit(c);
        }
        for switch in &piece.tape.switches {
            if let Some(step) = piece.tape.step(self.argument(*switch)) {
                finite &= limit(series.of(step));
            }
        }
        for (_, above, below) in &piece.tape.slides {
            finite &= limit(series.of(*above)) && limit(series.of(*below));
        }
        if !finite || h * self.rate.hi < 1e-6 && h < 1e-9 {
            return undecided(Reason::Singular, "the solution ends, or is no number");
        }
        Ok(h)
    }

    pub(crate) fn argument(&self, switch: Switch) -> crate::graph::Id {
        match switch {
            Switch::Relation(r) => self.sys.graph.relations[r as usize].z,
            Switch::Floor(f) => self.sys.graph.floors[f as usize].argument,
        }
    }

    /// All values after some time of a step.
    fn values(&self, tape: &Tape, series: &Series<M>, at: Dd) -> Vec<Ball<M>> {
        let mut v = self.v.clone();
        for (slot, c) in series.free.iter().enumerate() {
            if !c.is_empty() {
                v[slot] = roots::ball(c, at);
            }
        }
        for (variable, output) in &self.sys.wires {
            if let Some(step) = tape.step(*output) {
                v[self.sys.slot(*variable)] = roots::ball(series.of(step), at);
            }
        }
        v
    }

    fn sample_between(
        &mut self,
        piece: &Piece<M>,
        series: &Series<M>,
        to: Dd,
        before: i64,
    ) -> Result<(), Stop> {
        while self.sampled < self.wanted.len() && self.wanted[self.sampled] < before {
            let tick = self.wanted[self.sampled];
            let at = self.seconds(tick - piece.base) - piece.offset;
            if (at - to).hi > 0.0 {
                break;
            }
            let v = self.values(&piece.tape, series, at);
            let kept = (std::mem::replace(&mut self.v, v), self.time);
            self.time = Ball::exact(self.seconds(tick));
            let units = self.snapshot();
            (self.v, self.time) = kept;
            let ambiguous = tick <= self.blurred;
            self.run.samples.push(Sample { tick, ambiguous, units: units? });
            self.sampled += 1;
        }
        Ok(())
    }

    fn scan_all(&self, piece: &mut Piece<M>, series: &Series<M>, h: f64) -> Result<(), Stop> {
        let from = if piece.first { IGNORED / self.rate.hi } else { 0.0 };
        if from >= h {
            return Ok(());
        }
        for switch in piece.tape.switches.clone() {
            let Some(step) = piece.tape.step(self.argument(switch)) else { continue };
            if piece.tape.constant(step) {
                continue;
            }
            match switch {
                Switch::Relation(r) if self.slides(r) => {}
                // Roundings of a difference that stays say nothing: its side was decided when the piece began.
                Switch::Relation(_) if series.of(step)[1..].iter().all(|x| x.c == Dd::ZERO) => {}
                Switch::Relation(r) => {
                    let held = f64::from(self.sides.side[r as usize]);
                    let side = piece.running.get(&switch).copied().unwrap_or(held);
                    let band = self.sys.band[r as usize];
                    let scan = roots::scan(series.of(step), from, h, band);
                    if scan.passages.is_empty() && self.comes_near(switch, series.of(step), h) {
                        return undecided(
                            Reason::Touch,
                            "what is heard comes within its tolerance",
                        );
                    }
                    self.flips(piece, switch, series.of(step), &scan, side, from);
                    self.turns(piece, switch, series.of(step), &scan, band);
                }
                Switch::Floor(f) => {
                    let held = self.sides.floor[f as usize];
                    let whole = piece.running.get(&switch).copied().unwrap_or(held);
                    self.steps(piece, switch, series.of(step), whole, from, h);
                }
            }
        }
        for (r, p, m) in piece.tape.slides.clone() {
            // One side lets go.
            let switch = Switch::Relation(r);
            for (step, side) in [(p, -1.0), (m, 1.0)] {
                let c = series.of(step);
                let scan = roots::scan(c, from, h, 0.0);
                self.flips(piece, switch, c, &scan, side, from);
                self.turns(piece, switch, c, &scan, 0.0);
            }
        }
        piece.found.sort_by(|a, b| (a.at - b.at).hi.total_cmp(&0.0));
        Ok(())
    }

    /// Whether an argument that hears outputs comes so near to zero that it may be heard beyond it, by what it is told.
    fn comes_near(&self, switch: Switch, c: &[Ball<M>], h: f64) -> bool {
        let at = Dd::new(h);
        // Members of a link hear each other.
        let heard = matches!(self.scope(switch), Scope::Link(_));
        (heard || self.parts(self.argument(switch)).wired)
            && roots::value(c, at).hi.abs() <= roots::error(c, at)
    }

    /// Whole numbers that an argument passes, up to the first one after the first tick.
    fn steps(
        &self,
        piece: &mut Piece<M>,
        switch: Switch,
        c: &[Ball<M>],
        mut whole: f64,
        mut from: f64,
        h: f64,
    ) {
        let mut first = i64::MAX;
        for _ in 0..64 {
            let mut next: Option<(Dd, f64, f64)> = None;
            for (level, held) in [(whole, 1), (whole + 1.0, -1)] {
                let mut shifted = c.to_vec();
                shifted[0].c = shifted[0].c - Dd::new(level);
                let scan = roots::scan(&shifted, from, h, 0.0);
                if first == i64::MAX {
                    self.turns(piece, switch, &shifted, &scan, 0.0);
                }
                // Later on, the beginning is a root of one of the two.
                let begins = first == i64::MAX && scan.sign == -held;
                let begins = begins.then_some(Dd::new(from));
                let after = if first == i64::MAX { 0.0 } else { from * (1.0 + 1e-12) };
                let passes = scan.passages.iter().filter(|p| p.at.hi > after);
                let passes = passes.map(|p| (p.to, p.at)).find(|p| p.0 == -held).map(|p| p.1);
                let Some(at) = begins.or(passes) else { continue };
                if next.is_none_or(|n| (at - n.0).hi < 0.0) {
                    next = Some((at, level, whole - f64::from(held)));
                }
            }
            let Some((at, level, to)) = next else { return };
            let mut shifted = c.to_vec();
            shifted[0].c = shifted[0].c - Dd::new(level);
            let root = self.root(piece, switch, &shifted, at, to, to > whole);
            first = first.min(root.tick);
            let later = root.tick > first;
            piece.found.push(root);
            (whole, from) = (to, at.hi);
            if later || from >= h {
                return;
            }
        }
    }

    fn flips(
        &self,
        piece: &mut Piece<M>,
        switch: Switch,
        c: &[Ball<M>],
        scan: &Scan,
        mut side: f64,
        from: f64,
    ) {
        let start = f64::from(scan.sign);
        if start != 0.0 && start != side {
            let mut root = self.root(piece, switch, c, Dd::new(from), start, start > 0.0);
            if piece.first {
                root.tick = piece.base + 1;
                root.range = Ticks { lo: root.tick, hi: root.tick };
                root.shift = [0.0; M];
                // Decided by its motion where it is zero but for roundings, it stays so for the judged program.
                let size = self.size(self.argument(switch)).unwrap_or(0.0);
                let rounded = matches!(class(&c[0], size), Class::Zero | Class::Fuzzy(_));
                root.shaky = rounded && c[0].c != Dd::ZERO;
            }
            piece.found.push(root);
            side = start;
        }
        for passage in &scan.passages {
            let to = f64::from(passage.to);
            if to != side {
                let root = self.root(piece, switch, c, passage.at, to, to > 0.0);
                piece.found.push(root);
                side = to;
            }
        }
    }

    /// A root, with the ticks between which it may act.
    fn root(
        &self,
        piece: &Piece<M>,
        switch: Switch,
        c: &[Ball<M>],
        at: Dd,
        to: f64,
        up: bool,
    ) -> Root<M> {
        let slope = roots::slope(c, at).hi;
        let u = self.limits.uncertainty;
        // Variables that are solved for are as good as the tolerance, also where all states are exact.
        let solved =
            self.sys.graph.solved(self.argument(switch)) && c[2..].iter().any(|x| x.c.hi != 0.0);
        // So is what another unit sends, but for polynomials.
        let sent = self.parts(self.argument(switch)).wired
            && c.iter().skip(u.exact_degree as usize + 1).any(|x| x.c.hi != 0.0);
        let solving =
            if solved || sent { u.absolute + u.relative * (1.0 + c[0].c.hi.abs()) } else { 0.0 };
        let error = roots::error(c, at).max(STEPS * c[0].error()) + solving;
        let ball = roots::ball(c, at);
        // Rule 15: located by the time alone.
        let straight = matches!(switch, Switch::Relation(r) if self.sys.timed[r as usize])
            && c.iter().all(|x| x.e == [0.0; M])
            && c[2..].iter().all(|x| x.c.hi == 0.0);
        let since = piece.offset + at;
        let delta = error / slope.abs() * self.rate.hi;
        let delta = if straight { 0.0 } else { delta + self.own(since) };
        let terms = c.iter().enumerate().skip(2).rev();
        let bend = terms.fold(0.0, |sum, (k, x)| sum * at.hi + (k * (k - 1)) as f64 * x.c.hi);
        let shaky = !delta.is_finite() || bend.abs() * error > slope * slope;
        let mut range = self.between(piece.base, since, delta);
        if let Scope::Link(_) = self.scope(switch) {
            // Members agree on the tick before a root within twice as much.
            range.lo = range.lo.min(self.between(piece.base, since, delta + SNAP).lo);
        }
        let tick = self.tick_of(piece.base, since, 0.0);
        let before = Dd::whole((tick - piece.base).into()) - since * self.rate;
        Root {
            switch,
            at: since,
            tick,
            range,
            to,
            up,
            touch: None,
            beyond: before.hi > delta + IGNORED && range.lo == range.hi,
            shaky,
            shift: ball.e.map(|e| if slope == 0.0 { 0.0 } else { -e / slope }),
        }
    }

    /// The error of a located time, in ticks, beside that of the states.
    fn own(&self, since: Dd) -> f64 {
        let ticks = since * self.rate;
        let rounding = if since.lo == 0.0 { 0.0 } else { f64::EPSILON * ticks.hi.abs() };
        self.limits.uncertainty.ticks + rounding
    }

    /// The tick of a time, `by` ticks later.
    fn tick_of(&self, base: i64, since: Dd, by: f64) -> i64 {
        let up = -(-(since * self.rate + Dd::new(by - SNAP))).floor();
        base + ((up.hi + up.lo) as i64).max(1)
    }

    /// The ticks of a time with an error of `by` ticks.
    fn between(&self, base: i64, since: Dd, by: f64) -> Ticks {
        let by = if by.is_finite() { by.min(1e15) } else { 1e15 };
        let tick = |by| self.tick_of(base, since, by);
        Ticks { lo: tick(-by), hi: tick(by) }
    }

    /// Turning points near zero.
    fn turns(&self, piece: &mut Piece<M>, switch: Switch, c: &[Ball<M>], scan: &Scan, band: f64) {
        let heard = !scan.turns.is_empty() && self.parts(self.argument(switch)).wired;
        for turn in &scan.turns {
            let value = turn.value.hi;
            let terms = c.iter().enumerate().skip(2).rev();
            let at = turn.at.hi;
            let bend = terms.fold(0.0, |sum, (k, x)| sum * at + (k * (k - 1)) as f64 * x.c.hi);
            let size: f64 =
                c.iter().fold((0.0, 1.0), |(sum, p), x| (sum + x.c.hi.abs() * p, p * at)).0;
            // A value that another unit sends has lost its last bits.
            let exact = !heard && value.abs() <= 1e-24 * size && turn.error <= 1e-12 * size;
            let unclear = !exact && value.abs() <= turn.error;
            let edge = band > 0.0 && (value.abs() - band).abs() <= turn.error;
            if exact && band == 0.0 || !exact && value * bend <= 0.0 && !unclear {
                continue;
            }
            let mut root = self.root(piece, switch, c, turn.at, 0.0, bend < 0.0);
            let slope = roots::slope_errors(c, turn.at);
            let error = roots::SAFETY * slope.iter().map(|e| e * e).sum::<f64>().sqrt();
            let late = match error > 0.0 {
                true => (error / bend.abs()).min(self.flat(c, turn.at, error)),
                false => 0.0,
            };
            let late = late.max(self.flat(c, turn.at, 0.0)) * self.rate.hi;
            root.range = self.between(piece.base, root.at, late + self.own(root.at));
            root.touch = Some(value);
            root.shaky = unclear || edge;
            root.shift = slope.map(|e| if bend == 0.0 { 0.0 } else { -e / bend });
            piece.found.push(root);
        }
    }

    /// For how many seconds beside a turning point the slope is no more than this error, and roundings.
    fn flat(&self, c: &[Ball<M>], at: Dd, error: f64) -> f64 {
        let size = c.iter().enumerate().skip(1).rev();
        let size = size.fold(0.0, |sum, (k, x)| sum * at.hi.abs() + k as f64 * x.c.hi.abs());
        let rises = |by: f64| roots::slope(c, at + Dd::new(by)).hi.abs() > error + 1e-15 * size;
        let mut wide = SNAP / self.rate.hi;
        if rises(wide) && rises(-wide) {
            return if error > 0.0 { wide } else { 0.0 };
        }
        while wide < 1.0 && !(rises(wide) && rises(-wide)) {
            wide *= 2.0;
        }
        wide
    }

    /// Arrives at a tick, with what flips there.
    fn arrive(
        &mut self,
        piece: Piece<M>,
        series: &Series<M>,
        tick: i64,
        end: Dd,
        limit: i64,
    ) -> Result<Vec<Flip>, Stop> {
        let now: Vec<&Root<M>> = piece.found.iter().filter(|r| r.tick == tick).collect();
        let range = self.order(&piece, &now, tick, limit)?;
        self.note_near(&piece, range);
        self.sample_between(&piece, series, end, tick)?;
        self.v = self.values(&piece.tape, series, end);
        // R14: where the tick comes before the root, a unit that stops there is looked at at the root.
        self.late.clear();
        for root in now.iter().filter(|r| r.touch.is_none()) {
            let at = root.at - piece.offset;
            if let (true, Scope::Unit(unit)) = ((at - end).hi > 0.0, self.scope(root.switch)) {
                let values = self.values(&piece.tape, series, at);
                let own = |v: &Variable| matches!(v, Variable::State(u, _) if *u == unit);
                let states = values.into_iter().take(self.sys.states).enumerate();
                let states = states.filter(|(slot, _)| own(&self.sys.variables[*slot]));
                self.late.push((unit, states.collect()));
            }
        }
        self.time = Ball::exact(self.seconds(tick));
        self.tick = tick;
        self.earlier = std::mem::replace(&mut self.range, range);
        if range.lo < range.hi {
            for sample in self.run.samples.iter_mut().filter(|s| s.tick >= range.lo) {
                sample.ambiguous = true;
            }
            self.blurred = self.blurred.max(range.hi);
        }
        if let Some(root) = now.iter().find(|r| r.range.lo < r.range.hi) {
            // The program stops at its own tick: states there, and the time, differ from these.
            self.time.e = root.shift;
            self.widen(&[], self.limits.uncertainty.ticks.max(1.0) / self.rate.hi);
            for slot in 0..self.sys.states {
                let speed = roots::slope(&series.free[slot], end).hi;
                for k in 0..M {
                    self.v[slot].e[k] += speed * self.time.e[k];
                }
            }
            for u in self.sys.units.clone() {
                if !self.sys.residuals[&u].is_empty() {
                    self.solve(u)?;
                }
            }
        }
        let mut flips: Vec<Flip> = Vec::new();
        for root in now {
            let flip = Flip {
                switch: root.switch,
                to: root.to,
                up: root.up,
                down: !root.up,
                touch: root.touch,
                beyond: root.beyond,
            };
            let same = |f: &&mut Flip| f.switch == flip.switch && f.touch.is_none();
            match flips.iter_mut().find(same) {
                Some(old) if flip.touch.is_none() => {
                    old.to = flip.to;
                    old.up |= flip.up;
                    old.down |= flip.down;
                    old.beyond &= flip.beyond;
                }
                _ => flips.push(flip),
            }
        }
        // What comes back to its side within the tick was not away for any formula.
        Ok(flips)
    }
}
