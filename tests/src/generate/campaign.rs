//! Many models one after the other: made, run, judged, and made smaller where they fail.
use super::{
    corpus,
    coverage::{self, Coverage},
    excluded, hybrid,
    judges::{self, Case, Finding, Judge, Opinion, reference},
    random::Random,
    run::{End, Outcome, Runner},
    settings::{Executor, Method, Settings},
    shrink, tree,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of everything.
    pub seed: u64,
    /// The number of the first model.
    pub from: u64,
    /// How many models.
    pub models: u64,
    /// One method for all.
    pub method: Option<Method>,
    /// Every model under each method that fits.
    pub all_methods: bool,
    /// One judge only.
    pub judge: Option<String>,
    /// Every judge looks at every model.
    pub all_judges: bool,
    /// Where shrunk models go.
    pub folder: PathBuf,
    /// Shrunk models per judge.
    pub keep: usize,
    /// Threads.
    pub threads: usize,
    /// The run ends at the first disagreement beside these, as [`Options::key`] writes them.
    pub first_beside: Option<BTreeSet<String>>,
    /// Models that take more seconds of computing are told; this needs a single thread.
    pub slow: Option<f64>,
}

impl Options {
    /// The usual ones.
    pub fn new(seed: u64, models: u64, folder: PathBuf) -> Self {
        Self {
            seed,
            from: 0,
            models,
            method: None,
            all_methods: false,
            judge: None,
            all_judges: false,
            folder,
            keep: 10,
            threads: 1,
            first_beside: None,
            slow: None,
        }
    }

    /// A disagreement in a word: the judge (or the kind of models) and the number of the model.
    pub fn key(judge: &str, number: u64) -> String {
        format!("{judge}:{number}")
    }

    /// Whether a campaign ends at a disagreement.
    pub(super) fn stops_at(&self, key: &str) -> bool {
        self.first_beside.as_ref().is_some_and(|known| !known.contains(key))
    }
}

/// The name under which a slow model of a kind is known, and left out.
fn slow(kind: &str) -> String {
    format!("slow-{kind}")
}

/// Seconds that this process has computed so far, in hundredths; none where it cannot be known.
fn computed() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces; the first number behind is the third.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((number(11)? + number(12)?) / 100.0)
}

