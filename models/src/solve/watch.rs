//! The search for events and for outputs that leave their bands, over one step.
//!
//! # Why in this order
//! Indicators and outputs that are polynomials along the step (or have series, where the step is
//! one) are composed with it once; bounds on their coefficients exclude most steps for some tens of
//! instructions; what remains is isolated by its extrema and solved by a bracketed iteration. Where
//! such a function has kinks or jumps (`or`, `abs`, `mod`, ...), what switches is a function of its own,
//! and a search ends where the first of these does: samples may miss what is short beside the step. Only
//! what can do no more than be evaluated is sampled.
use super::{
    core::Scene,
    equations::{Dims, Equations, Work},
    expander::{Form, Functions, Kinks, Table, copy, expanded, input_order},
    ode::{Event, NotFinite, Rows, locate::spread},
    settings::Settings,
    stepped::SteppedState,
};
use crate::maths::{expr::Degree, poly};

/// Highest power at least of what is known as the beginning of a series.
const BEGINNING: usize = 12;

/// What is watched, and how.
#[derive(Debug)]
pub(super) struct Watch {
    /// Indicators and outputs, if they are known as functions; boxed, for they are taken out and
    /// put back in every search.
    functions: Option<Box<(Functions, Functions)>>,
    /// Where indicators have kinks and jumps, between which they are followed.
    kinks: Option<Box<Kinks>>,
    /// Whether paths are whole polynomials.
    exact: bool,
    /// Own events and events of links.
    events: usize,
    /// Per event: whether it has an indicator that can only be evaluated.
    sampled: Vec<bool>,
    /// Outputs that can only be evaluated, whose bands are watched as events.
    sampled_ports: Vec<usize>,
    any_followed: bool,
    any_sampled: bool,
    /// Per indicator: whether its polynomial is only the beginning of a series, or an approximation.
    refined: Vec<bool>,
    any_refined: bool,
    /// Which state each indicator is, if they all are states and nothing else is watched.
    states: Option<Vec<usize>>,
    /// Whether anybody receives an output that has a band.
    banded: bool,
    /// Lengths of the rows in `z` and `bands`.
    strides: [usize; 2],
    /// The states around the present, and indicators and outputs.
    path: Vec<f64>,
    z: Vec<f64>,
    bands: Vec<f64>,
    y: Vec<f64>,
    vars: Vec<f64>,
    x: Vec<f64>,
}

impl Watch {
    /// What to watch of these equations, and the list of events for the search.
    pub(super) fn new<E: Equations>(
        equations: &E,
        functions: Option<(Functions, Functions)>,
        kinks: Option<Kinks>,
        settings: &Settings,
    ) -> (Self, Vec<Event>) {
        let dims = equations.dims();
        let mut events = equations.watched();
        let count = events.len();
        let form = |f: fn(&(Functions, Functions)) -> &Functions, k: usize| {
            functions.as_ref().map_or(Form::Sampled, |both| f(both).forms[k])
        };
        let is_sampled =
            |e: &Event| e.indicators.iter().any(|&k| form(|both| &both.0, k) == Form::Sampled);
        let sampled: Vec<bool> = events.iter().map(is_sampled).collect();
        let connected = |port: &usize| settings.connected.get(*port).copied().unwrap_or(true);
        let sampled_ports: Vec<usize> = (0..dims.outputs)
            .filter(|_| settings.exchange_tolerance.is_finite())
            .filter(connected)
            .filter(|&port| form(|both| &both.1, port) == Form::Sampled)
            .collect();
        let bands = 2 * sampled_ports.len();
        events.extend((0..bands).map(|k| Event::when(vec![dims.indicators + k])));
        let exact = settings.method.series_order().is_none();
        let refines = |form: &Form| match form {
            Form::Series(Degree::Polynomial(d)) => !exact && *d > 1,
            Form::Series(_) => true,
            _ => false,
        };
        let refined: Vec<bool> =
            functions.iter().flat_map(|both| &both.0.forms).map(refines).collect();
        let followed = |(e, sampled): (&Event, &bool)| !sampled && !e.indicators.is_empty();
        let any_followed = events.iter().zip(&sampled).any(followed);
        let banded =
            settings.exchange_tolerance.is_finite() && (0..dims.outputs).any(|p| connected(&p));
        let place = |form: &Form| match form {
            Form::Variable(var) => Some(var - Dims::STATES),
            _ => None,
        };
        let states = functions.as_ref().filter(|both| both.0.plain && !banded);
        let states = states.and_then(|both| both.0.forms.iter().map(place).collect());
        let watch = Self {
            states,
            functions: functions.map(Box::new),
            kinks: kinks.map(Box::new),
            exact,
            events: count,
            any_refined: refined.contains(&true),
            refined,
            banded,
            any_sampled: sampled.contains(&true) || !sampled_ports.is_empty(),
            sampled,
            sampled_ports,
            any_followed,
            strides: [1; 2],
            path: Vec::new(),
            z: Vec::new(),
            bands: Vec::new(),
            y: Vec::new(),
            vars: Vec::new(),
            x: Vec::new(),
        };
        (watch, events)
    }

