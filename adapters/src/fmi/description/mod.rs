//! `modelDescription.xml` of FMI 2.0 and 3.0 as one model: what an importer needs of it. What the
//! two versions write differently is read in [`v2`] and [`v3`].
mod depth;
mod structure;
pub mod terminals;
mod units;
mod v2;
mod v3;

use depth::{DEPTH, depth};
use roxmltree::{Document, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use structure::Structure;
pub use units::{Alias, Base, Scale};

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
    /// The type that an element of FMI 2.0 stands for.
    fn of2(element: &str) -> Option<Self> {
        Some(match element {
            "Real" => Self::Float64,
            "Integer" | "Enumeration" => Self::Int32,
            "Boolean" => Self::Boolean,
            "String" => Self::String,
            _ => return None,
        })
    }
    /// Whether its values are numbers or truth values.
    pub fn is_number(self) -> bool {
        !matches!(self, Self::String | Self::Binary | Self::Clock)
    }
    /// Whether it has whole numbers for which a real has too few digits.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Int64 | Self::UInt64)
    }
    /// The range of an integer type.
    pub fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Self::UInt8 => (0, u8::MAX.into()),
            Self::Int16 => (i16::MIN.into(), i16::MAX.into()),
            Self::UInt16 => (0, u16::MAX.into()),
            Self::Int32 => (i32::MIN.into(), i32::MAX.into()),
            Self::UInt32 => (0, u32::MAX.into()),
            Self::Int64 => (i64::MIN.into(), i64::MAX.into()),
            Self::UInt64 => (0, u64::MAX.into()),
            Self::Boolean => (0, 1),
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
    /// Lengths of the dimensions of an array.
    pub shape: Vec<usize>,
    /// Physical unit.
    pub unit: Option<String>,
    /// How numbers of that unit count in SI base units, if the description tells.
    pub base: Option<Base>,
    /// Other names, perhaps in other units.
    pub aliases: Vec<Alias>,
    /// Whether it may be used inside steps.
    pub intermediate: bool,
    /// Smallest and largest value.
    pub limits: (Option<f64>, Option<f64>),
    /// Its usual size.
    pub nominal: Option<f64>,
    /// Names of its values, if it is an enumeration.
    pub items: Vec<Item>,
}

impl Variable {
    /// The number of an item by its name.
    pub fn item(&self, name: &str) -> Option<f64> {
        self.items.iter().find(|i| i.name == name).map(|i| i.value as f64)
    }
}

/// A value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its number.
    pub value: i64,
}

/// A version of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Version {
    /// FMI 2.0.
    V2,
    /// FMI 3.0.
    #[default]
    V3,
}

impl Version {
    /// Beginning of the names of its functions.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::V2 => "fmi2",
            Self::V3 => "fmi3",
        }
    }
}

/// How an FMU is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum InterfaceKind {
    /// By its own solver.
    #[default]
    CoSimulation,
    /// By the importer's.
    ModelExchange,
}

/// An interface type that the FMU offers, with its abilities.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    /// Which one.
    pub kind: InterfaceKind,
    /// Name of the binary.
    pub identifier: String,
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
    /// `canInterpolateInputs`.
    pub input_derivatives: bool,
    /// `canReturnEarlyAfterIntermediateUpdate`.
    pub return_early: bool,
    /// `providesDirectionalDerivatives`.
    pub directional: bool,
    /// `providesAdjointDerivatives`.
    pub adjoint: bool,
    /// `maxOutputDerivativeOrder`.
    pub output_derivatives: usize,
    /// `needsExecutionTool`.
    pub needs_tool: bool,
    /// `canBeInstantiatedOnlyOncePerProcess`.
    pub single: bool,
    /// `fixedInternalStepSize`, in seconds.
    pub internal_step: Option<f64>,
    /// `completedIntegratorStep` must be called.
    pub completed_step: bool,
}

/// Structural parameters by name.
pub type Structural = BTreeMap<String, i64>;

/// The default experiment; times in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Experiment {
    /// Start.
    pub start: Option<f64>,
    /// End.
    pub stop: Option<f64>,
    /// Step size.
    pub step: Option<f64>,
    /// Relative tolerance.
    pub tolerance: Option<f64>,
}

