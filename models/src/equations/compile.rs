//! Compiling the texts of an equation unit.
use super::{
    events::Events,
    formulas::Formulas,
    lower::{Lowered, lower},
    read::{Declared, Reader, StartValues, gather_texts},
    refused::{NoSliding, Refused},
    slide::{Slopes, slide},
    start::{Start, under_method},
    text::{Reset, TextEquations},
};
use crate::{
    kinds::{Context, Param, ParamError, Params},
    maths::{
        expr::{Degree, Expr, Frozen, Names, Program, Symbol, VarId},
        random::RandomStream,
    },
    signal::value::Value,
    solve::{
        ALGEBRAIC, MAX_SEGMENT_ORDER, Settings,
        equations::{Dims, Relation, Role, Sliding},
        ode::{MAX_ORDER, Method, Options},
    },
};
use std::sync::OnceLock;
use superdense_kernel::Component;

/// Parts of a run in each of which a unit with functions that are no polynomials is looked at.
const LOOKS: f64 = 100.0;
/// Parts of a run, one of which a step may be long in any case.
const MOST: f64 = 1000.0;

/// Hands over what a unit declares, with its events; nothing where the unit has mistakes, which others report.
pub(super) fn with_events<T>(
    params: &Params,
    context: &Context<'_>,
    take: impl FnOnce(&Declared<'_>, &Formulas, &Events<'_>) -> T,
) -> Option<T> {
    let mut r = Reader::new(params);
    let d = Declared::read(&mut r);
    let names = constants(&mut r, context);
    let formulas = Formulas::new(&mut r, &d, names);
    let mut events = Events::new(&formulas);
    events.read(&mut r, context, &d);
    events.links(&mut r, context);
    r.errors.is_empty().then(|| take(&d, &formulas, &events))
}

/// Names known to every expression: the context's constants, looked up as they are used, and the
/// unit's own.
pub(super) fn constants(r: &mut Reader<'_>, context: &Context<'_>) -> Names {
    let mut scope = Names::new().with(context.functions);
    let mut texts: Vec<&str> = Vec::new();
    for (_, p) in &r.params.values {
        gather_texts(&p.value, &mut texts);
    }
    for l in context.links {
        texts.push(&l.when.value);
        texts.extend(l.resets.iter().flatten().map(|(_, e)| e.value.as_str()));
    }
    texts.sort_unstable();
    texts.dedup();
    for text in &texts {
        for word in words(text) {
            if let Some(value) = (context.constants)(word) {
                scope.insert(word.to_owned(), Symbol::Const(value));
            } else if text.contains('[') {
                elements(word, context, &mut scope);
            }
        }
    }
    for (name, p) in r.table("parameters") {
        let value = r.constant(p, &scope);
        scope.insert(name.value.clone(), Symbol::Const(value));
    }
    scope
}

/// Makes the elements of a list of the surroundings known, whose indices begin at 0.
fn elements(name: &str, context: &Context<'_>, scope: &mut Names) {
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        for k in 0.. {
            let element = format!("{name}[{k}]");
            if let Some(value) = (context.constants)(&element) {
                scope.insert(element, Symbol::Const(value));
            } else if k == 0 && element.matches('[').count() < 3
                || (context.constants)(&format!("{element}[0]")).is_some()
            {
                open.push(element);
            } else {
                break;
            }
        }
    }
}

/// Identifiers of a text: with dots and indices as far as they go, and without.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = |brackets: &'static str| {
        text.split(move |c: char| !(c.is_alphanumeric() || brackets.contains(c)))
            .filter(|w| w.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    };
    parts("_.[]").chain(parts("_.")).chain(parts("_"))
}

