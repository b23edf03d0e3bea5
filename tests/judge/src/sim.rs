//! Connected units as they run: their values, sides and truths, and the loop over instants.
use crate::eval::{Class, class};
use crate::graph::{Formula, Id};
use crate::model::{Comparison, Model, Variable};
use crate::number::{Ball, Dd};
use crate::roots::SAFETY;
use crate::system::{self, Due, System};
use crate::tape::{Series, Sides, Switch, Tape};
use crate::verdict::{
    Enclosure, FailureKind, Happened, Limits, Reason, Run, Sample, Ticks, UnitEnd,
};
use std::collections::{HashMap, VecDeque};

/// Why a run does not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    Undecided(Reason, String),
    Fail(FailureKind, String, Ticks),
}

pub(crate) fn undecided<T>(reason: Reason, detail: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Undecided(reason, detail.into()))
}

/// A relation that passed zero at this tick.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fresh<const M: usize> {
    /// The value at the tick.
    pub(crate) z: Ball<M>,
    /// Some: certainly beyond zero. None: on it, or one cannot tell.
    pub(crate) beyond: bool,
}

impl<const M: usize> Fresh<M> {
    /// Whether nothing was reset since: a value that is the same by chance has other errors.
    pub(crate) fn holds(&self, z: Ball<M>, size: f64) -> bool {
        let change = z - self.z;
        change.c.hi.abs() <= 1e-24 * size && change.error() <= 1e-3 * z.error()
    }
}

pub(crate) struct Sim<'a, const M: usize> {
    pub(crate) sys: &'a System,
    pub(crate) model: &'a Model,
    pub(crate) limits: &'a Limits,
    /// Ticks per second.
    pub(crate) rate: Dd,
    pub(crate) stop: i64,
    pub(crate) tick: i64,
    /// In which the present instant lies.
    pub(crate) range: Ticks,
    /// The ticks of the instant before.
    pub(crate) earlier: Ticks,
    /// Units with a root behind the present tick, and their states at the root.
    pub(crate) late: Vec<(usize, Vec<(usize, Ball<M>)>)>,
    pub(crate) micro: u32,
    /// In this instant micro-steps are known by their order only.
    pub(crate) ordered: bool,
    /// In the cycles of an instant.
    pub(crate) busy: bool,
    pub(crate) time: Ball<M>,
    /// By slot.
    pub(crate) v: Vec<Ball<M>>,
    /// Before the present cycle.
    pub(crate) pre: Vec<Ball<M>>,
    /// By unit of the model.
    pub(crate) mode: Vec<usize>,
    /// At rest by `rest`.
    pub(crate) frozen: Vec<bool>,
    /// The relation along which a unit slides, by unit of the model.
    pub(crate) sliding: Vec<Option<u32>>,
    pub(crate) sides: Sides,
    /// Sides and floors that are held.
    pub(crate) known: HashMap<Switch, ()>,
    pub(crate) fresh: HashMap<Switch, Fresh<M>>,
    /// The largest sizes of states since they were set.
    pub(crate) peaks: Vec<f64>,
    /// Relations whose flips ended all modes that watched them, and their values there; those of them that go back from
    /// there in this cycle, and where to.
    pub(crate) left: HashMap<u32, Ball<M>>,
    pub(crate) back: Vec<(u32, i8)>,
    /// Of conditions of events and links.
    pub(crate) truth: Vec<bool>,
    pub(crate) link_truth: Vec<bool>,
    pub(crate) link_risen: Vec<bool>,
    /// The last side of crossings that was not zero.
    pub(crate) crossed: Vec<i8>,
    /// Crossings that happened in this instant by a touch.
    pub(crate) grazed: Vec<usize>,
    /// Crossings that are at rest on zero.
    pub(crate) rested: Vec<bool>,
    /// When events last happened.
    pub(crate) last: Vec<Option<i64>>,
    /// How many instants of time events are over.
    pub(crate) passed: Vec<i64>,
    /// Switches that leave zero, or a whole number, right at the start, with the value before: conditions
    /// see that until tick 1.
    pub(crate) leaving: Vec<(Switch, f64)>,
    /// Ticks of located events, by unit.
    pub(crate) located: Vec<VecDeque<i64>>,
    /// Events whose `rest` stopped their unit in this cycle.
    pub(crate) stopped: Vec<usize>,
    /// Outputs have jumped that inputs hear a cycle later.
    pub(crate) unheard: bool,
    /// Inputs have jumped in this cycle.
    pub(crate) heard: bool,
    pub(crate) along: Option<(Tape, Series<M>)>,
    pub(crate) effort: u64,
    pub(crate) run: Run,
    /// Ticks of samples, and how many are done.
    pub(crate) wanted: Vec<i64>,
    pub(crate) sampled: usize,
    /// Samples up to here may lie on the wrong side of an event.
    pub(crate) blurred: i64,
}

