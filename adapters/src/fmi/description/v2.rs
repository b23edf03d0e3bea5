//! The parts of descriptions that FMI 2.0 writes in its own way.
use super::{
    Causality, Description, Interface, InterfaceKind, Item, Type, Variable, Version, causality,
    child, experiment, identifier, needed, number, order, settable, structure::Structure, truth,
    units::Units,
};
use roxmltree::Node;
use std::collections::HashMap;

type Element<'a, 'b> = Node<'a, 'b>;

pub(super) fn read(root: Element<'_, '_>) -> Result<Description, String> {
    let interface = |kind, name| child(root, name).map(|n| interface(kind, n)).transpose();
    let mut types = HashMap::new();
    for t in child(root, "TypeDefinitions").iter().flat_map(|l| l.children()) {
        let inner = t.children().find(Node::is_element);
        if let (Some(name), Some(inner)) = (t.attribute("name"), inner) {
            types.insert(name, inner);
        }
    }
    let units = Units::read(root)?;
    let (mut variables, mut derivatives) = (Vec::new(), HashMap::new());
    let list = child(root, "ModelVariables");
    let scalars = list.iter().flat_map(|l| l.children());
    for node in scalars.filter(|n| n.has_tag_name("ScalarVariable")) {
        let inner = node.children().find(|c| Type::of2(c.tag_name().name()).is_some());
        let inner = inner.ok_or_else(|| {
            format!("variable {} has no type", node.attribute("name").unwrap_or("?"))
        })?;
        if let Some(state) = inner.attribute("derivative").and_then(|d| d.trim().parse().ok()) {
            derivatives.insert(variables.len(), state);
        }
        variables.push(variable(node, inner, &types, &units)?);
    }
    let indicators = root.attribute("numberOfEventIndicators").map_or(Ok(0), |n| {
        n.trim().parse().map_err(|_| format!("numberOfEventIndicators is \"{n}\""))
    })?;
    let structure = Structure::by_index(root, &variables, &derivatives, indicators)?;
    Ok(Description {
        version: Version::V2,
        model: needed(root, "modelName")?,
        token: needed(root, "guid")?,
        co_simulation: interface(InterfaceKind::CoSimulation, "CoSimulation")?,
        model_exchange: interface(InterfaceKind::ModelExchange, "ModelExchange")?,
        variables,
        structure,
        experiment: experiment(root)?,
    })
}

fn interface(kind: InterfaceKind, node: Element<'_, '_>) -> Result<Interface, String> {
    Ok(Interface {
        kind,
        identifier: identifier(node)?,
        state_access: truth(node, "canGetAndSetFMUstate"),
        serialisable: truth(node, "canSerializeFMUstate"),
        event_mode: kind == InterfaceKind::ModelExchange,
        variable_step: truth(node, "canHandleVariableCommunicationStepSize"),
        intermediate_update: false,
        input_derivatives: truth(node, "canInterpolateInputs"),
        return_early: false,
        directional: truth(node, "providesDirectionalDerivative"),
        adjoint: false,
        output_derivatives: order(node)?,
        needs_tool: truth(node, "needsExecutionTool"),
        single: truth(node, "canBeInstantiatedOnlyOncePerProcess"),
        internal_step: None,
        completed_step: !truth(node, "completedIntegratorStepNotNeeded"),
    })
}

fn variable(
    node: Element<'_, '_>,
    inner: Element<'_, '_>,
    types: &HashMap<&str, Element<'_, '_>>,
    units: &Units,
) -> Result<Variable, String> {
    let name = node.attribute("name").ok_or("a variable has no name")?.to_owned();
    let wrong = |what: String| format!("variable {name}: {what}");
    let reference = node.attribute("valueReference").and_then(|r| r.trim().parse().ok());
    let reference = reference.ok_or_else(|| wrong("no value reference".into()))?;
    let ty = Type::of2(inner.tag_name().name()).ok_or_else(|| wrong("no type".into()))?;
    let declared = inner.attribute("declaredType").and_then(|t| types.get(t)).copied();
    let either =
        |name: &str| inner.attribute(name).or_else(|| declared.and_then(|d| d.attribute(name)));
    let limit = |name: &str| -> Result<Option<f64>, String> {
        match (number(inner, name).map_err(wrong)?, declared) {
            (None, Some(d)) => number(d, name).map_err(wrong),
            (own, _) => Ok(own),
        }
    };
    let causality = causality(node);
    let variability = node.attribute("variability");
    let start: Vec<String> = inner.attribute("start").map(str::to_owned).into_iter().collect();
    Ok(Variable {
        reference,
        ty,
        causality,
        continuous: ty == Type::Float64
            && causality != Causality::Parameter
            && matches!(variability, None | Some("continuous")),
        settable: settable(causality, node, !start.is_empty()),
        start,
        elements: 1,
        shape: Vec::new(),
        unit: either("unit").map(|name| units.known(name)),
        base: units.base(either("unit")),
        aliases: Vec::new(),
        intermediate: true,
        limits: (limit("min")?, limit("max")?),
        nominal: either("nominal").and_then(|n| n.trim().parse().ok()),
        items: declared.map(items).unwrap_or_default(),
        name: name.clone(),
    })
}

/// The items of an enumeration.
fn items(declared: Element<'_, '_>) -> Vec<Item> {
    let item = |n: Element<'_, '_>| {
        let value = n.attribute("value")?.trim().parse().ok()?;
        Some(Item { name: n.attribute("name")?.to_owned(), value })
    };
    declared.children().filter(|c| c.has_tag_name("Item")).filter_map(item).collect()
}
