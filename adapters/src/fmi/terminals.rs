//! The terminals of an FMU by its ports.
use super::{
    archive::terminals,
    description::{self, Causality, Variable},
    layout::{Checked, Layout, layout, port_name},
};
use std::path::Path;
use superdense_models::kinds::{ParamError, Params, Terminal};

/// The terminals of a unit.
///
/// # Errors
/// When they cannot be read, or name a variable that there is not.
pub(super) fn of_unit(params: &Params, folder: &Path) -> Checked<Vec<Terminal>> {
    let layout = layout(params, folder)?;
    let all = terminals(&folder.join(params.text("path"))).and_then(|all| ported(&layout, all));
    all.map_err(|why| vec![ParamError::at(params.span("path"), why)])
}

fn ported(
    layout: &Layout,
    all: Vec<description::terminals::Terminal>,
) -> Result<Vec<Terminal>, String> {
    let mut out = Vec::new();
    for own in all {
        let mut members = Vec::new();
        for member in &own.members {
            let all = &layout.description.variables;
            let named = |v: &&Variable| {
                v.name == member.variable || v.aliases.iter().any(|a| a.name == member.variable)
            };
            let variable = all.iter().find(named).ok_or_else(|| {
                let (terminal, name) = (&own.name, &member.variable);
                format!("terminal {terminal} has a member of variable {name}, which the FMU lacks")
            })?;
            for k in 1..=variable.elements {
                let element = |name: &str| match variable.shape.is_empty() {
                    true => name.to_owned(),
                    false => format!("{name}_{k}"),
                };
                let port = element(&port_name(&member.variable));
                let port = has_port(layout, variable, &port).then_some(port);
                members.push((element(&member.name), port, member.direction));
            }
        }
        out.push(Terminal {
            name: own.name,
            kind: own.kind,
            ordered: own.rule == "sequence",
            partial: own.rule == "bus",
            members,
        });
    }
    Ok(out)
}

fn has_port(layout: &Layout, variable: &Variable, name: &str) -> bool {
    let list = match variable.causality {
        Causality::Input => &layout.ports.inputs,
        Causality::Output => &layout.ports.outputs,
        _ => return false,
    };
    list.iter().any(|port| port.name == name)
}