impl<'a, const M: usize> Sim<'a, M> {
    pub(crate) fn new(
        sys: &'a System,
        model: &'a Model,
        limits: &'a Limits,
        wanted: Vec<i64>,
    ) -> Self {
        let v = sys.variables.iter().map(|variable| {
            Ball::new(match *variable {
                Variable::State(u, i) => model.units[u].states[i],
                Variable::Discrete(u, i) => model.units[u].discrete[i],
                Variable::Algebraic(u, i) => model.units[u].algebraic[i],
                Variable::Input(u, i) => model.units[u].inputs[i],
                _ => 0.0,
            })
        });
        let v: Vec<Ball<M>> = v.collect();
        let relations = sys.graph.relations.len();
        let stop = model.stop;
        Self {
            sys,
            model,
            limits,
            rate: Dd::whole(10i128.pow(model.resolution)),
            stop: system::tick(model, stop.numerator.into(), stop.denominator.into()),
            tick: 0,
            range: Ticks { lo: 0, hi: 0 },
            earlier: Ticks { lo: 0, hi: 0 },
            late: Vec::new(),
            micro: 0,
            ordered: false,
            busy: true,
            time: Ball::ZERO,
            pre: v.clone(),
            v,
            mode: vec![0; model.units.len()],
            frozen: vec![false; model.units.len()],
            sliding: vec![None; model.units.len()],
            sides: Sides {
                side: vec![0; relations],
                floor: vec![0.0; sys.graph.floors.len()],
                struck: vec![false; relations],
            },
            known: HashMap::new(),
            fresh: HashMap::new(),
            peaks: vec![0.0; sys.states],
            left: HashMap::new(),
            back: Vec::new(),
            truth: vec![false; sys.events.len()],
            link_truth: vec![false; sys.links.len()],
            link_risen: vec![false; sys.links.len()],
            crossed: vec![0; sys.events.len()],
            grazed: Vec::new(),
            rested: vec![false; sys.events.len()],
            last: vec![None; sys.events.len()],
            passed: vec![0; sys.events.len()],
            leaving: Vec::new(),
            located: vec![VecDeque::new(); model.units.len()],
            stopped: Vec::new(),
            unheard: false,
            heard: false,
            along: None,
            effort: 0,
            run: Run::default(),
            wanted,
            sampled: 0,
            blurred: -1,
        }
    }

    /// Runs to the end.
    pub(crate) fn go(&mut self) -> Result<(), Stop> {
        self.start()?;
        if self.time_tick() == Some(0) {
            self.instant(Vec::new())?;
        }
        self.busy = false;
        self.sample_here()?;
        while self.tick < self.stop {
            let limit = self.time_tick().unwrap_or(i64::MAX).min(self.stop);
            let flips = self.advance(limit)?;
            if !flips.is_empty() || self.time_tick() == Some(self.tick) {
                self.instant(flips)?;
            }
            self.sample_here()?;
        }
        self.run.end = self.snapshot()?;
        Ok(())
    }

    /// The first tick of a time event that is not over.
    pub(crate) fn time_tick(&self) -> Option<i64> {
        (0..self.sys.events.len()).filter_map(|e| self.next_time(e)).min()
    }

    /// The next tick of a time event.
    pub(crate) fn next_time(&self, e: usize) -> Option<i64> {
        match &self.sys.events[e].due {
            Due::At(list) => list.get(self.passed[e] as usize).copied(),
            Due::Every(from, every) => {
                Some(system::instant(self.model, *from, *every, self.passed[e]))
            }
            _ => None,
        }
    }

    /// Seconds of so many ticks.
    pub(crate) fn seconds(&self, ticks: i64) -> Dd {
        Dd::whole(ticks.into()) / self.rate
    }