pub(super) fn compile(r: &mut Reader<'_>, context: &Context<'_>) -> Option<Component<Value>> {
    let mut d = Declared::read(r);
    let constants = constants(r, context);
    let Lowered { mut formulas, equations: mut derivatives, start } =
        lower(r, &mut d, &constants, std::convert::identity);
    let mode = start.mode;
    let mut outputs = formulas.outputs(r, &d);
    let mut dims = formulas.dims;
    let mut events = Events::new(&formulas);
    events.read(r, context, &d);
    events.links(r, context);
    if r.errors.is_empty() {
        events.unreached(r, &d, mode);
    }
    if !r.errors.is_empty() {
        return None;
    }
    let Events { mut specs, mut handlers, links, .. } = events;
    let found = formulas.relations();
    let slopes = slopes(r, &d, &found, &dims, (&mut derivatives, &mut outputs))?;
    let (relations, indicators) = relations(&found, &slopes, &dims);
    dims.indicators = indicators.len();
    let resets = specs.iter_mut().map(|s| &mut s.reset);
    let recalls = recalls(resets.chain(handlers.iter_mut().map(|h| &mut h.reset)), &dims);
    let by_side = |s: &Slopes| (s.function, Program::compile([&s.above, &s.below]));
    let equations = TextEquations {
        dims,
        modes: specs.iter().map(|s| s.mode).collect(),
        mode: formulas.mode.map(|v| v.0 as usize),
        mode_names: d.modes.iter().map(|(name, _)| name.value.clone()).collect(),
        links,
        derivatives: Program::compile(&derivatives),
        sums: OnceLock::new(),
        outputs: Program::compile(&outputs),
        indicators: Program::compile(&indicators),
        relations,
        slopes: slopes.iter().map(by_side).collect(),
        events: specs.iter().map(|s| s.spec.clone()).collect(),
        resets: specs.drain(..).map(|s| s.reset).collect(),
        handlers,
        stream: RandomStream::new(context.seed, &format!("{}#reset", context.path)),
        recalls,
        dependent: d.dependent,
        names: d.states.iter().map(|(name, _)| name.value.clone()).collect(),
        output_names: d.outputs.iter().map(|(name, _)| name.value.clone()).collect(),
        input_names: d.inputs.iter().map(|(name, _)| name.value.clone()).collect(),
    };
    let mut settings = settings(r, context, dims.outputs, equations.is_smooth())?;
    settings.solver.begin_at(&start.initial);
    let method = r.params.text("method");
    if let Some((name, _)) = d.unknowns(true).first()
        && !(method == "auto" || settings.method.takes_algebraic())
    {
        let error = format!("the method `{method}` solves no algebraic equations");
        r.errors.push(ParamError::at(name.span.clone(), error).help(ALGEBRAIC));
        return None;
    }
    let StartValues { initial, inputs, discrete, .. } = &start;
    let start = Start { initial, inputs, discrete };
    built(r, equations, &start, settings)
}

/// The unit under its method.
fn built(
    r: &mut Reader<'_>,
    equations: TextEquations,
    start: &Start<'_>,
    settings: Settings,
) -> Option<Component<Value>> {
    match under_method(r.params, equations, start, settings) {
        Ok(unit) => Some(unit),
        Err(refused) => {
            r.errors.push(match refused {
                Refused::Method(why) => ParamError::at(r.params.span("method"), why.to_string())
                    .help("choose another `method`; \"auto\" looks for one that fits"),
                Refused::Start(why) => ParamError::whole(format!("at the start {why}"))
                    .help("check initial values, start values of inputs, parameters"),
            });
            None
        }
    }
}

/// Places the variables before a cycle that resets read; gives whether any does, or has to know how large states were.
fn recalls<'a>(resets: impl Iterator<Item = &'a mut Reset>, dims: &Dims) -> bool {
    resets.fold(false, |any, reset| {
        reset.place_former(dims.variables());
        any | reset.recalls | reset.snaps
    })
}

