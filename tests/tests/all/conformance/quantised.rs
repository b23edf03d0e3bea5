//! The H cases of quantised states.
use super::continuous::{Ran, S};
use superdense_models::solve::qss::{Engine, Explicit, Number, Quanta, System, View};

/// x' = a q + b.
struct Affine {
    a: f64,
    b: f64,
}

impl System for Affine {
    fn states(&self) -> usize {
        1
    }
    fn reads(&self, _: usize, states: &mut Vec<u32>) {
        if self.a != 0.0 {
            states.push(0);
        }
    }
    fn derivative<S: Number>(&self, _: usize, at: &impl View<S>, _: &mut Vec<S>) -> S {
        at.state(0) * self.a + self.b
    }
}

fn qss1(system: Affine, quantum: f64, x: f64) -> Engine<Affine, Explicit, 1> {
    let quanta = Quanta { relative: 0.0, minimum: quantum };
    let mut engine = Engine::new(system, quanta, f64::INFINITY);
    engine.start(0.0, &[x], &[]).unwrap();
    engine
}

fn quantised(engine: &Engine<Affine, Explicit, 1>) -> f64 {
    engine.state().variables[0].quantised(engine.now())[0]
}

/// Rule 21: u = 1 - exp(-t) comes within a quantum of 1 and never beyond, also where another state, which nothing
/// reads, makes steps meanwhile.
#[test]
fn steps_of_other_states_flip_nothing() {
    for clock in ["0", "1", "-clock", "cos(t)", "cos(clock)"] {
        for method in ["qss1", "qss2", "qss3", "liqss1", "liqss2", "mliqss2"] {
            let text = format!(
                "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ u = 0, clock = 1 }}\ndiscrete = {{ n = 0 }}\n\
                 derivatives = {{ u = '1 - u', clock = '{clock}' }}\n\
                 outputs = {{ n = 'n', full = 'if u > 1 then 1 else 0' }}\n\
                 [[unit.u.event]]\nname = 'full'\nwhen = 'u >= 1'\nreset = {{ n = 'n + 1' }}"
            );
            let ran = Ran::with(&text, method, 60 * S);
            ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
            let found = [0, 1].map(|port| ran.output("u", port, 60 * S));
            assert_eq!(found, [0.0, 0.0], "{method}, clock' = {clock}");
        }
    }
}

/// Rule 21 holds on after events that do not set the state: where it is within a quantum is known no better than before.
#[test]
fn events_flip_nothing_that_they_do_not_set() {
    for event in ["", "reset = { n = 'n' }", "reset = { clock = 1 }"] {
        for method in ["qss1", "qss2", "qss3", "liqss1", "liqss2", "mliqss2"] {
            for at in [25, 30, 35] {
                let text = format!(
                    "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ u = 0, clock = 1 }}\ndiscrete = {{ n = 0 }}\n\
                     derivatives = {{ u = '1 - u', clock = '-clock' }}\noutputs = {{ n = 'n' }}\n\
                     [[unit.u.event]]\nname = 'full'\nwhen = 'u >= 1'\nreset = {{ n = 'n + 1' }}\n\
                     [[unit.u.event]]\nname = 'look'\nat = {at}\n{event}"
                );
                let ran = Ran::with(&text, method, 60 * S);
                ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
                assert_eq!(ran.output("u", 0, 60 * S), 0.0, "{method} at {at} s: {event}");
            }
        }
    }
}

/// Late in a run a clock of double precision does not tell two neighbouring ticks apart: at 1 fs that is after 4 s.
#[test]
fn bands_are_left_where_the_clock_is_coarser_than_ticks() {
    let text = "resolution = 'fs'\nconnections = ['sq.y -> u.q', 'u.T -> load.u']\n\
                [unit.sq]\nkind = 'pulse'\nperiod = 1\n\
                [unit.u]\nkind = 'equations'\nMETHOD\ninputs = { q = 0 }\nstates = { T = 5 }\n\
                derivatives = { T = '20*(5 - T) + 20*q' }\noutputs = { T = 'T' }\n\
                [unit.load]\nkind = 'gain'\ngain = 2";
    for method in ["qss1", "qss2", "qss3", "liqss2"] {
        let end = 40 * 1_000_000 * S + S / 4;
        let ran = Ran::with(text, method, end);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let found = ran.output("u", 0, end);
        assert!((found - 5.0).abs() < 0.2, "{method}: {found}");
    }
}

