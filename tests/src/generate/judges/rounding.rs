//! Judges that run the same model with other errors: their runs agree within bounds, where the
//! outcome does not hang on errors.
use super::{
    Case, Finding, Judge, Opinion, reference,
    rewrite::{Shifted, map_derivatives, map_states},
    stable,
};
use crate::generate::{
    compare::{Bounds, apart, difference, summary},
    hybrid::build::{add, mul, num, seconds},
    run::{End, Outcome, Runner},
    tree::{self, Rewrite},
};
use superdense_judge::model::{Expr, Instant, Model, Trigger, Variable};

/// Compares two ways to run a model that are equal but for errors; `back` maps instants of the
/// second to those of the first.
pub(super) fn compare(
    case: &Case,
    base: &Outcome,
    other: &Case,
    runner: &Runner,
    what: &str,
    back: &dyn Fn(i64) -> i64,
) -> Opinion {
    compare_unless(case, base, other, runner, (what, None), back)
}

/// The same; for a reason it is open what happens where one of the runs has an event at the first tick, by which a
/// threshold is left (rule 7).
fn compare_unless(
    case: &Case,
    base: &Outcome,
    other: &Case,
    runner: &Runner,
    (what, first): (&str, Option<&'static str>),
    back: &dyn Fn(i64) -> i64,
) -> Opinion {
    let mapped = |mut run: Outcome| {
        run.events.iter_mut().for_each(|e| e.tick = back(e.tick));
        if let End::Cut(tick) | End::Failed(tick, _) = &mut run.end {
            *tick = back(*tick);
        }
        run
    };
    compare_mapped(
        (case, base),
        other,
        runner,
        &Way { what, mapped: &mapped, shifted: false, first },
    )
}

/// How a second run is equal to the first.
pub(super) struct Way<'a> {
    /// The difference from the model.
    pub(super) what: &'a str,
    /// Names its events and outputs as in the first run.
    pub(super) mapped: &'a dyn Fn(Outcome) -> Outcome,
    /// Its start is no start: only outcomes that do not hang on thresholds there are compared.
    pub(super) shifted: bool,
    /// Why it may end elsewhere if one of the runs has an event at the first tick.
    pub(super) first: Option<&'static str>,
}

/// As [`compare`], with any way to name things of the second run as in the first.
pub(super) fn compare_mapped(
    (case, base): (&Case, &Outcome),
    other: &Case,
    runner: &Runner,
    way: &Way<'_>,
) -> Opinion {
    if matches!(base.end, End::Cut(_)) {
        return Opinion::Skipped("cut off");
    }
    let bounds = bounds(case, other, base.events.len());
    let found = (way.mapped)(other.run(runner));
    let disagree = |base: &Outcome, found: &Outcome, difference: String| {
        Opinion::Disagrees(Finding {
            seen: summary(base),
            right: format!("{}: {}, of the file\n{}", way.what, summary(found), other.text()),
            difference,
        })
    };
    if found.is_broken() {
        return disagree(base, &found, "a run ends in no way that is known".into());
    }
    let failed = matches!(found.end, End::Failed(..));
    if matches!(found.end, End::Refused(_)) || way.shifted && failed {
        return Opinion::Skipped("refused or failing in that way");
    }
    if difference(base, &found, bounds).is_none() {
        return Opinion::Agrees;
    }
    if is_out_of_domain(base) != is_out_of_domain(&found) {
        return Opinion::Undecided("one run left a domain, the other just not".into());
    }
    // Errors shrink with the tolerance, wrong rules stay.
    let tight = |case: &Case| {
        let mut case = case.clone();
        case.settings = case.settings.tightened(0.01);
        case.run(runner)
    };
    let usual = (base, found);
    let (base, found) = (tight(case), (way.mapped)(tight(other)));
    let Some(difference) = difference(&base, &found, bounds) else {
        return Opinion::Undecided("the difference shrinks with the tolerance".into());
    };
    // Where a solution grows a lot, so do its errors.
    if apart(&base, &found, bounds.ticks) < 0.1 * apart(usual.0, &usual.1, bounds.ticks) {
        return Opinion::Undecided("the difference of values shrinks with the tolerance".into());
    }
    if accumulates(&base, bounds.ticks) || accumulates(&found, bounds.ticks) {
        return Opinion::Undecided("events accumulate".into());
    }
    let tick = coarser(case, other);
    let stable = match way.shifted {
        true => stable::is_stable_from_the_start(case, runner),
        false => stable::is_stable(case, runner, tick),
    };
    if !stable {
        return Opinion::Undecided("the outcome hangs on small errors".into());
    }
    if reference::hangs_on_rounding(case) || tick > 0.0 && reference::hangs_on_rounding(other) {
        return Opinion::Undecided(
            "the sign of a relation at a decision lies within the error".into(),
        );
    }
    let begins = |run: &Outcome| run.events.iter().any(|e| e.tick <= 1);
    match way.first.filter(|_| begins(&base) || begins(&found)) {
        Some(why) => Opinion::Undecided(why.into()),
        None => disagree(&base, &found, difference),
    }
}