/// How the solution slides along surfaces, if it is to.
fn slopes(
    r: &mut Reader<'_>,
    d: &Declared<'_>,
    found: &[Frozen],
    dims: &Dims,
    (derivatives, outputs): (&mut [Expr], &mut [Expr]),
) -> Option<Vec<Slopes>> {
    if r.params.text("switching") != "sliding" {
        return Some(Vec::new());
    }
    let flags = VarId((dims.first_side() + found.len()) as u32);
    let refused = match d.algebraic {
        0 => slide(found, (dims, flags), derivatives, outputs),
        _ => Err(NoSliding::Algebraic),
    };
    let help = "use switching = \"located\", or a mode for the sliding motion";
    let span = r.params.span("switching");
    refused.map_err(|why| r.errors.push(ParamError::at(span, why.to_string()).help(help))).ok()
}

/// The relations of the unit with their indicators: those of its formulas, then for each along which the
/// solution may slide a flag, then the slopes of each of these.
fn relations(found: &[Frozen], slopes: &[Slopes], dims: &Dims) -> (Vec<Relation>, Vec<Expr>) {
    let (flags, rates) = (found.len(), found.len() + slopes.len());
    let sliding = |(n, s): (usize, &Slopes)| Sliding {
        flag: flags + n,
        place: dims.discrete + 1 + flags + n,
        above: rates + 2 * n,
        below: rates + 2 * n + 1,
        apart: s.apart.iter().map(|other| flags + other).collect(),
    };
    let moves = |v: &VarId| (v.0 as usize) < dims.first_discrete();
    let of = |(k, f): (usize, &Frozen)| {
        let reads = f.function.vars();
        let timed = reads.iter().filter(|v| moves(v)).all(|v| v.0 == 0);
        let program = Program::compile([&f.function]);
        let degrees = program.degrees(|v| v.0 == 0);
        let role = match f.passes {
            Some(base) => Role::Passes(base),
            None if timed && degrees == [Degree::Polynomial(1)] => Role::Timed,
            None => Role::Searched,
        };
        let place = dims.discrete.saturating_sub(1);
        Relation {
            kind: f.kind,
            only: f.only,
            role,
            stops: f.stops,
            within: f
                .passes
                .map_or(f, |base| &found[base])
                .modes
                .clone()
                .map(|modes| (place, modes)),
            sliding: slopes.iter().enumerate().find(|(_, s)| s.function == k).map(sliding),
            text: program.text(0, None).into(),
        }
    };
    let mut all: Vec<Relation> = found.iter().enumerate().map(of).collect();
    let mut indicators: Vec<Expr> = found.iter().map(|f| f.function.clone()).collect();
    for _ in slopes {
        all.push(Relation { role: Role::Slides, stops: true, ..Relation::default() });
        indicators.push(Expr::constant(0.0));
    }
    for z in slopes.iter().flat_map(Slopes::while_sliding) {
        all.push(Relation {
            stops: true,
            text: Program::compile([&z]).text(0, None).into(),
            ..Relation::default()
        });
        indicators.push(z);
    }
    (all, indicators)
}

