//! Structures as they are written, and what becomes of them.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Named values of a node.
pub type Attributes = Map<String, Value>;

/// The kind of an entity that is not there.
pub const NONE: &str = "NONE";

/// A system entity structure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Files whose trees take the place of leaves with the names of their roots.
    #[serde(default)]
    pub merge: Vec<String>,
    /// SESvars by name.
    #[serde(default)]
    pub vars: BTreeMap<String, Var>,
    /// Conditions between SESvars.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// Functions that give couplings, by name.
    #[serde(default)]
    pub functions: BTreeMap<String, Function>,
    /// The root.
    pub tree: Entity,
    /// All keys of the scenario beside units and connections.
    #[serde(default)]
    pub scenario: Map<String, Value>,
}

/// A variable by which variants differ.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Var {
    /// The value without `--set`: a number, a text, true or false.
    pub value: Option<Value>,
    /// The values that there are; any without.
    #[serde(default)]
    pub values: Vec<Value>,
    /// The semantic condition.
    pub condition: Option<String>,
}

/// A function that gives couplings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Names of arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The couplings.
    pub couplings: Vec<Item>,
}

/// An entity: a thing, or a part of one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// The name, by which couplings and results know it.
    pub name: String,
    /// Of a kind in a specialization: when it is that.
    pub rule: Option<String>,
    /// The basic model of a leaf.
    pub mb: Option<String>,
    /// Parameters of the basic model, or facts about the experiment.
    #[serde(default)]
    pub attributes: Attributes,
    /// Ways to take it apart, of which one is chosen.
    #[serde(default)]
    pub aspects: Vec<Aspect>,
    /// Choices of a kind, all of which are made.
    #[serde(default)]
    pub specializations: Vec<Specialization>,
}

/// An aspect, or with `numRep` a multi-aspect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aspect {
    /// The name.
    pub name: String,
    /// When it is chosen among several.
    pub rule: Option<String>,
    /// The number of equal parts, or a formula.
    #[serde(rename = "numRep")]
    pub copies: Option<Value>,
    /// The parts; of a multi-aspect the one that is copied.
    pub parts: Vec<Entity>,
    /// How they are coupled.
    #[serde(default)]
    pub couplings: Couplings,
}

/// A choice of a kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specialization {
    /// The name.
    pub name: String,
    /// The kinds, each with its rule.
    pub kinds: Vec<Entity>,
}

/// Couplings of an aspect.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a list of couplings, or a call such as \"cplg1(feedforward)\"")]
pub enum Couplings {
    /// By a function: `name(argument, …)`.
    Call(String),
    /// As they stand.
    List(Vec<Item>),
}

impl Default for Couplings {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

/// A coupling, or some under a condition.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "a coupling such as \"a.y -> b.u\", or an object with `couplings` and `if` or `for`"
)]
pub enum Item {
    /// `part.port -> part.port`, where `self` is the entity of the aspect.
    Plain(String),
    /// Some of them.
    Case(Case),
}

/// Couplings under a condition, or for several indices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The condition.
    #[serde(rename = "if")]
    pub when: Option<String>,
    /// `i in 1..=n`; `{i}` stands for its values.
    #[serde(rename = "for")]
    pub each: Option<String>,
    /// The couplings.
    pub couplings: Vec<Item>,
}

/// A coupling between ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Coupling {
    /// `part.port`.
    pub from: String,
    /// `part.port`.
    pub to: String,
}

/// A pruned structure: one variant.
#[derive(Debug, Clone, Serialize)]
pub struct Pes {
    /// The values of SESvars.
    pub vars: Attributes,
    /// The root.
    pub tree: Node,
}

/// An entity of a variant.
#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// The name, which the entity keeps whatever kind is selected.
    pub name: String,
    /// The kinds that were selected, by specialization.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub selected: BTreeMap<String, String>,
    /// The basic model of a leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mb: Option<String>,
    /// Its attributes, with those of the selected kinds.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Attributes,
    /// The chosen aspect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aspect: Option<Parts>,
}

/// The chosen aspect of an entity.
#[derive(Debug, Clone, Serialize)]
pub struct Parts {
    /// The name.
    pub name: String,
    /// The number of copies, of a multi-aspect.
    #[serde(rename = "numRep", skip_serializing_if = "Option::is_none")]
    pub copies: Option<usize>,
    /// The parts that are there.
    pub parts: Vec<Node>,
    /// Their couplings.
    pub couplings: Vec<Coupling>,
}

/// A flat variant: no nodes but basic models.
#[derive(Debug, Clone, Serialize)]
pub struct Fpes {
    /// The values of SESvars.
    pub vars: Attributes,
    /// The basic models, in the order of the tree.
    pub models: Vec<Model>,
    /// Their couplings, those through ports of composed entities merged.
    pub couplings: Vec<Coupling>,
    /// Attributes of leaves without a basic model: facts about the experiment.
    pub settings: BTreeMap<String, Attributes>,
}

/// A basic model of a variant.
#[derive(Debug, Clone, Serialize)]
pub struct Model {
    /// The name, which no other model has.
    pub name: String,
    /// Its place in the tree.
    pub path: String,
    /// A kind of unit, a template or an FMU.
    pub mb: String,
    /// Its parameters.
    pub attributes: Attributes,
}
