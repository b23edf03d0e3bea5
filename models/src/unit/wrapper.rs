//! The wrapper: equations under a core, as an atomic model.
//!
//! # What the unit does between transitions
//! Its core advances by silent steps and finds the earliest of: a state event, a link's event, an
//! output that leaves the band around the segment which receivers hold, the limit set by a time
//! event. What is found becomes the unit's time advance, rounded to a tick by R14, and what it
//! will send then is computed at once from the state before the transition. An input that comes
//! earlier makes all that void: the unit goes back to the input's tag on its dense output.
//!
//! # Times
//! Offsets are seconds since the unit's last transition, so that they stay small; equations see
//! the absolute time.
use super::links::Session;
use crate::{
    maths::rounding,
    signal::value::{Flag, Segment, Value},
    solve::{
        Settings, Stepped,
        consistent::Consistent,
        core::{Advance, Core, Frame, Held, Scene},
        equations::{Dims, Equations, Trigger, Work},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::time::Duration;

/// What the unit is going to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Integrate on from the core's time.
    Silent,
    /// Something visible, so many ticks after the last transition.
    Due(i64, Action),
    /// Nothing any more, after an error.
    Idle,
}

/// Something visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Action {
    /// Send what waits.
    Send,
    /// Own events (listed in `fired`).
    Events,
    /// Propose the event of a link.
    Propose(u16),
    /// Answer proposals and decide on them.
    Decide,
    /// Stop the run: what takes place then has no values.
    Fail,
}

/// Everything that changes in a run, beside the scene's frame and the state of the core.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub plan: Plan,
    /// What λ sends at the planned time.
    pub outbox: Vec<(u16, Value)>,
    /// Events that happen at the planned time, and the variables after them.
    pub fired: Vec<u16>,
    pub after: Vec<f64>,
    /// Why the planned action fails.
    pub failure: String,
    pub sessions: Vec<Session>,
    /// Tick of the last own proposal that was refused, and how many followed each other closely.
    pub refused: (i64, u32),
    /// Whether the unit will be at rest after the planned events.
    pub retiring: bool,
    /// Tick at which each event that can bring the unit to rest happened last.
    pub happened: Vec<Option<i64>>,
    /// Shortest interval of each event, and how often it became shorter since one was much longer.
    pub paces: Vec<(i64, u32)>,
    /// The planned event that leaves its own condition true, where it meant to end it.
    pub pressing: Option<u16>,
    /// The event that happened last, if it came ever faster or was pressing.
    pub hurried: Option<u16>,
    /// Whether the remark of the settings has been noted.
    pub remarked: bool,
    pub exchanges: u64,
    pub exchanged_bytes: u64,
    pub events: u64,
}

/// A continuous unit as an atomic model: equations `E`, solved by the core `C`.
pub struct Unit<E: Equations, C: Core<E> = Stepped> {
    pub(super) scene: Scene<E>,
    /// Whether there are time events, whether anybody receives signals, and which events assign what
    /// their own conditions read, with the variables that are indicators of these.
    timed: bool,
    audible: bool,
    pub(super) ending: Vec<Option<Vec<usize>>>,
    pub(super) settings: Settings,
    pub(super) core: C,
    pub(super) state: State,
    pub(super) scratch: Scratch,
}

/// Working memory; never part of the state.
#[derive(Default)]
pub(super) struct Scratch {
    pub work: Work,
    pub consistent: Consistent,
    pub vars: Vec<f64>,
    pub x: Vec<f64>,
    pub before: Vec<f64>,
    pub found: Vec<u16>,
    /// Indicators.
    pub z: Vec<f64>,
    /// Discrete values before a jump.
    pub discrete: Vec<f64>,
    pub emitted: Vec<(u16, Value)>,
}

impl<E: Equations, C: Core<E>> std::fmt::Debug for Unit<E, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unit({:?}, {:?})", self.scene.dims, self.state.plan)
    }
}

