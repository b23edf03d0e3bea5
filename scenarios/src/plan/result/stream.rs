//! Events in the formulas of results.
use super::{
    Reader, place, port_of,
    text::{call, next_path},
};
use crate::{
    document::Item,
    plan::{
        Record, joints, record,
        selector::{Piece, unquoted},
        session::did_you_mean,
        tree::Unit,
    },
    result::{Stream, fits},
};
use superdense_models::kinds::{PortKind, ValueType};

impl Reader<'_> {
    /// The events that a text stands for, whether they carry numbers, and the unit of these; `None`
    /// within if it stands for none.
    #[allow(clippy::option_option, reason = "the outer one is a mistake that was reported")]
    pub(super) fn stream(
        &mut self,
        piece: Piece<'_>,
    ) -> Option<Option<(Stream, bool, Option<String>)>> {
        let text = piece.text();
        let head = next_path(text, 0).filter(|&(start, _)| start == 0);
        let call = head.and_then(|path| call(text, path)).filter(|c| c.end == text.len());
        if let Some(c) = call {
            let part = |k: usize| piece.within(c.args[k].0, c.args[k].1);
            return match (&text[c.name.0..c.name.1], c.args.len()) {
                ("event", 2) => self.events(part(0), part(1)).map(|s| Some((s, false, None))),
                ("interval", 1) => match self.stream(part(0))? {
                    Some((inner, ..)) => {
                        Some(Some((Stream::Gaps(Box::new(inner)), true, Some("s".into()))))
                    }
                    None => self.refuse(
                        piece,
                        "`interval` is the time between events".into(),
                        "give it an output of events, or event('unit', 'name')",
                    ),
                },
                ("event", _) => self.refuse(
                    piece,
                    "`event` needs a unit and a name".into(),
                    "write event('ball', 'bounce')",
                ),
                _ => Some(None),
            };
        }
        if head != Some((0, text.len())) || !self.is_output(text) {
            return Some(None);
        }
        let found = record::outputs(self.tree, self.session, piece);
        let first = found.first()?;
        if found.iter().any(|r| r.kind != PortKind::Event) {
            return Some(None);
        }
        let unit = first.unit.clone();
        let numeric = |r: &Record| {
            !matches!(r.ty, ValueType::Unit | ValueType::Text | ValueType::Link | ValueType::Job)
        };
        let values = found.iter().all(numeric);
        let senders = found.iter().filter_map(port_of).map(|p| place(&mut self.found.senders, p));
        Some(Some((Stream::Sent(senders.collect()), values, unit)))
    }

    fn events(&self, unit: Piece<'_>, event: Piece<'_>) -> Option<Stream> {
        let text = |piece: Piece<'_>| match unquoted(piece).item {
            Item::Text(text) => text,
            _ => String::new(),
        };
        // The path of a unit is written with slashes in files of events.
        let (name, pattern) = (text(unit).replace('/', "."), text(event));
        let dotted = |path: &str| path.replace('/', ".");
        // Adapters are known by their names, those of an event input also without the source behind it.
        let adapts = |path: &str| {
            let behind = path.strip_prefix(&*name);
            name.contains('~')
                && behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
        };
        let shown = |u: &&Unit| !u.hidden || adapts(&dotted(&u.path));
        let units = self.tree.units.iter().filter(shown).map(|u| &u.path);
        let parts = self.tree.parts.iter().map(|part| &part.path);
        let links = self.tree.links.iter().map(|l| &l.name);
        let known: Vec<String> =
            units.chain(parts).map(|path| dotted(path)).chain(links.map(|l| dotted(l))).collect();
        // `*` stands for any text within a name.
        let levels = |path: &str| path.split('.').count();
        let fitting = |path: &str| levels(path) == levels(&name) && fits(&name, path);
        let named = |path: &&String| **path == name || adapts(path) || fitting(path);
        let mut units: Vec<String> = known.iter().filter(named).cloned().collect();
        units.sort_unstable();
        if units.is_empty() {
            let help = did_you_mean(&name, known.iter().map(String::as_str), "units and links");
            return self.refuse(unit, format!("there is no unit or link `{name}`"), help);
        }
        // Most kinds do not know the names of their events before they run.
        let mut names = Vec::new();
        let known = self.tree.units.iter().try_for_each(|u| {
            let is_asked = units.contains(&dotted(&u.path));
            if !is_asked && !joints::is_whole(&u.path) {
                return Some(());
            }
            for event in u.kind.events(&u.params)? {
                match joints::part_of(&u.path, &event) {
                    Some((part, own)) if units.contains(&dotted(&part)) => {
                        names.push(own.to_owned())
                    }
                    None if is_asked => names.push(event),
                    _ => {}
                }
            }
            Some(())
        });
        let links = self.tree.links.iter().filter(|l| units.contains(&dotted(&l.name)));
        names.extend(links.map(|l| dotted(&l.name)));
        names.sort_unstable();
        names.dedup();
        if known.is_some() && !names.iter().any(|event| fits(&pattern, event)) {
            let help = did_you_mean(&pattern, names.iter().map(String::as_str), "events");
            return self.refuse(event, format!("`{name}` has no event `{pattern}`"), help);
        }
        Some(Stream::Events { units, pattern })
    }
}
