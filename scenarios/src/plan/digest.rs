//! The digest by which a checkpoint knows its plan.
use super::{build::Numbering, session::Session, tree::Tree};
use std::io::Read;
use superdense_kernel::message::Digest;
use superdense_models::kinds::{Param, ParamType, Params, UnitKind, files};

/// Everything that decides the trace: units, parameters, connections, links, resolution, seed.
pub(super) fn plan_hash(tree: &Tree, numbering: &Numbering, session: &Session) -> u64 {
    let mut d = Digest::new();
    d.word(u64::from(session.resolution.exponent()));
    d.word(session.seed);
    let mut order: Vec<u32> = (0..tree.units.len() as u32).collect();
    order.sort_by_key(|&u| numbering.number[u as usize]);
    let (mut last, mut last_scope) = (None, None);
    for u in order {
        let unit = &tree.units[u as usize];
        d.bytes(unit.path.as_bytes());
        d.bytes(unit.kind.name().as_bytes());
        // Members of an array share their parameters; one digest of them is enough.
        let shared = std::rc::Rc::as_ptr(&unit.params);
        if last != Some(shared) {
            params(unit.kind, &unit.params, session, &mut d);
            last = Some(shared);
        }
        let scope = std::rc::Rc::as_ptr(&unit.scope);
        if last_scope != Some(scope) {
            unit.scope.digest(session, &mut d);
            last_scope = Some(scope);
        }
        for link in &unit.links {
            d.word(u64::from(link.link) << 32 | u64::from(link.member));
            d.word(link.priority as u64);
            d.bytes(link.when.value.as_bytes());
            for (target, text) in &link.resets[link.member as usize] {
                d.bytes(target.value.as_bytes());
                d.bytes(text.value.as_bytes());
            }
        }
    }
    let mut wires = Vec::new();
    for (at, g) in tree.groups.iter().enumerate() {
        for w in &g.wires {
            let Some((from, out)) = tree.origin(at as u32, w.from) else { continue };
            let from = u64::from(numbering.number[from as usize]) << 16 | u64::from(out);
            for (to, input) in tree.targets(at as u32, w.to) {
                let to = u64::from(numbering.number[to as usize]) << 16 | u64::from(input);
                wires.push((from, to));
            }
        }
    }
    wires.sort_unstable();
    for (from, to) in wires {
        d.word(from);
        d.word(to);
    }
    for (name, function) in session.functions().iter() {
        d.bytes(name.as_bytes());
        d.bytes(format!("{function:?}").as_bytes());
    }
    d.finish()
}

fn params(kind: &dyn UnitKind, params: &Params, session: &Session, d: &mut Digest) {
    for (name, p) in &params.values {
        d.bytes(name.as_bytes());
        param(&p.value, d);
        if let Some(file) = file(kind, name, &p.value)
            && let Ok(mut open) = files::open(&session.folder.join(file), u64::MAX)
        {
            let mut bytes = Vec::new();
            let _ = open.read_to_end(&mut bytes);
            d.bytes(&bytes);
        }
    }
}

/// The file that a parameter names.
pub(super) fn file<'a>(kind: &dyn UnitKind, name: &str, value: &'a Param) -> Option<&'a str> {
    let is_file = kind.params().iter().any(|p| p.name == name && p.ty == ParamType::File);
    match value {
        Param::Text(file) if is_file => Some(file),
        _ => None,
    }
}

fn param(p: &Param, d: &mut Digest) {
    match p {
        Param::Real(x) => d.real(*x),
        Param::Int(i) => d.word(*i as u64),
        Param::Bool(b) => d.word(u64::from(*b)),
        Param::Text(t) => d.bytes(t.as_bytes()),
        Param::Duration(t) => d.word(t.ticks() as u64),
        Param::Period(n, over) => [n, over].iter().for_each(|&&x| d.word(x as u64)),
        Param::List(list) => {
            d.word(list.len() as u64);
            list.iter().for_each(|p| param(&p.value, d));
        }
        Param::Table(entries) => {
            d.word(entries.len() as u64);
            for (key, p) in entries {
                d.bytes(key.value.as_bytes());
                param(&p.value, d);
            }
        }
        Param::Indexed(inner, indices) => {
            param(inner, d);
            indices.iter().for_each(|(_, i)| d.word(*i as u64));
        }
    }
}
