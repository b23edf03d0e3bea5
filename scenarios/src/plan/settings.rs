//! Stop time, resolution, sampling, seed: the facts of the run.
use super::{
    evaluate::Evaluator,
    parameters::{Scope, declared},
    session::{Session, did_you_mean},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node, Table},
};
use superdense_kernel::time::{RationalClock, Resolution};
use superdense_models::maths::quantity::{Decimal, Dimension, Quantity};

/// Rows of samples that are probably not meant.
const MANY: f64 = 1e8;
/// Samples of a run that does not say how many.
const SAMPLES: i64 = 1000;

pub(super) struct Settings {
    pub title: Option<String>,
    pub description: String,
    pub stop: i64,
    pub sample: Option<RationalClock>,
}

/// The power of ten by which [`Overrides::finer_ticks`](super::Overrides::finer_ticks) divides a tick.
const FINER: u8 = 3;

/// Reads `resolution`, `seed` and `micro_steps` into the session; they are needed by everything else.
pub(super) fn basics(root: &Table, finer_ticks: bool, session: &mut Session) {
    if let Some(node) = root.get("resolution")
        && let Some(resolution) = resolution(node, session)
    {
        session.resolution = resolution;
    }
    if finer_ticks {
        let finer = session.resolution.exponent().saturating_add(FINER).min(18);
        let ticks = session.resolution.ticks_per_second();
        session.resolution = Resolution::from_exponent(finer).unwrap_or(session.resolution);
        session.finer = session.resolution.ticks_per_second() / ticks;
    }
    if let Some(node) = root.get("micro_steps") {
        match node.item {
            Item::Int(limit @ 1..=0xffff_ffff) => session.micro_steps = limit as u32,
            _ => {
                let message = "`micro_steps` must be a whole number from 1 on";
                let mistake = Mistake::new("bad-micro-steps", &node.span, message);
                session.report(mistake.help("write micro_steps = 10000"));
            }
        }
    }
    let parameters = match root.get("parameters").map(|n| &n.item) {
        Some(Item::Table(t)) => Some(t),
        _ => None,
    };
    // A scenario that seeds its streams by a parameter `seed` has no other seed.
    let parameter = || parameters?.get("seed").filter(|n| !matches!(n.item, Item::Table(_)));
    if let Some(node) = root.get("seed").or_else(parameter) {
        let scope = parameters.map(|t| Scope::new(&declared(t), None)).unwrap_or_default();
        match Evaluator::new(session, &scope, &[]).whole(node, "`seed`") {
            Some(seed @ 0..) => session.seed = seed as u64,
            Some(seed) => {
                let mistake =
                    Mistake::new("bad-seed", &node.span, format!("`seed` is negative: {seed}"));
                session.report(mistake.help("write a whole number from 0 on, such as seed = 1"));
            }
            None => {}
        }
    }
}

fn resolution(node: &Node, session: &Session) -> Option<Resolution> {
    let decimal = match &node.item {
        Item::Real(_, exact) => *exact,
        Item::Int(i) => Some(Decimal::whole(*i)),
        Item::Text(t) => {
            let bare = t.trim().starts_with(|c: char| c.is_alphabetic());
            let text = if bare { format!("1 {t}") } else { t.clone() };
            let quantity = Quantity::parse(&text).ok().flatten();
            let time = quantity.filter(|q| q.unit.dimension() == Dimension::TIME);
            time.and_then(|q| q.exact_si()).or_else(|| Decimal::parse(t.trim()))
        }
        _ => None,
    };
    let places = decimal.and_then(Decimal::power_of_ten).map(|e| -e);
    let found = places.and_then(|p| u8::try_from(p).ok()).and_then(Resolution::from_exponent);
    if found.is_none() {
        let message = "a resolution is a power of ten of a second, from 1 s down to 1e-18 s";
        let words = ["s", "ms", "us", "ns", "ps", "fs"];
        let help = match &node.item {
            Item::Text(t) => did_you_mean(t, words, "write one of"),
            _ => "write resolution = \"ns\", \"10 ns\" or 1e-9".into(),
        };
        session.report(Mistake::new("bad-resolution", &node.span, message).help(help));
    }
    found
}