    pub(crate) fn spend(&mut self, effort: u64) -> Result<(), Stop> {
        self.effort += effort;
        if self.effort > self.limits.effort {
            return undecided(Reason::Effort, "more work than allowed");
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Stop> {
        self.start_inputs()?;
        self.decide(&|_| true)?;
        self.leaving = self.find_leaving()?;
        let now = self.sides.clone();
        self.turn_back()?;
        for e in 0..self.sys.events.len() {
            self.truth[e] = self.condition(e);
        }
        for l in 0..self.sys.links.len() {
            self.link_truth[l] = self.sides.holds(&self.sys.graph, self.sys.links[l].formula);
        }
        self.sides = now;
        self.along = None;
        let leaving = self.leaving.clone();
        self.strike(&leaving);
        // Only where somebody sees a difference does something happen at tick 1.
        let seen = (0..self.sys.events.len()).any(|e| self.condition(e) != self.truth[e]);
        let links = (0..self.sys.links.len()).any(|l| {
            self.sides.holds(&self.sys.graph, self.sys.links[l].formula) != self.link_truth[l]
        });
        if !seen && !links {
            self.leaving.clear();
        }
        self.sides.struck.fill(false);
        for e in 0..self.sys.events.len() {
            if let Due::Crossing { side, .. } = &self.sys.events[e].due {
                let event = &self.sys.events[e];
                let here = event.mode.is_none_or(|m| m == self.mode[event.unit]);
                self.crossed[e] = if here { self.sides.of(*side) } else { 0 };
                self.rested[e] = here && self.crossed[e] == 0;
            }
        }
        Ok(())
    }

    /// Rule 7: what leaves zero right away was on the other side before.
    fn find_leaving(&mut self) -> Result<Vec<(Switch, f64)>, Stop> {
        let mut list = Vec::new();
        for switch in self.tape()?.switches {
            let argument = self.argument(switch);
            let x = self.now(argument)?;
            let (near, held, moves) = match switch {
                Switch::Relation(r) if self.slides(r) => continue,
                Switch::Relation(r) => {
                    let side = f64::from(self.sides.side[r as usize]);
                    (Dd::ZERO, side, self.sys.graph.relations[r as usize].moves)
                }
                Switch::Floor(f) => {
                    let moves = self.sys.graph.floors[f as usize].moves;
                    ((x.c + Dd::new(0.5)).floor(), self.sides.floor[f as usize], moves)
                }
            };
            let size = self.size(argument)? + near.hi.abs();
            let class = class(&(x - Ball::exact(near)), size);
            if !moves || matches!(class, Class::Sign(_)) {
                continue;
            }
            let heading = self.leaves(argument, size, self.matters(switch))?;
            if heading == 0 {
                continue;
            }
            if class != Class::Zero && self.matters(switch) {
                return undecided(Reason::Sign, "the start is nearly on a threshold");
            }
            let before = match switch {
                Switch::Relation(_) => -held,
                Switch::Floor(_) => held - f64::from(heading),
            };
            list.push((switch, before));
        }
        Ok(list)
    }

    /// Gives what leaves, and all that reads it, the sides before the start.
    fn turn_back(&mut self) -> Result<(), Stop> {
        let mut turned = Vec::new();
        self.along = None;
        for switch in self.tape()?.switches {
            let left = self.leaving.iter().find(|l| l.0 == switch).map(|l| l.1);
            let argument = self.argument(switch);
            let inner = turned.iter().any(|t| self.reads(argument, *t));
            let before = match left {
                Some(_) if inner && self.equated(switch) => {
                    return undecided(Reason::Open, "an equality that starts with an inner side");
                }
                Some(before) => before,
                None if inner => self.value_before(switch, argument)?,
                None => continue,
            };
            match switch {
                Switch::Relation(r) => self.sides.side[r as usize] = before as i8,
                Switch::Floor(f) => self.sides.floor[f as usize] = before,
            }
            turned.push(switch);
            self.along = None;
        }
        Ok(())
    }

    /// Whether an equality reads a relation. Rule 7 lets a start on the threshold count as a crossing also where the
    /// value only touches, such as an absolute value; whether it equals its threshold there is not said.
    fn equated(&self, switch: Switch) -> bool {
        self.sys.graph.formulas.iter().any(|f| match f {
            Formula::Relation(Comparison::Equal | Comparison::NotEqual, side) => {
                Switch::Relation(side.relation) == switch
            }
            _ => false,
        })
    }

    /// The side, or the whole number, that belongs to the values with the sides before the start.
    fn value_before(&mut self, switch: Switch, argument: Id) -> Result<f64, Stop> {
        let x = self.now(argument)?;
        let (size, matters) = (self.size(argument)?, self.matters(switch));
        let near = match switch {
            Switch::Relation(_) => Dd::ZERO,
            Switch::Floor(_) => (x.c + Dd::new(0.5)).floor(),
        };
        match (class(&(x - Ball::exact(near)), size + near.hi.abs()), switch) {
            (Class::Sign(sign), Switch::Relation(_)) => Ok(f64::from(sign)),
            (Class::Sign(_), Switch::Floor(_)) => Ok(x.c.floor().hi),
            (Class::Zero, Switch::Relation(_)) => {
                Ok(-f64::from(self.leaves(argument, size, matters)?))
            }
            (Class::Zero, Switch::Floor(_)) if self.leaves(argument, size, matters)? == 0 => {
                Ok(near.hi)
            }
            _ => undecided(Reason::Sign, "what held before the start is nearly on a threshold"),
        }
    }

    /// Whether the condition of a `when` holds, in its mode (rule 13).
    pub(crate) fn condition(&self, e: usize) -> bool {
        let event = &self.sys.events[e];
        let here = event.mode.is_none_or(|m| m == self.mode[event.unit]);
        match &event.due {
            Due::When { formula, .. } => here && self.sides.holds(&self.sys.graph, *formula),
            _ => false,
        }
    }

    /// Inputs are what they are wired to, from the start.
    fn start_inputs(&mut self) -> Result<(), Stop> {
        if self.sys.wires.is_empty() {
            return Ok(());
        }
        // Outputs read sides; those of declared inputs need not be clear.
        let _ = self.decide(&|_| true);
        let mut settled = false;
        for _ in 0..=self.sys.wires.len() + 1 {
            let incoming = self.mismatches()?;
            settled = incoming.is_empty();
            if settled {
                break;
            }
            for (slot, ball) in incoming {
                self.v[slot] = ball;
            }
            self.decide(&|_| true)?;
        }
        if !settled {
            return undecided(Reason::Unsupported, "outputs depend on each other without delay");
        }
        Ok(())
    }

    fn sample_here(&mut self) -> Result<(), Stop> {
        while self.sampled < self.wanted.len() && self.wanted[self.sampled] <= self.tick {
            let tick = self.wanted[self.sampled];
            let units = self.snapshot()?;
            let ambiguous = tick <= self.blurred;
            self.run.samples.push(Sample { tick, ambiguous, units });
            self.sampled += 1;
        }
        Ok(())
    }

    pub(crate) fn enclosure(&self, ball: &Ball<M>, exact: bool) -> Enclosure {
        let u = &self.limits.uncertainty;
        let size = ball.c.hi.abs();
        let own = if exact { 0.0 } else { u.absolute + u.relative * size };
        let error = SAFETY * ball.error() + own + 16.0 * f64::EPSILON * size;
        Enclosure { lo: ball.c.hi - error, hi: ball.c.hi + error }
    }

    /// All units as they are now.
    pub(crate) fn snapshot(&self) -> Result<Vec<UnitEnd>, Stop> {
        let mut units = Vec::new();
        for u in &self.sys.units {
            let list = |variables: Vec<Variable>, exact: bool| -> Vec<Enclosure> {
                let ball = |v: &Variable| self.enclosure(&self.v[self.sys.slot(*v)], exact);
                variables.iter().map(ball).collect()
            };
            let unit = &self.model.units[*u];
            let states = (0..unit.states.len()).map(|i| Variable::State(*u, i)).collect();
            let discrete = (0..unit.discrete.len()).map(|i| Variable::Discrete(*u, i)).collect();
            let algebraic = (0..unit.algebraic.len()).map(|i| Variable::Algebraic(*u, i)).collect();
            let mut outputs = Vec::new();
            for id in &self.sys.outputs[u] {
                let exact = !self.sys.graph.moves(*id);
                outputs.push(self.enclosure(&self.output(*u, *id)?, exact));
            }
            units.push(UnitEnd {
                states: list(states, false),
                discrete: list(discrete, true),
                algebraic: list(algebraic, false),
                outputs,
                mode: self.mode[*u],
            });
        }
        Ok(units)
    }

    /// Errors of steps from event to event add up, some tens of tolerances each: what a thousand tolerances become.
    pub(crate) fn added(&self) -> f64 {
        1.0 + self.run.happened.len() as f64 / 100.0
    }

    /// Notes an event that takes place.
    pub(crate) fn note(&mut self, place: crate::verdict::Place, name: String, units: &[usize]) {
        let mut after = Vec::new();
        for u in units {
            for (slot, variable) in self.sys.variables[..self.sys.held].iter().enumerate() {
                match variable {
                    Variable::State(w, _) if w == u => {
                        after.push(self.enclosure(&self.v[slot], false));
                    }
                    Variable::Discrete(w, _) if w == u => {
                        after.push(self.enclosure(&self.v[slot], true));
                    }
                    _ => {}
                }
            }
        }
        self.run.happened.push(Happened {
            place,
            name,
            tick: self.range,
            micro: self.micro,
            ordered: self.ordered,
            after,
        });
    }
}
