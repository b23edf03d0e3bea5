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
use super::{
    chatter::Chatter,
    decide::START,
    links::Session,
    readers::{Left, Pending, Readers},
};
use crate::{
    signal::{
        Sizes,
        value::{Flag, Segment, Value},
    },
    solve::{
        Prepared, Settings, Stepped, UnitError,
        consistent::Consistent,
        core::{Core, Flips, Frame, Held, Scene},
        equations::{Dims, Equations, Trigger, Work},
        tendency::Tendency,
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::time::Duration;

/// The next step of the unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Plan {
    /// Integrate on from the core's time.
    #[default]
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
    /// Answer proposals and decide on them.
    Decide,
    /// Stop the run: what takes place then has no values.
    Fail,
}

/// Everything that changes in a run, beside the scene's frame and the state of the core.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub plan: Plan,
    /// Messages that λ sends at the planned time.
    pub outbox: Vec<(u16, Value)>,
    /// Events that happen at the planned time, and the variables after them.
    pub fired: Vec<u16>,
    pub after: Vec<f64>,
    /// Flips that the core found ahead of the present, and those in ticks.
    pub flips: Flips,
    pub pending: Vec<Pending>,
    /// Whether the condition of each event, and then of each link, holds.
    pub truth: Vec<bool>,
    /// The truth after the flips at the planned time, where relations that read others are among them.
    pub carried: Vec<bool>,
    /// Events of the planned time, or of the present cycle, that have ended their conditions; whether one that was made
    /// true again was told.
    pub over: Vec<u16>,
    pub renewed: bool,
    /// Events, and links, that happen in the next cycle.
    pub due: Vec<u16>,
    /// At the start: relations on the end of their side, and the side that they come from.
    pub starting: Vec<(u16, f64)>,
    /// A note on a state that the planned event puts to rest elsewhere.
    pub far: Option<String>,
    /// Relations of modes that their own flips ended.
    pub left: Vec<Left>,
    /// Tick of the last jump by a link.
    pub linked: i64,
    /// Per input: whether it ever received a segment.
    pub heard: Vec<bool>,
    /// Per event: whether it is a crossing that the mode of the last cycle has.
    pub concerned: Vec<bool>,
    /// Why the planned action fails.
    pub failure: Option<Box<UnitError>>,
    /// Links of which the outbox proposes the events.
    pub proposed: Vec<u16>,
    pub sessions: Vec<Session>,
    /// Tick of the last own proposal that was refused, and how many followed each other closely.
    pub refused: (i64, u32),
    /// Whether the unit will be at rest after the planned events.
    pub retiring: bool,
    /// The last flips of each relation.
    pub flipped: Vec<Chatter>,
    /// Tick at which each event that can bring the unit to rest happened last.
    pub happened: Vec<Option<i64>>,
    /// Of each event the shortest interval in ticks, the one before it, and how often it became shorter since one was
    /// much longer.
    pub paces: Vec<(i64, i64, u32)>,
    /// Events that came ever faster.
    pub hurried: Vec<u16>,
    pub exchanges: u64,
    pub exchanged_bytes: u64,
    pub events: u64,
    /// State events of the unit's own that were located.
    pub located: u64,
    /// Steps of fixed length that were cut short, and the tick of the last one.
    pub cut_steps: u64,
    /// Whether an output was told late.
    pub late: bool,
    /// How large outputs became.
    pub sizes: Sizes,
    pub cut: Option<i64>,
    /// Notes for the evaluation of the run.
    pub notes: Option<Box<crate::solve::notes::Notes>>,
}

/// A continuous unit as an atomic model: equations `E`, solved by the core `C`.
pub struct Unit<E: Equations, C: Core<E> = Stepped> {
    pub(super) scene: Scene<E>,
    /// Whether there are time events, and whether anybody receives signals.
    pub(super) timed: bool,
    pub(super) audible: bool,
    /// Per event: whether it leaves all as it is, so that a step of fixed length goes on beyond it.
    pub(super) looks_on: Vec<bool>,
    pub(super) readers: Readers,
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
    /// Variables before the change that is being made.
    pub prior: Vec<f64>,
    /// Indicators with the bounds of their rounding, and where those go that are zero.
    pub indicators: Vec<(f64, f64)>,
    pub headings: Vec<f64>,
    /// How often each relation changed its side in a decision.
    pub turns: Vec<u32>,
    /// How far each variable may be off.
    pub errors: Vec<f64>,
    /// Relations that the solution has just ceased to slide along.
    pub released: Vec<usize>,
    pub tendency: Tendency,
    /// Variables of which only those that are held count, and the truth of conditions on them.
    pub held: Vec<f64>,
    pub truth: Vec<bool>,
    /// The truth before flips that others read.
    pub earlier: Vec<bool>,
    /// The number among the unit's links of that which took place in this cycle, if one did, and the sides of
    /// relations before it, and whether its condition is over by that.
    pub jumped: Option<(usize, Vec<f64>, bool)>,
    /// Events whose resets are in the variables that a bag of the same cycle finds: sides are decided once (rule 11).
    pub committed: Vec<u16>,
    /// Relations that flipped in this cycle, and events that these set off.
    pub flipped: Vec<u16>,
    pub begun: Vec<u16>,
    pub emitted: Vec<(u16, Value)>,
}

