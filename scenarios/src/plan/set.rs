//! `--set path=value`: a change of the document before it is planned.
use super::measures::scale;
use crate::{
    diagnostics::{Mistake, Sink},
    document::{self, Item, Node, Table},
    source::{Sources, Span},
};
use superdense_models::{
    kinds::Located,
    maths::{expr::nearest, quantity::Quantity},
};

/// Applies one `--set`: a scenario parameter first, then a place in the document. Gives the place of a bare number
/// that stands where a quantity stood.
pub(super) fn apply(
    path: &str,
    value: &str,
    root: &mut Table,
    (sources, sink): (&mut Sources, &Sink),
) -> Option<(Span, String)> {
    let prefix = format!("{path}=");
    let node = document::parse_value("--set", &prefix, value, sources);
    // The option's own text: the path stands before the value.
    let end = node.span.start.saturating_sub(1);
    let line = sources.line(node.span.start);
    debug_assert_eq!(line.0, "--set");
    let start = value_start(sources, node.span.start, prefix.len());
    let span = start..(start + path.len()).min(end.max(start));
    let bare = matches!(node.item, Item::Int(_) | Item::Real(..));
    let before = quantity(path, root).filter(|_| bare).map(|text| (node.span.clone(), text));
    put(path, node, root, &span, sink);
    before
}

/// Replaces `path` of the document by a node.
pub(super) fn put(path: &str, node: Node, root: &mut Table, span: &Span, sink: &Sink) {
    let Some(keys) = split(path) else {
        let message = format!("`{path}` is not a path");
        let help = "write names separated by points, such as --set network.delay=0.5";
        sink.push(Mistake::new("set-path", span, message).help(help));
        return;
    };
    let parameter = parameters(root).is_some_and(|p| exists(p, &keys));
    let target = if parameter {
        let entry = root.entries.iter_mut().find(|(k, _)| k.value == "parameters");
        entry.and_then(|(_, n)| as_table(n))
    } else {
        Some(&mut *root)
    };
    if !parameter && keys[0] == "include" {
        let message = "`include` cannot be set: the files are read before anything is changed";
        let help = "change it in the file; what the included files hold can be set";
        sink.push(Mistake::new("set-path", span, message).help(help));
        return;
    }
    if keys[0] == "joined" && target.as_ref().is_some_and(|t| t.get("joined").is_none()) {
        let item = Item::Table(Table::default());
        root.entries
            .push((Located::new(keys[0].clone(), span.clone()), Node { item, span: span.clone() }));
        return put(path, node, root, span, sink);
    }
    let placed = target.is_some_and(|t| place(t, &keys, &node, span, parameter || keys.len() > 1));
    if placed || super::declare::ROOT_KEYS.contains(&path) && place(root, &keys, &node, span, false)
    {
        return;
    }
    let mut known = Vec::new();
    if let Some(p) = parameters(root) {
        names(p, "", 4, &mut known);
    }
    names(root, "", 4, &mut known);
    known.extend(super::declare::ROOT_KEYS.iter().map(|k| (*k).to_owned()));
    let help = match nearest(path, known.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "name a parameter of the scenario, or a place such as unit.pump.rate".into(),
    };
    let message = format!("the scenario has no `{path}` to set");
    sink.push(Mistake::new("set-path", span, message).help(help));
}

/// Sets the key of an option of its own, such as `--seed`: a key of the document, and for the seed
/// also the parameter by that name, from which a scenario may seed streams of its own.
pub(super) fn option(key: &str, node: Node, root: &mut Table, span: &Span) {
    let keys = [key.to_owned()];
    let parameters = root.entries.iter_mut().find(|(k, _)| k.value == "parameters");
    if let Some(table) = parameters.and_then(|(_, n)| as_table(n)).filter(|_| key == "seed") {
        place(table, &keys, &node, span, false);
    }
    place(root, &keys, &node, span, true);
}

fn value_start(sources: &Sources, at: usize, prefix: usize) -> usize {
    // A quoted value's span starts behind its quotes.
    (0..4)
        .map(|quotes| at.saturating_sub(prefix + quotes))
        .find(|&s| s == 0 || sources.line(s.saturating_sub(1)) != sources.line(s))
        .unwrap_or_else(|| at.saturating_sub(prefix))
}

