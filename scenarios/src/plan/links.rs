//! Shared events: what each member must know, and the wires over which they agree.
//!
//! A member gets, behind the ports of its kind, one event input and one event output `~link`, and
//! all members' outputs lead to all others' inputs. A variable of another member that the link
//! uses must be known between exchanges: by a connection that carries exactly this variable where
//! there is one, else by a hidden pair of ports. For these the plan adds to the parameters of the
//! units the tables `~outputs` (port name = variable) and `~inputs` (port name = start value) and
//! asks the kind for its ports again.
use super::{
    connect,
    declare::LinkDecl,
    evaluate::Evaluator,
    link_ports::Wiring,
    session::{Session, did_you_mean},
    tree::{Body, End, Group, Tree, dotted, join},
};
use crate::diagnostics::Mistake;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};
use superdense_models::{
    kinds::Located,
    maths::expr::{self, Condition, Expr, ExprError, Function, Symbol, VarId},
    solve::equations::Detection,
};

/// A link whose members are known.
pub(super) struct Resolved {
    pub name: String,
    pub priority: i64,
    /// Name in the texts, child and member, unit; in path order.
    pub members: Vec<(String, End, u32)>,
    pub variables: Vec<(u32, String)>,
    pub when: Located<String>,
    pub resets: Vec<Resets>,
    /// Per member.
    pub detection: Vec<Detection>,
    pub believed: bool,
    /// Whether the unit that proposes the event resets by what it was told of the others.
    pub resets_told: bool,
    /// Own variables by which a member knows one of another: (who, whose, variable, own variable).
    pub models: Vec<(usize, u32, String, String)>,
}

/// Plans the links of a group.
pub(super) fn link(tree: &mut Tree, group: u32, session: &Session) {
    let decl = Rc::clone(&tree.groups[group as usize].decl);
    if decl.links.is_empty() {
        return;
    }
    let mut names = BTreeSet::new();
    let mut links = Vec::new();
    for link in &decl.links {
        if !names.insert(&link.name.value) {
            let message = format!("there are two links `{}`", link.name.value);
            let mistake = Mistake::new("duplicate-name", &link.name.span, message);
            session.report(mistake.help("rename one of them"));
        }
        links.extend(resolve(tree, group, link, session));
    }
    links.sort_by(|a, b| a.name.cmp(&b.name));
    Wiring::new(tree, group, session).run(links);
}

/// The remedy where a formula of a link reads something that only formulas of units know.
fn remedy(error: &ExprError) -> Option<&'static str> {
    match error {
        ExprError::UnknownVariable { suggestion: None, .. } => Some(
            "formulas of a link read `unit.variable` of its members, and parameters; for the time give a member a \
             state such as clock with the derivative \"1\"",
        ),
        ExprError::NoCycle { .. } => Some(
            "all formulas of a link read the values before it; for those of an earlier cycle keep them in a discrete \
             value of a member",
        ),
        ExprError::NoDraw { .. } => Some(
            "formulas of a link draw nothing: draw in `reset` of an event of a member, into a discrete value that the \
             link reads",
        ),
        _ => None,
    }
}

/// The members of a link in path order: name in the texts, child and member, unit.
fn members(
    tree: &Tree,
    g: &Group,
    link: &LinkDecl,
    eval: &Evaluator<'_>,
) -> Option<Vec<(String, End, u32)>> {
    let refuse = |span, message: String, help: &str| {
        eval.session.report(Mistake::new("link", span, message).help(help));
        None
    };
    let mut members: Vec<(String, End, u32)> = Vec::new();
    let mut known = true;
    for (step, text) in &link.units {
        let Some((child, found)) = connect::members(g, step, eval) else {
            known = false;
            continue;
        };
        for member in found {
            let end = End { child, member, port: 0 };
            let name = g.name_of(end);
            if let Body::Part(_) = g.body(end) {
                let help = "a unit with connectors becomes a part of a whole, whose equations share everything already: \
                            write an event into the unit";
                return refuse(&text.span, format!("`{name}` has connectors"), help);
            }
            let Body::Unit(unit) = g.body(end) else {
                let help = "links join units, not groups: put the link into the template";
                return refuse(&text.span, format!("`{name}` is a group"), help);
            };
            let kind = tree.units[unit as usize].kind;
            if !kind.is_continuous() {
                let message =
                    format!("`{name}` is of kind \"{}\", which is not continuous", kind.name());
                return refuse(&text.span, message, "only continuous units take part in links");
            }
            if members.iter().any(|(_, e, _)| *e == end) {
                return refuse(&text.span, format!("`{name}` is named twice"), "name it once");
            }
            members.push((name, end, unit));
        }
    }
    if !known {
        return None;
    }
    if members.len() < 2 {
        let message = format!("link `{}` has no partner", link.name.value);
        let span = link.units.first().map_or(&link.name.span, |(_, t)| &t.span);
        return refuse(span, message, "name at least two units: units = [\"a\", \"b\"]");
    }
    members.sort_by_key(|(_, end, _)| *end);
    Some(members)
}

