//! Shared events, as their members know them.
use super::Located;
use crate::solve::Detection;

/// A shared event, as one of its members sees it. Variables of members are written
/// `unit.variable` in the texts.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSpec {
    /// Number of the link in the scenario.
    pub link: u32,
    /// Its name.
    pub name: String,
    /// Number of this unit among the members.
    pub member: u32,
    /// The members' names as written in the texts, in path order.
    pub members: Vec<String>,
    /// The members' variables that condition and resets use: (member, variable), in one order
    /// for all members.
    pub variables: Vec<(u32, String)>,
    /// Per variable of `variables`: whether only events change it.
    pub discrete: Vec<bool>,
    /// The members' units, by their numbers in the scenario.
    pub units: Vec<u32>,
    /// Variables that the resets of this link may change, with their units; without a variable all of the unit.
    pub moved: Vec<(u32, Option<String>)>,
    /// Input ports or own variables of this unit by which it knows a variable of `variables`
    /// between exchanges; `None` for its own variables.
    pub known_by: Vec<Option<String>>,
    /// The condition.
    pub when: Located<String>,
    /// The assignments of each member: variable and expression.
    pub resets: Vec<Vec<(Located<String>, Located<String>)>>,
    /// Order among links of one instant; lower goes first.
    pub priority: i64,
    /// When this unit looks for the event.
    pub detection: Detection,
    /// Whether the event takes place when a member proposes it, without a look at the true values.
    pub believed: bool,
    /// Whether the member that proposes it resets by what it was told of the others.
    pub resets_told: bool,
}
