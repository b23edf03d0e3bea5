//! `modelDescription.xml` of FMI 3.0: what an importer for co-simulation needs of it.
use roxmltree::{Document, Node};
use serde::{Deserialize, Serialize};

/// Deepest nesting of elements; the standard needs ten. The parser calls itself for each level.
const DEPTH: usize = 256;

/// A bound of the depth to which elements are nested, reached by texts without mistakes.
fn depth(text: &str) -> usize {
    let (mut depth, mut most, mut rest) = (0usize, 0, text);
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let aside = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = aside.iter().find(|(start, _)| rest.starts_with(start)) {
            rest = rest.find(end).map_or("", |at| &rest[at..]);
            continue;
        }
        let mut quote = None;
        let end = rest.find(|c| match (c, quote) {
            ('"' | '\'', None) => {
                quote = Some(c);
                false
            }
            (c, Some(q)) => {
                quote = quote.filter(|_| c != q);
                false
            }
            (c, None) => c == '>',
        });
        let tag = &rest[..end.unwrap_or(rest.len())];
        match tag.as_bytes() {
            [b'<', b'/', ..] => depth = depth.saturating_sub(1),
            [.., b'/'] | [b'<', b'!', ..] => most = most.max(depth + 1),
            _ => depth += 1,
        }
        most = most.max(depth);
        rest = &rest[tag.len()..];
    }
    most
}

/// Types of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)] // The names are those of the standard.
pub enum Type {
    Float64,
    Float32,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Boolean,
    String,
    Binary,
    Clock,
}

impl Type {
    fn of(element: &str) -> Option<Self> {
        Some(match element {
            "Float64" => Self::Float64,
            "Float32" => Self::Float32,
            "Int8" => Self::Int8,
            "UInt8" => Self::UInt8,
            "Int16" => Self::Int16,
            "UInt16" => Self::UInt16,
            "Int32" => Self::Int32,
            "UInt32" => Self::UInt32,
            "Int64" | "Enumeration" => Self::Int64,
            "UInt64" => Self::UInt64,
            "Boolean" => Self::Boolean,
            "String" => Self::String,
            "Binary" => Self::Binary,
            "Clock" => Self::Clock,
            _ => return None,
        })
    }
    /// Whether its values are numbers or truth values.
    pub fn is_number(self) -> bool {
        !matches!(self, Self::String | Self::Binary | Self::Clock)
    }
    /// The range of an integer type.
    pub fn range(self) -> Option<(f64, f64)> {
        Some(match self {
            Self::Int8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
            Self::UInt8 => (0.0, f64::from(u8::MAX)),
            Self::Int16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Self::UInt16 => (0.0, f64::from(u16::MAX)),
            Self::Int32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Self::UInt32 => (0.0, f64::from(u32::MAX)),
            // The integers that reals hold exactly.
            Self::Int64 => (-9_007_199_254_740_992.0, 9_007_199_254_740_992.0),
            Self::UInt64 => (0.0, 9_007_199_254_740_992.0),
            Self::Boolean => (0.0, 1.0),
            _ => return None,
        })
    }
}

/// The role of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the standard.
pub enum Causality {
    Input,
    Output,
    Parameter,
    StructuralParameter,
    Independent,
    Other,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Name in the description.
    pub name: String,
    /// Value reference.
    pub reference: u32,
    /// Type.
    pub ty: Type,
    /// Its role.
    pub causality: Causality,
    /// Whether it changes continuously.
    pub continuous: bool,
    /// Whether it has a start value that may be set before initialisation.
    pub settable: bool,
    /// Start values as written.
    pub start: Vec<String>,
    /// Number of elements; one unless it is an array.
    pub elements: usize,
    /// Physical unit.
    pub unit: Option<String>,
    /// Whether it may be used inside steps.
    pub intermediate: bool,
    /// Smallest and largest value.
    pub limits: (Option<f64>, Option<f64>),
}

/// The description of an FMU for co-simulation: all that this program reads from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    /// Name of the model.
    pub model: String,
    /// Token that instantiation needs.
    pub token: String,
    /// Name of the binary.
    pub identifier: String,
    /// Variables in the order of the file.
    pub variables: Vec<Variable>,
    /// `canGetAndSetFMUState`.
    pub state_access: bool,
    /// `canSerializeFMUState`.
    pub serialisable: bool,
    /// `hasEventMode`.
    pub event_mode: bool,
    /// `canHandleVariableCommunicationStepSize`.
    pub variable_step: bool,
    /// `providesIntermediateUpdate`.
    pub intermediate_update: bool,
    /// `canReturnEarlyAfterIntermediateUpdate`.
    pub return_early: bool,
    /// `providesDirectionalDerivatives`.
    pub directional: bool,
    /// `maxOutputDerivativeOrder`.
    pub output_derivatives: usize,
    /// `needsExecutionTool`.
    pub needs_tool: bool,
    /// `canBeInstantiatedOnlyOncePerProcess`.
    pub single: bool,
    /// `fixedInternalStepSize`, in seconds.
    pub internal_step: Option<f64>,
    /// Step size of the default experiment, in seconds.
    pub step: Option<f64>,
}