/// Variables and formulas of a reset.
type Resets = Vec<(Located<String>, Located<String>)>;

/// The resets of a link by member.
fn resets(link: &LinkDecl, names: &Names<'_>, session: &Session) -> Option<Vec<Resets>> {
    let mut resets = vec![Vec::new(); names.members.len()];
    let mut good = true;
    for (target, text) in &link.reset {
        if let Err(errors) = Expr::parse(&text.value, names) {
            session.expression_where(text, &errors, remedy);
            good = false;
        }
        match names.split(&target.value) {
            Some((member, variable)) if names.known[member].contains_key(variable) => {
                let variable = Located::new(variable.to_owned(), target.span.clone());
                resets[member].push((variable, text.clone()));
            }
            _ => {
                let message =
                    format!("link `{}` resets the unknown `{}`", link.name.value, target.value);
                let help = did_you_mean(&target.value, expr::Scope::names(names), "variables");
                session.report(Mistake::new("link", &target.span, message).help(help));
                good = false;
            }
        }
    }
    good.then_some(resets)
}

fn resolve(tree: &Tree, group: u32, link: &LinkDecl, session: &Session) -> Option<Resolved> {
    let g = &tree.groups[group as usize];
    let scope = Rc::clone(&g.scope);
    let eval = Evaluator::new(session, &scope, &[]);
    let members = members(tree, g, link, &eval)?;
    let known: Vec<BTreeMap<String, Option<String>>> = members
        .iter()
        .map(|(_, _, u)| {
            let unit = &tree.units[*u as usize];
            unit.kind.variables(&unit.params).into_iter().collect()
        })
        .collect();
    let pairs = members.iter().zip(&known);
    let all = pairs.flat_map(|((n, _, _), v)| v.keys().map(move |v| format!("{n}.{v}"))).collect();
    let used = RefCell::default();
    let names = Names { eval: &eval, members: &members, known: &known, all, used };
    let mut good = true;
    if let Err(errors) = Condition::parse(&link.when.value, &names) {
        session.expression_where(&link.when, &errors, remedy);
        good = false;
    }
    let readers: BTreeSet<u32> = names.used.borrow().iter().map(|(member, _)| *member).collect();
    let resets = resets(link, &names, session);
    let priority = match &link.priority {
        Some(node) => eval.whole(node, "`priority`"),
        None => Some(0),
    };
    // Each has its own mistakes.
    let detection = detection(g, link, (&members, &readers), &eval);
    let models = models(link, &names, session);
    let resets_told = resets_told(link, session);
    let (priority, detection, models, resets_told) = (priority?, detection?, models?, resets_told?);
    let resets = resets?;
    let variables: Vec<(u32, String)> = names.used.borrow().iter().cloned().collect();
    if good && variables.is_empty() {
        let message = format!("link `{}` uses no variable of its members", link.name.value);
        let mistake = Mistake::new("link", &link.when.span, message);
        session.report(mistake.help("compare variables, as in \"a.x >= b.x\""));
        return None;
    }
    let (name, when) = (link.name.value.clone(), link.when.clone());
    let believed = link.detectors.is_some();
    good.then_some(Resolved {
        name,
        priority,
        members,
        variables,
        when,
        resets,
        detection,
        believed,
        resets_told,
        models,
    })
}

/// Whether the unit that proposes an event resets by what it was told of the others: `values`.
fn resets_told(link: &LinkDecl, session: &Session) -> Option<bool> {
    let Some(text) = &link.values else { return Some(false) };
    match text.value.as_str() {
        "true" => Some(false),
        "believed" => Some(true),
        other => {
            let message = format!("`values` cannot be \"{other}\"");
            let help = "\"true\": resets take the values that all have then; \"believed\": the unit \
                        that finds the event takes what it was told of the others";
            session.report(Mistake::new("link", &text.span, message).help(help));
            None
        }
    }
}

