//! Which pairs of operators, triggers and keys the models had.
use super::{
    text,
    tree::{self, Part},
};
use std::collections::BTreeMap;
use superdense_judge::model::{
    Binary, Condition, Event, Expr, Model, Switching, Trigger, Unary, Unit, Variable,
};

/// What formulas have.
pub const FEATURES: [&str; 24] = [
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "and",
    "or",
    "not",
    "discrete",
    "mixed",
    "time",
    "algebraic",
    "input",
    "floor",
    "mod",
    "min",
    "max",
    "abs",
    "sign",
    "if",
    "power",
    "function",
    "let",
];
/// How events are brought about.
pub const TRIGGERS: [&str; 5] = ["when", "crossing", "at", "every", "link"];
/// What else an event or its unit has.
pub const KEYS: [&str; 13] = [
    "plain",
    "rest",
    "touching",
    "priority",
    "to",
    "self",
    "sliding",
    "wired",
    "reset",
    "same tick",
    "late",
    "pre",
    "stateless",
];

/// Least number of models from which on every cell has to be hit.
pub const FLOOR: u64 = 8000;
/// Of 100 models in which a unit has no states the reference simulator has to judge so many to the end.
pub const DECIDED: u64 = 70;

/// What stands in conditions only, not in the equations of a unit.
const CONDITIONS: [&str; 6] = ["==", "!=", "and", "or", "discrete", "mixed"];

/// The operators in conditions of links: these read states and discrete variables, plainly.
const IN_LINKS: [&str; 9] = ["<", "<=", ">", ">=", "==", "!=", "and", "discrete", "mixed"];

/// Counts of pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coverage {
    cells: BTreeMap<(&'static str, &'static str), u64>,
}

impl Coverage {
    /// Adds the pairs of a model.
    pub fn add(&mut self, model: &Model) {
        for (u, unit) in model.units.iter().enumerate() {
            let mut of_unit = Vec::new();
            let modes = unit.modes.iter().flat_map(|m| m.derivatives.iter().flatten().flatten());
            for e in unit.derivatives.iter().chain(&unit.residuals).chain(modes) {
                tree::parts(e, &mut of_unit);
            }
            let of_unit = features(&of_unit);
            for event in tree::events(unit) {
                self.event(model, u, unit, event, &of_unit);
            }
        }
        for link in &model.links {
            let mut list = Vec::new();
            tree::parts_of_condition(&link.when, &mut list);
            let mut keys = vec!["reset"];
            if link.priority != 0 {
                keys.push("priority");
            }
            if !model.wires.is_empty() {
                keys.push("wired");
            }
            if link.units.iter().any(|&u| is_stateless(&model.units[u])) {
                keys.push("stateless");
            }
            self.pairs("link", &features(&list), &keys);
        }
    }

