//! The body as an atomic model: its outputs are polynomials over the steps of its method.
//!
//! A step is made at its begin, and its outputs are told then, one micro-step later. An input that comes
//! before its end cuts it: the unit goes on from the polynomials of its nodes there. The hottest node of the surface is
//! looked for by roots, so that thresholds on the maximum are found like those on any signal.
use super::{
    march::{Body, Source, Step},
    mesh::Weights,
};
use crate::{
    maths::{
        poly::{self, Direction},
        sparse::Lu,
    },
    signal::{
        Held, NEVER, Poly, Timer, shift,
        statistics::UnitStatistics,
        value::{Flag, Segment, Value},
    },
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{
    Atomic, Bag, Effects, Outbox,
    port::OutPort,
    snapshot::{Snapshot, SnapshotError, decode, encode},
    time::{Duration, Resolution},
};

/// The quantity of an output.
#[derive(Debug)]
pub(super) enum Output {
    /// The mean temperature.
    Mean,
    /// The highest temperature of the surface.
    Surface,
    /// The place of the source on the axis.
    Place,
    /// Heat since the start: from the source, to the surroundings, and the difference in the body.
    Supplied,
    Lost,
    Stored,
    /// The temperature at a point.
    Point(Weights),
}

/// All that does not change in a run.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) body: Body,
    pub(super) outputs: Vec<Output>,
    /// Whether each is sent.
    pub(super) followed: Vec<bool>,
    /// Errors of a step: relative and absolute.
    pub(super) tolerance: (f64, f64),
    /// How far receivers may be off.
    pub(super) band: f64,
    /// Logarithm of the longest step in ticks.
    pub(super) longest: u32,
    /// One unit of the volume of the mesh, in mm³, or in mm² of the plane.
    pub(super) unit: f64,
    /// Amplitude and velocity of the source where no input tells them.
    pub(super) given: [f64; 2],
}

/// All that changes in a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    timer: Timer,
    /// Amplitude and velocity of the source.
    inputs: [Option<Held>; 2],
    /// The present step, its ticks, and the source from its begin on.
    step: Arc<Step>,
    from: i64,
    ends: i64,
    source: Source,
    /// Heat until its begin.
    supplied: f64,
    lost: f64,
    /// Heat in the body at the start.
    begun: f64,
    /// Logarithm of the length of the next step in ticks.
    power: u32,
    /// The place of the hottest node along the boundary, and the tick at which another one is.
    hottest: usize,
    turn: i64,
    sent: Vec<Option<Held>>,
    outbox: Vec<(u16, Segment)>,
    counts: UnitStatistics,
}

/// A body with a source on its axis. Inputs: 0 its amplitude, 1 its velocity.
pub(super) struct Heated {
    fixed: Arc<Fixed>,
    state: State,
    /// Outputs, and the temperatures of the surface, from the begin of the step on.
    paths: Vec<Poly>,
    edge: Vec<Poly>,
    factors: Vec<(u32, Lu<f64>)>,
}

impl std::fmt::Debug for Heated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Heated({} nodes)", self.fixed.body.mesh.nodes.len())
    }
}

/// Factors of so many lengths of steps are kept.
const KEPT: usize = 4;

impl Heated {
    pub(super) fn new(fixed: Fixed, start: Vec<f64>, place: f64, resolution: Resolution) -> Self {
        let begun = fixed.body.heat(&start);
        let second = resolution.ticks_per_second().unsigned_abs();
        let (amplitude, place) = (vec![fixed.given[0]], vec![place]);
        let state = State {
            timer: Timer::due(0, resolution),
            inputs: [None, None],
            step: Arc::new(Step::none(start)),
            from: 0,
            ends: 0,
            source: Source { amplitude, place },
            supplied: 0.0,
            lost: 0.0,
            begun,
            // A sixteenth of a second, or what the error allows.
            power: second.ilog2().saturating_sub(4).min(fixed.longest),
            hottest: 0,
            turn: NEVER,
            sent: vec![None; fixed.outputs.len()],
            outbox: Vec::new(),
            counts: UnitStatistics::default(),
        };
        let fixed = Arc::new(fixed);
        let mut it =
            Self { fixed, state, paths: Vec::new(), edge: Vec::new(), factors: Vec::new() };
        it.derive();
        it
    }

