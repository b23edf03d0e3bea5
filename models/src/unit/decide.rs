//! Decisions: which side a relation is on at the start, and after resets and jumps.
//!
//! # The rule
//! A relation that reads something that changed, or that is at rest at zero, is decided: by the sign of
//! its indicator where that lies beyond its rounding; else by the sign of the first derivative along the
//! solution that is not zero; else it rests at zero. All others keep their sides: near a
//! root a computed sign says nothing. Sides are decided together with algebraic variables, inner ones
//! before those that read them, until nothing changes.
//!
//! Sides that no algebraic variable decides come first, so that these are searched for on the branches that hold.
//! Where the search itself crosses thresholds, it begins once more and lets sides follow on its way: else it would
//! end at a root of a branch that does not hold, or at none.
use super::wrapper::{Done, Scratch, Unit};
use crate::maths::rounding::SUMMED;
use crate::signal::value::Flag;
use crate::solve::{
    UnitError,
    core::{Core, Held},
    equations::{Dims, Equations, Relation, Role, Sliding},
    ode::Kind,
    tendency::{first_sign, rests},
};
use std::ops::Range;

/// Rounds in which sides, and algebraic variables with them, have to agree.
pub(super) const ROUNDS: usize = 64;
/// A relation that changes its side so often in one decision chatters: each side drives it to the other.
const TURNS: u32 = 4;

/// Where a decision is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instant {
    /// Offset in seconds, and ticks, from the last transition.
    pub t: f64,
    pub tick: i64,
    /// Whether nothing was decided before.
    pub start: bool,
}

/// The beginning of a run, and the last transition.
pub(super) const START: Instant = Instant { t: 0.0, tick: 0, start: true };
pub(super) const NOW: Instant = Instant { t: 0.0, tick: 0, start: false };