/// Settings of a unit with so many outputs, of which some or what they follow from may be smooth functions that
/// are no polynomials.
fn settings(
    r: &mut Reader<'_>,
    context: &Context<'_>,
    outputs: usize,
    smooth: bool,
) -> Option<Settings> {
    let params = r.params;
    let positive = ["tolerance", "absolute_tolerance", "exchange_tolerance", "max_step", "dq_min"];
    // Blocks that are equation units inside have no quanta.
    let given = |name: &&str| is_given(params, name);
    for name in positive.into_iter().chain(["dq_rel"]).filter(given) {
        let value = params.real(name);
        if value.is_nan() || value < 0.0 || (value == 0.0 && name != "dq_rel") {
            let error = format!("`{name}` must be positive, this is {value}");
            let help = "give a number above zero, or leave it out for the default";
            r.errors.push(ParamError::at(params.span(name), error).help(help));
        }
    }
    let method = method(r);
    let order = |name| params.get(name).map(|_| params.int(name));
    let (taylor, sent) = (params.text("method") == "taylor", order("segment_order").unwrap_or(3));
    for (name, order, least, most) in [
        ("order", order("order").filter(|_| taylor).unwrap_or(12), 2, MAX_ORDER as i64),
        ("segment_order", sent, 1, MAX_SEGMENT_ORDER as i64),
    ] {
        if !(least..=most).contains(&order) {
            let error = ParamError::at(params.span(name), format!("`{name}` is {order}"));
            r.errors.push(error.help(format!("give {least} to {most}")));
        }
    }
    let tick = 1.0 / context.resolution.ticks_per_second() as f64;
    for name in ["step", "max_step"] {
        let length = params.real(name);
        if length > 0.0 && length < tick {
            let error = format!("`{name}` is shorter than a tick of {tick:e} s");
            let help = "give a longer one, or a finer `resolution`";
            r.errors.push(ParamError::at(params.span(name), error).help(help));
        }
    }
    if !r.errors.is_empty() {
        return None;
    }
    let mut solver =
        Options::tolerance(params.real("tolerance"), params.real("absolute_tolerance"));
    // A step stays well inside the range of ticks.
    let range = i64::MAX as f64 / context.resolution.ticks_per_second() as f64;
    let most = if context.horizon.is_finite() { (context.horizon / MOST).max(1e6) } else { 1e6 };
    let longest = match is_given(params, "max_step") {
        true => params.real("max_step"),
        // An expansion, or a step, at one place says nothing of what comes much later.
        false if smooth => (context.horizon / LOOKS).min(most),
        false => most,
    };
    // Twice as many for each factor of ten, about as steps of order three are.
    solver.parts = context.tighter.log10().exp2().clamp(1.0, 16.0).round();
    solver.max_step = (longest.min(range / 16.0) / solver.parts).max(tick);
    Some(Settings {
        resolution: context.resolution,
        start: 0,
        method,
        solver,
        exchange_tolerance: params.real("exchange_tolerance"),
        segment_order: sent as usize,
        sources: context.input_sources.to_vec(),
        connected: context.output_connected.iter().copied().take(outputs).collect(),
        horizon: context.horizon,
        retells: !context.mastered,
    })
}

/// Whether a parameter has a value that is not that of one left out.
fn is_given(params: &Params, name: &str) -> bool {
    params.get(name).is_some_and(|p| p.value != Param::Text(String::new()))
}

/// The method with its order and its step.
fn method(r: &mut Reader<'_>) -> Method {
    let params = r.params;
    let step = is_given(params, "step").then(|| params.real("step"));
    if step.is_some_and(|h| h.is_nan() || h <= 0.0) {
        let error = ParamError::at(params.span("step"), "`step` must be positive");
        r.errors.push(error.help("give a fixed step such as step = \"1 ms\""));
    }
    let order = params.get("order").map_or(12, |_| params.int("order"));
    let fixed = |r: &mut Reader<'_>, name: &str| {
        if step.is_none() {
            let error = ParamError::at(params.span("method"), format!("`{name}` needs a `step`"));
            r.errors.push(error.help("add a fixed step such as step = \"1 ms\""));
        }
        step.unwrap_or(1.0)
    };
    let name = params.text("method");
    if step.is_some() && !["rk4", "euler", "taylor"].contains(&name) {
        let error = format!("the method `{name}` has no fixed step");
        let help = "remove `step`, write `max_step`, or choose \"rk4\", \"euler\" or \"taylor\"";
        r.errors.push(ParamError::at(params.span("step"), error).help(help));
    }
    match name {
        "rk23" => Method::Rk23,
        "rk4" => Method::Rk4(fixed(r, "rk4")),
        "euler" => Method::Euler(fixed(r, "euler")),
        "taylor" => Method::Taylor(order.clamp(0, 99) as usize, step),
        "closed" => Method::Closed,
        "rodas" => Method::Rodas,
        _ => Method::Rk45,
    }
}