#[test]
fn h12_integrator_with_an_impulse() {
    let mut engine = qss1(Affine { a: 0.0, b: 1.0 }, 0.1, 0.0);
    let mut seen = vec![quantised(&engine)];
    let steps = |engine: &mut Engine<_, _, 1>, until: f64, seen: &mut Vec<f64>| {
        while engine.next() <= until + 1e-9 {
            engine.step().unwrap();
            seen.push(quantised(engine));
        }
    };
    steps(&mut engine, 1.0, &mut seen);
    engine.state_mut().variables[0].move_state(1.0);
    engine.state_mut().variables[0].x -= 1.0;
    engine.restart(1.0).unwrap();
    seen.push(quantised(&engine));
    steps(&mut engine, 2.0, &mut seen);
    // 1.0 at (1, 0) and 0.0 at (1, 1), as the trace of DEVS has it.
    assert_eq!(seen.len(), 22);
    let expected = (0..=10).chain(0..=10).map(|k| f64::from(k) / 10.0);
    for (found, expected) in seen.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn h13_decay() {
    let cases = [(0.1, 10, 2.928968254, 0.05345), (0.01, 100, 5.187377516, 0.005587)];
    for (quantum, events, last, worst) in
        cases.into_iter().chain([(0.001, 1000, 7.485470857, 0.0005612)])
    {
        let mut engine = qss1(Affine { a: -1.0, b: 0.0 }, quantum, 1.0);
        let bound = quantum * (1.0 + 1e-9);
        let (mut times, mut most) = (Vec::new(), 0.0_f64);
        loop {
            let next = engine.next();
            // x is a straight line between events and the exponential is convex: the distance is
            // largest at an end, or where the slopes agree.
            let (now, x) = (engine.now(), |t: f64| engine.value(0, t));
            let level = quantised(&engine);
            let end = next.min(now + 20.0);
            for t in [now, end, (-level.ln()).clamp(now, end)] {
                most = most.max((x(t) - (-t).exp()).abs());
            }
            // A level that is zero but for rounding may give one more step, ages later.
            if next > now + 20.0 {
                break;
            }
            engine.step().unwrap();
            times.push(next);
        }
        assert_eq!(times.len(), events, "{quantum}");
        assert!((times[events - 1] - last).abs() < 1e-8 * events as f64, "{:?}", times.last());
        assert!((most / worst - 1.0).abs() < 1e-3 && most <= bound, "{quantum}: {most}");
    }
    let mut engine = qss1(Affine { a: -1.0, b: 0.0 }, 0.1, 1.0);
    for expected in [0.1, 0.211111111, 0.336111111, 0.478968254] {
        assert!((engine.next() - expected).abs() < 1e-8);
        engine.step().unwrap();
    }
}

/// Before the input comes x = (1 - t/2)², whose third derivative is nothing but rounding: the next step was
/// 0.1 s long after it.
#[test]
fn an_input_that_comes_late_is_followed() {
    for method in ["qss1", "qss2", "qss3", "liqss2"] {
        let text = "connections = ['a.y -> u.i']\n\
             [unit.a]\nkind = 'equations'\nmethod = 'qss3'\nstates = { y = 0.5 }\n\
             derivatives = { y = '3' }\noutputs = { y = 'y' }\n\
             [[unit.a.event]]\nname = 'far'\nwhen = 'abs(y - 0.5) > 0'\n\
             [unit.u]\nkind = 'equations'\nMETHOD\ninputs = { i = 0 }\nstates = { x = 1 }\n\
             derivatives = { x = '-sqrt(x) + i' }\noutputs = { x = 'x' }\n\
             dq_rel = 1e-6\ndq_min = 1e-6";
        let ran = Ran::with(text, method, S / 8);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let x = ran.output("u", 0, S / 8);
        assert!((x - 0.962_379_883_29).abs() < 3e-6, "{method}: {x}");
    }
}

/// The engine's own time, in seconds, would be rounded to 1.2e-7 s here: it begins anew.
#[test]
fn ages_do_not_round_what_comes_after_them() {
    let late = 1_000_000_000;
    for method in ["qss1", "qss2", "qss3", "liqss1", "liqss2", "mliqss2"] {
        let text = format!(
            "[unit.u]\nkind = 'equations'\nMETHOD\nstates = {{ x = 0 }}\ndiscrete = {{ d = 0, n = 0 }}\n\
             derivatives = {{ x = 'd' }}\noutputs = {{ x = 'x', n = 'n' }}\n\
             [[unit.u.event]]\nname = 'late'\nat = {late}\nreset = {{ d = 1 }}\n\
             [[unit.u.event]]\nname = 'e'\nwhen = 'max(x, 0.3) > 1'\nreset = {{ n = 'x' }}"
        );
        let ran = Ran::with(&text, method, (late + 2) * S);
        ran.end.as_ref().unwrap_or_else(|e| panic!("{method}: {e}"));
        let at = |ticks| ran.output("u", 0, late * S + ticks);
        assert!((at(S * 7 / 10) - 0.7).abs() < 1e-12, "{method}: {}", at(S * 7 / 10));
        let seen = ran.output("u", 1, (late + 2) * S);
        assert!((seen - 1.0).abs() < 1e-12, "{method}: {seen}");
    }
}