/// By which of its own variables a member knows those of others.
fn models(
    link: &LinkDecl,
    names: &Names<'_>,
    session: &Session,
) -> Option<Vec<(usize, u32, String, String)>> {
    let find = |text: &Located<String>| {
        let split = names.split(&text.value).filter(|(m, v)| names.known[*m].contains_key(*v));
        let found = split.map(|(member, variable)| (member, variable.to_owned()));
        if found.is_none() {
            let message = format!("link `{}` names the unknown `{}`", link.name.value, text.value);
            let help = did_you_mean(&text.value, expr::Scope::names(names), "variables");
            session.report(Mistake::new("link", &text.span, message).help(help));
        }
        found
    };
    let mut models = Vec::new();
    for (own, other) in &link.models {
        let ((who, by), (whose, variable)) = (find(own)?, find(other)?);
        if who == whose {
            let message = format!("`{}` is a variable of the same unit", other.value);
            let help = "`models` says by which variable a unit knows that of another one";
            session.report(Mistake::new("link", &other.span, message).help(help));
            return None;
        }
        models.push((who, whose as u32, variable, by));
    }
    Some(models)
}

/// When each member looks for the event. One of which the condition reads nothing leaves that to the others, who know
/// their own values better.
fn detection(
    g: &Group,
    link: &LinkDecl,
    (members, readers): (&[(String, End, u32)], &BTreeSet<u32>),
    eval: &Evaluator<'_>,
) -> Option<Vec<Detection>> {
    let refuse = |text: &Located<String>, message: String, help: &str| {
        eval.session.report(Mistake::new("link", &text.span, message).help(help));
        None
    };
    let active = match &link.detect {
        None => Detection::Located,
        Some(text) => match text.value.as_str() {
            "between" => Detection::Located,
            "exchanges" => Detection::Received,
            other => {
                let help = "\"between\": located by each member on what it was told; \"exchanges\": \
                            tested when a member is told anything";
                return refuse(text, format!("`detect` cannot be \"{other}\""), help);
            }
        },
    };
    let Some(detectors) = &link.detectors else {
        let looks = |member| active != Detection::Located || readers.contains(&member);
        let of = |member| if looks(member) { active } else { Detection::Passive };
        return Some((0..members.len() as u32).map(of).collect());
    };
    let mut detection = vec![Detection::Passive; members.len()];
    for (step, text) in detectors {
        let (child, found) = connect::members(g, step, eval)?;
        for member in found {
            let is = |(_, e, _): &(String, End, u32)| (e.child, e.member) == (child, member);
            match members.iter().position(is) {
                Some(at) => detection[at] = active,
                None => {
                    let message = format!("`{}` is no member of this link", text.value);
                    return refuse(text, message, "add it to `units`, or delete it");
                }
            }
        }
    }
    if detection.iter().all(|d| *d == Detection::Passive) {
        let message = format!("nobody detects link `{}`", link.name.value);
        return refuse(&link.name, message, "name a unit in `detectors`, or delete it");
    }
    Some(detection)
}

/// Names in the texts of a link: constants, and `unit.variable`.
struct Names<'a> {
    eval: &'a Evaluator<'a>,
    members: &'a [(String, End, u32)],
    known: &'a [BTreeMap<String, Option<String>>],
    /// Every `unit.variable`, for suggestions.
    all: Vec<String>,
    used: RefCell<BTreeSet<(u32, String)>>,
}

impl Names<'_> {
    fn split<'n>(&self, name: &'n str) -> Option<(usize, &'n str)> {
        let (unit, variable) = name.rsplit_once('.')?;
        Some((self.members.iter().position(|(n, _, _)| n == unit)?, variable))
    }
}

impl expr::Scope for Names<'_> {
    fn lookup(&self, name: &str) -> Option<Symbol> {
        if let Some((member, variable)) = self.split(name)
            && self.known[member].contains_key(variable)
        {
            self.used.borrow_mut().insert((member as u32, variable.to_owned()));
            return Some(Symbol::Var(VarId(0)));
        }
        self.eval.constant(name).map(Symbol::Const)
    }
    fn function(&self, name: &str) -> Option<&Function> {
        self.eval.session.functions().get(name)
    }
    fn names(&self) -> Vec<&str> {
        self.all.iter().map(String::as_str).collect()
    }
}

/// Numbers the links of a finished tree in the order of their names.
pub(super) fn number(tree: &mut Tree) {
    tree.links.sort_by(|a, b| a.name.cmp(&b.name));
    let names: HashMap<String, u32> =
        tree.links.iter().enumerate().map(|(i, l)| (l.name.clone(), i as u32)).collect();
    let members: BTreeSet<u32> = tree.links.iter().flat_map(|l| l.members.clone()).collect();
    for unit in members {
        let unit = &mut tree.units[unit as usize];
        let parent = unit.path.rsplit_once('/').map_or("", |(p, _)| p).to_owned();
        for spec in &mut unit.links {
            let full = dotted(&join(&parent, &spec.name));
            spec.link = names.get(&full).copied().unwrap_or(0);
            // A link of a template has one name per instance.
            spec.name = full;
        }
    }
}
