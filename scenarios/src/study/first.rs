//! `method = "first"`: variants in their order, each with points, until one of them meets the goals.
//!
//! **Why rounds.** Points of a round run side by side, and a round has always the same points, with any number of
//! workers; so a study that stops at the first point that meets its goals does the same runs everywhere.
use super::{
    Study,
    answer::{Estimate, by_name, estimate, is_zero, remarks},
    ask::{Kind, One},
    file::{flat, known_keys},
    question::{Question, values},
    store::{Status, Stored},
    vary::Parameter,
};
use crate::document::{Item, Node, Table};
use serde::Serialize;
use superdense_study::{Point, design};

/// Points of a round at most.
pub const ROUND: usize = 8;

/// A variant: what it sets, and the points of its own study.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Numbers of the parameters of points: first those that it sets.
    pub over: Vec<usize>,
    /// How many it sets.
    pub given: usize,
    /// The points.
    pub points: Vec<Point>,
}

impl One<'_> {
    /// Reads the variants of a question.
    pub(super) fn first(&self) -> Option<Kind> {
        let keep = self.keep();
        let example = "write [[ask.NAME.variant]] with set = { feedforward = 0 }, one for each";
        let Some(node) = self.table.get("variant") else {
            return self.refuse("variant", "it has no variants", example);
        };
        let list = node.list("`variant`", "[[ask.control.variant]]", self.reader.sink)?;
        if list.is_empty() {
            return self.refuse("variant", "it has no variants", example);
        }
        let read: Vec<_> = list.iter().map(|node| self.variant(node)).collect();
        let variants = read.into_iter().collect::<Option<Vec<Variant>>>()?;
        let runs = variants.iter().map(|v| v.points.len() as f64).sum();
        self.reader.fits(runs, self.node, &self.name.value)?;
        let mut over: Vec<usize> = variants.iter().flat_map(|v| v.over.iter().copied()).collect();
        over.sort_unstable();
        over.dedup();
        Some(Kind::First { over, keep: keep?, variants })
    }

    fn variant(&self, node: &Node) -> Option<Variant> {
        let sink = self.reader.sink;
        let table = node.table("a variant", "[[ask.control.variant]]", sink)?;
        known_keys(table, &["set", "over"], "a variant", sink);
        let mut levels = self.given(table)?;
        let given = levels.len();
        let own = One { name: self.name, node, table, reader: self.reader };
        let of: &One<'_> = if table.get("over").is_some() { &own } else { self };
        if of.table.get("over").is_some() {
            for (at, node) in of.over()? {
                let path = &self.reader.parameters[at].path.value;
                if levels.iter().any(|(other, _)| *other == at) {
                    let message = format!("`{path}` is set by a variant, and it varies it");
                    return of.refuse("over", message, "take it out of `set`, or out of `over`");
                }
                levels.push((at, of.levels(at, node)?));
            }
        }
        if levels.is_empty() {
            let message = "a variant neither sets nor varies anything";
            return own.refuse("set", message, "write set = { feedforward = 1 }, or `over`");
        }
        let points = levels.iter().map(|(_, values)| values.len() as f64).product();
        self.reader.fits(points, node, &self.name.value)?;
        let (over, levels): (Vec<usize>, Vec<Vec<f64>>) = levels.into_iter().unzip();
        Some(Variant { over, given, points: design::grid(&levels) })
    }

    /// Parameters that a variant sets, each with its one value.
    fn given(&self, table: &Table) -> Option<Vec<(usize, Vec<f64>)>> {
        let Some(node) = table.get("set") else { return Some(Vec::new()) };
        let sets = node.table("`set`", "set = { feedforward = 0 }", self.reader.sink)?;
        let value = |(path, node): (_, &Node)| {
            let path: superdense_models::kinds::Located<String> = path;
            let at = self.reader.parameter(&path.value, &path.span)?;
            Some((at, vec![self.reader.value(&self.reader.parameters[at], node)?]))
        };
        let read: Vec<_> = flat(sets).into_iter().map(value).collect();
        read.into_iter().collect()
    }

    /// The goals: one condition, or several that all have to hold.
    pub(super) fn goals(node: &Node) -> Option<String> {
        let Item::List(list) = &node.item else { return None };
        let each: Option<Vec<&str>> = list
            .iter()
            .map(|n| match &n.item {
                Item::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let each = each.filter(|each| !each.is_empty())?;
        let one = each.len() == 1;
        let of = |text: &&str| if one { (*text).to_owned() } else { format!("({text})") };
        Some(each.iter().map(of).collect::<Vec<_>>().join(" and "))
    }
}

/// Places of variants among all points of a question.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub variants: &'a [Variant],
    /// Points that were asked for.
    pub asked: usize,
    /// The first point that meets the goals.
    pub found: Option<usize>,
}

