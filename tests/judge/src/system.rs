//! Units that belong together, made ready: formulas in one graph, values in slots.
use crate::graph::{Formula, Graph, Id, Op, Scope, Side};
use crate::model::{Direction, Instant, Model, Rest, Trigger, Variable};
use crate::tape::Switch;
use crate::verdict::Place;
use std::collections::HashMap;

/// When an event of a unit is due.
#[derive(Debug)]
pub(crate) enum Due {
    When {
        formula: u32,
        band: f64,
    },
    Crossing {
        side: Side,
        direction: Direction,
        band: f64,
    },
    /// Ticks in order.
    At(Vec<i64>),
    /// From, every.
    Every(Instant, Instant),
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) unit: usize,
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) mode: Option<usize>,
    pub(crate) due: Due,
    pub(crate) priority: i64,
    pub(crate) reset: Vec<(Variable, Id)>,
    pub(crate) to: Option<usize>,
    pub(crate) rest: Option<Rest>,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) place: Place,
    pub(crate) units: Vec<usize>,
    pub(crate) formula: u32,
    pub(crate) reset: Vec<(Variable, Id)>,
    pub(crate) priority: i64,
}

impl Link {
    pub(crate) fn moves_states(&self) -> bool {
        self.reset.iter().any(|(v, _)| matches!(v, Variable::State(..)))
    }
}

/// Units that are connected, directly or not.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) graph: Graph,
    /// Indices in the model.
    pub(crate) units: Vec<usize>,
    pub(crate) slots: HashMap<Variable, u32>,
    /// States first, then discrete variables, then others.
    pub(crate) variables: Vec<Variable>,
    /// How many of these are states, and states or discrete.
    pub(crate) states: usize,
    pub(crate) held: usize,
    /// By unit of the model and mode, of each state.
    pub(crate) derivatives: HashMap<(usize, usize), Vec<Option<Id>>>,
    pub(crate) residuals: HashMap<usize, Vec<Id>>,
    pub(crate) outputs: HashMap<usize, Vec<Id>>,
    pub(crate) wires: HashMap<Variable, Id>,
    /// The unit from which an input comes.
    pub(crate) sender: HashMap<Variable, usize>,
    pub(crate) events: Vec<Event>,
    pub(crate) links: Vec<Link>,
    /// Of each relation: an event or a link reads it, or jumps with it.
    pub(crate) heard: Vec<bool>,
    /// Of each floor: an event or a link jumps with it.
    pub(crate) heard_floors: Vec<bool>,
    /// Relations along which units can slide.
    pub(crate) surfaces: HashMap<u32, crate::slide::Surface>,
    /// Of each relation: only the time moves it.
    pub(crate) timed: Vec<bool>,
    /// Of each relation: derivatives, residuals or outputs read it.
    pub(crate) field: Vec<bool>,
    field_floors: Vec<bool>,
    /// Of each relation: a formula jumps with it.
    pub(crate) jumps: Vec<bool>,
    /// Of each relation: how near a turning point counts.
    pub(crate) band: Vec<f64>,
}

/// Nearest tick of a fraction of seconds.
pub(crate) fn tick(model: &Model, numerator: i128, denominator: i128) -> i64 {
    let top = numerator * 10i128.pow(model.resolution) * 2 + denominator;
    top.div_euclid(denominator * 2) as i64
}

/// The k-th instant of a repeated event, rounded once.
pub(crate) fn instant(model: &Model, from: Instant, every: Instant, k: i64) -> i64 {
    let (a, b) = (i128::from(from.numerator), i128::from(from.denominator));
    let (c, d) = (i128::from(every.numerator), i128::from(every.denominator));
    tick(model, a * d + i128::from(k) * c * b, b * d)
}