    /// Computes what follows from the step.
    fn derive(&mut self) {
        let (body, step, s) = (&self.fixed.body, &self.state.step, &self.state);
        let at = |k: usize| [(k, 1.0)];
        self.edge = body.mesh.edge.iter().map(|e| Poly::new(&step.of(&at(e.0)))).collect();
        let heat = step.heat(&body.mesh.volumes);
        let unit = self.fixed.unit;
        let path = |output: &Output| match output {
            Output::Mean => Poly::new(&heat.map(|c| c / body.whole)),
            Output::Surface => self.edge[s.hottest],
            Output::Place => Poly::new(&s.source.place),
            Output::Supplied => Poly::new(&step.path(s.supplied, step.supply).map(|c| unit * c)),
            Output::Lost => Poly::new(&step.path(s.lost, step.loss).map(|c| unit * c)),
            Output::Stored => {
                let mut gained = heat;
                gained[0] -= s.begun;
                Poly::new(&gained.map(|c| unit * c))
            }
            Output::Point(weights) => Poly::new(&step.of(weights)),
        };
        self.paths = self.fixed.outputs.iter().map(path).collect();
    }

    /// Seconds from the begin of the step to a tick.
    fn since(&self, tick: i64) -> f64 {
        self.state.timer.seconds(self.state.from, tick)
    }

    /// The source from now on, as it is at `place`.
    fn source(&self, place: f64) -> Source {
        let s = &self.state;
        let [amplitude, velocity] = [0, 1].map(|k| match &s.inputs[k] {
            Some(held) => held.shifted(s.timer.now(), &s.timer),
            None => Poly::constant(self.fixed.given[k]),
        });
        let place = velocity.integral(place);
        Source {
            amplitude: amplitude.coefficients().to_vec(),
            place: place.coefficients().to_vec(),
        }
    }

    /// Ends the present step now and makes the next one.
    fn go_on(&mut self, fx: &mut Effects<Value>) {
        let now = self.state.timer.now();
        let (e, step) = (self.since(now), Arc::clone(&self.state.step));
        let start = if e == 0.0 { step.start.clone() } else { step.at(e) };
        let s = &mut self.state;
        s.supplied = poly::eval(&step.path(s.supplied, step.supply), e);
        s.lost = poly::eval(&step.path(s.lost, step.loss), e);
        let place = poly::eval(&s.source.place, e);
        s.from = now;
        let source = self.source(place);
        if !source.is_finite() {
            return fx.fail(
                "amplitude and velocity of the source must be finite; look at the units that send them",
            );
        }
        self.state.source = source;
        let (relative, absolute) = self.fixed.tolerance;
        let allowed = |u: f64| absolute + relative * u.abs();
        loop {
            let power = self.state.power;
            let length = self.state.timer.seconds(0, 1 << power);
            if !self.provide(power, length) {
                return fx.fail("the heat equation has no solution in numbers; look at `kappa` and the size of the body");
            }
            let factors =
                &mut self.factors.last_mut().unwrap_or_else(|| unreachable!("provided")).1;
            let driven = (&self.state.source, length);
            let (made, error) = self.fixed.body.step(factors, &start, driven, allowed);
            self.state.counts.evaluations += made.slopes.len() as u64;
            if error <= 1.0 {
                self.state.counts.steps += 1;
                self.state.step = Arc::new(made);
                self.state.ends = now.saturating_add(1 << power);
                // A step of twice the length has 16 times the error.
                if error < 1.0 / 32.0 && power < self.fixed.longest {
                    self.state.power += 1;
                }
                return self.derive();
            }
            self.state.counts.rejected_steps += 1;
            if power == 0 {
                return fx.fail("its step became shorter than a tick; raise `tolerance` or take a finer resolution");
            }
            let halvings = (libm::log2(error) / 4.0).ceil().clamp(1.0, 6.0);
            self.state.power = power.saturating_sub(halvings as u32);
        }
    }

    /// Makes the factors of a length the last ones of those kept.
    fn provide(&mut self, power: u32, length: f64) -> bool {
        let known = self.factors.iter().position(|f| f.0 == power);
        let entry = match known {
            Some(place) => self.factors.remove(place),
            None => match self.fixed.body.factors(length) {
                Some(factors) => (power, factors),
                None => return false,
            },
        };
        if self.factors.len() >= KEPT {
            self.factors.remove(0);
        }
        self.factors.push(entry);
        true
    }

