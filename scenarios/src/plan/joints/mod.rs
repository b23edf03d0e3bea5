//! Units with connectors: what is joined becomes one unit.
//!
//! `connections = ["a.p = b.p = c.p"]` joins connectors. While groups are made, units with connectors are *parts*,
//! and lines like this one are resolved to connectors of parts (`resolve.rs`). When all is there, the parts that hang
//! together become one unit (`unite.rs`). It stands in the innermost group that holds them all, and signals find
//! their way there (`hoist.rs`). Names stay those of the parts: [`Tree::origin`] leads from an output of a part to that
//! of the unit.
mod hoist;
mod resolve;
mod unite;

pub(super) use resolve::{exports, resolve};
pub(crate) use unite::SETTINGS;
pub(super) use unite::unite;

use super::tree::{Tree, join};
use crate::source::Span;

/// The end of the name of a unit that consists of parts.
const WHOLE: &str = "~joined";

/// Whether a unit consists of parts, by its path.
pub(crate) fn is_whole(path: &str) -> bool {
    path.ends_with(WHOLE)
}

/// The path of the part that an event of a whole belongs to, and its name there.
pub(crate) fn part_of<'a>(path: &str, event: &'a str) -> Option<(String, &'a str)> {
    let (part, own) = event.rsplit_once('.').filter(|_| is_whole(path))?;
    let group = path.rsplit_once('/').map_or("", |(group, _)| group);
    Some((join(group, &part.replace('.', "/")), own))
}

/// A connector: the number of a part, and a name.
pub(super) type Pin = (u32, String);

/// Connectors that one line joins.
pub(super) struct Joint {
    pub pins: Vec<Pin>,
    pub group: u32,
    pub span: Span,
}

/// Where a part went.
pub(super) struct Home {
    /// The unit that it became a part of.
    pub unit: u32,
    /// Its inputs and outputs by their numbers there.
    pub inputs: Vec<u16>,
    pub outputs: Vec<u16>,
}

impl Tree {
    /// The unit that a part became a part of, and a port of it there.
    pub(super) fn at_home(&self, part: u32, input: bool, port: u16) -> Option<(u32, u16)> {
        let home = self.homes.get(part as usize)?;
        let ports = if input { &home.inputs } else { &home.outputs };
        Some((home.unit, *ports.get(usize::from(port))?))
    }
}
