//! Facts of a scenario that becomes an FMU.
use super::{
    facts::Facts,
    read::{Carries, Way},
};
use crate::{
    diagnostics::Mistake,
    plan::{
        Record, Source,
        tree::{End, Tree},
    },
};
use superdense_adapters::federation::data::Type;
use superdense_models::kinds::{PortKind, ValueType};

/// Types that variables have.
const TYPES: [Type; 4] = [Type::Double, Type::Int, Type::Bool, Type::Text];

impl Facts<'_> {
    /// The outputs, in the order of the ways; inputs are checked.
    pub(super) fn fmi(&self, tree: &Tree) -> Vec<Record> {
        for (way, ty, k) in self.values(true) {
            self.has_type(way, ty);
            if !self.joint.signals[k] && !self.joint.ports[k].is_empty() {
                let message = format!(
                    "`{}` takes events, but inputs of an FMU are values that hold",
                    way.path.value
                );
                let help = "let the FMU have a signal, and make events of it by a `detector`";
                self.session.report(Mistake::new("federate", &way.path.span, message).help(help));
            }
        }
        let outputs = self.values(false).filter(|(way, ty, _)| self.has_type(way, *ty));
        outputs.filter_map(|(way, _, k)| self.output(way, k, tree)).collect()
    }

    fn has_type(&self, way: &Way, ty: Type) -> bool {
        let fits = TYPES.contains(&ty) && (!way.inwards || ty != Type::Text);
        if !fits {
            let message = format!("`{}` has the type `{}`", way.key, ty.written());
            let help = "an FMU of a scenario has inputs of double, int and bool, and outputs of these and string";
            self.session.report(Mistake::new("federate", &way.path.span, message).help(help));
        }
        fits
    }

    /// The output of a unit, or of an adapter behind one, that is seen outside.
    fn output(&self, way: &Way, k: usize, tree: &Tree) -> Option<Record> {
        let (port, ty) = *self.joint.ports[k].first()?;
        let here = End { child: self.joint.child, member: 0, port };
        let wire = tree.groups[0].wires.iter().find(|w| w.to == here)?;
        let (unit, port) = tree.origin(0, wire.from)?;
        let unit = &tree.units[unit as usize];
        let spec = &unit.ports.outputs[usize::from(port)];
        debug_assert_eq!(way.carries, Carries::Value(way.carries.ty()), "values only");
        let kind = if self.joint.signals[k] { PortKind::Signal } else { PortKind::Event };
        let written = way.carries.ty();
        if matches!(written, Type::Int | Type::Bool) && ty == ValueType::Real {
            let message = format!(
                "`{}` has the type `{}`, and its source sends real numbers",
                way.key,
                written.written()
            );
            let help = "leave `type` out: the variable is a Float64 or Real then";
            self.session.report(Mistake::new("federate", &way.path.span, message).help(help));
        }
        Some(Record {
            label: way.key.clone(),
            source: Source::Port { unit: unit.path.clone(), port },
            kind,
            ty,
            continuous: unit.kind.is_continuous(),
            unit: way.unit.clone().or_else(|| spec.unit.clone()),
            sampled: spec.sampled,
            band: unit.params.real("exchange_tolerance"),
        })
    }
}
