//! The parts of descriptions that FMI 3.0 writes in its own way.
use super::{
    Causality, Description, ELEMENTS, Interface, InterfaceKind, Item, Structural, Type, Variable,
    Version, causality, child, experiment, identifier, needed, number, order, settable,
    structure::Structure,
    truth,
    units::{Alias, Units},
};
use roxmltree::Node;
use std::collections::HashMap;

type Element<'a, 'b> = Node<'a, 'b>;

pub(super) fn read(root: Element<'_, '_>, structural: &Structural) -> Result<Description, String> {
    let interface = |kind, name| child(root, name).map(|n| interface(kind, n)).transpose();
    let definitions = Definitions::new(root, structural)?;
    let mut variables = Vec::new();
    let list = child(root, "ModelVariables");
    for node in list.iter().flat_map(|l| l.children()).filter(Node::is_element) {
        if let Some(ty) = Type::of(node.tag_name().name()) {
            variables.push(variable(node, ty, &definitions)?);
        }
    }
    let structure = Structure::by_reference(root, &variables, &definitions.derivatives)?;
    Ok(Description {
        version: Version::V3,
        model: needed(root, "modelName")?,
        token: needed(root, "instantiationToken")?,
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
        state_access: truth(node, "canGetAndSetFMUState"),
        serialisable: truth(node, "canSerializeFMUState"),
        event_mode: kind == InterfaceKind::ModelExchange || truth(node, "hasEventMode"),
        variable_step: truth(node, "canHandleVariableCommunicationStepSize"),
        intermediate_update: truth(node, "providesIntermediateUpdate"),
        input_derivatives: false,
        return_early: truth(node, "canReturnEarlyAfterIntermediateUpdate"),
        directional: truth(node, "providesDirectionalDerivatives"),
        adjoint: truth(node, "providesAdjointDerivatives"),
        output_derivatives: order(node)?,
        needs_tool: truth(node, "needsExecutionTool"),
        single: truth(node, "canBeInstantiatedOnlyOncePerProcess"),
        internal_step: number(node, "fixedInternalStepSize")?,
        completed_step: truth(node, "needsCompletedIntegratorStep"),
    })
}

/// The things that variables refer to, found once.
struct Definitions<'a> {
    types: HashMap<&'a str, Element<'a, 'a>>,
    starts: HashMap<&'a str, String>,
    /// Reference of a derivative: that of its state.
    derivatives: HashMap<u32, u32>,
    units: Units,
}

impl<'a> Definitions<'a> {
    fn new(root: Element<'a, 'a>, structural: &Structural) -> Result<Self, String> {
        let (mut types, mut starts) = (HashMap::new(), HashMap::new());
        let mut derivatives = HashMap::new();
        for t in child(root, "TypeDefinitions").iter().flat_map(|l| l.children()) {
            t.attribute("name").map(|name| types.insert(name, t));
        }
        for v in child(root, "ModelVariables").iter().flat_map(|l| l.children()) {
            let Some(own) = v.attribute("valueReference") else { continue };
            let given = v.attribute("name").and_then(|name| structural.get(name));
            let start = given.map(i64::to_string).or(v.attribute("start").map(str::to_owned));
            let sizes = v.attribute("causality") == Some("structuralParameter")
                || v.attribute("variability") == Some("constant");
            start.filter(|_| sizes).map(|s| starts.insert(own, s));
            let state = v.attribute("derivative").and_then(|s| s.trim().parse().ok());
            if let (Ok(own), Some(state)) = (own.trim().parse(), state) {
                derivatives.insert(own, state);
            }
        }
        Ok(Self { types, starts, derivatives, units: Units::read(root)? })
    }

    /// The length of a dimension: given, or by the start value of a structural parameter.
    fn dimension(&self, node: Element<'_, '_>) -> Result<usize, String> {
        let by_parameter =
            || self.starts.get(node.attribute("valueReference")?).map(String::as_str);
        let text = node.attribute("start").or_else(by_parameter);
        let text = text.ok_or(
            "a dimension without a length: it has neither `start`, nor the reference of a structural parameter or \
             constant with a start value",
        )?;
        text.trim()
            .parse()
            .map_err(|_| format!("a dimension of length {}, which is no size", text.trim()))
    }
}

