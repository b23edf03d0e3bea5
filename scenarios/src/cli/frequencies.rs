//! `check --frequencies`.
use super::{
    options::CheckOptions,
    report::{Stop, columns},
};
use crate::{
    frequencies::{Motion, Unit, frequencies},
    reproduce::number,
};
use serde_json::{Value as Json, json};

/// Motions that a text lists of each unit.
const LISTED: usize = 8;

/// How fast states swing, if that is asked for.
pub(super) fn found(check: &CheckOptions) -> Result<Option<(f64, Vec<Unit>)>, Stop> {
    let Some(at) = check.frequencies else { return Ok(None) };
    let options = &check.plan;
    let found = frequencies(&options.file, &options.set, &options.overrides(), at)
        .map_err(|why| Stop::usage(format!("{}: --frequencies: {why}", options.file.display())))?;
    Ok(Some((at, found)))
}

/// For people.
pub(super) fn text((at, units): &(f64, Vec<Unit>)) -> String {
    let mut rows = Vec::new();
    for Unit { unit, motions } in units {
        let each = motions.iter().take(LISTED).enumerate();
        rows.extend(each.map(|(k, motion)| {
            let name = if k == 0 { unit.clone() } else { String::new() };
            let [swing, size] = words(*motion);
            vec![name, swing, size]
        }));
        if let Some(more) = motions.len().checked_sub(LISTED).filter(|more| *more > 0) {
            rows.push(vec![String::new(), format!("and {more} slower ones"), String::new()]);
        }
    }
    format!("frequencies of states at {} s\n{}", number(*at), columns(&rows, &[]))
}

/// The swing, and how its size changes.
fn words(motion: Motion) -> [String; 2] {
    let Motion { frequency, growth } = motion;
    let swing = match frequency > 0.0 {
        true => format!("{} Hz", number(frequency)),
        false => "no swing".to_owned(),
    };
    let size = match (frequency > 0.0, growth) {
        (_, 0.0) => "steady".to_owned(),
        (true, _) => format!("damping {}", number(-growth / motion.rate())),
        (false, _) if growth < 0.0 => format!("decays in {} s", number(-1.0 / growth)),
        (false, _) => format!("grows in {} s", number(1.0 / growth)),
    };
    [swing, size]
}

/// For programs.
pub(super) fn object((at, units): &(f64, Vec<Unit>)) -> Json {
    json!({ "at": at, "units": units })
}
