//! Capabilities that each policy needs of the units, and its fallback where a unit lacks one.
//!
//! This is what `superdense check --policies` prints. A policy that is refused is refused by the
//! policy itself when it is built; that both agree is tested (`tests`: `fmi::policies`).
use super::kind::CouplingKind;
use crate::{
    kinds::{Param, Params, UnitKind},
    signal::capabilities::Capability,
};

/// Which units have to have a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// Units whose outputs pass through the master.
    Sources,
    /// Units that are told something by it.
    Receivers,
    /// All units of the group.
    Group,
}

/// The effect of a missing capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The policy is refused; this can be taken in its place.
    Refused(&'static str),
    /// The policy goes on, with this in place of the capability.
    StandsIn(&'static str),
}

/// A policy as one line of a scenario, and what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// The key in `[coupling]`; empty for what is declared elsewhere.
    pub key: &'static str,
    /// Its value, as an example.
    pub value: &'static str,
    /// The effect of the policy.
    pub what: &'static str,
    /// Its needs, of whom, and the effect of a missing one; the first that is missing counts.
    pub needs: &'static [(Capability, Whom, Without)],
}

use Capability as C;
use Whom::{Group, Receivers, Sources};
use Without::{Refused, StandsIn};

type Need = (Capability, Whom, Without);

const FOLLOWED: Need = (
    C::InputPolynomials,
    Receivers,
    StandsIn("they take the polynomial's value at each of their own steps"),
);
const CUT: Need =
    (C::AnySteps, Receivers, StandsIn("they hear of it at their own next communication point"));
const SHOWN: Need = (
    C::AnySteps,
    Sources,
    StandsIn("derivatives are taken over their own steps, which have to be short"),
);
const FORESEEN: Need = (C::Equations, Sources, StandsIn("their events are not foreseen"));
const fn restore(instead: &'static str) -> Need {
    (C::Restore, Group, Refused(instead))
}

const fn scheme(
    key: &'static str,
    value: &'static str,
    what: &'static str,
    needs: &'static [Need],
) -> Scheme {
    Scheme { key, value, what, needs }
}

/// All policies of couplings.
pub const SCHEMES: &[Scheme] = &[
    scheme("step", "\"10 ms\"", "a fixed macro step", &[]),
    scheme("tolerance", "1e-3", "an adaptive macro step", &[CUT]),
    scheme(
        "exchanges_per_period",
        "20",
        "a macro step that follows how fast signals swing",
        &[CUT],
    ),
    scheme("order", "\"gauss-seidel\"", "later units hear earlier ones", &[]),
    scheme(
        "order",
        "\"automatic\"",
        "the unit with the next private event goes first",
        &[FORESEEN],
    ),
    scheme("order", "\"switching\"", "the same, but all at once while no event comes", &[FORESEEN]),
    scheme("extrapolation", "1", "told polynomials, through exchanged values", &[FOLLOWED]),
    scheme(
        "slopes",
        "\"derivatives\"",
        "told polynomials, by derivatives of the sources",
        &[
            (
                C::OutputDerivatives,
                Sources,
                StandsIn("held values; better `rates`, or slopes = \"samples\""),
            ),
            FOLLOWED,
        ],
    ),
    scheme(
        "slopes",
        "\"context\"",
        "told polynomials, of the order that the last values recommend",
        &[FOLLOWED],
    ),
    scheme("interpolate", "true", "told polynomials without jumps", &[FOLLOWED]),
    scheme("compensation", "\"nepce\"", "correction by the error of the last step", &[]),
    scheme("compensation", "\"nepce-memory\"", "correction by the errors of all steps", &[]),
    scheme("low_pass", "\"1 ms\"", "a filter on what is told", &[]),
    scheme("measured", "{}", "Kalman filters of noisy signals", &[FOLLOWED]),
    scheme("power", "[]", "power-balanced signals", &[]),
    scheme("feed_through", "\"settled\"", "algebraic loops by iteration at an instant", &[]),
    scheme(
        "events",
        "\"interrupt\"",
        "jumps are exchanged at once",
        &[(C::EventTimes, Sources, StandsIn("jumps come at the ends of their own steps")), CUT],
    ),
    scheme("look_ahead", "[]", "exchanges before predicted events", &[CUT]),
    scheme(
        "iterate",
        "{}",
        "steps that are repeated until they agree",
        &[restore("compensation = \"nepce\"; feed_through = \"settled\" for loops"), FOLLOWED],
    ),
    scheme(
        "iterate",
        "{ method = \"waveform\" }",
        "the same with all pieces of the solutions",
        &[restore("compensation = \"nepce\"; feed_through = \"settled\" for loops")],
    ),
    scheme(
        "pre_step",
        "\"100 us\"",
        "inputs by which outputs meet the exact solution",
        &[restore("compensation = \"nepce-memory\"")],
    ),
    scheme(
        "pre_step_extrapolation",
        "\"macro-step\"",
        "the same by one implicit macro step, as printed",
        &[restore("compensation = \"nepce-memory\"")],
    ),
    scheme(
        "estimate",
        "\"doubling\"",
        "step control by one step against two halves",
        &[restore("estimate = \"extrapolation\"")],
    ),
    scheme(
        "estimate",
        "\"milne\"",
        "step control by prediction against correction",
        &[restore("estimate = \"extrapolation\"")],
    ),
    scheme(
        "estimate",
        "\"multi-order\"",
        "step control by a run that is told more exactly",
        &[restore("estimate = \"extrapolation\", or \"conservation\" with `bonds`")],
    ),
    scheme(
        "estimate",
        "\"embedded\"",
        "step control by how units go on, told what they hold and what is true",
        &[restore("estimate = \"extrapolation\""), SHOWN],
    ),
    scheme(
        "estimate",
        "\"parallel-embedded\"",
        "step control by a usual method on the derivatives of the outputs",
        &[restore("estimate = \"extrapolation\""), SHOWN],
    ),
    scheme("estimate", "\"conservation\"", "step control by the energy on bonds", &[CUT]),
    scheme(
        "correction",
        "\"pessimistic\"",
        "steps with too large an error are repeated",
        &[restore("correction = \"optimistic\"")],
    ),
    scheme(
        "correction",
        "\"selective\"",
        "the same only for units that hear signals which missed their aim",
        &[restore("correction = \"optimistic\""), CUT],
    ),
    scheme(
        "",
        "[[link]]",
        "shared events of coupled units",
        &[(
            C::Equations,
            Sources,
            Refused("an event of one unit, sent to the others; look_ahead before it"),
        )],
    ),
    scheme(
        "",
        "check --stability",
        "spectral radii of the coupling",
        &[(C::Equations, Sources, Refused("runs with other values of `step`"))],
    ),
];