/// Calls `each` with the numbers of all models of a kind, from several threads, until the answer is
/// false; returns how many there were, and the keys of slow ones if these are asked for.
pub(super) fn each_number(
    options: &Options,
    kind: &str,
    each: &(dyn Fn(u64) -> bool + Sync),
) -> (u64, Vec<String>) {
    let slow = slow(kind);
    let late = Mutex::new(Vec::new());
    let timed = |number: u64| {
        let begun = computed();
        let goes_on = each(number);
        if let (Some(most), Some(begun), Some(end)) = (options.slow, begun, computed())
            && end - begun > most
        {
            let key = Options::key(&slow, number);
            late.lock().unwrap_or_else(PoisonError::into_inner).push(key);
        }
        goes_on
    };
    let next = AtomicU64::new(options.from);
    let end = options.from + options.models;
    let made = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    let left_out =
                        |known: &BTreeSet<_>| known.contains(&Options::key(&slow, number));
                    if options.first_beside.as_ref().is_some_and(left_out) {
                        continue;
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    if !timed(number) {
                        next.store(end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    (made.into_inner(), late.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Models made.
    pub models: u64,
    /// Runs of all kinds.
    pub runs: u64,
    /// Judgements that said nothing for sure.
    pub undecided: u64,
    /// Why judgements said nothing for sure, and how often.
    pub reasons: BTreeMap<String, u64>,
    /// Models that were refused or failed otherwise, with the message.
    pub errors: BTreeMap<String, Vec<u64>>,
    /// Runs that end in an error as the rules demand.
    pub demanded: u64,
    /// Numbers of the models that were refused, which no method explains.
    pub refused: Vec<u64>,
    /// Models that took long, if they are asked for, as keys.
    pub slow: Vec<String>,
    /// By judge: the opinions agrees, skipped, undecided, disagrees.
    pub opinions: BTreeMap<&'static str, [u64; 4]>,
    /// The opinions of the reference simulator on models in which a unit has no states.
    pub stateless: [u64; 4],
    /// What is wrong, by model, method and judge.
    pub disagreements: Vec<Disagreement>,
    /// Files of shrunk models.
    pub files: Vec<PathBuf>,
    /// Pairs of operators, triggers and keys.
    pub coverage: Coverage,
}

impl Report {
    /// Of the models in which a unit has no states so many are judged to the end by the reference simulator, of so many.
    pub fn stateless_decided(&self) -> [u64; 2] {
        let [agrees, _, _, disagrees] = self.stateless;
        [agrees + disagrees, self.stateless.iter().sum()]
    }

    /// Whether these are too few.
    pub fn decides_little(&self) -> bool {
        let [decided, all] = self.stateless_decided();
        100 * decided < coverage::DECIDED * all
    }

    /// All that is wrong, in words: disagreements, and models that were refused.
    pub fn keys(&self) -> Vec<String> {
        let wrong = self.disagreements.iter().map(|d| Options::key(d.judge, d.case.number));
        wrong.chain(self.refused.iter().map(|n| Options::key("refused", *n))).collect()
    }
}

/// A judge's refusal of a run.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// The case.
    pub case: Case,
    /// The judge.
    pub judge: &'static str,
    /// What is wrong.
    pub finding: Finding,
}

/// A run that hangs or panics is wrong by itself.
struct Survives;

impl Judge for Survives {
    fn name(&self) -> &'static str {
        "survives"
    }
    fn share(&self) -> usize {
        100
    }
    fn judge(&self, case: &Case, base: &Outcome, _: &Runner) -> Opinion {
        let difference = match &base.end {
            End::Panicked(why) => format!("panic: {why}"),
            End::Hung if reference::is_endless(case) => {
                return Opinion::Undecided("more work than judges do".into());
            }
            End::Hung => "no end within the time limit".into(),
            End::Refused(why) if why.contains("internal") => why.clone(),
            _ => return Opinion::Agrees,
        };
        let (seen, right) =
            (super::compare::summary(base), "an end, or an error that names the cause");
        Opinion::Disagrees(Finding { seen, right: right.into(), difference })
    }
}

/// The way a model is run, drawn from its stream.
pub fn settings(random: &mut Random, model: &superdense_judge::model::Model) -> Settings {
    let affine = excluded::is_affine(model);
    let fits =
        |m: &Method| excluded::under(model, *m).is_none() && (*m != Method::Closed || affine);
    let list: Vec<Method> = Method::ALL.into_iter().filter(fits).collect();
    let mut settings = Settings::of(random.pick(&list));
    // A late time is rounded by more than tighter tolerances allow.
    if random.chance(20) && !tree::is_late(model) {
        settings = settings.tightened(0.01);
    }
    if random.chance(6) {
        settings.executor =
            random.pick(&[Executor::TimeWarp(2), Executor::Conservative(2), Executor::Auto]);
    }
    settings
}

/// So many of 100 models have a unit without states, by a choice of its own: all others are as without these.
const WITHOUT_STATES: usize = 12;

/// The model of a number, with the way it is run.
pub fn case(seed: u64, number: u64) -> Case {
    let mut random = Random::new(seed, number, "hybrid");
    let without = Random::new(seed, number, "stateless").chance(WITHOUT_STATES);
    let draw = if without { hybrid::without_states } else { hybrid::model };
    let mut model = draw(&mut random);
    while excluded::model(&model).is_some() {
        model = draw(&mut random);
    }
    hybrid::extend(&mut Random::new(seed, number, "extras"), &mut model);
    let settings = settings(&mut Random::new(seed, number, "settings"), &model);
    Case { seed, number, model, settings }
}

fn judges_of(options: &Options) -> Vec<Box<dyn Judge>> {
    let mut list: Vec<Box<dyn Judge>> = vec![Box::new(Survives)];
    list.extend(judges::all());
    if let Some(name) = &options.judge {
        list.retain(|j| j.name() == name);
    }
    list
}

/// Makes and judges the models of a campaign.
///
/// # Errors
/// When there is no place for files.
pub fn run(options: &Options) -> std::io::Result<Report> {
    let runner = Runner::new()?;
    let judges = judges_of(options);
    let report = Mutex::new(Report::default());
    let (_, slow) = each_number(options, "hybrid", &|number| {
        let one = judged(options, &judges, &runner, number);
        let goes_on = !one.keys().iter().any(|key| options.stops_at(key));
        // A long campaign tells at once what it finds.
        for found in &one.disagreements {
            eprintln!("{}: {}", Options::key(found.judge, number), found.finding.difference);
        }
        join(&mut report.lock().unwrap_or_else(PoisonError::into_inner), one);
        goes_on
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.disagreements.sort_by_key(|d| (d.judge, d.case.number, d.case.settings.method));
    report.errors.values_mut().for_each(|l| l.sort_unstable());
    report.files = shrunk(options, &judges, &runner, &report.disagreements)?;
    report.runs = runner.runs();
    report.slow = slow;
    Ok(report)
}

/// A case under each method that is asked for and fits.
pub(super) fn under_methods(options: &Options, case: &Case) -> Vec<Case> {
    let methods = match options.method {
        Some(method) => vec![method],
        None if options.all_methods => Method::ALL.to_vec(),
        None => return vec![case.clone()],
    };
    let fits = |m: &Method| excluded::under(&case.model, *m).is_none();
    let settings = |m| Settings { executor: case.settings.executor, ..Settings::of(m) };
    let under = |m| Case { settings: settings(m), ..case.clone() };
    methods.into_iter().filter(fits).map(under).collect()
}

fn judged(options: &Options, judges: &[Box<dyn Judge>], runner: &Runner, number: u64) -> Report {
    let mut report = Report { models: 1, ..Report::default() };
    let first = case(options.seed, number);
    report.coverage.add(&first.model);
    for case in under_methods(options, &first) {
        let base = case.run(runner);
        if let End::Refused(why) = &base.end {
            if case.settings.method != Method::Closed {
                report.errors.entry(format!("refused: {why}")).or_default().push(number);
                report.refused.push(number);
            }
        } else if let End::Failed(_, why) = &base.end
            && reference::demands_error(&case, why)
        {
            report.demanded += 1;
        } else if let End::Failed(_, why) = &base.end {
            let what = why.split_once(": ").map_or(why.as_str(), |p| p.1);
            let what: String = what.chars().filter(|c| !c.is_ascii_digit()).collect();
            report.errors.entry(format!("failed: {what}")).or_default().push(number);
        }
        for judge in judges {
            let mut chance = case.choices(&format!("share of {}", judge.name()));
            if !options.all_judges && options.judge.is_none() && !chance.chance(judge.share()) {
                continue;
            }
            let refused = matches!(base.end, End::Refused(_));
            if (base.is_broken() || refused) && judge.name() != "survives" {
                continue;
            }
            let opinion = judge.judge(&case, &base, runner);
            let at = opinion.number();
            report.opinions.entry(judge.name()).or_default()[at] += 1;
            if judge.name() == "reference" && coverage::has_stateless(&case.model) {
                report.stateless[at] += 1;
            }
            match opinion {
                Opinion::Agrees | Opinion::Skipped(_) => {}
                Opinion::Undecided(why) => {
                    *report.reasons.entry(why).or_default() += 1;
                    report.undecided += 1;
                }
                Opinion::Disagrees(finding) => {
                    let case = case.clone();
                    report.disagreements.push(Disagreement { case, judge: judge.name(), finding });
                }
            }
        }
    }
    report
}

fn join(all: &mut Report, one: Report) {
    all.models += one.models;
    all.undecided += one.undecided;
    all.demanded += one.demanded;
    for (why, numbers) in one.errors {
        all.errors.entry(why).or_default().extend(numbers);
    }
    for (why, count) in one.reasons {
        *all.reasons.entry(why).or_default() += count;
    }
    for (judge, counts) in one.opinions {
        let sums = all.opinions.entry(judge).or_default();
        sums.iter_mut().zip(counts).for_each(|(s, n)| *s += n);
    }
    all.stateless.iter_mut().zip(one.stateless).for_each(|(s, n)| *s += n);
    all.disagreements.extend(one.disagreements);
    all.refused.extend(one.refused);
    all.coverage.join(&one.coverage);
}

/// Shrinks the first disagreements of each judge and writes them.
fn shrunk(
    options: &Options,
    judges: &[Box<dyn Judge>],
    runner: &Runner,
    list: &[Disagreement],
) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for judge in judges {
        let mut classes: BTreeMap<String, usize> = BTreeMap::new();
        let mut left = options.keep;
        for found in list.iter().filter(|d| d.judge == judge.name()) {
            // Of each kind one.
            let seen = classes.entry(found.finding.class()).or_default();
            *seen += 1;
            if *seen > 1 || left == 0 {
                continue;
            }
            left -= 1;
            let (case, finding) =
                shrink::shrink(&found.case, judge.as_ref(), runner, found.finding.clone());
            files.push(corpus::write(&options.folder, &case, judge.name(), &finding)?);
        }
    }
    Ok(files)
}