/// How far two runs may differ that are equal but for errors: values at events hang on the tick at
/// which these are executed, and each of so many events may add up to a tick where ticks differ.
fn bounds(case: &Case, other: &Case, events: usize) -> Bounds {
    let error = case.settings.error().max(other.settings.error());
    let tick = |c: &Case| 10_f64.powi(-(c.model.resolution as i32));
    let coarse = if case.model == other.model { 0.0 } else { tick(case).max(tick(other)) };
    let late = if coarser(case, other) > 0.0 { events } else { 0 };
    Bounds {
        ticks: stable::ticks(case, 10.0 * error).max(20) + late as i64,
        values: 10.0 * error + (100.0 + 30.0 * late as f64) * coarse,
    }
}

/// The longer tick in seconds, where the ticks of two runs are others; else zero.
fn coarser(case: &Case, other: &Case) -> f64 {
    let [a, b] = [&case.model, &other.model];
    match (a.resolution, a.stop) == (b.resolution, b.stop) {
        true => 0.0,
        false => 10_f64.powi(-(a.resolution.min(b.resolution) as i32)),
    }
}

/// Whether an event follows on itself within so many ticks: how many there are hangs on the tick.
pub(super) fn accumulates(run: &Outcome, ticks: i64) -> bool {
    let mut last = std::collections::HashMap::new();
    run.events.iter().any(|e| {
        let before = last.insert(&e.name, e.tick);
        before.is_some_and(|before| before < e.tick && e.tick - before <= ticks)
    })
}

/// Whether a run left the domain of a function; just before the border this hangs on errors.
pub(super) fn is_out_of_domain(run: &Outcome) -> bool {
    matches!(&run.end, End::Failed(_, why) if why.contains("not finite"))
}

/// Smaller tolerances.
pub(super) struct Tighter;

impl Judge for Tighter {
    fn name(&self) -> &'static str {
        "tighter"
    }
    fn share(&self) -> usize {
        25
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        if tree::is_late(&case.model) {
            return Opinion::Skipped("a time whose rounding is more than tighter tolerances allow");
        }
        let mut other = case.clone();
        other.settings = case.settings.tightened(0.01);
        compare(case, base, &other, runner, "with tolerances 100 times as small", &|t| t)
    }
}

/// States are counted from another zero.
pub(super) struct Shift;

impl Judge for Shift {
    fn name(&self) -> &'static str {
        "shift"
    }
    fn share(&self) -> usize {
        30
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let c = case.choices("shift").pick(&[1.0, -2.0, 16.0, 0.5]);
        let mut model = case.model.clone();
        tree::rewrite(&mut model, &mut Shifted(c));
        map_states(&mut model, &|x| x + c, &|e| add(e, num(c)));
        let other = case.with(model);
        let what = format!("with {c} added to all states");
        let first = "what moves in the first tick is less than a rounding";
        compare_unless(case, base, &other, runner, (&what, Some(first)), &|t| t)
    }
}

/// Why an event at the first tick may lead elsewhere where ticks take less of the motion.
const SHORTER: &str = "the first tick, at whose end an event of the start happens, is another one";

/// A tick a thousandth as long.
pub(super) struct Finer;

impl Judge for Finer {
    fn name(&self) -> &'static str {
        "finer"
    }
    fn share(&self) -> usize {
        30
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        let mut model = case.model.clone();
        let longest = model.stop.numerator / model.stop.denominator;
        model.resolution += 3;
        if model.resolution > 15
            || longest.saturating_mul(10_i64.pow(model.resolution)) > i64::MAX / 8
        {
            return Opinion::Skipped("no finer tick");
        }
        let up = |t: i64| t / 1000 + i64::from(t % 1000 > 0);
        let what = "with ticks a thousandth as long";
        compare_unless(case, base, &case.with(model), runner, (what, Some(SHORTER)), &up)
    }
}

struct Times(f64, f64);

/// Puts `s*t - c` in place of the time.
impl Rewrite for Times {
    fn expression(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Read(Variable::Time) => {
                let t = Expr::Read(Variable::Time);
                let t = if self.0 == 1.0 { t } else { mul(num(self.0), t) };
                if self.1 == 0.0 { t } else { add(t, num(-self.1)) }
            }
            e => e,
        }
    }
}

