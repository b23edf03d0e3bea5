//! Couplings, run as a user runs them, against closed forms and independent references.
use super::library::{Results, number};

/// Two units x' = -x + u that hear each other: (1 + exp(-2t))/2.
fn pair() -> String {
    let unit = |name: &str, x: f64| {
        format!(
            r#"
[unit.{name}]
kind = "equations"
inputs = {{ u = {:?} }}
states = {{ x = {x:?} }}
derivatives = {{ x = "-x + u" }}
outputs = {{ x = "x" }}
tolerance = 1e-13
absolute_tolerance = 1e-13
exchange_tolerance = 1e-12
"#,
            1.0 - x
        )
    };
    format!(
        r#"
stop = "2 s"
sample = "none"
connections = ["a.x -> b.u", "b.x -> a.u"]
[parameters]
H = 0.1
{}{}"#,
        unit("a", 1.0),
        unit("b", 0.0)
    )
}

/// Order of extrapolation from derivatives gives the order of the whole; from samples the first
/// macro step has only one value, which leaves the second order.
#[test]
fn orders_of_convergence() {
    let dir = super::folder("coupling-orders");
    std::fs::write(dir.join("pair.toml"), pair()).unwrap();
    let error = |policy: &str, h: f64| {
        let set = format!("coupling={{step=\"{h:?}s\",{}}}", policy.replace(' ', ""));
        super::good(&dir, &format!("run pair.toml --quiet --force --out out --set {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let x = number(text.lines().last().unwrap().split(',').nth(1).unwrap());
        (x - f64::midpoint(1.0, (-4.0f64).exp())).abs()
    };
    for (policy, order) in [
        ("", 1.0),
        ("extrapolation = 1", 2.0),
        ("extrapolation = 1, slopes = \"derivatives\"", 2.0),
        ("extrapolation = 2, slopes = \"derivatives\"", 3.0),
        ("order = \"gauss-seidel\"", 1.0),
        ("order = \"gauss-seidel\", extrapolation = 1", 2.0),
        ("order = \"gauss-seidel\", extrapolation = 1, slopes = \"derivatives\"", 2.0),
        ("order = \"gauss-seidel\", extrapolation = 2, slopes = \"derivatives\"", 3.0),
    ] {
        let measured = (error(policy, 0.05) / error(policy, 0.025)).log2();
        assert!((measured - order).abs() < 0.25, "{policy}: order {measured}");
    }
}

/// The adaptive macro step follows its tolerance: smaller errors for more exchanges, and far fewer
/// exchanges than a fixed step of equal error.
#[test]
fn adaptive_steps() {
    let dir = super::folder("coupling-adaptive");
    std::fs::write(dir.join("pair.toml"), pair()).unwrap();
    let mut before = (f64::INFINITY, 0);
    for tolerance in ["1e-2", "1e-3", "1e-4"] {
        let set = format!(
            "coupling={{step=\"1ms\",extrapolation=1,slopes=\"derivatives\",tolerance={tolerance}}}"
        );
        super::good(&dir, &format!("run pair.toml --quiet --force --out out --set {set}"));
        let summary = super::json(&super::read(&dir.join("out"), "summary.json"));
        let exchanges = summary["exchanges"].as_u64().unwrap();
        let text = super::read(&dir.join("out"), "samples.csv");
        let x = number(text.lines().last().unwrap().split(',').nth(1).unwrap());
        let error = (x - f64::midpoint(1.0, (-4.0f64).exp())).abs();
        assert!(error < tolerance.parse::<f64>().unwrap(), "{tolerance}: {error}");
        assert!(error < before.0 && exchanges > before.1, "{tolerance}: {error}, {exchanges}");
        before = (error, exchanges);
    }
    assert!(before.1 < 2 * 400, "{} exchanges", before.1);
}

/// An algebraic loop of two units: a.y = 1 + s - gain b.y, b.y = a.y.
pub(super) const RING: &str = r#"
stop = "1 s"
sample = "0.5 s"
record = ["a.y", "b.y"]
connections = ["a.y -> b.u", "b.y -> a.u"]
[parameters]
gain = 0.5
[coupling]
step = "0.1 s"
feed_through = "settled"
[unit.a]
kind = "equations"
inputs = { u = 0.0 }
states = { s = 0.0 }
derivatives = { s = "1" }
outputs = { y = "1 + s - gain*u" }
[unit.b]
kind = "equations"
inputs = { u = 0.0 }
states = { s = 0.0 }
derivatives = { s = "0" }
outputs = { y = "u" }
"#;

/// Algebraic loops are solved by fixed-point iteration, with relaxation where the gain is beyond
/// one; a loop that does not converge is an error that names it.
#[test]
fn algebraic_loops() {
    let dir = super::folder("coupling-ring");
    std::fs::write(dir.join("ring.toml"), RING).unwrap();
    for (gain, relaxation) in [(0.5, 1.0), (0.95, 1.0), (-0.9, 1.0), (3.0, 0.3), (8.0, 0.1)] {
        let set = format!("--set gain={gain:?} --set coupling.relaxation={relaxation:?}");
        super::good(&dir, &format!("run ring.toml --quiet --force --out out {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let last: Vec<f64> = text.lines().last().unwrap().split(',').map(number).collect();
        let exact = 2.0 / (1.0 + gain);
        for y in &last[1..] {
            assert!((y - exact).abs() < 1e-9, "gain {gain}, relaxation {relaxation}: {last:?}");
        }
    }
    let output = super::superdense(&dir, "run ring.toml --quiet --force --out out --set gain=1");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["a.y, b.y does not converge", "after 4000 rounds", "relaxation"] {
        assert!(said.contains(part), "{said}");
    }
}

/// Without a `sequence` the order is that of feed-through: `zero`, which follows nothing at once, comes
/// before those that follow it, `one` before `half`, whatever their names and their order in the text; the
/// ring of `p` and `q` goes in path order.
#[test]
fn the_order_follows_feed_through() {
    const CHAIN: &str = r#"
stop = "1 s"
sample = "0.05 s"
connections = [
  "zero.y -> one.u", "one.y -> half.u", "half.y -> zero.u", "p.y -> q.u", "q.y -> p.u", "half.y -> p.w",
]
[coupling]
step = "0.1 s"
order = "gauss-seidel"
[unit.q]
kind = "equations"
inputs = { u = 0 }
outputs = { y = "0.5*u + 1" }
[unit.half]
kind = "equations"
inputs = { u = 0 }
let = { twice = "2*u" }
outputs = { y = "0.25*twice" }
[unit.one]
kind = "equations"
inputs = { u = 0 }
states = { x = 1 }
derivatives = { x = "u" }
outputs = { y = "x + u" }
[unit.p]
kind = "equations"
inputs = { u = 0, w = 0 }
outputs = { y = "0.5*u + t + w" }
[unit.zero]
kind = "equations"
inputs = { u = 0 }
states = { x = 1 }
derivatives = { x = "-u - x" }
outputs = { y = "x" }
"#;
    let dir = super::folder("coupling-order");
    std::fs::write(dir.join("chain.toml"), CHAIN).unwrap();
    let samples = |sequence: &str| {
        let set = match sequence {
            "" => String::new(),
            names => format!(" --set coupling.sequence={names}"),
        };
        super::good(&dir, &format!("run chain.toml --quiet --force --out out{set}"));
        super::read(&dir.join("out"), "samples.csv")
    };
    let own = samples("");
    assert_eq!(own, samples(r#"["zero","one","half","p","q"]"#));
    for other in [
        r#"["zero","half","one","p","q"]"#,
        r#"["zero","one","half","q","p"]"#,
        r#"["half","one","p","q","zero"]"#,
    ] {
        assert_ne!(own, samples(other), "{other}");
    }
}

/// Without events the automatic sequence is Gauss-Seidel, and switching is Jacobi; with three units, of
/// which one is heard by both others, each hears the others as its place in the sequence says.
#[test]
fn orders_that_never_change() {
    let dir = super::folder("coupling-automatic");
    let third = r#"
[unit.c]
kind = "equations"
inputs = { u = 1.0, w = 0.0 }
states = { x = 0.5 }
derivatives = { x = "-2*x + u - w" }
outputs = { x = "x" }
"#;
    let three =
        pair().replace("\"a.x -> b.u\",", "\"a.x -> b.u\", \"a.x -> c.u\", \"b.x -> c.w\",");
    std::fs::write(dir.join("three.toml"), three + third).unwrap();
    let last = |order: &str| {
        let set = format!("coupling={{step=\"H\",extrapolation=1,order=\"{order}\"}}");
        super::good(&dir, &format!("run three.toml --quiet --force --out out --set {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let last = text.lines().last().unwrap().split(',').skip(1);
        last.map(number).collect::<Vec<f64>>()
    };
    let far =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let [one, other] = ["gauss-seidel", "jacobi"].map(last);
    assert!(far(&one, &last("automatic")) < 1e-9, "{one:?}");
    assert!(far(&other, &last("switching")) < 1e-9, "{other:?}");
    assert!(far(&one, &other) > 1e-6, "{one:?}, {other:?}");
}

/// Three masses by Euler's method with steps of their own, of which none is cut by an exchange inside the
/// group beside it: the scheme of Hafner & Popper 2021, by hand.
#[test]
fn own_steps_are_not_cut_by_who_looks_on() {
    let options = ["--set", "H=0.03", "--set", "H2=0.0075", "--until", "0.03"];
    let results = Results::of("papers/003_hierarchical.toml", &options);
    let (mut x, mut v, pull) = (1.0, 0.0, 0.1);
    for _ in 0..6 {
        (x, v) = (x + 0.005 * v, v + 0.005 * (-0.01 * x - 0.1 * v + pull) / 10.0);
    }
    let rows = results.rows("samples.csv");
    let found = number(&rows.last().unwrap()[1]);
    assert!((found - x).abs() < 1e-15, "x1 = {found}, not {x}");
    assert!(results.summary().get("cut_steps").is_none());
}

/// Inputs and events that change something do cut steps of fixed length, and that is told.
#[test]
fn steps_that_are_cut_are_told() {
    let dir = super::folder("coupling-cuts");
    let unit = "[unit.a]\nkind='equations'\nstates={x=1}\ninputs={u=0}\nderivatives={x='-x+u'}\n\
                outputs={x='x'}\nmethod='euler'\nstep=0.1\nunconnected='ok'\n";
    let event = "[[unit.a.event]]\nname='kick'\nevery=0.25\nfrom=0.25\nreset={x='x+1'}\n";
    let steps = "connections=['s.y -> a.u']\n[unit.s]\nkind='pulse'\nperiod=0.25\nwidth=0.1\n";
    for (text, cuts, by) in [
        (unit.to_owned(), 0, ""),
        (format!("{unit}{event}"), 4, "event `kick`"),
        (format!("{unit}{}", event.replace("0.25", "0.3")), 0, ""),
        (format!("{steps}{unit}"), 4, "input `u`"),
        // Euler's method passes 0.5 between 0.6 s and 0.7 s.
        (format!("{unit}[[unit.a.event]]\nname='low'\nwhen='x <= 0.5'\n"), 1, "event `low`"),
        (unit.replace("'-x+u'", "'if x > 0.5 then -x else 0'"), 1, "a change of an `if`"),
    ] {
        std::fs::write(dir.join("a.toml"), format!("stop = 1\n{text}")).unwrap();
        super::good(&dir, "run a.toml --quiet --force --out out");
        let summary = super::json(&super::read(&dir.join("out"), "summary.json"));
        assert_eq!(summary["cut_steps"].as_u64().unwrap_or(0), cuts, "{text}");
        let notes = summary["notes"].to_string();
        assert!(notes.contains(by) && (cuts == 0 || notes.contains("short")), "{text}: {notes}");
    }
}

/// Two bodies of equal mass exchange their speeds when the left one, told where the right one is by
/// extrapolation, sees them touch. By true values the sum of speeds is kept; the unit that finds the event
/// loses what it was told wrongly if it believes that.
#[test]
fn shared_events_keep_momentum_by_true_values() {
    let dir = super::folder("coupling-momentum");
    let body = |name: &str, x: f64, v: f64, a: &str| {
        format!(
            "[unit.{name}]\nkind='equations'\nstates={{x={x:?},v={v:?}}}\ninputs={{y={:?},w={:?}}}\n\
             discrete={{before=0,after=0}}\nderivatives={{x='v',v='{a}'}}\n\
             outputs={{x='x',v='v',before='before',after='after'}}\n",
            1.0 - x,
            -0.5 - v
        )
    };
    let change = |values: &str| {
        let text = format!(
            "stop=2\nrecord=['left.before','right.before','left.after','right.after']\n\
             connections=['left.x -> right.y','left.v -> right.w','right.x -> left.y','right.v -> left.w']\n\
             {}{}[coupling]\nstep=0.1\nevents='interrupt'\nextrapolation=1\n\
             [[link]]\nname='touch'\nunits=['left','right']\ndetectors=['left']\n{values}\n\
             when='left.x >= right.x and left.v >= right.v'\n[link.reset]\n\
             'left.v'='right.v'\n'right.v'='left.v'\n'left.before'='left.v'\n'right.before'='right.v'\n\
             'left.after'='right.v'\n'right.after'='left.v'\n",
            body("left", 0.0, 1.0, "-v"),
            body("right", 1.0, -1.5, "3*cos(8*t)"),
        );
        std::fs::write(dir.join("a.toml"), text).unwrap();
        super::good(&dir, "run a.toml --quiet --force --out out");
        let text = super::read(&dir.join("out"), "samples.csv");
        let end: Vec<f64> = text.lines().last().unwrap().split(',').map(number).collect();
        assert!(end[1] > end[2], "they touched: {end:?}");
        (end[3] + end[4] - end[1] - end[2]).abs()
    };
    assert!(change("") < 1e-12 && change("values='true'") < 1e-12);
    assert!(change("values='believed'") > 1e-3);
}

/// Two oscillators of a nanometre hear nothing of each other by the usual tolerance, and that is told.
#[test]
fn tolerances_beyond_a_signal_are_told() {
    let dir = super::folder("coupling-coarse");
    let unit = |name: &str, start: f64| {
        format!(
            "[unit.{name}]\nkind='equations'\nstates={{x={start:e}, v=0}}\ninputs={{u=0}}\nderivatives={{x='v', v='u-2*x'}}\n\
             outputs={{x='x'}}\n"
        )
    };
    let units = unit("a", 1e-9) + &unit("b", 0.0);
    let wires = "stop = 9\nconnections=['a.x -> b.u', 'b.x -> a.u']\n";
    for (more, told) in [("", true), ("exchange_tolerance=1e-15\n", false)] {
        let text = format!("{wires}{}", units.replace("outputs", &format!("{more}outputs")));
        std::fs::write(dir.join("a.toml"), text).unwrap();
        super::good(&dir, "run a.toml --quiet --force --out out");
        let notes =
            super::json(&super::read(&dir.join("out"), "summary.json"))["notes"].to_string();
        assert_eq!(notes.contains("a (1 more units): an output stayed below"), told, "{notes}");
    }
}

/// Two masses on a spring, of a size that can be set, and a hit that ends steps far from their tolerance.
const SIZED: &str = r#"
stop = "5 s"
connections = ["a.x -> b.xa", "b.x -> a.xb"]
[parameters]
s = 1.0
[coupling]
step = 0.05
extrapolation = 2
tolerance = 1e-5
estimate = "doubling"
[unit.a]
kind = "equations"
states = { x = "s", v = 0 }
inputs = { xb = 0 }
derivatives = { x = "v", v = "-4*x - 0.2*v + 3*(xb - x)" }
outputs = { x = "x" }
exchange_tolerance = "1e-9*s"
absolute_tolerance = "1e-9*s"
[[unit.a.event]]
name = "hit"
when = "x <= -0.1*s and v < 0"
reset = { v = "-v", x = "x + s" }
[unit.b]
kind = "equations"
states = { x = 0, v = 0 }
inputs = { xa = "s" }
derivatives = { x = "v", v = "(3*(xa - x) - x)/2" }
outputs = { x = "x" }
exchange_tolerance = "1e-9*s"
absolute_tolerance = "1e-9*s"
"#;

/// Steps that stand although their error is far beyond the tolerance are counted and told, and so is a tolerance that is
/// no smaller than all signals.
#[test]
fn tolerances_that_say_nothing_are_told() {
    let dir = super::folder("coupling-tolerances");
    std::fs::write(dir.join("sized.toml"), SIZED).unwrap();
    let notes = |set: &str| {
        super::good(&dir, &format!("run sized.toml --quiet --force --out run {set}"));
        let summary = super::json(&super::read(&dir.join("run"), "summary.json"));
        (summary["notes"].to_string(), summary["missed_macro_steps"].as_u64().unwrap_or(0))
    };
    let (stands, small) =
        ("macro steps stand with an error", "times the `tolerance` of the coupling");
    let (told, missed) = notes("");
    assert!(told.contains(stands) && !told.contains(small) && missed > 0, "{told}");
    let (told, missed) = notes("--set coupling.correction=\"pessimistic\" --set unit.a.event=[]");
    assert!(told == "null" && missed == 0, "{told}");
    let (told, _) = notes("--set s=1e-9 --set unit.a.event=[]");
    assert!(told.contains(small), "{told}");
    let (told, _) = notes("--set s=1e-9 --set coupling.tolerance=1e-14 --set unit.a.event=[]");
    assert!(!told.contains(small), "{told}");
}

/// Signals are off by their `exchange_tolerance`, which an adaptive macro step cannot tell from its own error.
#[test]
fn tolerances_below_what_is_sent_are_told() {
    let dir = super::folder("coupling-loose");
    std::fs::write(dir.join("sized.toml"), SIZED).unwrap();
    let check = |set: &str| {
        let output = super::superdense(&dir, &format!("check sized.toml {set}"));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = check("");
    assert!(!told.contains("sends what it does"), "{told}");
    let told = check("--set coupling.tolerance=1e-9");
    let words = "`a` sends what it does to 0.000000001, and the macro step is to follow errors of 0.000000001";
    assert!(told.contains(words) && told.contains("exchange_tolerance = 1e-11"), "{told}");
}
