//! The blocks of random diagrams, each with its formulas.
use super::{Block, Delayed, Form};
use crate::generate::random::Random;

const EXCHANGE: &str = "exchange_tolerance = 1e-9\n";

/// A number with two places.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    hundredths(low + (high - low) * random.uniform())
}

fn hundredths(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

fn inputs(ports: &[&'static str], from: &[usize]) -> Vec<(&'static str, usize)> {
    ports.iter().copied().zip(from.iter().copied()).collect()
}

fn output(text: String) -> Form {
    Form { output: text, ..Form::default() }
}

/// A block that hears nothing.
pub(super) fn source(random: &mut Random) -> Block {
    let number = |random: &mut Random| between(random, -2.0, 2.0);
    let (a, b) = (number(random), number(random));
    let (keys, formula) = match random.below(5) {
        0 => (format!("kind = 'constant'\nvalue = {a}\n"), format!("({a})")),
        1 => {
            let (f, phase) = (between(random, 0.1, 2.0), between(random, 0.0, 6.0));
            let keys = format!(
                "kind = 'sine'\namplitude = {a}\nfrequency = {f}\nphase = {phase}\noffset = {b}\norder = 9\n{EXCHANGE}"
            );
            (keys, format!("({a}*sin(2*pi*{f}*t + {phase}) + {b})"))
        }
        2 => {
            let (from, length) = (between(random, 0.0, 1.0), between(random, 0.2, 1.0));
            let until = hundredths(from + length);
            let keys = format!(
                "kind = 'ramp'\nfrom = '{from} s'\nuntil = '{until} s'\nslope = {a}\nvalue = {b}\n"
            );
            let line =
                format!("if t < {from} then 0 else if t < {until} then t - {from} else {length}");
            (keys, format!("({b} + {a}*({line}))"))
        }
        3 => {
            let at = if random.chance(30) { 0.0 } else { between(random, 0.1, 2.4) };
            let keys = format!("kind = 'step'\nat = '{at} s'\nfrom = {a}\nto = {b}\n");
            (keys, format!("(if t < {at} then {a} else {b})"))
        }
        _ => {
            let period = between(random, 0.4, 1.5);
            let width = hundredths(period * between(random, 0.1, 0.9));
            let keys = format!(
                "kind = 'pulse'\nperiod = '{period} s'\nwidth = '{width} s'\nlow = {a}\nhigh = {b}\n"
            );
            (keys, format!("(if mod(t, {period}) < {width} then {b} else {a})"))
        }
    };
    Block { keys, form: output(formula), ..Block::default() }
}

/// A source that comes later.
pub(super) fn delayed(random: &mut Random, sources: usize) -> Block {
    let (by, before) = (between(random, 0.0, 1.0), between(random, -2.0, 2.0));
    let keys = format!("kind = 'delay'\ndelay = '{by} s'\nof = 'signal'\ninitial = {before}\n");
    let form = Form { delayed: Some(Delayed { by, before }), ..output("#0".into()) };
    Block { keys, inputs: vec![("b@.u", random.below(sources))], form, ..Block::default() }
}

/// Block `own` with states, whose input is any other of `count` blocks.
pub(super) fn dynamic(random: &mut Random, own: usize, count: usize) -> Block {
    let start = between(random, -2.0, 2.0);
    let mut form = output("x@".into());
    let x = |rate: String| ("x", format!("{start}"), rate);
    let mut wires = String::new();
    let keys = match random.below(6) {
        5 => {
            let (period, from) = instants(random);
            form.states.push(x("#0".into()));
            form.events =
                format!("every = '{period}'\nfrom = '{from}'\nreset = {{ x@ = {start} }}\n");
            wires = "'s@.y -> b@.reset'".into();
            format!(
                "kind = 'integrator'\ninitial = {start}\n{EXCHANGE}[unit.s@]\nkind = 'clock'\n\
                 period = '{period}'\noffset = '{from}'\nvalue = {start}\n"
            )
        }
        0 => {
            form.states.push(x("#0".into()));
            format!("kind = 'integrator'\ninitial = {start}\n{EXCHANGE}")
        }
        1 => {
            let (time, gain) = (between(random, 0.05, 2.0), between(random, -2.0, 2.0));
            form.states.push(x(format!("({gain}*#0 - x@)/{time}")));
            let order = random.pick(&[3, 9, 12]);
            format!(
                "kind = 'first-order'\ninitial = {start}\ntime_constant = {time}\ngain = {gain}\norder = {order}\n{EXCHANGE}"
            )
        }
        2 => equations(random, start, &mut form),
        kind => {
            let (a1, a0, b) =
                (between(random, 0.2, 3.0), between(random, 0.5, 9.0), between(random, -3.0, 3.0));
            form.states.push(("x", "0".into(), "w@".into()));
            form.states.push(("w", "0".into(), format!("#0 - {a1}*w@ - {a0}*x@")));
            // A zero takes the slope of the output at once to where the input is.
            let zero = if kind == 3 { 0.0 } else { between(random, -2.0, 2.0) };
            form.output = format!("({b}*x@ + {zero}*w@)");
            format!(
                "kind = 'transfer-function'\nnumerator = [{zero}, {b}]\ndenominator = [1, {a1}, {a0}]\ntolerance = 1e-11\n{EXCHANGE}"
            )
        }
    };
    let other = (own + 1 + random.below(count - 1)) % count;
    Block { keys, inputs: vec![("b@.u", other)], form, wires, joined: false }
}

/// A unit of equations under a random method.
fn equations(random: &mut Random, start: f64, form: &mut Form) -> String {
    let (a, b, c) =
        (between(random, -2.0, 0.5), between(random, -2.0, 2.0), between(random, -1.0, 1.0));
    let solver = |size: &str| format!("tolerance = {size}\nabsolute_tolerance = {size}");
    let quantised = |size: &str| format!("dq_rel = {size}\ndq_min = {size}");
    let (method, accuracy) = match random.below(8) {
        0 => ("rk45", solver("1e-11")),
        1 => ("taylor", solver("1e-11")),
        2 => ("closed", String::new()),
        3 => ("rodas", solver("1e-9")),
        4 => ("qss2", quantised("3e-8")),
        5 => ("qss3", quantised("1e-9")),
        6 => ("liqss2", quantised("3e-8")),
        _ => ("auto", solver("1e-9")),
    };
    let curve = if method == "closed" || random.chance(50) { "x" } else { "sin(x)" };
    let rate = |x: &str, u: &str| format!("{a}*{} + {b}*{u} + {c}", curve.replace('x', x));
    form.states.push(("x", format!("{start}"), rate("x@", "#0")));
    format!(
        "kind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = {start} }}\nderivatives = {{ x = '{}' }}\n\
         outputs = {{ y = 'x' }}\nmethod = '{method}'\n{accuracy}\n{EXCHANGE}",
        rate("x", "u")
    )
}

/// A period and the first instant. They never meet jumps of sources, which have two places, nor those of
/// another block, whose number is another.
fn instants(random: &mut Random) -> (String, String) {
    let (period, from) = (between(random, 0.05, 0.9) + 0.007, between(random, 0.0, 0.5));
    (format!("{period:.3} s"), format!("{from:.2}01@ s"))
}

/// A block that holds what it read, decided or counted last.
fn holding(random: &mut Random, other: usize) -> Block {
    let mut form = output("d@".into());
    let (keys, wires, start) = match random.below(3) {
        0 => {
            let (period, from) = instants(random);
            let initial = between(random, -2.0, 2.0);
            let mode = random.pick(&["left", "right"]);
            form.events = format!("every = '{period}'\nfrom = '{from}'\nreset = {{ d@ = '#0' }}\n");
            let keys = format!(
                "kind = 'hold'\ninitial = {initial}\n[unit.s@]\nkind = 'sampler'\nperiod = '{period}'\n\
                 offset = '{from}'\nmode = '{mode}'\n"
            );
            (keys, "'s@.y -> b@.u'", format!("{initial}"))
        }
        1 => {
            let low = between(random, -2.0, 1.0) + 0.003;
            let high = low + between(random, 0.05, 1.5);
            let on = random.chance(50);
            form.events = format!(
                "when = 'd@ == 0 and #0 > {high:.3}'\nreset = {{ d@ = 1 }}\n[[unit.m.event]]\n\
                 when = 'd@ == 1 and #0 < {low:.3}'\nreset = {{ d@ = 0 }}\n"
            );
            let keys = format!(
                "kind = 'offset'\noffset = 0\n[unit.s@]\nkind = 'hysteresis'\nlow = {low:.3}\n\
                 high = {high:.3}\ninitial = {on}\n{EXCHANGE}"
            );
            let start = if on { format!("#0 >= {low:.3}") } else { format!("#0 > {high:.3}") };
            (keys, "'s@.state -> b@.u'", format!("if {start} then 1 else 0"))
        }
        _ => {
            let level = between(random, -2.0, 1.0) + 0.003;
            let way = random.pick(&["rising", "falling", "both"]);
            form.events = format!(
                "crossing = '#0 - ({level:.3})'\ndirection = '{way}'\nreset = {{ d@ = 'd@ + 1' }}\n"
            );
            let keys = format!(
                "kind = 'offset'\noffset = 0\n[unit.s@]\nkind = 'detector'\nthreshold = {level:.3}\n\
                 direction = '{way}'\n{EXCHANGE}[unit.c@]\nkind = 'counter'\n"
            );
            (keys, "'s@.y -> c@.u', 'c@.count -> b@.u'", "0".into())
        }
    };
    form.discrete = Some(start);
    Block { keys, inputs: vec![("s@.u", other)], wires: wires.into(), form, joined: false }
}

/// A block without delay, which hears those before it.
pub(super) fn direct(random: &mut Random, blocks: &[Block]) -> Block {
    let mut one = || random.below(blocks.len());
    let from = [one(), one(), one()];
    let g = between(random, -2.0, 2.0);
    // No start value: a signal that leaves a threshold slowly is a question of tolerances.
    let odd = g + 0.003;
    let (keys, ports, formula): (String, &[&'static str], String) = match random.below(10) {
        0 => (format!("kind = 'gain'\ngain = {g}\n"), &["b@.u"], format!("({g}*#0)")),
        1 => (format!("kind = 'offset'\noffset = {g}\n"), &["b@.u"], format!("({g} + #0)")),
        2 => ("kind = 'sum'\nsigns = '+-'\n".into(), &["b@.u1", "b@.u2"], "(#0 - #1)".into()),
        3 => {
            let keys = format!("kind = 'product'\norder = 9\n{EXCHANGE}");
            (keys, &["b@.u1", "b@.u2"], "(#0*#1)".into())
        }
        4 => {
            let keys = format!("kind = 'switch'\nby = 'signal'\nthreshold = {odd:.3}\n");
            (keys, &["b@.u1", "b@.u2", "b@.select"], format!("(if #2 >= {odd:.3} then #0 else #1)"))
        }
        5 => {
            let quantum = 0.1 + odd.abs();
            // Not `floor`: many start at zero, and where they go from there is a matter of the first tick.
            let keys = format!("kind = 'quantiser'\nquantum = {quantum:.3}\n{EXCHANGE}");
            (keys, &["b@.u"], format!("({quantum:.3}*floor(#0/{quantum:.3} + 0.5))"))
        }
        6 => return lead(random, from[0]),
        7 | 8 => {
            // Values between micro-steps are news to what waits for thresholds.
            let plain: Vec<usize> = (0..blocks.len()).filter(|&k| !blocks[k].joined).collect();
            let other = random.pick(&plain);
            return holding(random, other);
        }
        _ => return controller(random, from),
    };
    let inputs = inputs(ports, &from);
    Block { keys, inputs, form: output(formula), ..Block::default() }
}

/// A transfer function whose output follows jumps of its input.
fn lead(random: &mut Random, other: usize) -> Block {
    let (b1, b0, a0) =
        (between(random, -2.0, 2.0), between(random, -2.0, 2.0), between(random, 0.2, 9.0));
    let keys = format!(
        "kind = 'transfer-function'\nnumerator = [{b1}, {b0}]\ndenominator = [1, {a0}]\ntolerance = 1e-11\n{EXCHANGE}"
    );
    let mut form = output(format!("({b1}*#0 + ({b0} - {b1}*{a0})*x@)"));
    form.states.push(("x", "0".into(), format!("#0 - {a0}*x@")));
    Block { keys, inputs: vec![("b@.u", other)], form, ..Block::default() }
}

/// A controller, with or without a derivative.
fn controller(random: &mut Random, from: [usize; 3]) -> Block {
    let (kp, ki) = (between(random, -1.0, 2.0), between(random, 0.0, 2.0));
    let mut keys = format!("kind = 'pid'\nkp = {kp}\nki = {ki}\norder = 9\n{EXCHANGE}");
    let mut form = output(format!("({kp}*(#0 - #1) + {ki}*i@)"));
    form.states.push(("i", "0".into(), "#0 - #1".into()));
    if random.chance(50) {
        let (kd, filter) = (between(random, 0.0, 0.5), between(random, 0.05, 0.5));
        keys += &format!("kd = {kd}\nfilter = {filter}\n");
        form.output = format!("({kp}*(#0 - #1) + {ki}*i@ + {kd}*(#0 - #1 - z@)/{filter})");
        // The derivative starts without a kick.
        form.states.push(("z", "#0 - #1".into(), format!("(#0 - #1 - z@)/{filter}")));
    }
    let inputs = inputs(&["b@.reference", "b@.measured"], &from);
    Block { keys, inputs, form, ..Block::default() }
}
