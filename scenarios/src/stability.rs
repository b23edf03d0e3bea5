//! Stability of couplings of linear units, as spectral radii.
//!
//! **Zero-stability** (Hafner & Popper 2021, equation 3): what comes back to the inputs of all units in one
//! exchange, without any time passing, is `u := D u`; the coupling is zero-stable when ρ(D) ≤ 1.
//!
//! **Numerical stability** (Gomes et al. 2017, equation 47): one macro step of length H takes states and
//! held inputs z to A(H) z; the co-simulation is stable when ρ(A(H)) < 1.
//!
//! Both matrices are *measured*: the scenario runs over a few macro steps from zero and from one for
//! each state and each input, as it would run otherwise, so that every policy, every solver and
//! every depth of groups is in them. A is what takes the observed vectors to those one step later, on
//! the space that they span; where one step is not enough, because the master remembers earlier
//! exchanges, vectors of several steps are stacked. The last step is not used for that, and tells
//! whether the result predicts it; a scenario that is not linear is refused by that, and by runs from
//! other sizes, the other sign, and several at once, which must add up. Steps of inner masters have to
//! go into macro steps, or these would not be alike.
//!
//! Units with modes are measured in each mode by itself, without the events that lead to others; what
//! switching between them may do is told by [`crate::joint`].
use crate::joint::{Switched, radius, switched};
use crate::{
    Overrides, load,
    output::numbers,
    plan::{
        Plan,
        outline::{Equations, outline},
        policies::Master,
    },
    run::sampler::{Sampler, Signals},
};
use nalgebra::{DMatrix, DVector};
use std::path::{Path, PathBuf};
use superdense_kernel::Simulation;
use superdense_models::signal::value::Value;

/// Steps that are stacked at most: extrapolation of order 3 under a compensation looks back over five.
const DEPTH: usize = 8;
/// Most modes of all units together.
const MODES: usize = 16;
/// Largest error of the prediction, relative to the largest value.
const LINEAR: f64 = 1e-6;
/// Other sizes of each state and each input, which must be answered in proportion.
const SIZES: [f64; 3] = [-1.0, 3.0, -0.01];
/// All states and inputs at once, with these sizes in turn; each must be answered by the sum.
const MIXED: [[f64; 3]; 4] =
    [[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, -2.0, 0.5], [-0.5, 1.5, -2.0]];
/// Largest error of that, relative to the largest value.
const IN_PROPORTION: f64 = 1e-5;
/// Radii that are nearer to one than this are on the border: they are measured, and rounded.
const BORDER: f64 = LINEAR;
/// Singular values below this part of the largest one count as zero. They lie well above [`EXCHANGE`]: a direction of
/// which only that is seen would have any eigenvalue.
const RANK: f64 = 1e-7;
/// How exactly units tell each other values, in the place of what the scenario says.
const EXCHANGE: &str = "1e-11";

/// Policies of couplings by which what is told depends on more than the sum of what was.
const NOT_IN_PROPORTION: [&str; 8] = [
    "power",
    "pre_step",
    "tolerance",
    "exchanges_per_period",
    "look_ahead",
    "slopes = \"context\"",
    "order = \"automatic\"",
    "order = \"switching\"",
];

/// Observed vectors at the start and after each of some macro steps.
type Course = Vec<DVector<f64>>;
/// A run from zero everywhere but at some places.
type Observe<'a> = dyn Fn(&[(&str, f64)]) -> Result<Course, String> + 'a;

/// The meaning of a spectral radius, in words.
pub fn judged(radius: f64) -> &'static str {
    match radius - 1.0 {
        beyond if beyond.abs() <= BORDER => "on the border",
        beyond if beyond < 0.0 => "stable",
        _ => "unstable",
    }
}

/// A scenario whose coupling is analysed.
#[derive(Debug)]
pub struct Coupled {
    file: PathBuf,
    sets: Vec<(String, String)>,
    units: Vec<Equations>,
    /// There is a coupling around all units.
    coupled: bool,
}