/// How much is known of where indicators go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    Slopes,
    All,
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// Notes the scratch's variables as those before a change.
    #[inline]
    pub(super) fn note_before(&mut self) {
        if !self.readers.relations.is_empty() || self.scene.dims.algebraic > 0 {
            self.scratch.prior.clone_from(&self.scratch.vars);
        }
    }

    /// Notes the scratch's variables as those before a cycle, for resets that read these.
    #[inline]
    pub(super) fn note_cycle(&mut self) {
        if self.scene.equations.recalls() {
            let Scratch { vars, work, .. } = &mut self.scratch;
            work.prior.clone_from(vars);
            self.core.path().inspect(|path| path.sizes(&mut work.sizes));
        }
    }

    /// Gives algebraic variables among the scratch's their values, and relations that read what changed
    /// their sides.
    #[inline]
    pub(super) fn settle(&mut self, at: Instant) -> Done {
        if self.readers.relations.is_empty() && self.scene.dims.algebraic == 0 {
            return Ok(());
        }
        let depends = self.scene.dims.algebraic > 0 && !self.scene.equations.dependent().is_empty();
        if at.start || !depends {
            return self.decide_all(at);
        }
        let set = self.set_dependent();
        self.decide_all(at)?;
        set.into_iter()
            .find_map(|(k, value)| self.lost_reset(k, value))
            .map_or(Ok(()), |why| Err(why.into()))
    }

    #[inline(never)]
    fn decide_all(&mut self, at: Instant) -> Done {
        let count = self.readers.relations.len();
        self.scratch.turns.clear();
        self.scratch.turns.resize(count, 0);
        self.scratch.released.clear();
        let mut last = 0;
        self.doubt(at);
        let solves = self.scene.dims.algebraic > 0;
        let mut guess = if solves { self.guess(at) } else { None };
        for _ in 0..ROUNDS {
            if solves {
                self.search(&mut guess)?;
            }
            self.update_indicators();
            let (mut read, mut crossed, mut known) = (false, false, Known::Nothing);
            for k in 0..count {
                if self.scratch.turns[k] > TURNS && self.certain(k) == 0.0 {
                    continue;
                }
                if !self.change(k, at, &mut known) {
                    continue;
                }
                self.scratch.turns[k] += 1;
                let relation = &self.readers.relations[k];
                if relation.stops || relation.sliding.is_some() {
                    (read, last) = (true, k);
                    crossed |= solves && self.readers.solved[k];
                }
                if self.readers.inner[k] {
                    // Others read the side that has just changed.
                    self.update_indicators();
                    known = Known::Nothing;
                }
            }
            if !read {
                return Ok(());
            }
            if crossed && let Some(guess) = guess.take() {
                let found = std::mem::replace(&mut self.scratch.vars, guess);
                if self.solve_algebraic(true).is_err() {
                    self.scratch.vars = found;
                }
            }
        }
        Err(UnitError::Sides { relation: self.readers.relations[last].text.to_string() }.into())
    }

    /// Leaves in the scratch how far each variable may be off: at the start algebraic variables by rounding, and after
    /// it all of them.
    pub(super) fn doubt(&mut self, at: Instant) {
        self.scratch.errors.clear();
        self.scratch.errors.resize(self.scene.dims.variables(), 0.0);
        if !at.start {
            self.doubt_states(at);
        }
        let Scratch { vars, tendency, errors, .. } = &mut self.scratch;
        tendency.doubt_solved(&self.scene, vars, errors);
    }

    /// States are off by the solver, or by rounding where a reset has set them, and so are inputs that have gone on
    /// since they were told.
    fn doubt_states(&mut self, at: Instant) {
        let dims = self.scene.dims;
        let Scratch { vars, prior, errors, jumped, .. } = &mut self.scratch;
        let link = jumped.as_ref().map(|(link, ..)| self.scene.equations.events().len() + link);
        let (equations, fired) = (&self.scene.equations, &self.state.fired);
        let size = |place: &usize| vars[*place].abs().max(prior[*place].abs());
        // A reset rounds what it is computed from.
        let origin = |place: usize| {
            let of = fired.iter().map(|event| Some(usize::from(*event)));
            let of = of.chain([link]).filter_map(|of| equations.origins(of, place));
            of.map(|read| read.iter().map(size).fold(0.0, f64::max)).reduce(f64::max)
        };
        for place in Dims::STATES..dims.first_input() {
            let (now, before) = (vars[place].abs(), prior[place]);
            errors[place] = match vars[place] == before {
                true => self.core.error(at.t, place - Dims::STATES, before).max(SUMMED * now),
                false => SUMMED * now.max(origin(place).unwrap_or(before.abs())),
            };
        }
        // Within the exchange tolerance they are as they were told: members of a link decide on true values. One that came
        // to rest was moved by a solver before.
        let now = self.scene.frame.last + at.tick;
        for (k, Held { segment, at }) in self.scene.frame.inputs.iter().enumerate() {
            let stopped = segment.rests() && segment.flag == Flag::Continuous;
            if stopped || *at < now && segment.order() > 0 {
                let place = dims.first_input() + k;
                errors[place] = SUMMED * vars[place].abs();
            }
        }
    }

    /// Leaves the indicators with the bounds of their rounding in the scratch.
    pub(super) fn update_indicators(&mut self) {
        let Scratch { vars, tendency, indicators, errors, .. } = &mut self.scratch;
        tendency.values(&self.scene, vars, |place| errors[place], indicators);
    }

    /// The sign of indicator `k` beyond its rounding.
    pub(super) fn certain(&self, k: usize) -> f64 {
        let (value, error) = self.scratch.indicators[k];
        if value.abs() > error { value.signum() } else { 0.0 }
    }

    pub(super) fn side(&self, k: usize) -> f64 {
        self.scratch.vars[self.scene.dims.first_side() + k]
    }

    fn set_side(&mut self, k: usize, side: f64) -> bool {
        let place = self.scene.dims.first_side() + k;
        std::mem::replace(&mut self.scratch.vars[place], side) != side
    }

    /// Decides relation `k`, where it has to be; gives whether its side changed.
    pub(super) fn change(&mut self, k: usize, at: Instant, known: &mut Known) -> bool {
        let role = self.readers.relations[k].role;
        if matches!(role, Role::Passes(_) | Role::Slides) {
            return false;
        }
        if !self.is_active(k) {
            self.note_left(k);
            // Along a surface of a mode that is left nothing slides.
            let flag = self.readers.relations[k].sliding.as_ref().map(|sliding| sliding.flag);
            let slid = flag.is_some_and(|flag| self.set_side(flag, 0.0));
            return self.set_side(k, 0.0) || slid;
        }
        if role == Role::Timed {
            let vars = std::mem::take(&mut self.scratch.vars);
            let decided = self.timed_side(k, &vars, self.scene.frame.last + at.tick);
            self.scratch.vars = vars;
            return self.turn_to(k, at, decided);
        }
        if let Some(sliding) = self.readers.relations[k].sliding.clone()
            && let Some(changed) = self.slide(k, &sliding)
        {
            return changed;
        }
        if !at.start
            && let Some(side) = self.stands(k, at, known)
        {
            return self.set_side(k, side);
        }
        let keeps = !at.start && !self.is_affected(k);
        if keeps && !self.may_turn(k, at, known) {
            return false;
        }
        let kind = self.readers.relations[k].kind;
        let decided = kind.decide(self.scratch.indicators[k], || self.heading(k, at, known));
        if keeps && decided.1 == Some(decided.0) {
            return false;
        }
        self.note_back(k, at, known);
        self.turn_to(k, at, decided)
    }

    /// Puts relation `k` on this side, which may begin at the start on the end of the one before; gives whether that is
    /// another one.
    #[inline]
    fn turn_to(&mut self, k: usize, at: Instant, (side, before): (f64, Option<f64>)) -> bool {
        self.state.starting.retain(|(relation, _)| usize::from(*relation) != k);
        if let Some(before) = before.filter(|before| at.start && *before != side) {
            self.state.starting.push((k as u16, before));
        }
        self.set_side(k, side)
    }

    /// Before the start, relations that read what begins on the end of its side had the sides that go
    /// with the one before.
    pub(super) fn start_carried(&mut self) {
        if self.state.starting.iter().any(|s| self.readers.inner[usize::from(s.0)]) {
            let (now, mut carried) = (self.scratch.vars.clone(), self.state.starting.clone());
            let given = carried.len();
            self.carry(&mut carried);
            let (added, first) = (carried.split_off(given), self.scene.dims.first_side());
            carried.extend(added.into_iter().filter(|s| now[first + usize::from(s.0)] != s.1));
            (self.state.starting, self.scratch.vars) = (carried, now);
        }
    }

    /// Gives relations these sides, and those that read them the sides that go with them, which are added.
    fn carry(&mut self, sides: &mut Vec<(u16, f64)>) {
        let given = sides.len();
        for &(k, side) in &*sides {
            self.set_side(k.into(), side);
        }
        for _ in 0..ROUNDS {
            self.update_indicators();
            let mut changed = false;
            for k in 0..self.readers.relations.len() {
                let Relation { role, kind, sliding, .. } = &self.readers.relations[k];
                let fixed = matches!(role, Role::Passes(_) | Role::Slides)
                    || sliding.is_some()
                    || !self.is_active(k);
                let is = |s: &(u16, f64)| usize::from(s.0) == k;
                if fixed || !self.readers.nested[k] || sides[..given].iter().any(is) {
                    continue;
                }
                let (kind, z) = (*kind, self.scratch.indicators[k]);
                let before = match kind.decide(z, || self.heading(k, START, &mut Known::Nothing)) {
                    (side, None) => side,
                    // At rest on the threshold: zero, without a sign.
                    (_, Some(before)) if kind == Kind::Sign => before + 0.0,
                    _ => continue,
                };
                // One that reads others may have been decided before they were.
                if self.set_side(k, before) {
                    sides.retain(|s| !is(s));
                    sides.push((k as u16, before));
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn is_active(&self, k: usize) -> bool {
        self.readers.relations[k].is_active(&self.scratch.vars[self.scene.dims.first_discrete()..])
    }

    /// Whether the indicator of relation `k` reads what changed, or rests at zero, which another
    /// derivative may end.
    fn is_affected(&self, k: usize) -> bool {
        let (dims, Scratch { vars, prior, .. }) = (&self.scene.dims, &self.scratch);
        let relation = &self.readers.relations[k];
        if self.rests(k) || !self.was_active(k) {
            return true;
        }
        // A whole number on which the argument rests has no side of its own.
        let held = Dims::STATES..dims.first_side();
        let (value, error) = self.scratch.indicators[k];
        let whole = relation.kind == Kind::Floor && (value - value.round()).abs() <= error;
        whole && vars[held.clone()] != prior[held] || self.has_changed(k)
    }

    /// Whether relation `k` was at rest on zero: one that was not active has no side.
    #[inline]
    fn rests(&self, k: usize) -> bool {
        let on_zero = self.readers.relations[k].kind == Kind::Sign && self.side(k) == 0.0;
        on_zero && self.was_active(k)
    }

    /// Whether something that the indicator of relation `k` reads changed.
    pub(super) fn has_changed(&self, k: usize) -> bool {
        let (dims, Scratch { vars, prior, .. }) = (&self.scene.dims, &self.scratch);
        let relation = &self.readers.relations[k];
        let inputs = dims.first_input()..dims.first_discrete();
        let slips = &self.scene.frame.slips;
        let mode = relation.within.as_ref().map(|within| dims.first_discrete() + within.0);
        match &self.readers.reads[k] {
            Some(reads) => reads.iter().any(|id| {
                let place = id.0 as usize;
                // An input that goes on nearly as known has not changed; a mode only chooses.
                let known = match inputs.contains(&place) {
                    true => (vars[place] - prior[place]).abs() <= slips[place - inputs.start],
                    false => vars[place] == prior[place],
                };
                !known && Some(place) != mode
            }),
            None => vars != prior,
        }
    }

    /// Whether a jump may have turned the indicator of relation `k`, which reads nothing that changed: near
    /// its end the way it goes decides, if that is certain. Else it keeps its side (rule 4). Beside a jump of states, a
    /// discrete value or a mode turns what has gone to its side from there, and a segment what a link, or an event of this
    /// cycle, has moved.
    fn may_turn(&mut self, k: usize, at: Instant, known: &mut Known) -> bool {
        let (dims, Scratch { vars, prior, .. }) = (&self.scene.dims, &self.scratch);
        let Relation { kind, stops, .. } = self.readers.relations[k];
        if kind != Kind::Sign || self.certain(k) != 0.0 {
            return false;
        }
        let changed = |places: Range<usize>| vars[places.clone()] != prior[places];
        let events = self.scene.equations.events();
        let resets =
            |e: &u16| events[usize::from(*e)].sets(|set| self.readers.read(k, |id| id == set));
        if !stops && changed(Dims::STATES..dims.first_input())
            || self.scratch.committed.iter().any(resets)
        {
            return true;
        }
        let now = self.scene.frame.last + at.tick;
        if changed(dims.first_discrete()..dims.first_side()) {
            return !self.has_left(k) && self.is_turned(k, at, known);
        }
        !stops && self.state.linked == now && self.hears(k, now)
    }

    /// Whether the motion before the change that is being made led on to the side of relation `k`. One in the
    /// equations whose side leads back to the other one flips at the next tick.
    fn is_turned(&mut self, k: usize, at: Instant, known: &mut Known) -> bool {
        let (side, first) = (self.side(k), self.scene.dims.first_side());
        let now = std::mem::replace(&mut self.scratch.vars, self.scratch.prior.clone());
        self.scratch.vars[first..].copy_from_slice(&now[first..]);
        let went = self.heading(k, at, &mut Known::Nothing);
        self.scratch.vars = now;
        *known = Known::Nothing;
        went * side > 0.0
    }

    /// Whether the indicator of relation `k` reads an input that is heard at this tick.
    fn hears(&self, k: usize, now: i64) -> bool {
        let (first, inputs) = (self.scene.dims.first_input(), &self.scene.frame.inputs);
        let heard = |place: usize| inputs.get(place - first).is_some_and(|held| held.at == now);
        self.readers.read(k, |place| place >= first && heard(place))
    }

    /// The side of relation `k` where it comes to stand on its threshold, or on a whole number, or rests on zero as
    /// before: nothing moves its indicator any more, also where it came there at the very tick at which it was stopped.
    /// An equilibrium that is only approached moves by as much as its states may be off.
    fn stands(&mut self, k: usize, at: Instant, known: &mut Known) -> Option<f64> {
        let Relation { kind, role, sliding, .. } = &self.readers.relations[k];
        let (value, error) = self.scratch.indicators[k];
        let (end, before) = match *kind {
            Kind::Sign => (0.0, value * self.side(k) < 0.0),
            Kind::Floor => (value.round(), false),
        };
        // Beyond by no more than its error, and stopped there, it has come to its threshold; so has one that flipped.
        let near = (value - end).abs() <= error && end != self.side(k);
        let came = before || self.scratch.flipped.contains(&(k as u16)) && !self.has_left(k);
        let ends = near && (value == end || came) || self.rests(k) && !self.has_changed(k);
        // As a rule the slope tells.
        let searched = *role == Role::Searched && sliding.is_none();
        if !searched || !ends || self.heading(k, at, known) != 0.0 {
            return None;
        }
        let side = self.scene.dims.first_side() + k;
        let Scratch { vars, tendency, errors, .. } = &mut self.scratch;
        let error = |place: usize| if place == 0 { f64::EPSILON } else { errors[place] };
        let mut rests = |vars: &[f64]| {
            let z = tendency.series(&self.scene, (at.t, vars), error)[k];
            rests(&z, &tendency.series(&self.scene, (at.t, vars), |_| 0.0)[k])
        };
        if !rests(vars) {
            return None;
        }
        // There, too, nothing moves it: a relation that stops what it reads would else flip to and fro.
        let held = std::mem::replace(&mut vars[side], end);
        let stays = rests(vars);
        vars[side] = held;
        stays.then_some(end)
    }

    /// Whether a relation has come to stand on its threshold since an input came to rest.
    pub(super) fn comes_to_stand(&mut self) -> bool {
        let now = self.scene.frame.last;
        let rests = |h: &Held| h.at == now && h.segment.rests();
        if self.readers.relations.is_empty() || !self.scene.frame.inputs.iter().any(rests) {
            return false;
        }
        self.doubt(NOW);
        self.update_indicators();
        let mut all = 0..self.readers.relations.len();
        let comes = |unit: &mut Self, k| {
            unit.stands(k, NOW, &mut Known::Nothing).is_some_and(|side| side != unit.side(k))
        };
        all.any(|k| self.is_active(k) && (comes(self, k) || self.lies_beyond(k)))
    }

    /// Whether relation `k` lies on another side than it is held on: within the exchange tolerance it waited until
    /// what it hears came to rest.
    fn lies_beyond(&self, k: usize) -> bool {
        let Relation { kind, role, sliding, .. } = &self.readers.relations[k];
        let compared = *kind == Kind::Sign && *role == Role::Searched && sliding.is_none();
        let sign = self.certain(k);
        compared && sign != 0.0 && sign != self.side(k)
    }

    /// Whether the resets of a cycle, those of this event among them, have put the indicator of relation
    /// `k` back to zero, or onto a whole number, from where it moves on.
    pub(super) fn is_put_back(&self, k: usize, by: impl Fn(usize) -> bool) -> bool {
        let (dims, Scratch { vars, prior, .. }) = (&self.scene.dims, &self.scratch);
        // Algebraic variables are solved for anew without a reset.
        let algebraic = dims.algebraic_places();
        let is_reset =
            |place: usize| by(place) && vars[place] != prior[place] && !algebraic.contains(&place);
        let near = match self.readers.relations[k].kind {
            Kind::Sign => self.side(k) != 0.0 && self.certain(k) == 0.0,
            Kind::Floor => self.beyond_whole(k).is_some(),
        };
        near && self.readers.read(k, is_reset)
    }

    /// The side on the other side of the whole number on which relation `k` stands.
    fn beyond_whole(&self, k: usize) -> Option<f64> {
        let z = self.scratch.indicators[k];
        let way = if self.side(k) == z.0.round() { 1.0 } else { -1.0 };
        Kind::Floor.decide(z, || way).1
    }

    /// Whether the condition of event `number` needs the threshold on which relation `k` stands: of whole
    /// numbers it may need another one, and a remainder goes on to end it.
    pub(super) fn is_needed(&mut self, k: usize, number: usize) -> bool {
        let now = self.scratch.vars.clone();
        let mut sides = self.beyond_whole(k).iter().map(|side| (k as u16, *side)).collect();
        match self.readers.relations[k].kind {
            Kind::Sign => _ = self.set_side(k, -self.side(k)),
            Kind::Floor => self.carry(&mut sides),
        }
        let holds = self.holds(number);
        self.scratch.vars = now;
        let first = self.scene.dims.first_discrete();
        let of = &self.readers.of[number];
        let ends = |s: &(u16, f64)| {
            of.contains(&s.0.into()) && self.readers.read(s.0.into(), |place| place < first)
        };
        !holds && !sides.iter().skip(1).any(ends)
    }

    /// Where an indicator that is zero goes.
    pub(super) fn heading(&mut self, k: usize, at: Instant, known: &mut Known) -> f64 {
        // The root that brought about what is decided may lie so much after the tick (R14).
        let early = if at.start { 0.0 } else { self.snap() };
        let Scratch { vars, tendency, headings, errors, .. } = &mut self.scratch;
        let error = |place: usize| if place == 0 { early } else { errors[place] };
        if *known == Known::Nothing {
            headings.clear();
            headings.extend(tendency.slopes(&self.scene, (at.t, vars), error));
            *known = Known::Slopes;
        }
        // As a rule the slope tells.
        if headings[k] == 0.0 && *known == Known::Slopes {
            let z = tendency.series(&self.scene, (at.t, vars), error);
            headings.clear();
            headings.extend(z.iter().map(|z| first_sign(z, 1)));
            *known = Known::All;
        }
        headings[k]
    }

    /// Where the solution slides along the surface of relation `k`, begins to, or lets go: gives
    /// whether something changed; nothing if this decides nothing.
    fn slide(&mut self, k: usize, sliding: &Sliding) -> Option<bool> {
        if self.side(sliding.flag) != 0.0 {
            let side = match (self.side(sliding.above), self.side(sliding.below)) {
                (above, _) if above > 0.0 => 1.0,
                (_, below) if below < 0.0 => -1.0,
                _ => self.moved(k),
            };
            if side == 0.0 {
                return Some(false);
            }
            self.set_side(sliding.flag, 0.0);
            self.set_side(k, side);
            self.scratch.released.push(k);
            return Some(true);
        }
        if self.scratch.released.contains(&k) {
            return Some(false);
        }
        let apart = sliding.apart.iter().any(|&flag| self.side(flag) != 0.0);
        // One that flipped has been put onto it, unless only a change of this cycle drives it back.
        if self.certain(k) != 0.0 || apart || !self.is_held(k) {
            return None;
        }
        self.set_side(sliding.flag, 1.0);
        self.set_side(k, 0.0);
        Some(true)
    }

    /// Whether both fields lead to the surface of relation `k`.
    fn is_held(&self, k: usize) -> bool {
        let [above, below] = self.scene.equations.slopes(k, &self.scratch.vars);
        above < 0.0 && below > 0.0
    }

    /// The relation along whose surface, which the solution reaches at tick `tick`, it begins to slide.
    pub(super) fn slides_from(&self, tick: i64) -> Option<usize> {
        let due = self.state.pending.iter().filter(|p| p.tick == tick);
        let mut relations = due.map(|p| usize::from(p.relation));
        relations.find(|&k| self.readers.relations[k].sliding.is_some() && self.is_held(k))
    }

    /// Puts the scratch's states back onto the surface of relation `k`, which they have passed since the
    /// root: along the jump of the field, as if they had slid from there.
    pub(super) fn put_on_surface(&mut self, k: usize) {
        /// Newton's steps; one does for a plane.
        const STEPS: u32 = 3;
        let dims = self.scene.dims;
        let (equations, side) = (&self.scene.equations, dims.first_side() + k);
        let Scratch { vars, work, .. } = &mut self.scratch;
        let mut z = vec![0.0; dims.indicators];
        let [mut up, mut down] = [vec![0.0; dims.states], vec![0.0; dims.states]];
        let held = vars[side];
        for _ in 0..STEPS {
            equations.indicators(vars, work, &mut z);
            let [above, below] = equations.slopes(k, vars);
            let by = z[k] / (above - below);
            vars[side] = 1.0;
            equations.derivatives(vars, work, &mut up);
            vars[side] = -1.0;
            equations.derivatives(vars, work, &mut down);
            vars[side] = held;
            let states = vars[Dims::STATES..].iter_mut().zip(up.iter().zip(&down));
            states.take(dims.differential()).for_each(|(x, (up, down))| *x -= by * (up - down));
        }
    }

    /// The sign of what a jump has moved indicator `k` by, beyond its rounding. It may read discrete values and sides, too.
    fn moved(&mut self, k: usize) -> f64 {
        let (value, error) = self.scratch.indicators[k];
        let Scratch { prior, work, .. } = &mut self.scratch;
        let mut before = vec![0.0; self.scene.dims.indicators];
        self.scene.equations.indicators(prior, work, &mut before);
        let by = value - before[k];
        if by.abs() > error && value.abs() > error { by.signum() } else { 0.0 }
    }
}
