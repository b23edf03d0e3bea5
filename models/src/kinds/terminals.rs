//! Terminals: ports that are connected together.

/// Ports of a unit that are connected together with those of another terminal, member by member.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terminal {
    /// Name.
    pub name: String,
    /// Its kind, if told; terminals of two kinds do not fit.
    pub kind: Option<String>,
    /// Members meet by their order, and not by their names.
    pub ordered: bool,
    /// Members without a partner stay unconnected (a bus); else each needs one.
    pub partial: bool,
    /// Name, port if there is one, and direction: 1 for what flows into the unit, -1 for what flows out of it, 0 for all
    /// else. What flows into both of two units changes its sign on the way.
    pub members: Vec<(String, Option<String>, i8)>,
}