impl<E: Equations> Unit<E> {
    /// A unit in its initial state, with start values for the inputs, under the method that the
    /// settings name.
    ///
    /// # Errors
    /// When derivatives or outputs are not finite at the start, or the method does not fit the
    /// equations.
    pub fn new(
        equations: E,
        initial: &[f64],
        inputs: &[f64],
        discrete: &[f64],
        settings: Settings,
    ) -> Result<Self, String> {
        let core = Stepped::new(&equations, &settings)?;
        Self::with_core(equations, core, initial, inputs, discrete, settings)
    }
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// The same with another core.
    ///
    /// # Errors
    /// When outputs are not finite at the start.
    pub fn with_core(
        equations: E,
        core: C,
        initial: &[f64],
        inputs: &[f64],
        discrete: &[f64],
        mut settings: Settings,
    ) -> Result<Self, String> {
        let dims = equations.dims();
        let mut connected = std::mem::take(&mut settings.connected);
        connected.resize(dims.outputs, true);
        let held = |&x: &f64| Held { segment: Segment::step(x, x), at: settings.start };
        let frame = Frame {
            last: settings.start,
            inputs: inputs.iter().map(held).collect(),
            discrete: discrete.to_vec(),
            sent: vec![held(&0.0); dims.outputs],
            resting: false,
        };
        let state = State {
            plan: Plan::Due(0, Action::Send),
            outbox: Vec::new(),
            fired: Vec::with_capacity(equations.events().len()),
            after: vec![0.0; dims.variables()],
            failure: String::new(),
            sessions: Vec::new(),
            refused: (i64::MIN / 2, 0),
            retiring: false,
            happened: vec![None; equations.events().len()],
            paces: vec![(i64::MAX, 0); equations.events().len()],
            pressing: None,
            hurried: None,
            remarked: false,
            exchanges: 0,
            exchanged_bytes: 0,
            events: 0,
        };
        let timed = equations.events().iter().any(|e| !matches!(e.trigger, Trigger::State { .. }));
        let audible = connected.contains(&true);
        let ending = endings(&equations);
        let rate = settings.resolution.ticks_per_second() as f64;
        let (tick, band) = (1.0 / rate, settings.exchange_tolerance);
        let scene = Scene { equations, dims, frame, rate, tick, connected, band };
        let scratch = Scratch::default();
        let mut unit = Self { scene, timed, audible, ending, settings, core, state, scratch };
        unit.scene.fill(0.0, initial, &mut unit.scratch.vars);
        unit.make_consistent(true)?;
        let vars = &unit.scratch.vars;
        unit.scene.frame.discrete.copy_from_slice(&vars[dims.first_discrete()..dims.received()]);
        unit.core.start(&unit.scene, &vars[Dims::STATES..dims.first_input()]);
        unit.present();
        unit.queue_segments(0.0, Cause::Start)?;
        Ok(unit)
    }

    pub(super) fn ticks_per_second(&self) -> u64 {
        self.settings.resolution.ticks_per_second().unsigned_abs()
    }

    #[inline]
    pub(super) fn seconds(&self, ticks: i64) -> f64 {
        ticks as f64 / self.scene.rate
    }

    /// Leaves the variables at offset `t` of the dense output in the scratch.
    #[inline(always)]
    pub(super) fn look(&mut self, t: f64) {
        let vars = &mut self.scratch.vars;
        self.scene.surround(t, vars);
        self.core.states(t, &mut vars[Dims::STATES..Dims::STATES + self.scene.dims.states]);
    }

    /// Leaves the variables at the present in the scratch.
    pub(super) fn present(&mut self) {
        self.look(0.0);
    }

    /// Leaves the outputs for the scratch's variables in `before`.
    pub(super) fn note_outputs(&mut self) {
        let Scratch { vars, before, work, .. } = &mut self.scratch;
        before.resize(self.scene.dims.outputs, 0.0);
        self.scene.equations.outputs(vars, work, before);
    }

    /// Expands outputs around offset `t`, for the scratch's variables, and lines the segments up
    /// for sending. After a jump the scratch's `before` holds the outputs before it, by which
    /// jumps are told from continuous pieces.
    #[inline]
    pub(super) fn queue_segments(&mut self, t: f64, cause: Cause) -> Result<(), String> {
        if self.audible { self.queue_audible(t, cause) } else { Ok(()) }
    }