fn parameters(root: &Table) -> Option<&Table> {
    match &root.get("parameters")?.item {
        Item::Table(t) => Some(t),
        _ => None,
    }
}

fn as_table(node: &mut Node) -> Option<&mut Table> {
    if let Item::Table(t) = &mut node.item { Some(t) } else { None }
}

/// `a.b[2]."c.d"` into its parts; an index is a part of its own.
fn split(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = path;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"')?;
            keys.push(quoted[..end].to_owned());
            rest = &quoted[end + 1..];
        } else {
            let end = rest.find(['.', '[', '"']).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            keys.push(rest[..end].trim().to_owned());
            rest = &rest[end..];
        }
        while let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']')?;
            keys.push(index[..end].to_owned());
            rest = &index[end + 1..];
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(keys),
        }
    }
}

fn exists(table: &Table, keys: &[String]) -> bool {
    find(table, keys).is_some()
}

fn find<'t>(table: &'t Table, keys: &[String]) -> Option<&'t Node> {
    let (first, others) = keys.split_first()?;
    let mut node = table.get(first)?;
    for key in others {
        node = match &node.item {
            Item::Table(t) => t.get(key)?,
            Item::List(list) => list.get(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(node)
}

/// Where a quantity stands that counts in another unit than the SI base unit, its text.
fn quantity(path: &str, root: &Table) -> Option<String> {
    let keys = split(path)?;
    let of_parameters = parameters(root).and_then(|p| find(p, &keys));
    let Item::Text(text) = &of_parameters.or_else(|| find(root, &keys))?.item else { return None };
    let unit = Quantity::parse(text).ok()??.unit;
    scale(&unit.to_string()).map(|_| text.clone())
}

/// Puts the node; the last key may be new when `grow` allows it (a parameter that has a default).
fn place(table: &mut Table, keys: &[String], node: &Node, span: &Span, grow: bool) -> bool {
    let Some((first, others)) = keys.split_first() else { return false };
    if others.is_empty() {
        match table.get_mut(first) {
            Some(old) => *old = node.clone(),
            None if grow || super::declare::ROOT_KEYS.contains(&first.as_str()) => {
                table.entries.push((Located::new(first.clone(), span.clone()), node.clone()));
            }
            None => return false,
        }
        return true;
    }
    match table.get_mut(first) {
        Some(Node { item: Item::Table(t), .. }) => {
            // Below `unit` or `template` stand names, which must exist.
            let named = matches!(first.as_str(), "unit" | "template" | "parameters");
            place(t, others, node, span, grow && !(named && others.len() == 1))
        }
        Some(Node { item: Item::List(list), .. }) => place_in(list, others, node, span, grow),
        _ => false,
    }
}

/// As [`place`], where the first key is the index of an item.
fn place_in(list: &mut [Node], keys: &[String], node: &Node, span: &Span, grow: bool) -> bool {
    let Some((first, others)) = keys.split_first() else { return false };
    let Some(item) = first.parse::<usize>().ok().and_then(|i| list.get_mut(i)) else {
        return false;
    };
    match &mut item.item {
        _ if others.is_empty() => {
            *item = node.clone();
            true
        }
        Item::List(inner) => place_in(inner, others, node, span, grow),
        Item::Table(t) => place(t, others, node, span, grow),
        _ => false,
    }
}

/// Paths of the document, for suggestions.
fn names(table: &Table, prefix: &str, depth: usize, out: &mut Vec<String>) {
    for (key, node) in &table.entries {
        if out.len() > 2000 {
            return;
        }
        let path =
            if prefix.is_empty() { key.value.clone() } else { format!("{prefix}.{}", key.value) };
        if let (Item::Table(t), true) = (&node.item, depth > 0) {
            names(t, &path, depth - 1, out);
        }
        out.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_are_split_at_points_and_indices() {
        let parts = |p: &str| split(p).map(|v| v.join("|"));
        assert_eq!(parts("a.b").as_deref(), Some("a|b"));
        assert_eq!(parts("link[0].reset.\"u.v\"").as_deref(), Some("link|0|reset|u.v"));
        assert_eq!(parts("a..b"), None);
        assert_eq!(parts(""), None);
        assert_eq!(parts("a["), None);
    }
}
