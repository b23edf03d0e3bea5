//! Random problems of several kinds, as scenario files.
use std::fmt::Write;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// From `a` to `b`, with three digits.
    fn real(&mut self, a: f64, b: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((a + (b - a) * unit) * 1e3).round() / 1e3
    }
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Scenario `k` of a seed.
pub(super) fn scenario(seed: u64, k: u64) -> String {
    let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ k);
    draw.next();
    let tolerance = draw.one_of(&[1e-3, 1e-4, 1e-6, 1e-6, 1e-8, 1e-10]);
    let stop = draw.one_of(&[5, 20, 50]);
    let unit = match k % 6 {
        0 => network(&mut draw, false),
        1 => network(&mut draw, true),
        2 => oscillators(&mut draw),
        3 => switched(&mut draw),
        4 => reset(&mut draw),
        _ => stiff(&mut draw),
    };
    format!(
        "# Drawn: seed {seed}, number {k}.\nstop = \"{stop} s\"\nresolution = \"ps\"\n\
         sample = \"none\"\nrecord = []\n\n[unit.u]\nkind = \"equations\"\nmethod = \"auto\"\n\
         tolerance = {tolerance:e}\nabsolute_tolerance = {tolerance:e}\n{unit}"
    )
}

fn table(name: &str, entries: &[(String, String)]) -> String {
    let mut text = format!("[unit.u.{name}]\n");
    for (key, value) in entries {
        writeln!(text, "{key} = \"{value}\"").expect("a string takes all");
    }
    text
}

/// The tables of states and derivatives, with all states as outputs.
fn tables(states: &[(f64, String)]) -> String {
    let each = |f: &dyn Fn(usize) -> String| -> Vec<(String, String)> {
        (0..states.len()).map(|i| (format!("x{i}"), f(i))).collect()
    };
    let start = each(&|i| states[i].0.to_string());
    let slopes = each(&|i| states[i].1.clone());
    let outputs: Vec<_> = (0..states.len()).map(|i| (format!("y{i}"), format!("x{i}"))).collect();
    [table("states", &start), table("derivatives", &slopes), table("outputs", &outputs)].concat()
}

/// Decays that feed each other, with or without a nonlinear term, driven by the time.
fn network(draw: &mut Draw, nonlinear: bool) -> String {
    let n = draw.one_of(&[2, 4, 8, 20]);
    let states: Vec<(f64, String)> = (0..n)
        .map(|i| {
            let mut text = format!("-{}*x{i}", draw.real(0.2, 3.0));
            for _ in 0..draw.below(3) {
                write!(text, " + {}*x{}", draw.real(-0.5, 0.5), draw.below(n)).expect("a string");
            }
            if nonlinear {
                write!(text, " - {}*x{i}^3", draw.real(0.1, 1.0)).expect("a string");
            }
            if i == 0 {
                write!(text, " + sin({}*t)", draw.real(0.5, 4.0)).expect("a string");
            }
            (draw.real(-1.0, 1.0), text)
        })
        .collect();
    tables(&states)
}

/// A chain of oscillators, linear or pendulums.
fn oscillators(draw: &mut Draw) -> String {
    let n = draw.one_of(&[1_u64, 2, 5, 10]) as usize;
    let pendulums = draw.below(2) == 0;
    let mut states = Vec::new();
    for i in 0..n {
        let (x, v) = (2 * i, 2 * i + 1);
        let own = if pendulums { format!("sin(x{x})") } else { format!("x{x}") };
        let mut force = format!("-{}*{own} - {}*x{v}", draw.real(1.0, 20.0), draw.real(0.0, 0.2));
        if i > 0 {
            write!(force, " + {}*(x{} - x{x})", draw.real(0.1, 1.0), x - 2).expect("a string");
        }
        states.push((draw.real(-1.0, 1.0), format!("x{v}")));
        states.push((0.0, force));
    }
    tables(&states)
}

/// Springs that act on one side, or a saturated controller.
fn switched(draw: &mut Draw) -> String {
    let (k, d) = (draw.one_of(&[5.0, 50.0, 1000.0]), draw.real(0.0, 0.5));
    let limit = draw.real(0.05, 0.4);
    let force = match draw.below(3) {
        0 => format!("-x0 - {d}*x1 - (if x0 > {limit} then {k}*(x0 - {limit}) else 0)"),
        1 => format!("-x0 - {d}*x1 - {k}*max(abs(x0) - {limit}, 0)*sign(x0)"),
        _ => format!("-x0 - {d}*x1 + min(max(-{k}*x0, -{limit}), {limit})"),
    };
    let force = format!("{force} + {}*cos({}*t)", draw.real(0.0, 1.0), draw.real(0.3, 3.0));
    tables(&[(draw.real(0.2, 1.0), "x1".to_owned()), (0.0, force)])
}

/// Two integrators that are set back at thresholds.
fn reset(draw: &mut Draw) -> String {
    let rate = draw.real(0.5, 5.0);
    let leak = draw.real(0.0, 0.5);
    let states = [
        (0.0, format!("{rate} - {leak}*x0 + 0.3*x1")),
        (
            draw.real(0.0, 1.0),
            format!("-x1 + {}*sin({}*t)", draw.real(0.1, 0.5), draw.real(0.5, 3.0)),
        ),
    ];
    let event = format!(
        "[[unit.u.event]]\nname = \"full\"\nwhen = \"x0 >= 1\"\nreset = {{ x0 = \"{}*x0 - 0.2\", x1 = \"x1 + {}\" }}\n",
        draw.real(0.0, 0.5),
        draw.real(0.0, 0.5)
    );
    tables(&states) + &event
}

/// A fast state that follows slow ones.
fn stiff(draw: &mut Draw) -> String {
    let fast = draw.one_of(&[200.0, 5e3, 1e6]);
    let cubic = if draw.below(2) == 0 { "x0" } else { "x0^3" };
    let states = [
        (1.0, format!("-{fast}*({cubic} - x1)")),
        (1.0, format!("-{}*x1 + {}*x2", draw.real(0.1, 1.0), draw.real(0.1, 1.0))),
        (draw.real(-1.0, 1.0), format!("-{}*x1 - 0.1*x2*x0", draw.real(0.5, 4.0))),
    ];
    tables(&states)
}