    fn event(
        &mut self,
        model: &Model,
        u: usize,
        unit: &Unit,
        event: &Event,
        of_unit: &[&'static str],
    ) {
        let mut list = Vec::new();
        tree::parts_of_trigger(&event.trigger, &mut list);
        let (trigger, touching) = match &event.trigger {
            Trigger::When { touching, .. } => ("when", touching.is_some()),
            Trigger::Crossing { touching, .. } => ("crossing", touching.is_some()),
            Trigger::At(_) => ("at", false),
            Trigger::Every { .. } => ("every", false),
        };
        let mut found = features(&list);
        found.extend(of_unit);
        let mine = |e: &Event| unit.modes.iter().position(|m| m.events.contains(e));
        let moves = event.reset.iter().any(|r| matches!(r.0, Variable::State(..)));
        let flags = [
            ("rest", event.rest.is_some()),
            ("touching", touching),
            ("priority", event.priority != 0),
            ("to", event.to.is_some()),
            ("self", event.to.is_some() && mine(event) == event.to),
            ("sliding", unit.switching == Switching::Sliding),
            ("wired", model.wires.iter().any(|w| w.to.0 == u)),
            ("reset", moves),
            (
                "same tick",
                tree::events(unit)
                    .filter(|e| matches!(e.trigger, Trigger::At(_) | Trigger::Every { .. }))
                    .count()
                    > 1,
            ),
            ("late", model.stop.numerator / model.stop.denominator > 1_000_000),
            ("pre", event.reset.iter().any(|r| tree::has_pre(&r.1))),
            ("stateless", is_stateless(unit)),
        ];
        let mut keys: Vec<&'static str> = flags.iter().filter(|f| f.1).map(|f| f.0).collect();
        if keys.is_empty() {
            keys.push("plain");
        }
        self.pairs(trigger, &found, &keys);
    }

    fn pairs(&mut self, trigger: &'static str, features: &[&'static str], keys: &[&'static str]) {
        for key in keys {
            *self.cells.entry((trigger, key)).or_default() += 1;
        }
        for feature in features {
            *self.cells.entry((feature, trigger)).or_default() += 1;
            for key in keys {
                *self.cells.entry((feature, key)).or_default() += 1;
            }
        }
    }

    /// Adds what another one counted.
    pub fn join(&mut self, other: &Self) {
        for (cell, n) in &other.cells {
            *self.cells.entry(*cell).or_default() += n;
        }
    }

    fn count(&self, row: &'static str, column: &'static str) -> u64 {
        self.cells.get(&(row, column)).copied().unwrap_or(0)
    }

    /// The cells that can be hit and never were.
    pub fn missing(&self) -> Vec<String> {
        let mut list = Vec::new();
        let mut each = |row, column| {
            if is_reachable(row, column) && self.count(row, column) == 0 {
                list.push(format!("{row} x {column}"));
            }
        };
        for row in FEATURES {
            TRIGGERS.into_iter().chain(KEYS).for_each(|column| each(row, column));
        }
        for row in TRIGGERS {
            KEYS.into_iter().for_each(|column| each(row, column));
        }
        list
    }

    /// The table; `-` marks what cannot be.
    pub fn table(&self) -> String {
        let columns: Vec<_> = TRIGGERS.into_iter().chain(KEYS).collect();
        let mut out = format!("{:<10}", "");
        columns.iter().for_each(|c| out.push_str(&format!(" {c:>9}")));
        for row in FEATURES.into_iter().chain(TRIGGERS) {
            out.push_str(&format!("\n{row:<10}"));
            for &column in &columns {
                let own = TRIGGERS.contains(&row) && TRIGGERS.contains(&column);
                let cell = if own || !is_reachable(row, column) {
                    "-".into()
                } else {
                    self.count(row, column).to_string()
                };
                out.push_str(&format!(" {cell:>9}"));
            }
        }
        out
    }
}

/// Whether a unit has no differential states: only the time, inputs and events change it.
fn is_stateless(unit: &Unit) -> bool {
    unit.states.is_empty()
}

/// Whether a model has a unit without states.
pub fn has_stateless(model: &Model) -> bool {
    model.units.iter().any(is_stateless)
}

/// Whether a model can have a pair.
fn is_reachable(row: &str, column: &str) -> bool {
    let timed = |c: &str| c == "at" || c == "every";
    let pair = |a: &[&str], b: &[&str]| a.contains(&row) && b.contains(&column);
    if CONDITIONS.contains(&row) && (timed(column) || column == "crossing") {
        return false;
    }
    if column == "link" && FEATURES.contains(&row) && !IN_LINKS.contains(&row) {
        return false;
    }
    let state_only = ["rest", "touching", "to", "self"];
    let of_unit =
        ["plain", "rest", "touching", "to", "self", "sliding", "same tick", "late", "pre"];
    !(pair(&["at", "every"], &state_only)
        || pair(&["link"], &of_unit)
        // Members of a link know what others hold as inputs, which move (rule 14).
        || pair(&["==", "!="], &["link"])
        // Late models hold their time events back.
        || pair(&["every"], &["late"])
        || pair(&["input"], &["plain", "sliding", "late"])
        // An input in a derivative stands beside time events; a wired unit does not slide.
        || pair(&["not"], &["at", "every", "crossing"])
        || column == "late" && !timed(column) && row == "input"
        || row == "every" && column == "late"
        || column == "sliding" && row == "wired"
        // Solutions of algebraic equations do not slide.
        || column == "sliding" && row == "algebraic")
}

fn features(parts: &[Part<'_>]) -> Vec<&'static str> {
    let mut list: Vec<&'static str> = parts.iter().filter_map(feature).collect();
    let kinds = parts.iter().filter_map(|p| match p {
        Part::Condition(c @ Condition::Relation(..)) => Some(is_discrete(c)),
        _ => None,
    });
    let kinds: Vec<bool> = kinds.collect();
    if kinds.contains(&true) {
        list.push("discrete");
        if kinds.contains(&false) {
            list.push("mixed");
        }
    }
    list.sort_unstable();
    list.dedup();
    list
}

fn is_discrete(c: &Condition) -> bool {
    let mut list = Vec::new();
    tree::parts_of_condition(c, &mut list);
    tree::reads(&list).iter().all(|v| matches!(v, Variable::Discrete(..)))
}

fn feature(part: &Part<'_>) -> Option<&'static str> {
    Some(match part {
        Part::Condition(c) => match c {
            Condition::Relation(how, ..) => text::sign(*how),
            Condition::And(_) => "and",
            Condition::Or(_) => "or",
            Condition::Not(_) => "not",
        },
        Part::Expression(e) => match e {
            Expr::Read(Variable::Time) => "time",
            Expr::Read(Variable::Algebraic(..)) => "algebraic",
            Expr::Read(Variable::Input(..)) => "input",
            Expr::Read(Variable::Let(..)) => "let",
            Expr::Unary(f, _) => match f {
                Unary::Negate => return None,
                Unary::Abs => "abs",
                Unary::Sign | Unary::Step => "sign",
                Unary::Floor | Unary::Ceil => "floor",
                _ => "function",
            },
            Expr::Binary(Binary::Min, ..) => "min",
            Expr::Binary(Binary::Max, ..) => "max",
            Expr::Binary(Binary::Mod, ..) => "mod",
            Expr::Power(..) => "power",
            Expr::If(..) => "if",
            _ => return None,
        },
    })
}