/// Groups of connected units, in order of their first units.
pub(crate) fn groups(model: &Model) -> Vec<Vec<usize>> {
    let mut root: Vec<usize> = (0..model.units.len()).collect();
    let mut join = |a: usize, b: usize| {
        let (a, b) = (root[a], root[b]);
        for r in &mut root {
            if *r == a.max(b) {
                *r = a.min(b);
            }
        }
    };
    for w in &model.wires {
        join(w.from.0, w.to.0);
    }
    for link in &model.links {
        for pair in link.units.windows(2) {
            join(pair[0], pair[1]);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for r in 0..root.len() {
        let group: Vec<usize> = (0..root.len()).filter(|u| root[*u] == r).collect();
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

impl System {
    pub(crate) fn new(model: &Model, units: &[usize]) -> Self {
        let mut system = System {
            graph: Graph::default(),
            units: units.to_vec(),
            slots: HashMap::new(),
            variables: Vec::new(),
            states: 0,
            held: 0,
            derivatives: HashMap::new(),
            residuals: HashMap::new(),
            outputs: HashMap::new(),
            wires: HashMap::new(),
            sender: HashMap::new(),
            events: Vec::new(),
            links: Vec::new(),
            heard: Vec::new(),
            heard_floors: Vec::new(),
            surfaces: HashMap::new(),
            timed: Vec::new(),
            field: Vec::new(),
            field_floors: Vec::new(),
            jumps: Vec::new(),
            band: Vec::new(),
        };
        system.name(model);
        for u in units {
            system.formulas(model, *u);
            system.add_events(model, *u);
        }
        for wire in &model.wires {
            if let Some(outputs) = system.outputs.get(&wire.from.0) {
                let variable = Variable::Input(wire.to.0, wire.to.1);
                system.sender.insert(variable, wire.from.0);
                system.wires.insert(variable, outputs[wire.from.1]);
            }
        }
        system.add_links(model);
        system.mark();
        system.mark_field();
        system.find_surfaces(model);
        system
    }

    fn name(&mut self, model: &Model) {
        let mut all = Vec::new();
        let unit = |u: &usize| &model.units[*u];
        for u in &self.units {
            all.extend((0..unit(u).states.len()).map(|i| Variable::State(*u, i)));
        }
        self.states = all.len();
        for u in &self.units {
            all.extend((0..unit(u).discrete.len()).map(|i| Variable::Discrete(*u, i)));
        }
        self.held = all.len();
        for u in &self.units {
            all.extend((0..unit(u).algebraic.len()).map(|i| Variable::Algebraic(*u, i)));
            all.extend((0..unit(u).inputs.len()).map(|i| Variable::Input(*u, i)));
            all.push(Variable::Mode(*u));
        }
        self.slots = all.iter().enumerate().map(|(i, v)| (*v, i as u32)).collect();
        self.variables = all;
    }

    fn formulas(&mut self, model: &Model, u: usize) {
        let unit = &model.units[u];
        let scope = Scope::Unit(u);
        let graph = &mut self.graph;
        let mut ids = |e: &[crate::model::Expr]| -> Vec<Id> {
            e.iter().map(|e| graph.expr(scope, &model.units, e)).collect()
        };
        let residuals = ids(&unit.residuals);
        let outputs = ids(&unit.outputs);
        let own: Vec<Option<Id>> = ids(&unit.derivatives).into_iter().map(Some).collect();
        self.residuals.insert(u, residuals);
        self.outputs.insert(u, outputs);
        for (m, mode) in unit.modes.iter().enumerate() {
            let derivatives = match &mode.derivatives {
                None => own.clone(),
                Some(list) => {
                    let add =
                        |e: &Option<_>| e.as_ref().map(|e| self.graph.expr(scope, &model.units, e));
                    list.iter().map(add).collect()
                }
            };
            self.derivatives.insert((u, m), derivatives);
        }
        if unit.modes.is_empty() {
            self.derivatives.insert((u, 0), own);
        }
    }

    fn add_events(&mut self, model: &Model, u: usize) {
        let unit = &model.units[u];
        for (i, event) in unit.events.iter().enumerate() {
            self.add_event(model, u, None, i, event);
        }
        for (m, mode) in unit.modes.iter().enumerate() {
            for (i, event) in mode.events.iter().enumerate() {
                self.add_event(model, u, Some(m), i, event);
            }
        }
    }

    fn add_event(
        &mut self,
        model: &Model,
        u: usize,
        mode: Option<usize>,
        i: usize,
        event: &crate::model::Event,
    ) {
        let scope = Scope::Unit(u);
        let graph = &mut self.graph;
        let due = match &event.trigger {
            Trigger::When { condition, touching } => Due::When {
                formula: graph.condition(scope, &model.units, condition),
                band: touching.unwrap_or(0.0),
            },
            Trigger::Crossing { formula, direction, touching } => {
                let z = graph.expr(scope, &model.units, formula);
                Due::Crossing {
                    side: graph.relation(scope, z, None),
                    direction: *direction,
                    band: touching.unwrap_or(0.0),
                }
            }
            Trigger::At(list) => {
                let ticks = |i: &Instant| tick(model, i.numerator.into(), i.denominator.into());
                let mut list: Vec<i64> = list.iter().map(ticks).collect();
                list.sort_unstable();
                Due::At(list)
            }
            Trigger::Every { from, every } => Due::Every(*from, *every),
        };
        let reset = event.reset.iter();
        let reset = reset.map(|(v, e)| (*v, graph.expr(scope, &model.units, e))).collect();
        self.events.push(Event {
            unit: u,
            place: Place::Unit(u, mode, i),
            name: event.name.clone(),
            mode,
            due,
            priority: event.priority,
            reset,
            to: event.to,
            rest: event.rest.clone(),
        });
    }

    fn add_links(&mut self, model: &Model) {
        for (l, link) in model.links.iter().enumerate() {
            if !link.units.iter().any(|u| self.units.contains(u)) {
                continue;
            }
            let scope = Scope::Link(l);
            let formula = self.graph.condition(scope, &model.units, &link.when);
            let reset = link.reset.iter();
            let reset = reset.map(|(v, e)| (*v, self.graph.expr(scope, &model.units, e))).collect();
            self.links.push(Link {
                place: Place::Link(l),
                units: link.units.clone(),
                formula,
                reset,
                priority: link.priority,
            });
        }
    }

    /// Who listens to which relation.
    fn mark(&mut self) {
        let n = self.graph.relations.len();
        (self.heard, self.jumps, self.band) = (vec![false; n], vec![false; n], vec![0.0; n]);
        let mut heard = Vec::new();
        for event in &self.events {
            match &event.due {
                Due::When { formula, band } => heard.push((self.read(*formula), *band)),
                Due::Crossing { side, band, .. } => heard.push((vec![side.relation], *band)),
                Due::At(_) | Due::Every(..) => {}
            }
        }
        for link in &self.links {
            heard.push((self.read(link.formula), 0.0));
        }
        for (relations, band) in heard {
            for r in relations {
                self.heard[r as usize] = true;
                self.band[r as usize] = self.band[r as usize].max(band);
            }
        }
        let timed = |r: &crate::graph::Relation| self.graph.timed(r.z);
        self.timed = self.graph.relations.iter().map(timed).collect();
        for op in &self.graph.ops {
            let jumps = match op {
                Op::If(formula, ..) => self.read(*formula),
                Op::Sign(side) | Op::Step(side) => vec![side.relation],
                _ => Vec::new(),
            };
            for r in jumps {
                self.jumps[r as usize] = true;
            }
        }
        let heard = self.heard.iter().zip(&self.graph.relations);
        let (inner, floors) = self.switches(heard.filter(|h| *h.0).map(|h| h.1.z).collect());
        for (r, inner) in inner.into_iter().enumerate() {
            self.heard[r] |= inner && self.jumps[r];
        }
        self.heard_floors = floors;
    }

    /// Who stops the solver.
    fn mark_field(&mut self) {
        let mut open: Vec<Id> = self.derivatives.values().flatten().flatten().copied().collect();
        open.extend(self.residuals.values().chain(self.outputs.values()).flatten());
        (self.field, self.field_floors) = self.switches(open);
    }

    /// Whether derivatives, residuals or outputs read a switch: the solver stops where it flips.
    pub(crate) fn in_field(&self, switch: Switch) -> bool {
        match switch {
            Switch::Relation(r) => self.field[r as usize],
            Switch::Floor(f) => self.field_floors[f as usize],
        }
    }

    /// Of each relation and each floor: these nodes read it, directly or not.
    fn switches(&self, mut open: Vec<Id>) -> (Vec<bool>, Vec<bool>) {
        let mut relations = vec![false; self.graph.relations.len()];
        let mut floors = vec![false; self.graph.floors.len()];
        let mut seen = vec![false; self.graph.ops.len()];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            let op = self.graph.ops[id as usize];
            open.extend(op.operands());
            let read = match op {
                Op::If(f, ..) => self.read(f),
                Op::Floor(f) => {
                    floors[f as usize] = true;
                    open.push(self.graph.floors[f as usize].argument);
                    Vec::new()
                }
                op => op.side().iter().map(|side| side.relation).collect(),
            };
            for r in read {
                relations[r as usize] = true;
                open.push(self.graph.relations[r as usize].z);
            }
        }
        (relations, floors)
    }

    /// The relations of a condition, not the inner ones.
    pub(crate) fn read(&self, formula: u32) -> Vec<u32> {
        match &self.graph.formulas[formula as usize] {
            Formula::Relation(_, side) => vec![side.relation],
            Formula::And(list) | Formula::Or(list) => {
                list.iter().flat_map(|f| self.read(*f)).collect()
            }
            Formula::Not(f) => self.read(*f),
        }
    }

    pub(crate) fn slot(&self, variable: Variable) -> usize {
        self.slots[&variable] as usize
    }
}