    #[inline(never)]
    fn queue_audible(&mut self, t: f64, cause: Cause) -> Result<(), String> {
        let scene = &self.scene;
        let Scratch { vars, before, .. } = &self.scratch;
        let outbox = &mut self.state.outbox;
        let mut bad = None;
        let order = self.settings.segment_order;
        let all = cause != Cause::Band;
        self.core.expand(scene, (t, vars), order, all, &mut |port, c| {
            let finite = c.iter().take_while(|c| c.is_finite()).count();
            if finite == 0 {
                bad.get_or_insert(port);
                return;
            }
            let (flag, left) = match cause {
                Cause::Start => (Flag::Jump, c[0]),
                Cause::Band => (Flag::Continuous, c[0]),
                Cause::Request => (Flag::Refresh, c[0]),
                Cause::Jump if before[port] == c[0] => (Flag::Continuous, c[0]),
                Cause::Jump => (Flag::Jump, before[port]),
            };
            let segment = Segment::new(&c[..finite], flag, left);
            outbox.push((port as u16, Value::Segment(segment)));
        });
        match bad {
            Some(port) => {
                let what = format!("output {} is not finite", self.signal(true, port));
                Err(self.complain(&self.scratch.vars, &what))
            }
            None => Ok(()),
        }
    }

    /// The tick (after the last transition) of the next time event.
    #[inline(never)]
    fn next_time_event(&self) -> Option<i64> {
        let last = self.scene.frame.last;
        let next = |t: &Trigger| t.next(last, false).map(|at| at - last);
        self.scene.equations.events().iter().filter_map(|e| next(&e.trigger)).min()
    }

    /// One advance of the core, which begins in tick `begun`, and the plan for what it found.
    // Not inlined: the loop around it, which mostly goes round once, keeps nothing in between.
    #[inline(never)]
    pub(super) fn silent_step(&mut self, begun: i64) -> Result<(), String> {
        if self.timed { self.timed_step(begun) } else { self.step(begun, None) }
    }

    #[inline(never)]
    fn timed_step(&mut self, begun: i64) -> Result<(), String> {
        let time_event = self.next_time_event();
        self.step(begun, time_event)
    }

    /// The same, up to a time event.
    // Always inlined: there is less to do where there is none.
    #[inline(always)]
    fn step(&mut self, begun: i64, time_event: Option<i64>) -> Result<(), String> {
        let stop = time_event.map(|k| self.seconds(k));
        match self.core.advance(&self.scene, stop) {
            Ok(Advance::Silent) => self.fallen(),
            Ok(Advance::Stopped) => {
                self.fallen()?;
                if let Some(k) = time_event {
                    self.plan_at(k);
                }
                Ok(())
            }
            Ok(Advance::Found(t)) => match rounding::ceil_ticks(t, self.ticks_per_second()) {
                // What is found in the tick in which the step began takes place at the next one.
                Some(k) => {
                    if self.state.hurried.is_some() {
                        self.fallen_before(t)?;
                    }
                    self.plan_at(time_event.map_or(k, |due| due.min(k)).max(begun + 1));
                    Ok(())
                }
                None if t > 0.0 => {
                    self.state.plan = Plan::Idle;
                    Ok(())
                }
                None => Err(format!("an event at {t} s is beyond the range of time")),
            },
            Err(failure) => {
                // Where the solution ends, not at the instant of the call that came upon it.
                let why = self.explain(&failure);
                self.plan_failure(begun + 1, why);
                Ok(())
            }
        }
    }

    /// Place of the first link's event among the watched ones; own events come before.
    pub(super) fn first_link(&self) -> usize {
        self.scene.equations.events().len()
    }

    /// The part of a tick, in seconds, by which a tick may precede the crossing it stands for (R14).
    #[inline]
    pub(super) fn snap(&self) -> f64 {
        rounding::SNAP * self.scene.tick
    }

    /// Leaves in `fired` the events of the unit that happen `k` ticks from now, in order of
    /// declaration; gives the link that is due, if no event of the unit is.
    #[inline(always)]
    fn choose(&mut self, k: i64, t: f64) -> Option<usize> {
        let until = t + self.snap();
        self.state.fired.clear();
        self.core.found(until, &mut self.state.fired);
        if self.timed || !self.scene.equations.links().is_empty() {
            self.choose_among(k)
        } else {
            None
        }
    }

