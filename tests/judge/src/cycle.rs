//! The cycles of an instant: which events take place, in which order, and what follows.
use crate::eval::{Class, class};
use crate::graph::{Id, Scope};
use crate::model::{Direction, Variable};
use crate::number::Ball;
use crate::sim::{Fresh, Sim, Stop, undecided};
use crate::system::Due;
use crate::tape::{Sides, Switch};
use crate::verdict::{FailureKind, Reason, Ticks};

/// What a relation or a floor does in the tick before an instant.
#[derive(Debug, Clone)]
pub(crate) struct Flip {
    pub(crate) switch: Switch,
    /// The side, or the whole number, that is assigned.
    pub(crate) to: f64,
    /// It passed zero upwards, downwards, within the tick.
    pub(crate) up: bool,
    pub(crate) down: bool,
    /// The value at a turning point that only touches; then nothing is assigned.
    pub(crate) touch: Option<f64>,
    /// The root certainly lies before the tick.
    pub(crate) beyond: bool,
}

/// R11(b): so many located events of one unit may come, each at most so many ticks after the one before, without such a
/// pause.
const CHATTER: usize = 1000;
const GAP: i64 = 2;
const PAUSE: i64 = 20;
/// In so many ticks there are enough of them.
const WITHIN: i64 = 10_000;
/// So many in a row are a sure sign.
const SURE: usize = 100;

