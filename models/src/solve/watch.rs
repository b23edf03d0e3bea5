//! The search for flips of relations and for outputs that leave their bands, over one step.
//!
//! # Why in this order
//! Indicators and outputs that are polynomials along the step (or have series, where the step is
//! one) are composed with it once; bounds on their coefficients exclude most steps for some tens of
//! instructions; what remains is isolated by its extrema and solved by a bracketed iteration. Only
//! functions that can do no more than be evaluated are sampled.
use super::{
    core::{Flips, Scene},
    equations::{Equations, Relation, Role, Trigger, Work},
    expander::{Form, Functions, Table, copy, expanded, input_order},
    guards,
    ode::{Interval, Locator, NotFinite, Past, Watched, locate::spread},
    settings::Settings,
    stepped::SteppedState,
    tendency::{Doubt, Tendency},
};
use crate::maths::{expr::Degree, poly};

/// Highest power at least of what is known as the beginning of a series.
const BEGINNING: usize = 12;

/// What is watched, and how.
#[derive(Debug, Default)]
pub(super) struct Watch {
    relations: Vec<Relation>,
    /// Indicators and outputs, if they are known as functions; boxed, for they are taken out and
    /// put back in every search.
    functions: Option<Box<(Functions, Functions)>>,
    locator: Locator,
    /// Whether paths are whole polynomials.
    exact: bool,
    /// Per relation: whether it is searched in steps, and whether it can only be evaluated.
    searched: Vec<bool>,
    sampled: Vec<bool>,
    /// Whether some relation is searched for at times only.
    modal: bool,
    /// Outputs that can only be evaluated, whose bands are watched like relations.
    sampled_ports: Vec<usize>,
    any_followed: bool,
    any_sampled: bool,
    /// Per relation: whether its polynomial is only the beginning of a series, or an approximation.
    refined: Vec<bool>,
    /// Whether anybody receives an output that has a band, and whether bands are watched at present.
    audible: bool,
    banded: bool,
    /// Lengths of the rows in `z` and `bands`.
    strides: [usize; 2],
    tendency: Tendency,
    /// The states around the present, and indicators and outputs.
    path: Vec<f64>,
    z: Vec<f64>,
    bands: Vec<f64>,
    y: Vec<f64>,
    vars: Vec<f64>,
    x: Vec<f64>,
    /// Sides of relations, then those of bands: inside.
    sides: Vec<f64>,
}

impl Watch {
    /// Relations and bands of these equations, ready to be searched.
    pub(super) fn new<E: Equations>(
        equations: &E,
        functions: Option<(Functions, Functions)>,
        settings: &Settings,
    ) -> Self {
        let dims = equations.dims();
        let relations = equations.relations();
        let form = |f: fn(&(Functions, Functions)) -> &Functions, k: usize| {
            functions.as_ref().map_or(Form::Sampled, |both| f(both).forms[k])
        };
        let searched: Vec<bool> = relations.iter().map(|r| r.role == Role::Searched).collect();
        let sampled: Vec<bool> = (0..relations.len())
            .map(|k| searched[k] && form(|both| &both.0, k) == Form::Sampled)
            .collect();
        let connected = |port: &usize| settings.connected.get(*port).copied().unwrap_or(true);
        let sampled_ports: Vec<usize> = (0..dims.outputs)
            .filter(|_| settings.exchange_tolerance.is_finite())
            .filter(connected)
            .filter(|&port| form(|both| &both.1, port) == Form::Sampled)
            .collect();
        let mut watched = watched(equations);
        watched.resize(relations.len() + 2 * sampled_ports.len(), Watched::default());
        let exact = settings.method.series_order().is_none();
        let refines = |form: &Form| match form {
            Form::Series(Degree::Polynomial(d)) => !exact && *d > 1,
            Form::Series(_) => true,
            _ => false,
        };
        let refined = functions.iter().flat_map(|both| &both.0.forms).map(refines).collect();
        let plain = functions.iter().flat_map(|both| &both.0.forms).map(|form| match form {
            Form::Variable(place) => Some(*place),
            _ => None,
        });
        let tendency = Tendency::new(plain.collect());
        let any_followed = searched.iter().zip(&sampled).any(|(searched, s)| *searched && !s);
        let bands = relations.len();
        let banded =
            settings.exchange_tolerance.is_finite() && (0..dims.outputs).any(|p| connected(&p));
        Self {
            modal: relations.iter().any(|r| r.within.is_some() || r.sliding.is_some()),
            relations,
            functions: functions.map(Box::new),
            locator: Locator::new(watched).ending(bands).at_most(FLIPS),
            exact,
            refined,
            audible: banded,
            banded,
            any_sampled: sampled.contains(&true) || !sampled_ports.is_empty(),
            searched,
            sampled,
            sampled_ports,
            any_followed,
            strides: [1; 2],
            tendency,
            ..Self::default()
        }
    }