/// Reads the other settings.
pub(super) fn settings(root: &Table, scope: &Scope, session: &Session) -> Settings {
    let eval = Evaluator::new(session, scope, &[]);
    let text = |key: &str| {
        let node = root.get(key)?;
        let text = node.text(&format!("`{key}`"), &format!("{key} = \"...\""), &session.sink);
        text.map(|t| t.value)
    };
    let stop = stop(root, &eval);
    let period = match (root.get("sample"), stop) {
        (Some(node), _) => sample(node, &eval),
        (None, Some(stop)) => {
            // Runs with finer ticks are sampled at the same instants.
            let ticks = readable(stop / session.finer / SAMPLES) * session.finer;
            Some((ticks, session.resolution.ticks_per_second()))
        }
        (None, None) => None,
    };
    if let (Some(node), Some((n, d)), Some(stop)) = (root.get("sample"), period, stop) {
        let seconds = stop as f64 / session.resolution.ticks_per_second() as f64;
        let rows = seconds * d as f64 / n as f64;
        if rows > MANY {
            let message =
                format!("`sample` gives {rows:.1e} rows, which may fill a disk: take a longer one");
            session.warn(&node.span, &message);
        }
    }
    let sample = period.and_then(|(n, d)| RationalClock::new(n, d, 0, session.resolution).ok());
    Settings {
        title: text("title"),
        description: text("description").unwrap_or_default(),
        stop: stop.unwrap_or(0),
        sample,
    }
}

/// Tells units when the scenario ends by itself: how far they look ahead must not depend on `--until`.
pub(super) fn horizon(stop: Option<&Node>, scope: &Scope, session: &Session) {
    let eval = Evaluator::new(session, scope, &[]);
    if let Some(ticks) = stop.and_then(|node| eval.ticks(node, "`stop`")) {
        let per_second = session.resolution.ticks_per_second();
        session.horizon.set(ticks as f64 / per_second as f64);
    }
}

fn stop(root: &Table, eval: &Evaluator<'_>) -> Option<i64> {
    let Some(node) = root.get("stop") else {
        let mistake =
            Mistake::new("missing-stop", &(0..0), "the scenario does not say when to stop");
        let help = "add `stop = \"10 s\"` at the top of the file";
        eval.session.report(mistake.label("missing here").help(help));
        return None;
    };
    let refuse = |code, message: &str, help: &str| {
        eval.session.report(Mistake::new(code, &node.span, message).help(help));
        None
    };
    match eval.ticks(node, "`stop`")? {
        0 => refuse("bad-stop", "`stop` is zero", "let the run last at least one tick"),
        i64::MAX => refuse("bad-stop", "`stop` is infinite", "write a time such as \"10 s\""),
        ticks => Some(ticks),
    }
}

fn sample(node: &Node, eval: &Evaluator<'_>) -> Option<(i64, i64)> {
    if matches!(&node.item, Item::Text(t) if t.trim() == "none") {
        return None;
    }
    match eval.period(node, "`sample`")? {
        (0 | i64::MAX, _) => {
            let mistake =
                Mistake::new("bad-sample", &node.span, "`sample` must be longer than zero");
            let help = "write a time such as \"10 ms\", or \"none\" for only start and end";
            eval.session.report(mistake.help(help));
            None
        }
        period => Some(period),
    }
}

/// The largest 1, 2 or 5 times a power of ten that is not above, at least 1.
fn readable(ticks: i64) -> i64 {
    let mut power = 1i64;
    while ticks / 10 >= power {
        power *= 10;
    }
    let leading = ticks / power;
    power * if leading >= 5 { 5 } else { leading.clamp(1, 2) }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn steps_are_readable() {
        for (from, to) in [(0, 1), (1, 1), (3, 2), (9, 5), (10, 10), (30, 20), (99, 50)] {
            assert_eq!(readable(from), to, "{from}");
        }
        assert_eq!(readable(i64::MAX), 5_000_000_000_000_000_000);
    }
}