/// The result of an action that can end a unit's run.
pub(super) type Done<T = ()> = Result<T, Box<UnitError>>;

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
    ) -> Result<Self, Box<UnitError>> {
        let prepared = Prepared::new(&equations, settings.method);
        let core = Stepped::new(prepared, &equations, &settings).map_err(UnitError::from)?;
        Self::with_core(equations, core, initial, inputs, discrete, settings)
    }
}

impl<E: Equations, C: Core<E>> Unit<E, C> {
    /// A unit in its initial state, with another core.
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
    ) -> Result<Self, Box<UnitError>> {
        let dims = equations.dims();
        Settings::fits(&dims, [initial, inputs, discrete]).map_err(UnitError::from)?;
        let mut connected = std::mem::take(&mut settings.connected);
        connected.resize(dims.outputs, true);
        let held = |&x: &f64| Held { segment: Segment::step(x, x), at: settings.start };
        let frame = Frame {
            last: settings.start,
            inputs: inputs.iter().map(held).collect(),
            slips: vec![0.0; inputs.len()],
            discrete: [discrete, &vec![0.0; 1 + dims.indicators]].concat(),
            sent: vec![held(&0.0); dims.outputs],
            resting: false,
        };
        let state = State {
            plan: Plan::Due(0, Action::Send),
            fired: Vec::with_capacity(equations.events().len()),
            after: vec![0.0; dims.variables()],
            flips: Flips::new(dims.indicators),
            truth: vec![false; equations.events().len() + equations.links().len()],
            heard: vec![false; dims.inputs],
            concerned: vec![false; equations.events().len()],
            flipped: vec![Chatter::default(); dims.indicators],
            refused: (i64::MIN / 2, 0),
            happened: vec![None; equations.events().len() + equations.links().len()],
            paces: vec![
                (i64::MAX, i64::MAX, 0);
                equations.events().len() + equations.links().len()
            ],
            ..State::default()
        };
        let timed = equations.events().iter().any(|e| !matches!(e.trigger, Trigger::State { .. }));
        let audible = connected.contains(&true);
        let steps = core.own_step().is_some() && dims.algebraic == 0;
        let looks_on = equations.events().iter().map(|e| steps && e.looks_on()).collect();
        let programs = equations.programs();
        let readers = Readers::new(&equations, programs.as_ref());
        let plain = |k: usize| programs.as_ref().and_then(|p| p.indicators.variable(k));
        let tendency = Tendency::new((0..dims.indicators).map(plain).collect());
        let rate = settings.resolution.ticks_per_second() as f64;
        let (tick, band) = (1.0 / rate, settings.exchange_tolerance);
        let scene = Scene { equations, dims, frame, rate, tick, connected, band };
        let scratch = Scratch { tendency, ..Scratch::default() };
        let mut unit =
            Self { scene, timed, audible, looks_on, readers, settings, core, state, scratch };
        unit.scene.fill(0.0, initial, &mut unit.scratch.vars);
        unit.begin()?;
        let limit = unit.next_time_event().map(|k| unit.scene.seconds(k));
        let vars = &unit.scratch.vars;
        unit.core.start(&unit.scene, 0.0, &vars[Dims::STATES..dims.first_input()], limit);
        unit.present();
        unit.queue_segments(0.0, Cause::Start)?;
        Ok(unit)
    }

    /// Decides all relations for the scratch's variables, those at the start.
    pub(super) fn begin(&mut self) -> Done {
        self.note_before();
        self.scratch.flipped.clear();
        self.state.starting.clear();
        self.state.concerned.fill(false);
        let dims = self.scene.dims;
        // Not by sides that were decided before all inputs were heard.
        self.scratch.vars[dims.first_side()..dims.variables()].fill(0.0);
        self.settle(START)?;
        self.start_carried();
        self.scene.frame.discrete.copy_from_slice(&self.scratch.vars[dims.held()]);
        // The truth of all conditions, which sets nothing off.
        self.refresh();
        self.state.due.clear();
        self.forget_ahead();
        Ok(())
    }

    pub(super) fn ticks_per_second(&self) -> u64 {
        self.settings.resolution.ticks_per_second().unsigned_abs()
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

    /// Leaves the outputs for the scratch's variables in `before`. Where segments wait that were never sent, receivers
    /// hold those from before these.
    pub(super) fn note_outputs(&mut self) {
        if self.state.outbox.iter().any(|(_, value)| matches!(value, Value::Segment(_))) {
            return;
        }
        let Scratch { vars, before, work, .. } = &mut self.scratch;
        before.resize(self.scene.dims.outputs, 0.0);
        self.scene.equations.outputs(vars, work, before);
        let bad = |y: &f64| !y.is_finite();
        if before.iter().any(bad) {
            let again = |port| self.scene.equations.output(port, vars);
            before.iter_mut().enumerate().filter(|(_, y)| bad(y)).for_each(|(k, y)| *y = again(k));
        }
    }

    /// Expands outputs around offset `t`, for the scratch's variables, and lines the segments up
    /// for sending. After a jump the scratch's `before` holds the outputs before it, by which
    /// jumps are told from continuous pieces.
    #[inline]
    pub(super) fn queue_segments(&mut self, t: f64, cause: Cause) -> Done {
        if self.audible { self.queue_audible(t, cause) } else { Ok(()) }
    }

    #[inline(never)]
    fn queue_audible(&mut self, t: f64, cause: Cause) -> Done {
        let scene = &self.scene;
        let Scratch { vars, before, .. } = &self.scratch;
        let outbox = &mut self.state.outbox;
        let mut bad = None;
        let order = self.settings.segment_order;
        let (all, retells) = (cause != Cause::Band, self.settings.retells);
        let told = |port: usize, c: &[f64]| {
            let Held { segment, at } = &scene.frame.sent[port];
            *at == scene.frame.last && heading(segment.coefficients()).eq(heading(c))
        };
        self.core.expand(scene, (t, vars), order, all, &mut |port, c| {
            let mut finite = c.iter().take_while(|c| c.is_finite()).count();
            // By the branch that belongs to its state, if that is beyond the guard of the one held.
            let guarded = if finite == 0 { [scene.equations.output(port, vars)] } else { [0.0] };
            let c = if finite == 0 { &guarded[..] } else { c };
            if finite == 0 && !guarded[0].is_finite() {
                bad.get_or_insert(port);
                return;
            }
            finite = finite.max(1);
            let (flag, left) = match cause {
                Cause::Start => (Flag::Jump, c[0]),
                Cause::Band => (Flag::Continuous, c[0]),
                Cause::Request => (Flag::Refresh, c[0]),
                Cause::Begin if retells && told(port, &c[..finite]) => return,
                Cause::Begin if retells || before[port] != c[0] => (Flag::Jump, c[0]),
                Cause::Begin => (Flag::Continuous, c[0]),
                Cause::Jump if before[port] == c[0] => (Flag::Continuous, c[0]),
                Cause::Jump => (Flag::Jump, before[port]),
            };
            let segment = Segment::new(&c[..finite], flag, left);
            outbox.push((port as u16, Value::Segment(segment)));
        });
        match bad {
            Some(port) => {
                let why = self.scene.equations.explain(&self.scratch.vars);
                Err(UnitError::Output { output: self.signal(true, port), why }.into())
            }
            None => Ok(()),
        }
    }

    /// An error unless the scratch's variables are finite, for the reason that there is.
    pub(super) fn finite_or(&self, error: impl FnOnce(Option<String>) -> UnitError) -> Done {
        if self.is_finite() {
            return Ok(());
        }
        Err(error(self.scene.equations.explain(&self.scratch.vars)).into())
    }

    /// Whether the scratch's variables are finite.
    pub(super) fn is_finite(&self) -> bool {
        // Zero times what is not finite is NaN.
        self.scratch.vars.iter().fold(0.0, |sum, v| sum + 0.0 * v) == 0.0
    }

    #[inline]
    pub(super) fn queue_emitted(&mut self) {
        if self.scratch.emitted.is_empty() {
            return;
        }
        let first = self.scene.dims.outputs as u16;
        let emitted = self.scratch.emitted.drain(..);
        self.state.outbox.extend(emitted.map(|(port, v)| (first + port, v)));
    }

    /// So many ticks after the last transition; never, where that is beyond the largest time.
    #[inline]
    pub(super) fn ahead(&self, ticks: i64) -> Duration {
        match self.scene.frame.last.checked_add(ticks) {
            Some(at) if at < i64::MAX => Duration::from_ticks(ticks),
            _ => Duration::INFINITE,
        }
    }

    /// The tick of the next silent step, rounded down; flips at the tick after it may be found.
    pub(super) fn silent_due(&self) -> Duration {
        self.ahead(self.judged())
    }
}

/// The value at the start and what moves it away from there, also beside another value that begins to move alike.
/// Units in a loop would tell each other a coefficient more in each micro-step: those after the third can wait for the band.
fn heading(c: &[f64]) -> impl Iterator<Item = (usize, &f64)> {
    c.iter().enumerate().filter(|(k, c)| *k == 0 || **c != 0.0).take(4)
}

/// Why segments are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The run begins.
    Start,
    /// Inputs have taken the place of their start values.
    Begin,
    /// An output left its band.
    Band,
    /// States, discrete values or inputs jumped.
    Jump,
    /// Somebody needs to know.
    Request,
}