impl<'a> Search<'a> {
    /// The variant of a point, and its number in it.
    pub(super) fn variant(&self, mut at: usize) -> Option<(usize, usize)> {
        for (number, variant) in self.variants.iter().enumerate() {
            match at.checked_sub(variant.points.len()) {
                None => return Some((number, at)),
                Some(rest) => at = rest,
            }
        }
        None
    }

    /// The parameters of a point.
    pub(super) fn over(&self, at: usize) -> &'a [usize] {
        self.variant(at).map_or(&[], |(number, _)| &self.variants[number].over)
    }

    /// The points of the next round: of one variant.
    pub(super) fn ask(&mut self) -> Vec<Point> {
        let next = self.variant(self.asked).filter(|_| self.found.is_none());
        let Some((number, from)) = next else { return Vec::new() };
        let points: Vec<Point> =
            self.variants[number].points.iter().skip(from).take(ROUND).cloned().collect();
        self.asked += points.len();
        points
    }
}

/// The first variant that meets the goals.
#[derive(Debug, Serialize)]
pub struct FirstAnswer {
    pub(super) words: String,
    method: &'static str,
    over: Vec<String>,
    keep: String,
    /// Whether a point meets the goals; none where some are not known.
    met: Option<bool>,
    /// The variant that does, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<usize>,
    /// The number of its point in results.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    point: Option<usize>,
    #[serde(serialize_with = "by_name", skip_serializing_if = "Vec::is_empty")]
    at: Vec<(String, serde_json::Value)>,
    /// Its results, with replicates their means.
    #[serde(serialize_with = "by_name", skip_serializing_if = "Vec::is_empty")]
    results: Vec<(String, Option<Estimate>)>,
    /// Variants of which points were run, and all.
    variants: [usize; 2],
    points: usize,
    pub(super) runs: usize,
    #[serde(skip_serializing_if = "is_zero")]
    failed: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    incomplete: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alike: bool,
}

/// The answer of a question with its runs; `numbers` are those of its points.
pub(super) fn answer(
    study: &Study,
    question: &Question<'_>,
    search: &Search<'_>,
    (runs, numbers): (&[Vec<&Stored>], &[usize]),
    alike: bool,
) -> FirstAnswer {
    let found = search.found;
    let lost = |runs: &[&Stored]| runs.iter().filter(|r| r.status != Status::Done).count();
    let before = &runs[..found.unwrap_or(runs.len())];
    let incomplete = before.iter().any(|runs| lost(runs) > 0);
    let name = |at: usize| study.parameters[at].path.value.clone();
    let mut answer = FirstAnswer {
        words: String::new(),
        method: "first",
        over: question.over().iter().map(|&at| name(at)).collect(),
        keep: question.keep().map(|k| k.text.clone()).unwrap_or_default(),
        met: match (found, incomplete) {
            (Some(_), _) => Some(true),
            (None, true) => None,
            (None, false) => Some(false),
        },
        variant: None,
        point: found.map(|at| numbers[at]),
        at: Vec::new(),
        results: Vec::new(),
        variants: [
            runs.len().checked_sub(1).and_then(|at| search.variant(at)).map_or(0, |(n, _)| n + 1),
            search.variants.len(),
        ],
        points: runs.len(),
        runs: runs.iter().map(Vec::len).sum(),
        failed: runs.iter().map(|runs| lost(runs)).sum(),
        incomplete,
        alike,
    };
    let all: usize = search.variants.iter().map(|v| v.points.len()).sum();
    let Some(at) = found else {
        let word = if incomplete { "at none that is known of" } else { "at none of" };
        answer.words = format!("{} holds {word} {}", answer.keep, told(all, search.variants.len()));
        remarks(&mut answer.words, (answer.failed, incomplete), alike);
        return answer;
    };
    let over = search.over(at);
    let pairs = || over.iter().zip(question.point(at)).map(|(p, x)| (&study.parameters[*p], *x));
    let cell = |(p, x): (&Parameter, f64)| (p.path.value.clone(), p.json(x));
    answer.at = pairs().map(cell).collect();
    answer.variant = search.variant(at).map(|(number, _)| number + 1);
    let estimated = |(i, r): (usize, &String)| (r.clone(), estimate(&values(&runs[at], i)));
    answer.results = study.results.iter().enumerate().map(estimated).collect();
    let texts = pairs().map(|(p, x)| format!("{} = {}", p.path.value, p.text(x)));
    answer.words = format!(
        "{} holds first at {} (variant {} of {})",
        answer.keep,
        texts.collect::<Vec<_>>().join(", "),
        answer.variant.unwrap_or(0),
        search.variants.len()
    );
    remarks(&mut answer.words, (answer.failed, incomplete), alike);
    answer
}

fn told(points: usize, variants: usize) -> String {
    let plural = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    format!("{} of {}", plural(points, "point"), plural(variants, "variant"))
}
