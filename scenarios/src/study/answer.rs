//! Answers: `answers.json`, and a line for each on screen.
use super::{
    Conducted, Study,
    ask::Kind,
    first::{self, FirstAnswer},
    question::{Question, values},
    store::{Status, Stored},
    vary::number,
};
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use superdense_study::{Boundary, Change, Verdict, interval, replicate::LEVEL};

/// Changes of a condition beyond which it probably compares what is equal but for errors.
const MANY: usize = 4;

/// The answer to a question.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Where a condition changes.
    Boundary(BoundaryAnswer),
    /// The first variant that meets goals.
    First(FirstAnswer),
    /// Points, with the means of their replicates.
    Design(DesignAnswer),
}

/// Where a condition changes.
#[derive(Debug, Serialize)]
pub struct BoundaryAnswer {
    words: String,
    method: &'static str,
    over: String,
    keep: String,
    /// How replicates were judged: by the mean of the difference that the condition compares, or by the share of runs in
    /// which it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged_by: Option<&'static str>,
    /// The first change: the last value at which the condition holds, and the next at which it fails.
    holds: Option<f64>,
    fails: Option<f64>,
    /// First and last value at which the runs do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<[f64; 2]>,
    changes: usize,
    /// All of them, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    all: Vec<ChangeAnswer>,
    /// First and last value at which the runs do not say, between two points at which they say one and the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsure: Option<[f64; 2]>,
    /// Points with a verdict that is certain.
    #[serde(skip)]
    certain: usize,
    /// Without a change: the verdict of the points that are certain.
    #[serde(skip)]
    verdict: Option<bool>,
    /// Without a change: whether the condition holds at all points; none where some are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    everywhere: Option<bool>,
    points: usize,
    runs: usize,
    /// Points at which a run has no value of a result that the condition compares.
    #[serde(skip_serializing_if = "is_zero")]
    absent: usize,
    #[serde(skip_serializing_if = "is_zero")]
    failed: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
    /// The replicates of each point are one run: nothing in it follows the seed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alike: bool,
}

/// One of several changes.
#[derive(Debug, Serialize)]
pub struct ChangeAnswer {
    holds: Option<f64>,
    fails: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    band: Option<[f64; 2]>,
}

/// Points, with the means of their replicates.
#[derive(Debug, Serialize)]
pub struct DesignAnswer {
    words: String,
    method: &'static str,
    over: Vec<String>,
    points: usize,
    runs: usize,
    #[serde(skip_serializing_if = "is_zero")]
    failed: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
    /// The replicates of each point are one run: nothing in it follows the seed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alike: bool,
    /// Points whose intervals are wider than `until` asks, after all replicates that there may be.
    #[serde(skip_serializing_if = "is_zero")]
    wide: usize,
    /// Of replicated points: parameters, replicates, and for each result mean and interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    means: Vec<Mean>,
}

/// A replicated point.
#[derive(Debug, Serialize)]
pub struct Mean {
    point: usize,
    #[serde(serialize_with = "by_name")]
    at: Vec<(String, serde_json::Value)>,
    replicates: usize,
    #[serde(serialize_with = "by_name")]
    results: Vec<(String, Option<Estimate>)>,
}

/// The mean of a result with its interval, over those runs in which it is there.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Estimate {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(super) fn by_name<T: Serialize, S: Serializer>(
    entries: &[(String, T)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(entries.iter().map(|(name, value)| (name, value)))
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Answers<'a>(#[serde(serialize_with = "by_name")] &'a [(String, Answer)]);

/// The content of `answers.json`.
pub fn json(answers: &[(String, Answer)]) -> Vec<u8> {
    // Numbers, texts and lists always become JSON.
    let mut text = serde_json::to_vec_pretty(&Answers(answers)).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The answers to all questions, in the order of the file.
pub fn answers(study: &Study, found: &Conducted<'_>) -> Vec<(String, Answer)> {
    let answer = |(number, question): (usize, &Question<'_>)| {
        let name = question.ask.name.value.clone();
        let runs = runs_of(found, number, question);
        if let Some(search) = question.variants() {
            let numbers: Vec<usize> =
                found.of[number].iter().map(|place| found.numbers[*place]).collect();
            let answer = first::answer(study, question, search, (&runs, &numbers), alike(&runs));
            return (name, Answer::First(answer));
        }
        let mut answer = match (question.search(), &question.ask.kind) {
            (Some(search), Kind::Boundary { over, .. }) => {
                Answer::Boundary(boundary(study, question, search, *over, &runs))
            }
            (_, kind) => Answer::Design(design(study, found, (number, question), kind, &runs)),
        };
        answer.tell(study);
        (name, answer)
    };
    found.questions.iter().enumerate().map(answer).collect()
}

/// The runs of each point of a question.
fn runs_of<'f>(
    found: &'f Conducted<'_>,
    number: usize,
    question: &Question<'_>,
) -> Vec<Vec<&'f Stored>> {
    let places = &found.of[number];
    let runs = |(place, (_, n)): (&usize, (&[f64], u32))| found.replicates(*place, n);
    places.iter().zip(question.points()).map(runs).collect()
}

