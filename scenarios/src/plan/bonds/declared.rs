//! Bonds as units declare them.
use super::{
    super::session::{Session, did_you_mean},
    Bond,
};
use crate::{
    diagnostics::Mistake,
    document::{Node, Table},
    source::Span,
};
use superdense_models::kinds::{Located, PortKind, PortSpec, Ports};

const EXAMPLE: &str = "bond.flange = { effort = \"force\", flow = \"v\", displacement = \"x\" }";
const KEYS: [&str; 5] = ["effort", "flow", "displacement", "momentum", "common"];

/// The bonds of a unit; mistakes are reported.
pub(in super::super) fn declared(
    node: &Node,
    (unit, ports): (&str, &Ports),
    session: &Session,
) -> Vec<Bond> {
    let Some(table) = node.table("`bond`", EXAMPLE, &session.sink) else { return Vec::new() };
    let reader = Reader { unit, ports, session };
    table.entries.iter().filter_map(|(name, node)| reader.bond(name, node)).collect()
}

/// A port of the unit, if a key names one, and whether it is an input.
type Port = Option<(u16, bool)>;

struct Reader<'a> {
    unit: &'a str,
    ports: &'a Ports,
    session: &'a Session,
}

impl Reader<'_> {
    fn refuse<T>(&self, span: &Span, message: String, help: impl Into<String>) -> Option<T> {
        self.session.report(Mistake::new("bond", span, message).help(help.into()));
        None
    }

    fn bond(&self, name: &Located<String>, node: &Node) -> Option<Bond> {
        let table = node.table("a bond", EXAMPLE, &self.session.sink)?;
        for (key, _) in &table.entries {
            if !KEYS.contains(&key.value.as_str()) {
                let message = format!("a bond has no key `{}`", key.value);
                let help = did_you_mean(&key.value, KEYS, "known keys");
                return self.refuse(&key.span, message, help);
            }
        }
        let common_effort = self.common_effort(table)?;
        let shape = Bond {
            name: name.value.clone(),
            common_effort,
            common: None,
            share: 0,
            integral: None,
            told: false,
        };
        let [common, share, integral] = shape.words();
        for key in ["displacement", "momentum"] {
            if let Some(wrong) = table.get(key).filter(|_| key != integral) {
                let message = format!("`{key}` beside a common {common}");
                let help = format!("what is equal is the {common}; its integral is `{integral}`");
                return self.refuse(&wrong.span, message, help);
            }
        }
        let Some((share, told)) = self.port(table, share)? else {
            let message = format!("bond `{}` of `{}` has no `{share}`", name.value, self.unit);
            return self.refuse(&name.span, message, format!("write {EXAMPLE}"));
        };
        let told = !told;
        let common = self.port(table, common)?;
        let integral = self.port(table, integral)?;
        self.directions(name, &shape, (told, common, integral))?;
        let port = |found: Port| found.map(|(port, _)| port);
        Some(Bond { common: port(common), share, integral: port(integral), told, ..shape })
    }

    /// Whether the effort is what is equal.
    fn common_effort(&self, table: &Table) -> Option<bool> {
        let Some(node) = table.get("common") else { return Some(false) };
        let text = node.text("`common`", "common = \"effort\"", &self.session.sink)?;
        match text.value.as_str() {
            "flow" => Some(false),
            "effort" => Some(true),
            other => {
                let message = format!("`common` is \"{other}\"");
                let help = "write \"flow\" where flows are equal and efforts sum to zero, as at a flange, or \
                            \"effort\" where efforts are equal and flows sum to zero, as at a node of a circuit";
                self.refuse(&text.span, message, help)
            }
        }
    }

    /// Which of both is told follows from the directions of the ports, which have to agree.
    fn directions(
        &self,
        name: &Located<String>,
        bond: &Bond,
        (told, common, integral): (bool, Port, Port),
    ) -> Option<()> {
        let [equal, share, whole] = bond.words();
        let title = format!("bond `{}` of `{}`", name.value, self.unit);
        if let Some((_, true)) = integral {
            let message = format!("the {whole} of {title} is an input");
            let help = "a unit cannot be told both: name an output, or leave it out";
            return self.refuse(&name.span, message, help);
        }
        match common {
            None if told => {
                let message = format!("{title} has no `{equal}`");
                self.refuse(&name.span, message, format!("write {EXAMPLE}"))
            }
            None if integral.is_none() => {
                let message = format!("{title} has neither `{equal}` nor `{whole}`");
                let help = "name the output that is to be equal for all that are joined";
                self.refuse(&name.span, message, help)
            }
            Some((_, input)) if input != told => {
                let both = if input { "inputs" } else { "outputs" };
                let message = format!("`{equal}` and `{share}` of {title} are both {both}");
                let help = "a unit is told one of them and answers with the other";
                self.refuse(&name.span, message, help)
            }
            _ if told && integral.is_some() => {
                let message = format!("{title} is told its {equal}, and has a {whole}");
                let help =
                    format!("what the unit makes of its {equal} is its own: delete `{whole}`");
                self.refuse(&name.span, message, help)
            }
            _ => Some(()),
        }
    }

    /// The port that a key names, and whether it is an input; the outer `None` after a mistake.
    fn port(&self, table: &Table, key: &str) -> Option<Port> {
        let Some(node) = table.get(key) else { return Some(None) };
        let text = node.text(&format!("`{key}` of a bond"), EXAMPLE, &self.session.sink)?;
        let signal = |p: &PortSpec| p.kind == PortKind::Signal && p.name == text.value;
        let at = |all: &[PortSpec]| all.iter().position(signal).map(|at| at as u16);
        match (at(&self.ports.inputs), at(&self.ports.outputs)) {
            (Some(port), _) => Some(Some((port, true))),
            (None, Some(port)) => Some(Some((port, false))),
            (None, None) => {
                let all = self.ports.inputs.iter().chain(&self.ports.outputs);
                let known = all.filter(|p| p.kind == PortKind::Signal).map(|p| p.name.as_str());
                let message = format!("`{}` has no signal `{}`", self.unit, text.value);
                let help = did_you_mean(&text.value, known, "signals");
                self.refuse(&text.span, message, help)
            }
        }
    }
}