    /// Number of watched events that are no bands.
    #[inline]
    pub(super) fn events(&self) -> usize {
        self.events
    }

    #[inline]
    pub(super) fn sampled_ports(&self) -> &[usize] {
        &self.sampled_ports
    }

    /// Searches from the present to `end`, the end of the solver's last step or just beyond, or as
    /// far as the series of indicators and outputs hold. Gives what was found, and how far that is.
    #[inline]
    pub(super) fn search<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        end: f64,
    ) -> Result<(Option<f64>, f64), NotFinite> {
        match self.parabolas(state, end, scene.tick) {
            Some(found) => Ok((found, end)),
            None => self.search_pieces(scene, state, work, end),
        }
    }

    /// The search where all that is watched are states, and these are parabolas from the present on.
    // A function of its own: there is little to do, and it shares no registers with the rest. That
    // the rows are finite follows from the end of the step, which is.
    #[inline(never)]
    fn parabolas(&self, state: &mut SteppedState, end: f64, tick: f64) -> Option<Option<f64>> {
        let states = self.states.as_deref()?;
        let SteppedState { solver, locator, at, .. } = state;
        let path = solver.path();
        if path.start() != *at {
            return None;
        }
        locator.parabolas((path.parabolas()?, states), (*at, end - *at), tick)
    }

    #[inline(never)]
    fn search_pieces<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        end: f64,
    ) -> Result<(Option<f64>, f64), NotFinite> {
        let start = state.at;
        let tick = scene.tick;
        let banded = self.banded;
        let mut end = end;
        if self.any_followed || banded {
            // On which side of a kink or jump the start is can be told right behind it.
            let beyond = (tick / 1024.0).max(8.0 * f64::EPSILON * start.abs());
            let mut lead = if self.kinks.is_some() { beyond } else { 0.0 };
            end = loop {
                match self.expand(scene, state, (end, lead), banded) {
                    Some(end) => break end,
                    None => lead *= 1024.0,
                }
            };
        }
        state.locator.open();
        let mut best = f64::INFINITY;
        if self.any_followed {
            best = self.followed(scene, state, work, (start, end))?;
        }
        if self.any_sampled {
            best = self.sampled(scene, state, work, (start, end), best)?;
        }
        if banded {
            best = best.min(self.bands(scene, (start, end))?);
        }
        Ok((state.locator.close(best, tick), end))
    }

    /// Expands indicators, and outputs if they are `banded`, around the present, as they are `lead`
    /// seconds later. Gives `end`, or up to where the expansions hold if that is earlier; nothing if
    /// an indicator is still on a kink there.
    fn expand<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &SteppedState,
        (end, lead): (f64, f64),
        banded: bool,
    ) -> Option<f64> {
        let Some(mut functions) = self.functions.take() else { return Some(end) };
        let (indicators, outputs) = &mut *functions;
        let (path, start) = (state.solver.path(), state.at);
        let length = path.order() + 1;
        let order = path.order().max(input_order(scene));
        if indicators.plain && !banded {
            self.strides[0] = length.max(2);
            indicators.states_along(path, start, self.strides[0], &mut self.z);
            self.functions = Some(functions);
            return Some(end);
        }
        let from = start + lead;
        self.path.resize(path.dim() * length, 0.0);
        self.x.resize(path.dim(), 0.0);
        let mut rest = &mut self.path[..];
        for (i, x) in self.x.iter_mut().enumerate() {
            let (row, others) = rest.split_at_mut(length);
            rest = others;
            copy(path.row(i), row);
            poly::shift(row, start - path.start());
            if lead > 0.0 {
                poly::shift(row, lead);
            }
            *x = row[0];
        }
        scene.fill(from, &self.x, &mut self.vars);
        let (at, states) = ((from, &self.vars[..]), Table(&self.path, length));
        let mut hold = end - start;
        self.strides[0] = self.stride(scene, path.order(), indicators);
        indicators.along(scene, at, &states, self.strides[0], &mut self.z);
        hold = hold.min(self.trust(indicators, order, self.strides[0], &self.z));
        if banded {
            self.strides[1] = self.stride(scene, path.order(), outputs);
            outputs.along(scene, at, &states, self.strides[1], &mut self.bands);
            hold = hold.min(self.trust(outputs, order, self.strides[1], &self.bands));
        }
        let mut end = if hold < end - start { start + hold.max(scene.tick) } else { end };
        let mut told = true;
        if let Some(mut kinks) = self.kinks.take() {
            let stride = self.stride(scene, path.order(), &kinks.functions);
            kinks.functions.along(scene, at, &states, stride, &mut kinks.rows);
            let hold = self.trust(&kinks.functions, order, stride, &kinks.rows);
            end = end.min(start + hold.max(scene.tick));
            // What does not leave its kink in the whole step has none there.
            match kinks.first(stride, (end - from).max(0.0)) {
                Some(first) => end = end.min(from + first),
                None => told = end <= from,
            }
            self.kinks = Some(kinks);
            self.z.chunks_exact_mut(self.strides[0]).for_each(|row| poly::shift(row, -lead));
            self.bands.chunks_exact_mut(self.strides[1]).for_each(|row| poly::shift(row, -lead));
        }
        self.functions = Some(functions);
        told.then_some(end)
    }

    /// Length of the rows of `functions` along paths of `order`.
    fn stride<E: Equations>(&self, scene: &Scene<E>, order: usize, functions: &Functions) -> usize {
        let order = order.max(input_order(scene)).max(1);
        let whole = order * functions.degree as usize;
        let smooth = |f: &Form| matches!(f, Form::Series(Degree::Smooth | Degree::Switching));
        let beginning = !self.exact && functions.forms.iter().any(smooth);
        let order = if beginning { order.max(BEGINNING) } else { order };
        let order = if self.exact || whole <= BEGINNING { order.max(whole) } else { order };
        order.min(poly::MAX_DEGREE) + 1
    }

    /// How long series of which only the beginning is known hold, in seconds: what is left out is
    /// small against rounding. States and inputs are polynomials of `order`.
    fn trust(&self, functions: &Functions, order: usize, stride: usize, rows: &[f64]) -> f64 {
        if !functions.expands() {
            return f64::INFINITY;
        }
        let whole = |form: &Form| match form {
            Form::Series(Degree::Polynomial(d)) => *d as usize * order < stride,
            Form::Series(_) => self.exact,
            Form::Variable(_) | Form::Sampled => true,
        };
        let hold = |row: &[f64]| {
            let size = 1e-11 * (1.0 + row[0].abs());
            let term = |k: usize| libm::pow(size / row[k].abs(), 1.0 / k as f64);
            term(stride - 1).min(term(stride - 2))
        };
        let rows = rows.chunks_exact(stride).zip(&functions.forms);
        let holds = rows.filter(|(_, form)| !whole(form)).map(|(row, _)| hold(row));
        holds.filter(|h| !h.is_nan()).fold(f64::INFINITY, f64::min)
    }

    /// Events whose indicators are polynomials or have series.
    fn followed<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        (start, end): (f64, f64),
    ) -> Result<f64, NotFinite> {
        let stride = self.strides[0];
        let bad = self.z.iter().position(|c| !c.is_finite()).map(|place| place / stride);
        let (refined, any_refined) = (&self.refined, self.any_refined);
        let SteppedState { solver, locator, looks, .. } = state;
        let (vars, x, values) = (&mut self.vars, &mut self.x, &mut self.y);
        let mut evaluate = |k: usize, t: f64| {
            *looks += 1;
            x.resize(scene.dims.states, 0.0);
            solver.dense(t, x);
            scene.fill(t, x, vars);
            values.resize(scene.dims.indicators, 0.0);
            scene.equations.indicators(vars, work, values);
            values[k]
        };
        let correct = |k: usize, t: f64| (any_refined && refined[k]).then(|| evaluate(k, t));
        match bad {
            Some(indicator) => Err(NotFinite { t: start, indicator }),
            None => {
                let rows = Rows { rows: &self.z, stride };
                let chosen = |i: usize| i < self.events && !self.sampled[i];
                let interval = (start, end - start);
                let tick = scene.tick;
                Ok(locator.polynomials(rows, interval, tick, chosen, correct))
            }
        }
    }

    /// Events and bands that can only be sampled.
    fn sampled<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        interval: (f64, f64),
        best: f64,
    ) -> Result<f64, NotFinite> {
        let SteppedState { solver, locator, looks, .. } = state;
        let (dims, tick) = (scene.dims, scene.tick);
        let Self { sampled, sampled_ports, events, vars, x, y, .. } = self;
        x.resize(dims.states, 0.0);
        y.resize(dims.outputs, 0.0);
        let chosen = |i: usize| i >= *events || sampled[i];
        locator.sample(interval, tick, best, chosen, |t, z| {
            *looks += 1;
            solver.dense(t, x);
            scene.fill(t, x, vars);
            let (own, bands) = z.split_at_mut(dims.indicators.min(z.len()));
            if own.len() == dims.indicators {
                scene.equations.indicators(vars, work, own);
            } else {
                // Only the first indicators are looked at.
                let mut all = vec![0.0; dims.indicators];
                scene.equations.indicators(vars, work, &mut all);
                own.copy_from_slice(&all[..own.len()]);
            }
            if bands.is_empty() {
                return;
            }
            scene.equations.outputs(vars, work, y);
            for (pair, &port) in bands.chunks_exact_mut(2).zip(&*sampled_ports) {
                let deviation = y[port] - scene.held(port, t);
                pair[0] = scene.band - deviation;
                pair[1] = scene.band + deviation;
            }
        })
    }

    /// When the first output leaves its band, among those that are polynomials or have series.
    fn bands<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        (start, end): (f64, f64),
    ) -> Result<f64, NotFinite> {
        let Some(both) = self.functions.take() else {
            return Ok(f64::INFINITY);
        };
        let functions = &both.1;
        let stride = self.strides[1];
        let (mut best, mut bad) = (f64::INFINITY, None);
        for (port, row) in self.bands.chunks_exact(stride).enumerate() {
            if !scene.connected[port] || functions.forms[port] == Form::Sampled {
                continue;
            }
            let held = &scene.frame.sent[port];
            let (mut c, length) = expanded(&held.segment, scene.age(held, start));
            let length = length.max(stride);
            for (c, y) in c.iter_mut().zip(row) {
                *c = y - *c;
            }
            for c in &mut c[stride..length] {
                *c = -*c;
            }
            if !c[..length].iter().all(|c| c.is_finite()) {
                bad = Some(NotFinite { t: start, indicator: port });
                break;
            }
            let width = (end.min(best) - start).max(0.0);
            if c[0].abs() + spread(&c[..length], width) > scene.band
                && let Some(e) = poly::first_exceed(&c[..length], scene.band, width)
            {
                best = best.min(start + e);
            }
        }
        self.functions = Some(both);
        match bad {
            Some(bad) => Err(bad),
            None => Ok(best),
        }
    }

    /// Whether an output is outside its band at the present, where the variables are `vars`.
    #[inline]
    pub(super) fn outside<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        work: &mut Work,
    ) -> bool {
        self.banded && self.any_outside(scene, vars, work)
    }

    #[inline(never)]
    fn any_outside<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        vars: &[f64],
        work: &mut Work,
    ) -> bool {
        self.y.resize(scene.dims.outputs, 0.0);
        let y = &mut self.y[..scene.dims.outputs];
        scene.equations.outputs(vars, work, y);
        let outside = |(port, y): (usize, &f64)| {
            scene.connected[port] && (y - scene.held(port, 0.0)).abs() > scene.band
        };
        y.iter().enumerate().any(outside)
    }
}