    /// Finds the hottest node of the surface now, and when another one will be it.
    fn find_hottest(&mut self) {
        let (now, ahead) = (self.since(self.state.timer.now()), self.since(self.state.ends));
        let ahead = ahead - now;
        let moved = |p: &Poly| {
            let mut p = *p;
            shift(&mut p, now);
            p
        };
        let mut best: Option<(usize, Poly)> = None;
        for (k, path) in self.edge.iter().enumerate() {
            // Paths that are equal now go on differently.
            let path = moved(path);
            let hotter = |other: &Poly| {
                let pairs = path.coefficients().iter().zip(other.coefficients());
                pairs.map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).is_some_and(|o| o.is_gt())
            };
            if best.as_ref().is_none_or(|(_, other)| hotter(other)) {
                best = Some((k, path));
            }
        }
        let Some((hottest, top)) = best else { return };
        let mut turn = f64::INFINITY;
        for path in &self.edge {
            let mut gap = moved(path);
            gap.add(-1.0, top.coefficients());
            let c = gap.coefficients();
            let rise = c[1..].iter().rev().fold(0.0, |sum, c| sum * ahead + c.abs()) * ahead;
            if c[0] + rise > 0.0
                && let Some(root) = poly::earliest_root(c, 0.0, ahead, Direction::Rising)
            {
                turn = turn.min(root.at);
            }
        }
        let s = &mut self.state;
        s.hottest = hottest;
        s.turn = if turn < ahead { s.timer.event(s.timer.now(), turn) } else { NEVER };
        for (output, path) in self.fixed.outputs.iter().zip(&mut self.paths) {
            if matches!(output, Output::Surface) {
                *path = self.edge[hottest];
            }
        }
    }

    /// Lines up the segments of all outputs that receivers do not hold within the band, and plans what is next.
    fn tell(&mut self) {
        self.find_hottest();
        let now = self.state.timer.now();
        let (e, fixed) = (self.since(now), Arc::clone(&self.fixed));
        let s = &mut self.state;
        let ahead = s.timer.seconds(now, s.ends.min(s.turn));
        for (port, path) in self.paths.iter().enumerate().filter(|(port, _)| fixed.followed[*port])
        {
            let mut path = *path;
            shift(&mut path, e);
            let held = s.sent[port].as_ref();
            if let Some(held) = held {
                let mut off = held.shifted(now, &s.timer);
                off.add(-1.0, path.coefficients());
                if poly::first_exceed(off.coefficients(), fixed.band, ahead).is_none() {
                    continue;
                }
            }
            let flag = if held.is_some() { Flag::Continuous } else { Flag::Refresh };
            let segment = Segment::new(path.truncated(poly::MAX_DEGREE), flag, path.value(0.0));
            s.sent[port] = Some(Held::new(segment.clone(), now));
            s.outbox.push((port as u16, segment));
        }
        self.plan();
    }

    /// Sets the time of what is next.
    fn plan(&mut self) {
        let s = &mut self.state;
        if s.outbox.is_empty() {
            s.timer.set(s.ends.min(s.turn));
        } else {
            s.timer.at_once();
        }
    }
}

impl Atomic<Value> for Heated {
    fn inputs(&self) -> u16 {
        2
    }
    fn outputs(&self) -> u16 {
        self.fixed.outputs.len() as u16
    }
    fn time_advance(&self) -> Duration {
        self.state.timer.advance()
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for (port, segment) in &self.state.outbox {
            out.send(OutPort::<Segment, Self>::new(*port), segment.clone());
        }
    }
    fn internal(&mut self, fx: &mut Effects<Value>) {
        self.state.timer.fire();
        if !self.state.outbox.is_empty() {
            self.state.outbox.clear();
            return self.plan();
        }
        if self.state.timer.now() >= self.state.ends {
            self.go_on(fx);
        }
        self.tell();
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        self.state.timer.pass(elapsed);
        let now = self.state.timer.now();
        let place = poly::eval(&self.state.source.place, self.since(now));
        let before = self.source(place);
        for (port, value) in bag.iter() {
            if let (Value::Segment(s), Some(held)) =
                (value, self.state.inputs.get_mut(usize::from(port)))
            {
                Held::receive(held, s, now);
            }
        }
        if self.source(place) != before {
            self.state.counts.reinitialisations += 1;
            self.go_on(fx);
        }
        self.tell();
    }
    fn probe(&self, port: u16, elapsed: Duration) -> Option<Value> {
        let at = self.since(self.state.timer.at(elapsed));
        self.paths.get(usize::from(port)).map(|path| Value::Real(path.value(at)))
    }
    fn statistics(&self, _: Duration) -> Vec<(&'static str, u64)> {
        self.state.counts.entries()
    }
}

impl Snapshot for Heated {
    type Saved = State;
    fn save(&self) -> Result<State, SnapshotError> {
        Ok(self.state.clone())
    }
    fn restore(&mut self, saved: &State) -> Result<(), SnapshotError> {
        self.state.clone_from(saved);
        self.derive();
        Ok(())
    }
    fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        encode(&self.state)
    }
    fn restore_bytes(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        let state: State = decode(bytes)?;
        let fits = state.step.fits(self.fixed.body.mesh.nodes.len())
            && state.hottest < self.edge.len()
            && state.sent.len() == self.fixed.outputs.len()
            && state.power < 63
            && state.source.fits()
            && state.outbox.iter().all(|(port, _)| usize::from(*port) < state.sent.len());
        if !fits {
            return Err(SnapshotError::Corrupt("a body of another grid".into()));
        }
        self.restore(&state)
    }
}
