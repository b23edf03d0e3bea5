//! The facts of `[federate]` for a run, and mistakes in what the federation cannot carry.
use super::{
    Engine, Federate, Heard, Told,
    ports::Joint,
    read::{Carries, EngineKind, FederateDecl, Way},
};
use crate::{
    diagnostics::Mistake,
    document::{Item, Node},
    plan::{evaluate::Evaluator, session::Session, session::did_you_mean, tree::Tree},
};
use superdense_adapters::federation::data::Type;
use superdense_models::maths::quantity::{self, Dimension};

/// The federate of a scenario, if it is one; mistakes are reported.
pub(in crate::plan) fn federate(tree: &Tree, stop: i64, session: &Session) -> Option<Federate> {
    let decl = tree.groups[0].decl.federate.as_ref()?;
    let joint = tree.federate.as_ref()?;
    let f =
        Facts { decl, session, eval: Evaluator::new(session, &tree.groups[0].scope, &[]), joint };
    let up = f.choice("rounding", &["refuse", "up"]) == "up";
    let (name, engine, grain) = match decl.engine {
        #[cfg(feature = "helics")]
        EngineKind::Helics => {
            let grain = f.nanosecond(stop)?;
            let (taking, stall) = f.taking();
            (taking.name.clone(), Engine::Helics(Box::new(taking), stall), grain)
        }
        #[cfg(feature = "mosaik")]
        EngineKind::Mosaik => {
            let _ = stop;
            let (offer, grain) = f.offer()?;
            ("scenario".to_owned(), Engine::Mosaik(offer, None), grain)
        }
        EngineKind::Fmi => {
            let _ = stop;
            ("scenario".to_owned(), Engine::Fmi(f.fmi(tree)), 1)
        }
    };
    f.sampled(grain, up);
    let inputs = f.values(true).map(|(way, _, k)| f.heard(way, k)).collect();
    let outputs = f.values(false).map(|(way, _, k)| f.told(way, k)).collect();
    let endpoints = decl.endpoints.iter().enumerate().map(|(number, _)| f.endpoint(number));
    let endpoints = endpoints.collect();
    Some(Federate { name, engine, grain, up, replay: None, inputs, outputs, endpoints })
}

pub(super) struct Facts<'a> {
    pub decl: &'a FederateDecl,
    pub session: &'a Session,
    pub eval: Evaluator<'a>,
    pub joint: &'a Joint,
}

impl<'a> Facts<'a> {
    /// Values in one direction: each with its type and its number among all ways.
    pub(super) fn values(&self, inwards: bool) -> impl Iterator<Item = (&'a Way, Type, usize)> {
        let value = move |(k, way): (usize, &'a Way)| match way.carries {
            Carries::Value(ty) if way.inwards == inwards => Some((way, ty, k)),
            _ => None,
        };
        self.decl.ways.iter().enumerate().filter_map(value)
    }

    fn endpoint(&self, number: usize) -> (Option<Heard>, Option<Told>) {
        let find = |inwards: bool| {
            let mut ways = self.decl.ways.iter().enumerate();
            ways.find(|(_, w)| {
                (w.inwards, w.number) == (inwards, number) && w.carries == Carries::Messages
            })
        };
        (find(true).map(|(k, w)| self.heard(w, k)), find(false).map(|(k, w)| self.told(w, k)))
    }

    /// Samples of outputs must fall on whole times.
    fn sampled(&self, grain: i64, up: bool) {
        for way in &self.decl.ways {
            let Some(("every", node)) = &way.sampled else { continue };
            let Some((n, d)) = self.eval.period(node, "`every`") else { continue };
            let fits = i128::from(n) * i128::from(self.session.resolution.ticks_per_second());
            let fits = fits % (i128::from(d) * i128::from(grain)) == 0;
            if !fits && !up {
                let whole = self.decl.engine.whole_times();
                let message = format!("`every` is no whole number of {whole}");
                let help =
                    format!("write a time of whole {whole}, or rounding = \"up\" below [federate]");
                self.report("federate-time", node, message, help);
            }
        }
    }

    pub(super) fn report(&self, code: &'static str, node: &Node, message: String, help: String) {
        self.session.report(Mistake::new(code, &node.span, message).help(help));
    }

    pub(super) fn choice(&self, key: &str, all: &[&'static str]) -> &'static str {
        let Some(node) = self.decl.table.get(key) else { return all[0] };
        let example = format!("{key} = \"{}\"", all[0]);
        let text = node.text(&format!("`{key}`"), &example, &self.session.sink);
        let Some(text) = text else { return all[0] };
        all.iter().copied().find(|a| *a == text.value).unwrap_or_else(|| {
            let message = format!("`{key}` is \"{}\"", text.value);
            let help = did_you_mean(&text.value, all.iter().copied(), "write one of");
            self.report("federate", node, message, help);
            all[0]
        })
    }

    fn heard(&self, way: &Way, k: usize) -> Heard {
        let joint = self.joint;
        let (ports, types) = joint.ports[k].iter().copied().unzip();
        let mut initial = Vec::new();
        if let Some(node) = way.initial.as_ref().filter(|_| joint.signals[k]) {
            let list = match &node.item {
                Item::List(list) => list.as_slice(),
                _ => std::slice::from_ref(node),
            };
            initial = list.iter().filter_map(|n| self.initial(n, way)).collect();
            let wanted = joint.ports[k].len();
            if initial.len() == 1 {
                initial = vec![initial[0]; wanted];
            } else if list.len() != wanted && wanted > 0 {
                let message =
                    format!("`initial` has {} values, but there are {wanted} ports", list.len());
                let help = "give one value for all of them, or a list of one for each".into();
                self.report("federate-initial", node, message, help);
            }
        }
        let (from, path, ty) = (way.key.clone(), way.path.value.clone(), way.carries.ty());
        Heard { from, ty, ports, types, path, initial, unit: way.unit.clone() }
    }

    /// A value before the first one is heard, in the unit of the input.
    fn initial(&self, node: &Node, way: &Way) -> Option<f64> {
        let number = self.eval.number(node, "`initial`")?;
        let given = number.dimension.filter(|d| *d != Dimension::NONE);
        let (Some(given), Some(text)) = (given, &way.unit) else { return Some(number.value) };
        let Ok(unit) = quantity::unit(text) else { return Some(number.value) };
        if unit.dimension() != given {
            let message = format!("`initial` is in {given}, but the input counts in {text}");
            let help =
                format!("write a number of {text}, such as initial = 1.0, or a quantity of it");
            self.report("unit-mismatch", node, message, help);
        }
        Some(unit.of_si(number.value))
    }

    fn told(&self, way: &Way, k: usize) -> Told {
        let ports = self.joint.ports[k].iter().map(|p| p.0).collect();
        let (ty, path) = (way.carries.ty(), way.path.value.clone());
        Told { ty, ports, path, signal: self.joint.signals[k] }
    }
}