    /// From here on bands of outputs are watched, or not: in a trial nobody receives them.
    pub(super) fn watch_bands(&mut self, on: bool) {
        self.banded = on && self.audible;
    }

    /// Whether there is nothing to search for.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        !(self.any_followed || self.any_sampled || self.banded)
    }

    /// The states whose tolerances were too wide for the last search, and the part of these to which they have to be
    /// tightened: it is of no use.
    #[inline]
    pub(super) fn take_wide(&mut self) -> Option<Box<(Vec<usize>, f64)>> {
        self.tendency.wide.take()
    }

    /// Searches from the present to `end`, the end of the solver's last step or just beyond, or as
    /// far as the series of indicators and outputs hold. Appends the flips; gives when an output leaves
    /// its band, and how far the search went.
    #[inline(never)]
    pub(super) fn search<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        end: f64,
        flips: &mut Flips,
    ) -> Result<(Option<f64>, f64), NotFinite> {
        let first = flips.list.len();
        let found = self.search_pieces(scene, state, work, end, flips);
        let (left, reached) = found.inspect_err(|_| flips.cut(first))?;
        flips.list[first..].sort_by(|a, b| a.t.total_cmp(&b.t).then(a.relation.cmp(&b.relation)));
        let stop =
            flips.list[first..].iter().find(|f| self.relations[usize::from(f.relation)].stops);
        let behind = stop.map_or(f64::INFINITY, |f| f.t + scene.tick);
        let limit = if reached < end { behind.min(reached) } else { behind };
        if limit < f64::INFINITY {
            let keep = flips.list[first..].iter().take_while(|f| f.t <= limit).count();
            flips.cut(first + keep);
        }
        Ok((left, reached))
    }

    fn search_pieces<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        mut end: f64,
        flips: &mut Flips,
    ) -> Result<(Option<f64>, f64), NotFinite> {
        let (start, banded) = (state.at, self.banded);
        if self.any_followed || banded {
            end = self.expand(scene, state, end, banded);
        }
        if self.any_followed {
            end = self.followed(scene, state, work, (start, end), flips)?;
        }
        let mut best = f64::INFINITY;
        if self.any_sampled {
            (best, end) = self.sampled(scene, state, work, (start, end), flips)?;
            best = if banded { best } else { f64::INFINITY };
        }
        if banded {
            best = best.min(self.bands(scene, (start, end))?);
        }
        Ok(((best < f64::INFINITY).then_some(best), end))
    }

    /// Expands indicators, and outputs if they are `banded`, around the present. Gives `end`, or up to
    /// where the expansions hold if that is earlier.
    fn expand<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &SteppedState,
        end: f64,
        banded: bool,
    ) -> f64 {
        let Some(mut functions) = self.functions.take() else { return end };
        let (indicators, outputs) = &mut *functions;
        let (path, start) = (state.solver.path(), state.at);
        let length = path.order() + 1;
        let order = path.order().max(input_order(scene));
        if indicators.plain && !banded {
            self.strides[0] = length.max(2);
            indicators.states_along(path, start, self.strides[0], &mut self.z);
            self.functions = Some(functions);
            return end;
        }
        self.path.resize(path.dim() * length, 0.0);
        self.x.resize(path.dim(), 0.0);
        let mut rest = &mut self.path[..];
        for (i, x) in self.x.iter_mut().enumerate() {
            let (row, others) = rest.split_at_mut(length);
            rest = others;
            copy(path.row(i), row);
            poly::shift(row, start - path.start());
            *x = row[0];
        }
        scene.fill(start, &self.x, &mut self.vars);
        let (at, states) = ((start, &self.vars[..]), Table(&self.path, length));
        let mut hold = end - start;
        self.strides[0] = self.stride(scene, path.order(), indicators);
        indicators.along(scene, at, &states, self.strides[0], &mut self.z);
        hold = hold.min(self.trust(indicators, order, self.strides[0], &self.z));
        if banded {
            self.strides[1] = self.stride(scene, path.order(), outputs);
            outputs.along(scene, at, &states, self.strides[1], &mut self.bands);
            hold = hold.min(self.trust(outputs, order, self.strides[1], &self.bands));
        }
        self.functions = Some(functions);
        if hold < end - start { start + hold.max(least(scene, end - start)) } else { end }
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

    /// Relations whose indicators are polynomials or have series; gives how far these go.
    fn followed<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        (start, end): (f64, f64),
        flips: &mut Flips,
    ) -> Result<f64, NotFinite> {
        let mut reached = end;
        let within = Interval { start, end, fresh: scene.tick / 512.0 };
        let stride = self.strides[0];
        let SteppedState { solver, looks, .. } = state;
        let (vars, x, values) = (&mut self.vars, &mut self.x, &mut self.y);
        let mut doubts = Doubt::new(scene, &mut self.tendency, &*solver);
        for k in 0..self.relations.len() {
            let searched = self.searched[k] && !self.sampled[k];
            if !searched || self.modal && !self.relations[k].is_searched(&scene.frame.discrete) {
                continue;
            }
            let row = &self.z[k * stride..][..stride];
            if row[0].abs() < HUGE && !row.iter().all(|c| c.is_finite()) {
                // It has no series right here, as a root of zero.
                reached = reached.min(start + least(scene, end - start));
                continue;
            }
            if !row.iter().all(|c| c.is_finite()) {
                return Err(NotFinite { t: start, indicator: k });
            }
            let correct = |t: f64| {
                self.refined[k].then(|| {
                    *looks += 1;
                    x.resize(scene.dims.states, 0.0);
                    solver.dense(t, x);
                    scene.fill(t, x, vars);
                    values.resize(scene.dims.indicators, 0.0);
                    scene.equations.indicators(vars, work, values);
                    values[k]
                })
            };
            let Flips { sides, list, past } = flips;
            let found = (list, &mut past[k]);
            let side = &mut sides[k];
            let end = self.locator.polynomial((k, row), within, side, correct, &mut doubts, found);
            reached = end.map_or(reached, |end| reached.min(end));
        }
        Ok(reached)
    }

    /// Relations and bands that can only be sampled; gives when the first output leaves its band, and
    /// how far the search went.
    fn sampled<E: Equations>(
        &mut self,
        scene: &Scene<E>,
        state: &mut SteppedState,
        work: &mut Work,
        (start, end): (f64, f64),
        flips: &mut Flips,
    ) -> Result<(f64, f64), NotFinite> {
        let SteppedState { solver, looks, .. } = state;
        let dims = scene.dims;
        let Self { sampled, sampled_ports, relations, vars, x, y, sides, .. } = self;
        x.resize(dims.states, 0.0);
        y.resize(dims.outputs, 0.0);
        let chosen = |k: usize| {
            k >= relations.len() || sampled[k] && relations[k].is_searched(&scene.frame.discrete)
        };
        sides.clone_from(&flips.sides);
        sides.resize(dims.indicators + 2 * sampled_ports.len(), 1.0);
        let within = Interval { start, end, fresh: scene.tick / 512.0 };
        let mut doubts = Doubt::new(scene, &mut self.tendency, &*solver);
        let mut found = Vec::new();
        let z = |t: f64, z: &mut [f64]| {
            *looks += 1;
            solver.dense(t, x);
            scene.fill(t, x, vars);
            let (own, bands) = z.split_at_mut(dims.indicators);
            scene.equations.indicators(vars, work, own);
            // Relations of other modes may not be defined.
            for (k, z) in own.iter_mut().enumerate().filter(|(k, _)| !chosen(*k)) {
                debug_assert!(k < dims.indicators);
                *z = 0.0;
            }
            if !own.iter().all(|z| z.is_finite()) {
                guards::indicators(&scene.equations, vars, work, own);
            }
            if bands.is_empty() {
                return;
            }
            scene.equations.outputs(vars, work, y);
            for (pair, &port) in bands.chunks_exact_mut(2).zip(&*sampled_ports) {
                let value = guards::finite(&scene.equations, vars, (port, y[port]));
                let deviation = value - scene.held(port, t);
                let band = scene.allowed(value);
                pair[0] = band - deviation;
                pair[1] = band + deviation;
            }
        };
        flips.past.resize(sides.len(), Past::default());
        let places = (&mut found, &mut flips.past[..]);
        let reached = self.locator.sample(within, sides, chosen, z, &mut doubts, places)?;
        flips.sides.copy_from_slice(&sides[..dims.indicators]);
        let is_band = |f: &super::ode::Flip| usize::from(f.relation) >= dims.indicators;
        let left = found.iter().filter(|f| is_band(f)).map(|f| f.t).fold(f64::INFINITY, f64::min);
        flips.list.extend(found.into_iter().filter(|f| !is_band(f)));
        Ok((left, reached))
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
            c.iter_mut().zip(row).for_each(|(c, y)| *c = y - *c);
            c[stride..length].iter_mut().for_each(|c| *c = -*c);
            if !c[..length].iter().all(|c| c.is_finite()) {
                bad = Some(NotFinite { t: start, indicator: port });
                break;
            }
            let width = (end.min(best) - start).max(0.0);
            let band = scene.allowed(row[0]);
            if c[0].abs() + spread(&c[..length], width) > band
                && let Some(e) = poly::first_exceed(&c[..length], band, width)
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
            let off = |y: f64| (y - scene.held(port, 0.0)).abs() > scene.allowed(y);
            scene.connected[port] && off(guards::finite(&scene.equations, vars, (port, *y)))
        };
        y.iter().enumerate().any(outside)
    }
}

/// Flips of one relation that a search looks for: steps of closed solutions have no end.
const FLIPS: usize = 64;
/// Beyond it a function without a series has overflown.
const HUGE: f64 = 1e100;

/// How far a search goes at least, in seconds: a tick, or a part of a step that is not longer.
fn least<E>(scene: &Scene<E>, step: f64) -> f64 {
    scene.tick.min(step / 64.0)
}

/// The relations, as the search needs them, with the widest bands of events that report touching.
pub(super) fn watched<E: Equations>(equations: &E) -> Vec<Watched> {
    let of = |r: &Relation| Watched {
        kind: r.kind,
        only: r.only,
        touching: None,
        slides: r.sliding.is_some(),
    };
    let mut all: Vec<Watched> = equations.relations().iter().map(of).collect();
    for event in equations.events() {
        if let Trigger::State { truth, touching: Some(band), .. } = &event.trigger {
            for k in truth.relations(&equations.dims()) {
                let widest = &mut all[k].touching;
                *widest = Some(widest.map_or(*band, |other| other.max(*band)));
            }
        }
    }
    all
}