impl Scheme {
    /// As a line of a scenario.
    pub fn line(&self) -> String {
        if self.key.is_empty() {
            self.value.into()
        } else {
            format!("{} = {}", self.key, self.value)
        }
    }

    /// Why shared events of the units forbid it, under a coupling with these parameters if there is one;
    /// and what to do.
    pub fn refused_by_links(
        &self,
        params: Option<&Params>,
    ) -> Option<(&'static str, &'static str)> {
        let set = |p: &Params| {
            let low = match p.get("orders").map(|p| &p.value) {
                Some(Param::Table(all)) => all.iter().any(|(_, p)| p.value == Param::Int(0)),
                _ => false,
            };
            p.text("events") == "interrupt" && p.int("extrapolation") > 0 && !low
        };
        match self.key {
            "iterate" if self.repeats_courses() => Some((
                "a course is told beyond shared events before they happen",
                "another method of `iterate`",
            )),
            "iterate" if !params.is_some_and(set) => Some((
                "shared events end steps, and are compared with what is told for their start",
                "the same with events = \"interrupt\" and an extrapolation of at least 1",
            )),
            "pre_step" | "pre_step_extrapolation" => Some((
                "shared events are compared with what is told, which is not what is true here",
                "`iterate` with events = \"interrupt\" and extrapolation = 1",
            )),
            _ => None,
        }
    }

    fn repeats_courses(&self) -> bool {
        self.value.contains("waveform")
    }

    /// Whether a coupling with these parameters does it.
    pub fn used(&self, params: &Params) -> bool {
        let Some(given) = params.get(self.key) else { return false };
        if let ("iterate", Param::Table(all)) = (self.key, &given.value) {
            let courses = |p: &Param| matches!(p, Param::Text(t) if t == "waveform");
            let courses = all.iter().any(|(k, p)| k.value == "method" && courses(&p.value));
            return courses == self.repeats_courses();
        }
        match &given.value {
            Param::Text(text) if self.value.starts_with('"') && self.chooses() => {
                *text == self.value[1..self.value.len() - 1]
            }
            Param::Text(text) => !text.is_empty(),
            Param::Int(i) => *i > 0,
            Param::Bool(b) => *b,
            _ => true,
        }
    }

    /// Whether its value is one of several words.
    fn chooses(&self) -> bool {
        use crate::kinds::ParamType::Choice;
        let choice = |p: &&crate::kinds::ParamSpec| matches!(p.ty, Choice(_));
        CouplingKind.params().iter().filter(choice).any(|p| p.name == self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::ParamType;

    /// Every word that a policy may be chosen by is a scheme here, or is what is done without.
    #[test]
    fn no_policy_is_left_out() {
        let there = |key: &str, value: &str| {
            SCHEMES.iter().any(|s| s.key == key && s.value.trim_matches('"') == value)
        };
        for p in CouplingKind.params() {
            let ParamType::Choice(words) = p.ty else { continue };
            for word in words {
                let default = p.default == Some(*word);
                assert!(default || there(p.name, word), "{} = {word}", p.name);
            }
        }
        for s in SCHEMES.iter().filter(|s| !s.key.is_empty()) {
            assert!(CouplingKind.params().iter().any(|p| p.name == s.key), "{}", s.line());
        }
    }
}