    /// The same, of what was found, time events and links.
    #[inline(never)]
    fn choose_among(&mut self, k: i64) -> Option<usize> {
        let (at, first) = (self.scene.frame.last + k, self.first_link());
        let fired = &mut self.state.fired;
        let links: Vec<u16> = fired.iter().copied().filter(|&i| usize::from(i) >= first).collect();
        fired.truncate(fired.len() - links.len());
        let states = fired.len();
        for (i, e) in self.scene.equations.events().iter().enumerate() {
            if k > 0 && e.trigger.next(at, true) == Some(at) {
                fired.push(i as u16);
            }
        }
        if fired.len() > states {
            fired.sort_unstable();
        }
        links.iter().map(|&i| usize::from(i) - first).min_by_key(|&i| self.rank(i))
    }

    /// Plans what happens `k` ticks after the last transition, and computes it. What cannot be
    /// computed is an error at that time, unless an input comes before.
    #[inline(always)]
    fn plan_at(&mut self, k: i64) {
        if let Err(why) = self.try_plan_at(k) {
            self.plan_failure(k, why);
        }
    }

    #[cold]
    fn plan_failure(&mut self, k: i64, why: String) {
        self.state.outbox.clear();
        self.scratch.emitted.clear();
        self.state.failure = why;
        self.state.plan = Plan::Due(k, Action::Fail);
    }

    #[inline(always)]
    fn try_plan_at(&mut self, k: i64) -> Result<(), String> {
        let t = self.seconds(k);
        let link = self.choose(k, t);
        if !self.state.fired.is_empty() {
            return self.plan_events(k, t);
        }
        match link {
            Some(i) => self.plan_proposal(k, i),
            None => {
                self.look(t);
                self.queue_segments(t, Cause::Band)?;
                self.state.plan = Plan::Due(k, Action::Send);
            }
        }
        Ok(())
    }

    /// Computes the resets of the events in `fired`, `k` ticks or `t` seconds after the last
    /// transition, and what is sent with them.
    // Always inlined, with what it calls: there is one way here that is gone at every event.
    #[inline(always)]
    pub(super) fn plan_events(&mut self, k: i64, t: f64) -> Result<(), String> {
        self.look(t);
        if self.audible {
            self.note_outputs();
        }
        // Of one event; which of several does what cannot be told.
        let ending = match self.state.fired[..] {
            [event] if self.ending[usize::from(event)].is_some() => Some(event),
            _ => None,
        };
        let now = self.scene.frame.last + k;
        self.state.retiring = false;
        match self.state.fired[..] {
            // As a rule.
            [event] => {
                if !self.happens(event, now) {
                    self.state.fired.clear();
                }
            }
            _ => self.happen_in_turn(now),
        }
        self.state.pressing = match ending {
            Some(event) if self.presses(event, t) => ending,
            _ => None,
        };
        if !self.is_finite() {
            return Err(self.bad_reset(t));
        }
        let internal = self.scene.equations.first_internal();
        self.make_consistent(self.state.fired.iter().any(|&e| usize::from(e) < internal))?;
        let resting = std::mem::replace(&mut self.scene.frame.resting, self.state.retiring);
        let queued = self.queue_segments(t, Cause::Jump);
        self.scene.frame.resting = resting;
        queued?;
        self.queue_emitted();
        std::mem::swap(&mut self.state.after, &mut self.scratch.vars);
        self.state.plan = Plan::Due(k, Action::Events);
        Ok(())
    }

    /// Carries out all events in `fired`, and leaves there those that happened.
    #[inline(never)]
    fn happen_in_turn(&mut self, now: i64) {
        let mut fired = std::mem::take(&mut self.state.fired);
        let mut done = 0;
        for k in 0..fired.len() {
            let event = fired[k];
            let equations = &self.scene.equations;
            let settles = |&before: &u16| equations.settles(before.into(), event.into());
            if !fired[..done].iter().any(settles) && self.happens(event, now) {
                fired[done] = event;
                done += 1;
            }
        }
        fired.truncate(done);
        self.state.fired = fired;
    }