fn failed(runs: &[Vec<&Stored>]) -> usize {
    runs.iter().flatten().filter(|run| run.status != Status::Done).count()
}

/// Whether all replicates of each replicated point are equal.
fn alike(runs: &[Vec<&Stored>]) -> bool {
    let done = runs.iter().map(|runs| runs.iter().filter(|run| run.status == Status::Done));
    let mut replicated =
        done.map(Iterator::collect::<Vec<_>>).filter(|runs| runs.len() > 1).peekable();
    let equal = |a: &Stored, b: &Stored| (&a.trace_hash, &a.results) == (&b.trace_hash, &b.results);
    replicated.peek().is_some() && replicated.all(|runs| runs.iter().all(|run| equal(run, runs[0])))
}

fn boundary(
    study: &Study,
    question: &Question<'_>,
    search: &Boundary,
    over: usize,
    runs: &[Vec<&Stored>],
) -> BoundaryAnswer {
    let changes = search.changes();
    let keep = question.keep();
    let absent =
        |run: &&&Stored| run.status == Status::Done && keep.is_some_and(|k| k.absent(&run.results));
    let lacking = runs.iter().filter(|runs| runs.iter().any(|r| absent(&r))).count();
    let first = changes.first();
    let unsure = search.unsure();
    let certain = |found: &(f64, Option<Verdict>)| found.1.filter(|v| *v != Verdict::Unsure);
    let verdicts = search.found().iter().filter_map(certain);
    let verdict = verdicts.clone().next().map(|v| v == Verdict::Holds);
    let verdict = verdict.filter(|_| changes.is_empty());
    let all = |c: &Change| ChangeAnswer { holds: c.holds(), fails: c.fails(), band: c.band };
    BoundaryAnswer {
        words: String::new(),
        method: "boundary",
        over: study.parameters[over].path.value.clone(),
        keep: keep.map(|k| k.text.clone()).unwrap_or_default(),
        judged_by: keep.filter(|_| runs.iter().any(|runs| runs.len() > 1)).map(|k| {
            let means = k.compares_means() && lacking == 0;
            if means { "mean" } else { "share" }
        }),
        holds: first.and_then(Change::holds),
        fails: first.and_then(Change::fails),
        band: first.and_then(|c| c.band),
        changes: changes.len(),
        all: changes.iter().filter(|_| changes.len() > 1).map(all).collect(),
        unsure,
        certain: verdicts.count(),
        verdict,
        everywhere: verdict.filter(|_| unsure.is_none() && !search.incomplete()),
        points: runs.len(),
        runs: runs.iter().map(Vec::len).sum(),
        absent: lacking,
        failed: failed(runs),
        incomplete: search.incomplete(),
        alike: alike(runs),
    }
}

fn design(
    study: &Study,
    found: &Conducted<'_>,
    (number, question): (usize, &Question<'_>),
    kind: &Kind,
    runs: &[Vec<&Stored>],
) -> DesignAnswer {
    let method = match kind {
        Kind::Boundary { .. } => "boundary",
        Kind::First { .. } => "first",
        Kind::Design { method, .. } => method,
    };
    let over = question.over();
    let name = |&at: &usize| study.parameters[at].path.value.clone();
    let mut means = Vec::new();
    // Points may coincide where parameters have steps.
    let mut seen = HashSet::new();
    let own: Vec<bool> = (0..runs.len()).map(|at| seen.insert(found.of[number][at])).collect();
    let replicated = runs.iter().any(|runs| runs.len() > 1);
    for (at, (point, _)) in question.points().enumerate().filter(|(at, _)| replicated && own[*at]) {
        let cell = |(&p, x): (&usize, &f64)| (name(&p), study.parameters[p].json(*x));
        let estimated = |(i, r): (usize, &String)| (r.clone(), estimate(&values(&runs[at], i)));
        means.push(Mean {
            point: found.numbers[found.of[number][at]],
            at: over.iter().zip(point).map(cell).collect(),
            replicates: runs[at].len(),
            results: study.results.iter().enumerate().map(estimated).collect(),
        });
    }
    let own = own.iter().zip(runs).filter(|(own, _)| **own);
    let runs: Vec<_> = own.map(|(_, runs)| runs.clone()).collect();
    let failed = failed(&runs);
    DesignAnswer {
        words: String::new(),
        method,
        over: over.iter().map(name).collect(),
        points: runs.len(),
        runs: runs.iter().map(Vec::len).sum(),
        failed,
        incomplete: failed > 0,
        alike: alike(&runs),
        wide: runs.iter().filter(|runs| !question.enough(runs)).count(),
        means,
    }
}

/// Nothing where no run has a value; no interval where only one has.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let interval = interval::mean(values, LEVEL);
    let end = |x: f64| Some(x).filter(|x| x.is_finite());
    let (low, high) = (end(interval.low), end(interval.high));
    Some(Estimate { value: interval.value, low, high, n: values.len() })
}