impl<const M: usize> Sim<'_, M> {
    /// All cycles of the present tick.
    pub(crate) fn instant(&mut self, flips: Vec<Flip>) -> Result<(), Stop> {
        let model = self.model;
        self.micro = 0;
        self.ordered = false;
        self.busy = true;
        self.along = None;
        self.grazed.clear();
        let leaving = std::mem::take(&mut self.leaving);
        let mut due = self.first(&flips, &leaving)?;
        self.put_on_roots(&flips, &due)?;
        self.count(&flips, &due)?;
        let mut links = self.proposals(0);
        let (mut jumped, mut over) = (Vec::new(), Vec::new());
        loop {
            self.pre = self.v.clone();
            self.heard = false;
            let mut touched = vec![false; self.model.units.len()];
            let before = self.sides.clone();
            let deciding = self.deciding(&links);
            let waiting = self.wait(&mut due, &deciding);
            if self.ordered && !waiting.is_empty() {
                return undecided(Reason::Open, "an event beside a link that a link has made true");
            }
            let now: Vec<usize> = links.iter().filter(|l| l.1 == self.micro).map(|l| l.0).collect();
            let sent = if self.unheard { self.mismatches()? } else { Vec::new() };
            let linked = self.run_links(&mut links, &mut touched)?;
            let reset = self.run_due(&due, &mut touched)?;
            self.deliver(&mut touched, &linked, &sent)?;
            self.decide(&|scope| match scope {
                Scope::Unit(u) => touched[u],
                Scope::Link(l) => model.links[l].units.iter().any(|u| touched[*u]),
            })?;
            self.stand(&reset, &before)?;
            self.stays()?;
            if !leaving.is_empty() && self.tick == 0 {
                return undecided(Reason::Open, "an event at the start, where a relation leaves 0");
            }
            due = self.next_due()?;
            due.extend(waiting.into_iter().filter(|e| self.is_due(*e)));
            // Members know each other's jumps a cycle later.
            if jumped.iter().any(|l: &usize| self.link_risen[*l] && !over.contains(l)) {
                return undecided(
                    Reason::Open,
                    "a link that its own jump ends begins anew before members know",
                );
            }
            let took_part = |l: &usize| self.sys.links[*l].units.iter().all(|u| linked[*u]);
            jumped = now.into_iter().filter(took_part).collect();
            if jumped.iter().any(|l| self.link_truth[*l] && self.sys.links[*l].moves_states()) {
                return undecided(
                    Reason::Open,
                    "a link that moves states and does not end its condition",
                );
            }
            over.clear();
            for l in &jumped {
                over.extend(self.surely_over(*l)?.then_some(*l));
            }
            self.ordered |= linked.contains(&true) && self.link_risen.contains(&true);
            links.extend(self.proposals(self.micro + 1));
            if due.is_empty() && links.is_empty() && self.mismatches()?.is_empty() {
                break;
            }
            self.micro += 1;
            if self.micro > self.limits.micro_steps {
                let message = format!("micro-step {} at one instant", self.micro);
                return Err(Stop::Fail(FailureKind::MicroSteps, message, self.range));
            }
            self.spend(5)?;
        }
        self.fresh.clear();
        (self.unheard, self.heard) = (false, false);
        self.busy = false;
        Ok(())
    }

    /// R14: a unit that stops at a tick before its root has its states at the root.
    fn put_on_roots(&mut self, flips: &[Flip], due: &[usize]) -> Result<(), Stop> {
        for (unit, states) in std::mem::take(&mut self.late) {
            let happens = due.iter().any(|e| self.sys.events[*e].unit == unit);
            let stops = |flip: &Flip| self.sys.in_field(flip.switch);
            let own = |f: &&Flip| f.touch.is_none() && self.scope(f.switch) == Scope::Unit(unit);
            if happens || flips.iter().filter(own).any(stops) {
                states.into_iter().for_each(|(slot, value)| self.v[slot] = value);
                for (switch, fresh) in self.fresh.clone() {
                    let z = self.now(self.argument(switch))?;
                    self.fresh.insert(switch, Fresh { z, ..fresh });
                }
            }
        }
        Ok(())
    }

    /// What is due in the first cycle of a tick (rules 8, 9 and 14), truths noted.
    fn first(&mut self, flips: &[Flip], leaving: &[(Switch, f64)]) -> Result<Vec<usize>, Stop> {
        let before = self.sides.clone();
        for flip in flips.iter().filter(|f| f.touch.is_none()) {
            let z = match flip.switch {
                Switch::Relation(r) => {
                    let side = &mut self.sides.side[r as usize];
                    // At the start the side is the one from there on.
                    let strikes = f64::from(*side) != flip.to || flip.up && flip.down;
                    *side = flip.to as i8;
                    self.sides.struck[r as usize] = strikes;
                    self.sys.graph.relations[r as usize].z
                }
                Switch::Floor(f) => {
                    self.sides.floor[f as usize] = flip.to;
                    self.sys.graph.floors[f as usize].argument
                }
            };
            let value = self.now(z)?;
            // A value that has left zero at the start by less than its error may be on zero for the judged program.
            let left = leaving.iter().any(|l| l.0 == flip.switch);
            let near = left && !matches!(class(&value, self.size(z)?), Class::Sign(_));
            self.fresh.insert(flip.switch, Fresh { z: value, beyond: flip.beyond && !near });
        }
        self.landed()?;
        self.strike(leaving);
        self.catch(flips)?;
        self.outer(flips, &before)?;
        if self.bends(flips)? {
            self.outer(flips, &before)?;
        }
        let mut due = Vec::new();
        for e in 0..self.sys.events.len() {
            let event = &self.sys.events[e];
            let here = event.mode.is_none_or(|m| m == self.mode[event.unit]);
            let now = match &event.due {
                Due::When { .. } => {
                    let holds = self.condition(e) || (here && self.touched(e, flips));
                    let was = std::mem::replace(&mut self.truth[e], holds);
                    holds && !was
                }
                Due::Crossing { .. } => here && self.crosses(e, flips)?,
                Due::At(_) | Due::Every(..) => {
                    let now = self.next_time(e) == Some(self.tick);
                    while self.next_time(e).is_some_and(|t| t <= self.tick) {
                        self.passed[e] += 1;
                    }
                    here && now
                }
            };
            if now {
                due.push(e);
            }
        }
        for l in 0..self.sys.links.len() {
            let holds = self.sides.holds(&self.sys.graph, self.sys.links[l].formula);
            self.rise(l, holds);
        }
        self.sides.struck.fill(false);
        Ok(due)
    }

    /// Undecided where a value is at its threshold without having crossed it, in a cycle in which others flip, which may
    /// change its motion just there: a rounding decides whether it came there. A jump may put it there.
    fn landed(&self) -> Result<(), Stop> {
        let jumped = (0..self.sys.states).any(|slot| self.v[slot].c != self.pre[slot].c);
        if jumped || self.fresh.is_empty() {
            return Ok(());
        }
        let others = self.known.keys().filter(|switch| !self.fresh.contains_key(switch));
        for switch in others {
            let Switch::Relation(r) = switch else { continue };
            let r = *r as usize;
            let relation = &self.sys.graph.relations[r];
            let matters = self.sys.heard[r] || self.sys.jumps[r];
            if !matters || !relation.moves || self.sides.side[r] == 0 {
                continue;
            }
            let z = self.now(relation.z)?;
            if !matches!(class(&z, self.size(relation.z)?), Class::Sign(_)) {
                return undecided(Reason::Sign, "a value comes to its threshold where others flip");
            }
        }
        Ok(())
    }

    /// Notes a link's condition, and whether it has just become true.
    fn rise(&mut self, l: usize, holds: bool) {
        let was = std::mem::replace(&mut self.link_truth[l], holds);
        self.link_risen[l] = holds && !was;
    }

    /// Rule 14 at the start: what leaves zero from the other side passes it.
    pub(crate) fn strike(&mut self, leaving: &[(Switch, f64)]) {
        for (switch, was) in leaving {
            if let Switch::Relation(r) = switch {
                let side = f64::from(self.sides.side[*r as usize]);
                self.sides.struck[*r as usize] = side != 0.0 && side == -was;
            }
        }
    }

    /// Rule 3, a change of an inner side. A relation that reads it is what its value says, whatever its series did.
    fn outer(&mut self, flips: &[Flip], before: &Sides) -> Result<(), Stop> {
        let mut again = Vec::new();
        let switches: Vec<Switch> = self.known.keys().copied().collect();
        for switch in switches {
            let z = match switch {
                Switch::Relation(r) => self.sys.graph.relations[r as usize].z,
                Switch::Floor(f) => self.sys.graph.floors[f as usize].argument,
            };
            let inner = |f: &Flip| f.touch.is_none() && self.reads(z, f.switch);
            if flips.iter().any(inner) {
                self.known.remove(&switch);
                if let (Some(_), Switch::Relation(r)) = (self.fresh.remove(&switch), switch) {
                    self.turns_back(switch, z)?;
                    self.sides.side[r as usize] = before.side[r as usize];
                    self.sides.struck[r as usize] = false;
                    again.push(r as usize);
                }
            }
        }
        let mut moved = vec![false; self.model.units.len()];
        for u in self.sys.units.clone() {
            if !self.sys.residuals[&u].is_empty() && !flips.is_empty() {
                moved[u] = self.solve(u)?;
            }
        }
        // Those that are not known are decided, also where a branch has just become active.
        self.decide(&|scope| matches!(scope, Scope::Unit(u) if moved[u]))?;
        for r in again {
            let (was, side) = (before.side[r], self.sides.side[r]);
            self.sides.struck[r] = was != 0 && side == -was;
        }
        Ok(())
    }

    /// Undecided where a value that another unit sends turns back on its threshold: who hears it knows the piece before,
    /// which goes on.
    fn turns_back(&self, switch: Switch, z: Id) -> Result<(), Stop> {
        let heard = self.matters(switch) && self.parts(z).wired;
        if heard && !matches!(class(&self.now(z)?, self.size(z)?), Class::Sign(_)) {
            return undecided(Reason::Touch, "what is heard turns back on its threshold");
        }
        Ok(())
    }

    /// `touching`: side 0 for this cycle, for events whose band is wide enough (rule 5).
    fn touched(&mut self, e: usize, flips: &[Flip]) -> bool {
        let Due::When { formula, band } = self.sys.events[e].due else { return false };
        let mut saved = Vec::new();
        let read = self.sys.read(formula);
        for flip in flips {
            let (Switch::Relation(r), Some(value)) = (flip.switch, flip.touch) else { continue };
            if band > 0.0 && value.abs() <= band && read.contains(&r) {
                saved.push((r, self.sides.side[r as usize]));
                self.sides.side[r as usize] = 0;
            }
        }
        let holds = !saved.is_empty() && self.sides.holds(&self.sys.graph, formula);
        for (r, side) in saved {
            self.sides.side[r as usize] = side;
        }
        holds
    }

    fn crosses(&mut self, e: usize, flips: &[Flip]) -> Result<bool, Stop> {
        let Due::Crossing { side, direction, band } = self.sys.events[e].due else {
            return Ok(false);
        };
        let mut due = false;
        let (mut passed, mut grazes) = (false, false);
        for flip in flips.iter().filter(|f| f.switch == Switch::Relation(side.relation)) {
            let (mut up, mut down) = (flip.up, flip.down);
            if flip.touch.is_none() && self.sides.side[side.relation as usize] != flip.to as i8 {
                // Inner relations have decided otherwise, or the solution slides.
                continue;
            }
            passed |= flip.touch.is_none();
            if let Some(value) = flip.touch {
                // It comes from below where it stays below.
                let within = band > 0.0 && value.abs() <= band;
                up = within && self.sides.side[side.relation as usize] < 0;
                down = within && self.sides.side[side.relation as usize] > 0;
                grazes |= within;
            } else if !(up && down) {
                // From a side to itself is no crossing, nor is the start (rule 7).
                let to = if side.flipped { -flip.to } else { flip.to };
                let crossed = self.crossed[e] != 0 && to as i8 != self.crossed[e];
                (up, down) = (up && crossed, down && crossed);
            }
            if side.flipped {
                std::mem::swap(&mut up, &mut down);
            }
            due |= match direction {
                Direction::Rising => up,
                Direction::Falling => down,
                Direction::Both => up || down,
            };
        }
        if due && grazes {
            self.grazed.push(e);
        }
        let now = self.sides.of(side);
        let was = self.crossed[e];
        if !passed && was != 0 && now != 0 && was != now {
            // A relation that it reads has flipped, by which it jumped over zero.
            due |= match direction {
                Direction::Rising => now > 0,
                Direction::Falling => now < 0,
                Direction::Both => true,
            };
        }
        self.leaves_rest(e, now)?;
        if now != 0 {
            self.crossed[e] = now;
        }
        Ok(due)
    }

    /// Whether a crossing that rested on zero leaves it: the rules do not say if that is one.
    fn leaves_rest(&mut self, e: usize, now: i8) -> Result<(), Stop> {
        if std::mem::replace(&mut self.rested[e], now == 0) && now != 0 {
            return undecided(Reason::Open, "a crossing that rested on zero leaves it");
        }
        Ok(())
    }

    /// Rule 11: what has become true in this cycle is due in the next.
    fn next_due(&mut self) -> Result<Vec<usize>, Stop> {
        let mut due = Vec::new();
        for e in 0..self.sys.events.len() {
            match self.sys.events[e].due {
                Due::When { .. } => {
                    let holds = self.condition(e);
                    let begins = holds && !std::mem::replace(&mut self.truth[e], holds);
                    if begins && !self.goes_back(e) {
                        due.push(e);
                    }
                    self.truth[e] = holds;
                }
                Due::Crossing { side, direction, .. } => {
                    let event = &self.sys.events[e];
                    let here = event.mode.is_none_or(|m| m == self.mode[event.unit]);
                    let now = self.sides.of(side);
                    let was = self.crossed[e];
                    let fits = match direction {
                        Direction::Rising => now > 0,
                        Direction::Falling => now < 0,
                        Direction::Both => true,
                    };
                    if !here {
                        self.crossed[e] = 0;
                        self.rested[e] = false;
                        continue;
                    }
                    self.leaves_rest(e, now)?;
                    if now != 0 {
                        self.crossed[e] = now;
                        if was != 0 && was != now && fits {
                            if self.grazed.contains(&e) {
                                return undecided(
                                    Reason::Open,
                                    "a crossing that touched is put on the other side",
                                );
                            }
                            due.push(e);
                        }
                    }
                }
                Due::At(_) | Due::Every(..) => {}
            }
        }
        self.back.clear();
        for l in 0..self.sys.links.len() {
            let holds = self.sides.holds(&self.sys.graph, self.sys.links[l].formula);
            self.rise(l, holds);
        }
        Ok(due)
    }

    /// Rule 10. Gives the events whose resets were carried out, not those that came to rest.
    fn run_due(&mut self, due: &[usize], touched: &mut [bool]) -> Result<Vec<usize>, Stop> {
        let (mut reset, mut rested) = (Vec::new(), Vec::new());
        let mut due = due.to_vec();
        due.sort_by_key(|e| (self.sys.events[*e].unit, self.sys.events[*e].priority, *e));
        for e in due {
            let event = &self.sys.events[e];
            if event.mode.is_none_or(|m| m == self.mode[event.unit]) {
                if self.happen(e)? { &mut reset } else { &mut rested }.push(e);
                touched[self.sys.events[e].unit] = true;
            }
        }
        // A unit that came to rest, and that another event set going, goes on from its threshold.
        reset.extend(rested.into_iter().filter(|e| !self.frozen[self.sys.events[*e].unit]));
        Ok(reset)
    }

    /// Gives whether the event's resets were carried out.
    fn happen(&mut self, e: usize) -> Result<bool, Stop> {
        let event = &self.sys.events[e];
        let (u, place) = (event.unit, event.place);
        let last = self.last[e].replace(self.tick);
        let state = matches!(event.due, Due::When { .. } | Due::Crossing { .. });
        if let (Some(rest), Some(last), true) = (&event.rest, last, state) {
            let within = i128::from(rest.within.numerator) * 10i128.pow(self.model.resolution);
            let passed = i128::from(self.tick - last) * i128::from(rest.within.denominator);
            if passed <= within {
                for (variable, value) in &rest.values {
                    self.v[self.sys.slot(*variable)] = Ball::new(*value);
                }
                // A unit at rest does not go on.
                if !std::mem::replace(&mut self.frozen[u], true) {
                    self.stopped.push(e);
                }
                self.finish(event.to, u);
                self.note(place, event.name.clone(), &[u]);
                return self.enough().map(|()| false);
            }
        }
        let new = self.resets(&event.reset)?;
        let moved = new.iter().any(|(v, _)| matches!(v, Variable::State(..)));
        if moved || event.to.is_some() {
            self.frozen[u] = false;
        }
        self.assign(new);
        self.finish(event.to, u);
        self.note(place, event.name.clone(), &[u]);
        self.enough().map(|()| true)
    }

    fn finish(&mut self, to: Option<usize>, u: usize) {
        if let Some(mode) = to {
            self.mode[u] = mode;
            self.v[self.sys.slot(Variable::Mode(u))] = Ball::new(mode as f64);
        }
    }

    /// Rule 23: all formulas of an event read values before it.
    pub(crate) fn resets(
        &self,
        resets: &[(Variable, Id)],
    ) -> Result<Vec<(Variable, Ball<M>)>, Stop> {
        let mut list = Vec::new();
        for (variable, id) in resets {
            let value = self.in_reset(*id)?;
            if !value.c.finite() {
                let message = format!("a reset of {variable:?} gives no number");
                return Err(Stop::Fail(FailureKind::NotANumber, message, self.range));
            }
            list.push((*variable, value));
        }
        Ok(list)
    }

    pub(crate) fn assign(&mut self, values: Vec<(Variable, Ball<M>)>) {
        for (variable, value) in values {
            let slot = self.sys.slot(variable);
            self.v[slot] = value;
            if let Some(peak) = self.peaks.get_mut(slot) {
                *peak = 0.0;
            }
        }
    }

    pub(crate) fn enough(&self) -> Result<(), Stop> {
        if self.run.happened.len() > self.limits.events {
            return undecided(Reason::Effort, "more events than allowed");
        }
        Ok(())
    }

    /// Inputs follow outputs that jumped: what is sent in a cycle is heard in it (R2). Members of a link jump
    /// after they have `sent`, so that they send the jump in the next cycle.
    fn deliver(
        &mut self,
        touched: &mut [bool],
        linked: &[bool],
        sent: &[(usize, Ball<M>)],
    ) -> Result<(), Stop> {
        self.decide(&|scope| match scope {
            Scope::Unit(u) => touched[u],
            Scope::Link(_) => false,
        })?;
        let sys = self.sys;
        let jumps = |l: &(usize, Ball<M>)| linked[sys.sender[&sys.variables[l.0]]];
        let mut list = self.mismatches()?;
        let count = list.len();
        list.retain(|l| !jumps(l));
        self.unheard = list.len() < count;
        list.extend(sent.iter().filter(|l| jumps(l)));
        self.heard = !list.is_empty();
        for (slot, value) in list {
            self.v[slot] = value;
            if let Variable::Input(u, _) = sys.variables[slot] {
                touched[u] = true;
            }
        }
        Ok(())
    }

    /// R11(b), for units that stopped here, also for a link: rule 16 leaves out flips that nothing but conditions
    /// read, where no event comes of them.
    fn count(&mut self, flips: &[Flip], due: &[usize]) -> Result<(), Stop> {
        let mut stopped = vec![false; self.model.units.len()];
        for e in due {
            if matches!(self.sys.events[*e].due, Due::When { .. } | Due::Crossing { .. }) {
                stopped[self.sys.events[*e].unit] = true;
            }
        }
        for (l, _) in self.link_risen.iter().enumerate().filter(|l| *l.1) {
            self.sys.links[l].units.iter().for_each(|u| stopped[*u] = true);
        }
        for flip in flips {
            let read = self.sys.in_field(flip.switch);
            if let (true, Scope::Unit(u)) = (read, self.scope(flip.switch)) {
                stopped[u] = true;
            }
        }
        for (u, _) in stopped.iter().enumerate().filter(|s| *s.1) {
            let list = &mut self.located[u];
            // The last one is that of the last event, whatever it came after.
            match list.back().map(|last| self.tick - last) {
                Some(since) if since > PAUSE => list.clear(),
                Some(since) if since > GAP => drop(list.pop_back()),
                _ => {}
            }
            list.push_back(self.tick);
            if list.len() > CHATTER + 1 {
                list.pop_front();
            }
            let all = list.len() > CHATTER;
            // Where ten thousand ticks are microseconds, what goes on at this rate will go on.
            let fine = self.model.resolution >= 9 && self.stop - self.tick > 2 * WITHIN;
            let begun = list.len().checked_sub(SURE).map(|i| list[i]);
            let sure = fine && begun.is_some_and(|b| self.tick - b <= SURE as i64 * 4);
            if all || sure {
                let lo = if all { list[0] } else { begun.unwrap_or(list[0]) };
                let time = Ticks { lo, hi: self.tick + 2 * WITHIN };
                let message = format!(
                    "more than {CHATTER} located events, each at most {GAP} ticks after the one before"
                );
                return Err(Stop::Fail(FailureKind::Chattering, message, time));
            }
        }
        Ok(())
    }
}