impl Coupled {
    /// Takes a scenario with `--set` options.
    ///
    /// # Errors
    /// When its units cannot be set and observed one by one.
    pub fn new(file: &Path, sets: &[(String, String)]) -> Result<Self, String> {
        let (units, coupled) = outline(file)?;
        let coupled = coupled || sets.iter().any(|(path, _)| path == "coupling");
        if let Some(u) = units.iter().find(|u| !u.modes.is_empty() && u.resets) {
            return Err(format!(
                "an event of unit `{}` resets states or values; modes are analysed where they only \
                 switch equations: remove `reset` from its events, or give the unit no modes",
                u.path
            ));
        }
        if units.iter().all(|u| u.inputs.is_empty() && u.modes.is_empty()) {
            return Err("no equation unit of the scenario has an input, or modes, so that there is nothing to \
                        be unstable; give a unit `inputs` and connect them"
                .to_owned());
        }
        Ok(Self { file: file.to_owned(), sets: sets.to_vec(), units, coupled })
    }

    /// Whether some unit has modes.
    pub fn is_switched(&self) -> bool {
        self.units.iter().any(|u| !u.modes.is_empty())
    }

    /// The modes in which all units together can be, each with the scenario in it for ever; just one
    /// without a name for a scenario without modes.
    ///
    /// # Errors
    /// When there are too many.
    pub fn modes(&self) -> Result<Vec<(String, Self)>, String> {
        let switching: Vec<&Equations> =
            self.units.iter().filter(|u| !u.modes.is_empty()).collect();
        let count = switching.iter().fold(1usize, |n, u| n.saturating_mul(u.modes.len()));
        if count > MODES {
            return Err(format!(
                "the units have {count} modes together, more than {MODES}; analyse fewer units at once"
            ));
        }
        let mut all = vec![(String::new(), self.sets.clone())];
        for unit in switching {
            let place = &unit.place;
            let mut still = vec![format!("{place}.event"), format!("{place}.on")];
            for mode in &unit.modes {
                still.extend(["event", "on"].map(|key| format!("{place}.mode.{mode}.{key}")));
            }
            let with = |(name, sets): &(String, Vec<(String, String)>), mode: &String| {
                let name = match name.is_empty() {
                    true => format!("{}.{mode}", unit.path),
                    false => format!("{name}, {}.{mode}", unit.path),
                };
                let mut sets = sets.clone();
                sets.push((format!("{place}.initial"), format!("{mode:?}")));
                sets.extend(still.iter().map(|key| (key.clone(), "[]".to_owned())));
                (name, sets)
            };
            let each =
                all.iter().flat_map(|before| unit.modes.iter().map(move |m| with(before, m)));
            all = each.collect();
        }
        let alone = |(name, sets)| {
            let (file, units) = (self.file.clone(), self.units.clone());
            (name, Self { file, sets, units, coupled: self.coupled })
        };
        Ok(all.into_iter().map(alone).collect())
    }