impl Answer {
    /// The answer in words, and the number of runs that it took.
    pub fn line(&self) -> (&str, usize) {
        match self {
            Self::Boundary(answer) => (&answer.words, answer.runs),
            Self::First(answer) => (&answer.words, answer.runs),
            Self::Design(answer) => (&answer.words, answer.runs),
        }
    }

    /// Puts the answer into words.
    fn tell(&mut self, study: &Study) {
        match self {
            Self::Boundary(answer) => answer.words = answer.in_words(study),
            Self::First(_) => {}
            Self::Design(answer) => answer.words = answer.in_words(),
        }
    }
}

pub(super) fn remarks(words: &mut String, (failed, incomplete): (usize, bool), alike: bool) {
    if incomplete {
        let runs = if failed == 1 { "run" } else { "runs" };
        *words += &format!(" (incomplete: {failed} {runs} failed)");
    }
    if alike {
        *words +=
            "; the replicates of each point are the same run, as nothing in it follows the seed";
    }
}

impl BoundaryAnswer {
    fn in_words(&self, study: &Study) -> String {
        let unit = study.parameters.iter().find(|p| p.path.value == self.over).map(|p| &p.unit);
        let unit = unit.filter(|u| !u.is_empty()).map_or_else(String::new, |u| format!(" {u}"));
        let at = |x: f64| format!("{}{unit}", number(x));
        let band = |band: Option<[f64; 2]>| {
            band.map_or_else(String::new, |[a, b]| {
                format!(", is not certain from {} to {}", number(a), at(b))
            })
        };
        let (keep, over) = (&self.keep, &self.over);
        // Of replicates it is told how they were judged.
        let [holds_word, fails_word] = match self.judged_by.filter(|_| !self.alike) {
            Some("mean") => ["holds on average", "fails on average"],
            Some(_) => ["holds in most runs", "fails in most runs"],
            None => ["holds", "fails"],
        };
        let mut words = match (self.holds, self.fails) {
            (Some(holds), Some(fails)) => {
                let (low, high, first, then) = match holds < fails {
                    true => (holds, fails, holds_word, "fails"),
                    false => (fails, holds, fails_word, "holds"),
                };
                let (low, high, band) = (at(low), at(high), band(self.band));
                format!("{keep} {first} up to {over} = {low}, {then} from {high}{band}")
            }
            (None, None) => match (self.everywhere, self.verdict) {
                (Some(true), _) => format!("{keep} {holds_word} at all {} points", self.points),
                (Some(false), _) => format!("{keep} {fails_word} at all {} points", self.points),
                _ if self.incomplete => {
                    format!(
                        "{keep}: no change where it is known; some points have no run with results"
                    )
                }
                (None, Some(holds)) => {
                    let word = if holds { holds_word } else { fails_word };
                    format!("{keep} {word} at {} of {} points", self.certain, self.points)
                }
                (None, None) => format!("{keep}: nothing is certain"),
            },
            (holds, fails) => {
                let (word, x) = match holds {
                    Some(x) => (holds_word, x),
                    None => (fails_word, fails.unwrap_or(f64::NAN)),
                };
                format!("{keep} {word} at {over} = {}{}", at(x), band(self.band))
            }
        };
        if self.unsure.is_some() {
            let also = if self.changes > 0 { "; elsewhere" } else { "" };
            words += &format!("{also}{}", band(self.unsure));
        }
        if self.changes > 1 {
            words += &format!("; {} changes", self.changes);
        }
        if self.changes > MANY {
            words += " (a condition on numbers that are nearly equal needs a margin)";
        }
        if self.absent > 0 {
            let few =
                if self.absent == 1 { "1 point".into() } else { format!("{} points", self.absent) };
            words += &format!("; at {few} some run has no value of what it compares");
        }
        remarks(&mut words, (self.failed, self.incomplete), self.alike);
        words
    }
}

impl DesignAnswer {
    fn in_words(&self) -> String {
        let names = match self.over.as_slice() {
            [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            names => names.concat(),
        };
        let mut words = format!("{}: {} points over {names}", self.method, self.points);
        if self.wide > 0 {
            words += &format!("; {} of them not as exact as `until` asks", self.wide);
        }
        remarks(&mut words, (self.failed, self.incomplete), self.alike);
        words
    }
}
