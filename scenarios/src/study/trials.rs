//! Plans of a study that are tried before its runs.
use super::{
    Sets,
    ask::{Ask, Kind},
    first::Variant,
    runner::ScenarioRunner,
    vary::{self, Parameter},
};
use crate::diagnostics::{Mistake, Sink};

/// Plans the scenario at the ends of each parameter and between, so that mistakes show before the runs.
pub(super) fn trials(parameters: &[Parameter], asks: &[Ask], runner: &ScenarioRunner, sink: &Sink) {
    let tried = |sets: &Sets| runner.load(sets, None).err();
    let around = (0..).zip(parameters).flat_map(|(at, parameter)| {
        around(parameters, asks, at).into_iter().map(move |sets| (parameter, sets))
    });
    for (parameter, around) in around {
        for x in parameter.trials() {
            let mut sets = around.clone();
            sets.push((parameter.path.value.clone(), parameter.text(x)));
            let Some(mistakes) = tried(&sets) else { continue };
            let Some(first) = mistakes.mistakes().first() else { continue };
            let value = parameter.text(x);
            let place = &parameter.path;
            let message = format!("`{}` = {value}: {}", place.value, first.message);
            let whole = || {
                let mut sets = around.clone();
                sets.push((parameter.path.value.clone(), vary::number(x.round())));
                tried(&sets)
            };
            let help = match first.code {
                "time-too-fine" => {
                    "give `from` and `to` a unit of time, or add a `step`".to_owned()
                }
                _ if x.fract() != 0.0 && parameter.unit.is_empty() && whole().is_none() => {
                    "add `step = 1` to its interval: these values are whole numbers".to_owned()
                }
                _ => first.help.clone(),
            };
            sink.push(Mistake::new("study-vary", &place.span, message).help(help));
            break;
        }
    }
    for ask in asks {
        let own = match &ask.kind {
            Kind::First { variants, .. } => variants
                .iter()
                .map(|variant| settings(parameters, ask, variant, variant.over.len()))
                .collect(),
            _ => vec![ask.sets.clone()],
        };
        for sets in own.iter().filter(|sets| !sets.is_empty()) {
            let Some(mistakes) = tried(sets) else { continue };
            let Some(first) = mistakes.mistakes().first() else { continue };
            let message = format!("the settings of `{}`: {}", ask.name.value, first.message);
            sink.push(Mistake::new("study-ask", &ask.name.span, message).help(first.help.clone()));
        }
    }
}

/// The settings under which a parameter is tried: those of the variants that vary it, and none if somebody else does.
fn around(parameters: &[Parameter], asks: &[Ask], at: usize) -> Vec<Sets> {
    let mut found: Vec<Sets> = Vec::new();
    let mut only_variants = false;
    for ask in asks {
        let Kind::First { variants, .. } = &ask.kind else {
            if ask.kind.over().contains(&at) {
                found.push(Sets::new());
            }
            continue;
        };
        for variant in variants {
            only_variants |= variant.over.contains(&at);
            if variant.over[variant.given..].contains(&at) {
                found.push(settings(parameters, ask, variant, variant.given));
            }
        }
    }
    found.sort();
    found.dedup();
    // A parameter that variants set is tried with them.
    if found.is_empty() && !only_variants {
        found.push(Sets::new());
    }
    found
}

/// The settings of a variant at its first point, as far as those of its first parameters go.
fn settings(parameters: &[Parameter], ask: &Ask, variant: &Variant, count: usize) -> Sets {
    let mut sets = ask.sets.clone();
    if let Some(point) = variant.points.first() {
        sets.extend(vary::sets(parameters, &variant.over[..count], &point[..count]));
    }
    sets
}