fn starts(node: Element<'_, '_>, ty: Type) -> Vec<String> {
    match node.attribute("start") {
        None => {
            let starts = node.children().filter(|c| c.has_tag_name("Start"));
            starts.filter_map(|c| c.attribute("value").map(str::to_owned)).collect()
        }
        Some(text) if ty == Type::String => vec![text.to_owned()],
        Some(text) => text.split_whitespace().map(str::to_owned).collect(),
    }
}

fn variable(
    node: Element<'_, '_>,
    ty: Type,
    definitions: &Definitions<'_>,
) -> Result<Variable, String> {
    let name = node.attribute("name").ok_or("a variable has no name")?.to_owned();
    let wrong = |what: String| format!("variable {name}: {what}");
    let reference = node.attribute("valueReference").and_then(|r| r.trim().parse().ok());
    let reference = reference.ok_or_else(|| wrong("no value reference".into()))?;
    let declared = node.attribute("declaredType").and_then(|t| definitions.types.get(t)).copied();
    let either =
        |name: &str| node.attribute(name).or_else(|| declared.and_then(|d| d.attribute(name)));
    let real = matches!(ty, Type::Float64 | Type::Float32);
    let relative = matches!(either("relativeQuantity"), Some("true" | "1"));
    let start = starts(node, ty);
    let dimensions = node.children().filter(|c| c.has_tag_name("Dimension"));
    let shape: Vec<usize> =
        dimensions.map(|d| definitions.dimension(d).map_err(wrong)).collect::<Result<_, _>>()?;
    let elements = shape.iter().fold(1, |n: usize, length| n.saturating_mul(*length));
    if elements > ELEMENTS {
        return Err(wrong(format!("{elements} elements; {ELEMENTS} are possible")));
    }
    let causality = causality(node);
    let variability = node.attribute("variability");
    let limit = |name: &str| -> Result<Option<f64>, String> {
        match (number(node, name).map_err(wrong)?, declared) {
            (None, Some(d)) => number(d, name).map_err(wrong),
            (own, _) => Ok(own),
        }
    };
    Ok(Variable {
        reference,
        ty,
        causality,
        continuous: real
            && !matches!(causality, Causality::Parameter | Causality::StructuralParameter)
            && matches!(variability, None | Some("continuous")),
        settable: settable(causality, node, !start.is_empty()),
        start,
        elements,
        shape,
        unit: either("unit").map(|name| definitions.units.known(name)),
        base: definitions.units.base(either("unit")),
        aliases: aliases(node, (either("unit"), relative), &definitions.units),
        intermediate: truth(node, "intermediateUpdate"),
        limits: (limit("min")?, limit("max")?),
        nominal: either("nominal").and_then(|n| n.trim().parse().ok()),
        items: declared.map(items).unwrap_or_default(),
        name: name.clone(),
    })
}

/// Other names of a variable of a unit, which may be a difference.
fn aliases(
    node: Element<'_, '_>,
    (unit, relative): (Option<&str>, bool),
    units: &Units,
) -> Vec<Alias> {
    let all = node.children().filter(|n| n.has_tag_name("Alias"));
    let alias = |n: Element<'_, '_>| {
        units.alias(n.attribute("name")?, unit, n.attribute("displayUnit"), relative)
    };
    all.filter_map(alias).collect()
}

/// The items of an enumeration.
fn items(declared: Element<'_, '_>) -> Vec<Item> {
    let item = |n: Element<'_, '_>| {
        let value = n.attribute("value")?.trim().parse().ok()?;
        Some(Item { name: n.attribute("name")?.to_owned(), value })
    };
    declared.children().filter(|c| c.has_tag_name("Item")).filter_map(item).collect()
}