fn truth(node: Node<'_, '_>, name: &str) -> bool {
    matches!(node.attribute(name), Some("true" | "1"))
}

fn number(node: Node<'_, '_>, name: &str) -> Result<Option<f64>, String> {
    let Some(text) = node.attribute(name) else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Some(x)),
        _ => Err(format!("`{name}` is \"{text}\", which is no finite number")),
    }
}

fn child<'a, 'b>(node: Node<'a, 'b>, name: &str) -> Option<Node<'a, 'b>> {
    node.children().find(|c| c.has_tag_name(name))
}

/// Most elements of an array variable.
const ELEMENTS: usize = 10_000;

impl Description {
    /// Reads the text of a model description.
    ///
    /// # Errors
    /// When the text has mistakes, or the FMU is not one for co-simulation in FMI 3.0.
    ///
    /// ```
    /// # use superdense_adapters::fmi::description::Description;
    /// let e = Description::read(r#"<fmiModelDescription fmiVersion="2.0"/>"#).unwrap_err();
    /// assert!(e.contains("FMI 2.0"), "{e}");
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        if depth(text) > DEPTH {
            return Err(format!(
                "elements are nested more than {DEPTH} deep; export the FMU again"
            ));
        }
        let document = Document::parse(text).map_err(|e| format!("no readable XML: {e}"))?;
        let root = document.root_element();
        if !root.has_tag_name("fmiModelDescription") {
            return Err("the root element is not fmiModelDescription".into());
        }
        let version = root.attribute("fmiVersion").unwrap_or("");
        if !version.starts_with("3.") {
            return Err(format!("the FMU is of FMI {version}; FMI 3.0 can be imported"));
        }
        let Some(cs) = child(root, "CoSimulation") else {
            return Err("the FMU has no element CoSimulation; export it for co-simulation".into());
        };
        let need = |node: Node<'_, '_>, name: &str| {
            let missing = || format!("attribute `{name}` is missing");
            node.attribute(name).map(str::to_owned).ok_or_else(missing)
        };
        let identifier = need(cs, "modelIdentifier")?;
        if identifier.is_empty() || identifier.contains(['/', '\\', '\0']) {
            return Err(format!("modelIdentifier {identifier:?} is no file name"));
        }
        let step = match child(root, "DefaultExperiment") {
            Some(e) => number(e, "stepSize")?,
            None => None,
        };
        let derivatives = cs.attribute("maxOutputDerivativeOrder").unwrap_or("0");
        let mut this = Self {
            model: need(root, "modelName")?,
            token: need(root, "instantiationToken")?,
            identifier,
            variables: Vec::new(),
            state_access: truth(cs, "canGetAndSetFMUState"),
            serialisable: truth(cs, "canSerializeFMUState"),
            event_mode: truth(cs, "hasEventMode"),
            variable_step: truth(cs, "canHandleVariableCommunicationStepSize"),
            intermediate_update: truth(cs, "providesIntermediateUpdate"),
            return_early: truth(cs, "canReturnEarlyAfterIntermediateUpdate"),
            directional: truth(cs, "providesDirectionalDerivatives"),
            output_derivatives: derivatives
                .parse()
                .map_err(|_| format!("maxOutputDerivativeOrder is \"{derivatives}\""))?,
            needs_tool: truth(cs, "needsExecutionTool"),
            single: truth(cs, "canBeInstantiatedOnlyOncePerProcess"),
            internal_step: number(cs, "fixedInternalStepSize")?,
            step,
        };
        if let Some(list) = child(root, "ModelVariables") {
            for node in list.children().filter(Node::is_element) {
                if let Some(ty) = Type::of(node.tag_name().name()) {
                    this.variables.push(variable(node, ty, root)?);
                }
            }
        }
        Ok(this)
    }

    /// The variable of a name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }
}

fn variable(node: Node<'_, '_>, ty: Type, root: Node<'_, '_>) -> Result<Variable, String> {
    let name = node.attribute("name").ok_or("a variable has no name")?.to_owned();
    let wrong = |what: String| format!("variable {name}: {what}");
    let reference = node.attribute("valueReference").and_then(|r| r.parse().ok());
    let reference = reference.ok_or_else(|| wrong("no value reference".into()))?;
    let causality = match node.attribute("causality") {
        Some("input") => Causality::Input,
        Some("output") => Causality::Output,
        Some("parameter") => Causality::Parameter,
        Some("structuralParameter") => Causality::StructuralParameter,
        Some("independent") => Causality::Independent,
        _ => Causality::Other,
    };
    let real = matches!(ty, Type::Float64 | Type::Float32);
    let variability = node.attribute("variability");
    let start: Vec<String> = match (ty, node.attribute("start")) {
        (_, None) => {
            let starts = node.children().filter(|c| c.has_tag_name("Start"));
            starts.filter_map(|c| c.attribute("value").map(str::to_owned)).collect()
        }
        (_, Some(text)) => text.split_whitespace().map(str::to_owned).collect(),
    };
    let mut elements = 1_usize;
    for d in node.children().filter(|c| c.has_tag_name("Dimension")) {
        elements = elements.saturating_mul(dimension(d, root).map_err(wrong)?);
    }
    if elements > ELEMENTS {
        return Err(wrong(format!("{elements} elements; {ELEMENTS} are possible")));
    }
    let initial = node.attribute("initial");
    let settable = match causality {
        Causality::Input | Causality::Parameter => true,
        Causality::Output | Causality::Other => {
            !start.is_empty() && initial != Some("calculated") && variability != Some("constant")
        }
        Causality::StructuralParameter | Causality::Independent => false,
    };
    Ok(Variable {
        reference,
        ty,
        causality,
        continuous: real && matches!(variability, None | Some("continuous")),
        settable,
        start,
        elements,
        unit: declared_unit(node, root),
        intermediate: truth(node, "intermediateUpdate"),
        limits: (number(node, "min").map_err(wrong)?, number(node, "max").map_err(wrong)?),
        name: name.clone(),
    })
}