    /// The effect of switching between the modes at the ends of macro steps.
    ///
    /// # Errors
    /// When the scenario cannot be run or is not linear in some mode, or its master remembers earlier
    /// exchanges.
    pub fn switched(&self, macro_step: &str) -> Result<(Vec<String>, Switched), String> {
        let (mut names, mut maps, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let mut reached = Vec::new();
        for (name, mode) in self.modes()? {
            let of = |why: String| format!("in the mode {name}: {why}");
            let places = mode.places(true);
            let observe = |kicks: &[(&str, f64)]| mode.observe(kicks, macro_step, 3, &[], true);
            let paths = mode.paths(&places, &observe).map_err(of)?;
            mode.refuse_what_is_not_linear(&places, &paths, &observe, true).map_err(of)?;
            let Some((map, space)) = step_map(&paths, 1) else {
                return Err(of("one macro step does not tell the next one; take a coupling that \
                               remembers no earlier exchanges, such as one with extrapolation = 0"
                    .to_owned()));
            };
            reached.extend(paths.iter().flat_map(|p| p.iter().cloned()));
            names.push(name);
            maps.push(map);
            known.push(space);
        }
        // Each mode must know what to make of what the others leave.
        for (name, space) in names.iter().zip(&known) {
            let strange = |v: &DVector<f64>| (space * v - v).amax() > LINEAR * v.amax().max(1.0);
            if reached.iter().any(strange) {
                return Err(format!(
                    "what the units tell each other changes with their modes: the mode {name} \
                     cannot go on from what others leave; let each unit send the same outputs in \
                     all modes"
                ));
            }
        }
        Ok((names, switched(&maps)))
    }

    /// ρ(D) of all levels together; nothing without a coupling or without inputs, where there is no
    /// exchange to be told of.
    ///
    /// # Errors
    /// When the scenario cannot be run, or is not linear.
    pub fn zero_stability(&self) -> Result<Option<f64>, String> {
        let inputs = self.places(false);
        if inputs.is_empty() || !self.coupled {
            return Ok(None);
        }
        // Feed-through must not be followed to its end here: that is the iteration of D.
        let delayed = [("coupling.feed_through".to_owned(), "\"delayed\"".to_owned())];
        let observe = |kicks: &[(&str, f64)]| self.observe(kicks, "1 s", 0, &delayed, false);
        let paths = self.paths(&inputs, &observe)?;
        self.refuse_what_is_not_linear(&inputs, &paths, &observe, false)?;
        let columns: Vec<DVector<f64>> = paths.into_iter().map(|mut p| p.swap_remove(0)).collect();
        Ok(Some(radius(&DMatrix::from_columns(&columns))))
    }

    /// ρ(A(H)) for a macro step of the outermost coupling, given as text with or without a unit.
    ///
    /// # Errors
    /// When the scenario cannot be run, or is not linear.
    pub fn step(&self, macro_step: &str) -> Result<f64, String> {
        let places = self.places(true);
        for depth in 1..=DEPTH {
            let observe =
                |kicks: &[(&str, f64)]| self.observe(kicks, macro_step, 2 * depth + 1, &[], true);
            let paths = self.paths(&places, &observe)?;
            let map = step_map(&paths, depth);
            if depth == 1 || map.is_some() {
                self.refuse_what_is_not_linear(&places, &paths, &observe, true)?;
            }
            if let Some((map, _)) = map {
                let radius = radius(&map);
                let unknown = || {
                    "no eigenvalues were found of what a macro step does; give another macro step"
                        .to_owned()
                };
                return (!radius.is_nan()).then_some(radius).ok_or_else(unknown);
            }
        }
        Err(format!(
            "some clock does not go into macro steps, or the scenario is not linear: {DEPTH} of them do \
             not tell the next one; take macro steps that are multiples of all periods, and linear units"
        ))
    }

    /// Observed vectors for a one in each of some places.
    fn paths(&self, places: &[String], observe: &Observe<'_>) -> Result<Vec<Course>, String> {
        let base = observe(&[])?;
        let path = |place: &String| Ok(less(observe(&[(place, 1.0)])?, &base));
        places.iter().map(path).collect()
    }

    /// Refuses a scenario that does not answer other sizes, the other sign, and several at once by
    /// what ones are answered by, `paths`.
    fn refuse_what_is_not_linear(
        &self,
        places: &[String],
        paths: &[Course],
        observe: &Observe<'_>,
        states: bool,
    ) -> Result<(), String> {
        let base = observe(&[])?;
        let single = (0..places.len()).flat_map(|k| SIZES.map(|size| vec![(k, size)]));
        let all = |sizes: [f64; 3]| (0..places.len()).map(|k| (k, sizes[k % 3])).collect();
        for kicks in single.chain(MIXED.map(all)) {
            let named: Vec<(&str, f64)> = kicks.iter().map(|&(k, s)| (&*places[k], s)).collect();
            let found = less(observe(&named)?, &base);
            for (step, found) in found.iter().enumerate() {
                let sum =
                    |sum: DVector<f64>, &(k, size): &(usize, f64)| sum + &paths[k][step] * size;
                let wanted = kicks.iter().fold(DVector::zeros(found.len()), sum);
                let least = kicks.iter().fold(1.0f64, |most, k| most.max(k.1.abs()));
                let limit = IN_PROPORTION * wanted.amax().max(least);
                let off = (found - wanted).abs();
                let wrong: Vec<usize> =
                    (0..off.len()).filter(|&k| off[k].is_nan() || off[k] > limit).collect();
                if let Some(what) = self.first_of(&wrong, states) {
                    let kicks: Vec<_> = named.iter().map(|(p, s)| format!("{p} = {s}")).collect();
                    let remedy = self.remedy();
                    return Err(format!(
                        "the scenario is not linear: {what} does not follow start values in \
                         proportion (from {}); {remedy}, or leave --stability out",
                        kicks.join(", ")
                    ));
                }
            }
        }
        Ok(())
    }

    /// The remedy that makes a scenario linear: to leave out policies that are not, or else other units.
    fn remedy(&self) -> String {
        let plan = load(&self.file, &self.sets, &Overrides::default());
        let policies = plan.iter().flat_map(|plan| &plan.couplings).flat_map(|m| &m.policies);
        let used: Vec<&String> = policies.filter(|p| p.used).map(|p| &p.line).collect();
        let bent = NOT_IN_PROPORTION.iter().filter(|own| used.iter().any(|l| l.starts_with(**own)));
        let bent: Vec<String> = bent.map(|own| format!("`{own}`")).collect();
        match bent.is_empty() {
            true => "replace it by a linear unit".to_owned(),
            false => format!(
                "what the coupling tells by {} is not in proportion to the signals, however linear the units are: \
                 delete that",
                bent.join(", ")
            ),
        }
    }

    /// A state among some rows of an observed vector, or else an input, in words.
    fn first_of(&self, wrong: &[usize], states: bool) -> Option<String> {
        let mut rows = Vec::new();
        for unit in &self.units {
            let own = unit.states.iter().filter(|_| states).map(|s| ("state", s));
            for (kind, name) in own.chain(unit.inputs.iter().map(|i| ("input", i))) {
                rows.push((kind, format!("{kind} `{name}` of unit `{}`", unit.path)));
            }
        }
        let state = wrong.iter().find(|&&k| rows[k].0 == "state");
        state.or(wrong.first()).map(|&k| rows[k].1.clone())
    }

    /// Places of start values in the document.
    fn places(&self, states: bool) -> Vec<String> {
        let mut places = Vec::new();
        for unit in &self.units {
            let kinds = [("states", &unit.states, states), ("inputs", &unit.inputs, true)];
            for (kind, names, _) in kinds.iter().filter(|k| k.2) {
                places.extend(names.iter().map(|n| format!("{}.{kind}.{n}", unit.place)));
            }
        }
        places
    }

    /// States (if wanted) and inputs of all units at the start and after each of some macro steps,
    /// from zero everywhere but at `kicks`.
    fn observe(
        &self,
        kicks: &[(&str, f64)],
        macro_step: &str,
        steps: usize,
        more: &[(String, String)],
        states: bool,
    ) -> Result<Course, String> {
        let mut sets = self.sets.clone();
        sets.extend_from_slice(more);
        for place in self.places(true) {
            let value = kicks.iter().find(|k| k.0 == place).map_or(0.0, |k| k.1);
            sets.push((place, format!("{value:?}")));
        }
        let mut record = Vec::new();
        for unit in &self.units {
            sets.push((format!("{}.exchange_tolerance", unit.place), EXCHANGE.to_owned()));
            let kinds = [("state", &unit.states, states), ("heard", &unit.inputs, true)];
            for (kind, names, _) in kinds.iter().filter(|k| k.2) {
                for name in names.iter() {
                    let output = format!("{kind}_{name}");
                    sets.push((format!("{}.outputs.{output}", unit.place), format!("{name:?}")));
                    record.push(format!("\"{}.{output}\"", unit.path));
                }
            }
        }
        sets.push(("record".to_owned(), format!("[{}]", record.join(", "))));
        sets.push(("plot".to_owned(), "[]".to_owned()));
        let overrides = Overrides { until: Some(macro_step.to_owned()), ..Overrides::default() };
        let mut plan = load(&self.file, &sets, &overrides).map_err(|e| e.render(false))?;
        if steps > 0 {
            refuse_inner_steps(&plan)?;
        }
        let options = plan.options();
        let model = std::mem::take(&mut plan.model);
        let mut sim = Simulation::new(model, options).map_err(|e| e.to_string())?;
        let (_, signals) = Sampler::new(&sim, &plan).map_err(|e| format!("no unit {e}"))?;
        let at = |k: usize| plan.stop.saturating_mul(k as i64);
        (0..=steps)
            .map(|k| {
                sim.run_through(at(k)).map_err(|e| e.to_string())?;
                Ok(values(&sim, &signals, at(k)))
            })
            .collect()
    }
}

/// Refuses a master inside that exchanges in some macro steps only: no two are alike.
fn refuse_inner_steps(plan: &Plan) -> Result<(), String> {
    // Thirds are cut to whole ticks.
    let uneven = |m: &&Master| {
        let times = (m.step > 0).then(|| plan.stop.saturating_add(m.step / 2) / m.step);
        times.is_some_and(|n| n == 0 || (plan.stop - n * m.step).abs() > n)
    };
    let Some(master) = plan.couplings.iter().find(uneven) else { return Ok(()) };
    let seconds = |ticks| plan.resolution.format(ticks);
    let whose = match master.group.as_str() {
        "" => "the scenario's coupling".to_owned(),
        group => format!("the coupling of `{group}`"),
    };
    Err(format!(
        "the step of {whose}, {step} s, does not go into macro steps of {} s; take multiples of \
         {step} s, or a shorter `step` there",
        seconds(plan.stop),
        step = seconds(master.step)
    ))
}

fn less(mut course: Course, base: &Course) -> Course {
    course.iter_mut().zip(base).for_each(|(x, b)| *x -= b);
    course
}

fn values(sim: &Simulation<Value>, signals: &Signals, at: i64) -> DVector<f64> {
    let value = |(key, port, _): &_| {
        let value = sim.probe(*key, *port, at);
        value.and_then(|v| numbers::number(&v, 0.0)).unwrap_or(f64::NAN)
    };
    DVector::from_iterator(signals.len(), signals.iter().map(value))
}

/// The map from `depth` stacked vectors to those one step later, and the projection onto the space
/// on which it is known; nothing if it does not predict the last step.
fn step_map(paths: &[Course], depth: usize) -> Option<(DMatrix<f64>, DMatrix<f64>)> {
    let stacked = |path: &[DVector<f64>], k: usize| {
        let rows = (0..depth).flat_map(|d| path[k + d].iter().copied());
        DVector::from_iterator(path[k].len() * depth, rows)
    };
    let steps = paths.first()?.len();
    let known = steps - depth - 1;
    let columns = |shift: usize| {
        let all = paths.iter().flat_map(|p| (0..known).map(move |k| stacked(p, k + shift)));
        DMatrix::from_columns(&all.collect::<Vec<_>>())
    };
    let (before, after) = (columns(0), columns(1));
    let svd = before.clone().svd(true, true);
    let least = RANK * svd.singular_values.max();
    let inverse = svd.pseudo_inverse(least).ok()?;
    let space = &before * &inverse;
    let map = after * inverse;
    let predicted = |p: &Vec<DVector<f64>>| {
        let (from, to) = (stacked(p, known), stacked(p, known + 1));
        (&map * from - &to).amax() <= LINEAR * to.amax().max(1.0)
    };
    paths.iter().all(predicted).then_some((map, space))
}