/// The description of an FMU: all that this program reads from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    /// Version of the standard.
    pub version: Version,
    /// Name of the model.
    pub model: String,
    /// Token that instantiation needs.
    pub token: String,
    /// The interface for co-simulation.
    pub co_simulation: Option<Interface>,
    /// The interface for model exchange.
    pub model_exchange: Option<Interface>,
    /// Variables in the order of the file.
    pub variables: Vec<Variable>,
    /// States, indicators, dependencies.
    pub structure: Structure,
    /// The default experiment.
    pub experiment: Experiment,
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
    /// When the text has mistakes, or the FMU is not one of FMI 2.0 or 3.0.
    ///
    /// ```
    /// # use superdense_adapters::fmi::description::Description;
    /// let e = Description::read(r#"<fmiModelDescription fmiVersion="1.0"/>"#).unwrap_err();
    /// assert!(e.contains("FMI 1.0"), "{e}");
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        Self::read_with(text, &Structural::new())
    }

    /// Reads it with structural parameters of its user's.
    ///
    /// # Errors
    /// As [`read`](Self::read), and when it has no such parameters.
    pub fn read_with(text: &str, structure: &Structural) -> Result<Self, String> {
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
        let this = match version.split('.').next() {
            Some("2") => v2::read(root)?,
            Some("3") => v3::read(root, structure)?,
            _ => {
                return Err(format!("the FMU is of FMI {version}; export it as FMI 2.0 or 3.0"));
            }
        };
        this.has(structure)?;
        if this.co_simulation.is_none() && this.model_exchange.is_none() {
            return Err(
                "the FMU has neither an element CoSimulation nor ModelExchange; export it \
                        for one of them"
                    .into(),
            );
        }
        Ok(this)
    }

    /// Whether these are structural parameters, with values that they may have.
    fn has(&self, structure: &Structural) -> Result<(), String> {
        for (name, &value) in structure {
            let own = |v: &&Variable| v.causality == Causality::StructuralParameter;
            let Some(v) = self.variables.iter().filter(own).find(|v| v.name == *name) else {
                return Err(format!("`{name}` is no structural parameter"));
            };
            let (low, high) = (v.limits.0.unwrap_or(0.0), v.limits.1.unwrap_or(f64::INFINITY));
            if (value as f64) < low || value as f64 > high {
                return Err(format!(
                    "structural parameter `{name}`: {value} is not within {low} … {high}"
                ));
            }
        }
        Ok(())
    }

    /// The variable of a name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }

    /// The interface to run it by: the given one, else model exchange, else co-simulation.
    pub fn interface(&self, kind: Option<InterfaceKind>) -> Option<&Interface> {
        match kind {
            Some(InterfaceKind::CoSimulation) => self.co_simulation.as_ref(),
            Some(InterfaceKind::ModelExchange) => self.model_exchange.as_ref(),
            None => self.model_exchange.as_ref().or(self.co_simulation.as_ref()),
        }
    }
}

fn needed(node: Node<'_, '_>, name: &str) -> Result<String, String> {
    let missing = || format!("attribute `{name}` is missing");
    node.attribute(name).map(str::to_owned).ok_or_else(missing)
}

/// The name of a binary, which must not lead anywhere.
fn identifier(node: Node<'_, '_>) -> Result<String, String> {
    let name = needed(node, "modelIdentifier")?;
    if name.is_empty() || name.contains(['/', '\\', '\0']) {
        return Err(format!("modelIdentifier {name:?} is no file name"));
    }
    Ok(name)
}

fn order(node: Node<'_, '_>) -> Result<usize, String> {
    let text = node.attribute("maxOutputDerivativeOrder").unwrap_or("0");
    text.parse().map_err(|_| format!("maxOutputDerivativeOrder is \"{text}\""))
}

fn experiment(root: Node<'_, '_>) -> Result<Experiment, String> {
    let Some(e) = child(root, "DefaultExperiment") else { return Ok(Experiment::default()) };
    Ok(Experiment {
        start: number(e, "startTime")?,
        stop: number(e, "stopTime")?,
        step: number(e, "stepSize")?,
        tolerance: number(e, "tolerance")?,
    })
}

fn causality(node: Node<'_, '_>) -> Causality {
    match node.attribute("causality") {
        Some("input") => Causality::Input,
        Some("output") => Causality::Output,
        Some("parameter") => Causality::Parameter,
        Some("structuralParameter") => Causality::StructuralParameter,
        Some("independent") => Causality::Independent,
        _ => Causality::Other,
    }
}

fn settable(causality: Causality, node: Node<'_, '_>, has_start: bool) -> bool {
    let (initial, variability) = (node.attribute("initial"), node.attribute("variability"));
    match causality {
        Causality::Input | Causality::Parameter => true,
        Causality::Output | Causality::Other => {
            has_start && initial != Some("calculated") && variability != Some("constant")
        }
        Causality::StructuralParameter | Causality::Independent => false,
    }
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
        let cs = d.co_simulation.as_ref().unwrap();
        assert!(cs.state_access && !cs.serialisable && cs.output_derivatives == 2);
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
                Description::read(
                    "<fmiModelDescription fmiVersion='3.0' modelName='m' instantiationToken='t'/>",
                ),
                "neither an element CoSimulation",
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