    /// Carries out an event at tick `now` on the scratch's variables, if it still concerns these;
    /// gives whether it does.
    #[inline]
    fn happens(&mut self, event: u16, now: i64) -> bool {
        let number = usize::from(event);
        let Scratch { vars, work, emitted, .. } = &mut self.scratch;
        if !self.scene.equations.concerns(number, vars) {
            return false;
        }
        if let Some(rest) = &self.scene.equations.events()[number].rest
            && let Some(before) = self.state.happened[number]
            && self.settings.resolution.seconds(now - before) < rest.within
        {
            rest.values.iter().for_each(|&(var, value)| vars[var] = value);
            self.scene.equations.settle(vars, work);
            self.state.retiring = true;
        } else {
            self.scene.equations.reset(number, vars, work, emitted);
        }
        true
    }

    /// An error unless the scratch's variables are finite.
    pub(super) fn finite_after(&self, what: &str) -> Result<(), String> {
        if self.is_finite() { Ok(()) } else { Err(self.complain(&self.scratch.vars, what)) }
    }

    /// Whether the scratch's variables are finite.
    pub(super) fn is_finite(&self) -> bool {
        // Zero times what is not finite is NaN.
        self.scratch.vars.iter().fold(0.0, |sum, v| sum + 0.0 * v) == 0.0
    }

    /// Gives the algebraic variables among the scratch's their values; with `settle`, brings sides
    /// of switching functions in line with them.
    #[inline]
    pub(super) fn make_consistent(&mut self, settle: bool) -> Result<(), String> {
        if self.scene.dims.algebraic == 0 { Ok(()) } else { self.solve_algebraic(settle) }
    }

    #[inline(never)]
    fn solve_algebraic(&mut self, settle: bool) -> Result<(), String> {
        const ROUNDS: usize = 64;
        let Scratch { vars, work, consistent, .. } = &mut self.scratch;
        let options = &self.settings.solver;
        for _ in 0..ROUNDS {
            consistent.find(&self.scene.equations, vars, (options.rtol, options.atol))?;
            if !settle {
                return Ok(());
            }
            let discrete = vars[self.scene.dims.first_discrete()..].to_vec();
            self.scene.equations.settle(vars, work);
            if discrete == vars[self.scene.dims.first_discrete()..] {
                return Ok(());
            }
        }
        Err("the sides of switching functions (if, abs, max, ...) and the algebraic equations do \
             not agree: each makes the other change"
            .into())
    }

    #[inline]
    pub(super) fn queue_emitted(&mut self) {
        if !self.scratch.emitted.is_empty() {
            self.queue_all_emitted();
        }
    }

    #[inline(never)]
    fn queue_all_emitted(&mut self) {
        let first = self.scene.dims.outputs as u16;
        let emitted = self.scratch.emitted.drain(..);
        self.state.outbox.extend(emitted.map(|(port, v)| (first + port, v)));
    }

    pub(super) fn due(&self) -> Duration {
        match self.state.plan {
            Plan::Due(k, _) => self.ahead(k),
            Plan::Idle => Duration::INFINITE,
            Plan::Silent => self.silent_due(),
        }
    }

    /// So many ticks after the last transition; never, where that is beyond the largest time.
    #[inline]
    fn ahead(&self, ticks: i64) -> Duration {
        match self.scene.frame.last.checked_add(ticks) {
            Some(at) if at < i64::MAX => Duration::from_ticks(ticks),
            _ => Duration::INFINITE,
        }
    }

    /// The tick of the next silent step, rounded down.
    pub(super) fn silent_due(&self) -> Duration {
        let ticks = self.core.time() * self.scene.rate;
        self.ahead(ticks.max(0.0) as i64)
    }
}

/// Per event that assigns what its own condition reads: the variables that are its indicators.
fn endings<E: Equations>(equations: &E) -> Vec<Option<Vec<usize>>> {
    let count = equations.events().len();
    let mut found = vec![None; count];
    let ending: Vec<usize> = (0..count).filter(|&k| equations.resets_its_condition(k)).collect();
    if !ending.is_empty() {
        let programs = equations.programs();
        let variable = |&k: &usize| programs.as_ref().and_then(|p| p.indicators.variable(k));
        for event in ending {
            if let Trigger::State { indicators, .. } = &equations.events()[event].trigger {
                found[event] = Some(indicators.iter().filter_map(variable).collect());
            }
        }
    }
    found
}

/// Why segments are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The run begins.
    Start,
    /// An output left its band.
    Band,
    /// States, discrete values or inputs jumped.
    Jump,
    /// Somebody needs to know.
    Request,
}