/// The length of a dimension: given, or by the start value of a structural parameter.
fn dimension(node: Node<'_, '_>, root: Node<'_, '_>) -> Result<usize, String> {
    let by_parameter = || {
        let reference = node.attribute("valueReference")?;
        let list = child(root, "ModelVariables")?;
        let found = list.children().find(|v| v.attribute("valueReference") == Some(reference));
        found?.attribute("start")
    };
    let text = node.attribute("start").or_else(by_parameter);
    text.and_then(|t| t.parse().ok()).ok_or_else(|| "a dimension without a length".into())
}

/// The unit of a variable, or of its declared type.
fn declared_unit(node: Node<'_, '_>, root: Node<'_, '_>) -> Option<String> {
    if let Some(unit) = node.attribute("unit") {
        return Some(unit.to_owned());
    }
    let name = node.attribute("declaredType")?;
    let types = child(root, "TypeDefinitions")?;
    let found = types.children().find(|t| t.attribute("name") == Some(name))?;
    found.attribute("unit").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cs: &str, variables: &str) -> Result<Description, String> {
        Description::read(&format!(
            "<fmiModelDescription fmiVersion='3.0' modelName='m' instantiationToken='t'>\
             <CoSimulation modelIdentifier='m' {cs}/><TypeDefinitions>\
             <Float64Type name='Length' unit='m'/></TypeDefinitions>\
             <ModelVariables>{variables}</ModelVariables></fmiModelDescription>"
        ))
    }

    #[test]
    fn deep_elements_are_refused() {
        for (text, levels) in [
            ("<a/>", 1),
            ("<?xml?><!DOCTYPE a><a><b/><b x='/>'>t</b><!-- <c><d> --></a>", 2),
            ("<a x=\"<\"><![CDATA[<b>]]><b><c/></b></a>", 3),
        ] {
            assert_eq!(depth(text), levels, "{text}");
        }
        let deep = "<a>".repeat(1_000_000);
        assert!(Description::read(&deep).unwrap_err().contains("nested more than 256 deep"));
    }

    #[test]
    fn variables_have_their_units_sizes_and_starts() {
        let d = read(
            "canGetAndSetFMUState='true' maxOutputDerivativeOrder='2'",
            "<Float64 name='u' valueReference='1' causality='input' start='1 2 3' unit='N'>\
             <Dimension start='3'/></Float64>\
             <UInt64 name='n' valueReference='9' causality='structuralParameter' start='2'/>\
             <Float64 name='x' valueReference='2' causality='output' declaredType='Length'>\
             <Dimension valueReference='9'/></Float64>\
             <Int32 name='k' valueReference='3' causality='output' variability='discrete'/>\
             <String name='s' valueReference='4' causality='parameter'><Start value='a b'/></String>",
        )
        .unwrap();
        assert!(d.state_access && !d.serialisable && d.output_derivatives == 2);
        let get = |name| d.variable(name).unwrap();
        assert_eq!((get("u").elements, get("u").unit.as_deref()), (3, Some("N")));
        assert_eq!(get("u").start, ["1", "2", "3"]);
        assert_eq!((get("x").elements, get("x").unit.as_deref()), (2, Some("m")));
        assert!(get("x").continuous && !get("k").continuous && !get("x").settable);
        assert_eq!(get("s").start, ["a b"]);
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            (Description::read("<a"), "no readable XML"),
            (Description::read("<a/>"), "root element"),
            (
                Description::read("<fmiModelDescription fmiVersion='3.0'/>"),
                "no element CoSimulation",
            ),
            (read("maxOutputDerivativeOrder='x'", ""), "maxOutputDerivativeOrder"),
            (read("fixedInternalStepSize='nan'", ""), "fixedInternalStepSize"),
            (read("", "<Float64 name='x'/>"), "variable x: no value reference"),
            (
                read("", "<Float64 name='x' valueReference='1'><Dimension/></Float64>"),
                "variable x: a dimension without a length",
            ),
            (
                read(
                    "",
                    "<Float64 name='x' valueReference='1'><Dimension start='99999'/></Float64>",
                ),
                "99999 elements",
            ),
        ];
        for (result, part) in cases {
            let e = result.unwrap_err();
            assert!(e.contains(part), "{e} should contain {part}");
        }
    }
}