fn each_instant(
    model: &mut Model,
    f: &dyn Fn(Instant) -> Instant,
    durations: &dyn Fn(Instant) -> Instant,
) {
    model.stop = f(model.stop);
    for unit in &mut model.units {
        tree::each_event(unit, &mut |e| {
            match &mut e.trigger {
                Trigger::At(list) => list.iter_mut().for_each(|i| *i = f(*i)),
                Trigger::Every { from, every } => {
                    *from = f(*from);
                    *every = durations(*every);
                }
                _ => {}
            }
            if let Some(rest) = &mut e.rest {
                rest.within = durations(rest.within);
            }
        });
    }
}

/// Everything goes slower by a power of two.
pub(super) struct TimeScale;

impl Judge for TimeScale {
    fn name(&self) -> &'static str {
        "time-scale"
    }
    fn share(&self) -> usize {
        30
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        if tree::is_late(&case.model) {
            return Opinion::Skipped("no longer times");
        }
        let s = case.choices("time-scale").pick(&[2_i64, 4, 16]);
        let mut model = case.model.clone();
        let real = s as f64;
        tree::rewrite(&mut model, &mut Times(1.0 / real, 0.0));
        map_derivatives(&mut model, &|e| mul(num(1.0 / real), e));
        let slower = |i: Instant| seconds(i.numerator * s, i.denominator);
        each_instant(&mut model, &slower, &slower);
        let mut other = case.with(model);
        other.settings.step *= real;
        let back = |t: i64| t / s + i64::from(t % s > 0);
        let what = format!("{s} times as slow");
        compare_unless(case, base, &other, runner, (&what, Some(SHORTER)), &back)
    }
}

/// Everything begins some seconds later; what moves by itself waits for an event.
pub(super) struct TimeShift;

impl Judge for TimeShift {
    fn name(&self) -> &'static str {
        "time-shift"
    }
    fn share(&self) -> usize {
        20
    }
    fn judge(&self, case: &Case, base: &Outcome, runner: &Runner) -> Opinion {
        // The start of a run decides as an event does, but for thresholds that are left at once;
        // the shifted model has a reset there, of which the same rules are true.
        let simple = |m: &Model| {
            m.units.len() == 1 && m.units[0].modes.is_empty() && m.units[0].algebraic.is_empty()
        };
        let timed = tree::events(&case.model.units[0])
            .any(|e| matches!(e.trigger, Trigger::At(_) | Trigger::Every { .. }));
        if tree::is_late(&case.model) || !simple(&case.model) || timed {
            return Opinion::Skipped("only for one unit without modes and time events");
        }
        let c = case.choices("time-shift").pick(&[1_i64, 2, 8]);
        let mut model = case.model.clone();
        tree::rewrite(&mut model, &mut Times(1.0, c as f64));
        let unit = &mut model.units[0];
        let gate = Variable::Discrete(0, unit.discrete.len());
        unit.discrete.push(0.0);
        map_derivatives(&mut model, &|e| {
            use superdense_judge::model::{Comparison, Condition};
            let open = Condition::Relation(Comparison::Greater, Expr::Read(gate), num(0.0));
            Expr::If(Box::new(open), Box::new(e), Box::new(num(0.0)))
        });
        let start = superdense_judge::model::Event {
            name: "begin".into(),
            trigger: Trigger::At(vec![seconds(c, 1)]),
            priority: -9,
            reset: vec![(gate, num(1.0))],
            to: None,
            rest: None,
        };
        model.units[0].events.push(start);
        model.stop =
            seconds(model.stop.numerator + c * model.stop.denominator, model.stop.denominator);
        let scale = 10_i64.pow(model.resolution);
        let reads_time = reads_time(&case.model);
        if reads_time {
            // Conditions of the time are decided at the true start.
            return Opinion::Skipped("reads the time");
        }
        if base.end != End::Reached {
            return Opinion::Skipped("fails");
        }
        if base.events.first().is_some_and(|e| e.tick <= 1) {
            return Opinion::Skipped("an event at the start, which is a start there only (rule 7)");
        }
        let mapped = |mut run: Outcome| {
            run.events.retain(|e| !e.name.ends_with(".begin"));
            run.events.iter_mut().for_each(|e| e.tick -= c * scale);
            run
        };
        let (what, other) = (format!("{c} s later"), case.with(model));
        let first =
            Some("a value that leaves its threshold at the start rests there before (rule 7)");
        let way = Way { what: &what, mapped: &mapped, shifted: true, first };
        compare_mapped((case, base), &other, runner, &way)
    }
}

/// Whether a formula reads the time.
pub(super) fn reads_time(model: &Model) -> bool {
    let mut model = model.clone();
    struct Seen(bool);
    impl Rewrite for Seen {
        fn expression(&mut self, e: Expr) -> Expr {
            self.0 |= e == Expr::Read(Variable::Time);
            e
        }
    }
    let mut seen = Seen(false);
    tree::rewrite(&mut model, &mut seen);
    seen.0
}
