//! The language of formulas in scenarios, against closed forms.
use crate::{Folder, plan};
use superdense::{Overrides, Plan};
use superdense_kernel::{Ended, Options, Simulation};
use superdense_models::signal::value::Value;

fn loaded(text: &str) -> Plan {
    plan(text).unwrap_or_else(|d| panic!("{d}"))
}

fn ran(p: Plan) -> (Simulation<Value>, Ended) {
    let options = Options { resolution: p.resolution, ..Options::default() };
    let mut sim = Simulation::new(p.model, options).unwrap();
    let ended = sim.run_through(p.stop).unwrap();
    (sim, ended)
}

/// The values of the outputs of unit `a` at the end.
fn ends<const N: usize>(text: &str) -> [f64; N] {
    let (sim, _) = ran(loaded(text));
    let model = sim.find("a").unwrap();
    std::array::from_fn(|port| {
        sim.probe(model, port as u16, sim.clock()).and_then(|v| v.as_real()).unwrap()
    })
}

fn near(found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{found:?} instead of {wanted:?}");
}

/// A linear table has kinks, which are located: its integral is that of the triangle to rounding.
#[test]
fn tables_are_functions_whose_kinks_are_located() {
    let text = r#"stop = "3 s"
[table.hat]
x = [0.25, 1, "2*1"]
y = [0, 3, 1]
[table.hat_on]
x = [0, 1, 2]
y = [0, 3, 1]
extrapolation = "linear"
[unit.a]
kind = "equations"
method = "taylor"
states = { area = 0, x = 0, on = 0, above = 0 }
derivatives = { area = "hat(t)", x = "1", on = "hat_on(x)", above = "if hat(x) > 2 then 1 else 0" }
outputs = { area = "area", on = "on", above = "above", value = "hat(1.5)", out = "hat(-7) + hat(9)" }
"#;
    let [area, on, above, value, out] = ends(text);
    near(area, 0.75 * 1.5 + 2.0 + 1.0, 1e-12);
    near(on, 1.5 + 2.0 + 0.0, 1e-12);
    near(above, 0.25 + 0.5, 2e-9);
    near(value, 2.0, 1e-15);
    near(out, 1.0, 1e-15);
    for method in ["rk45", "rodas", "qss2", "closed", "auto"] {
        let [area, ..]: [f64; 5] = ends(&text.replace("taylor", method));
        near(area, 4.125, if method == "qss2" { 1e-2 } else { 1e-8 });
    }
}

/// Splines of polynomials of degree 1 are exact, tables of two arguments multiply.
#[test]
fn splines_and_grids_interpolate() {
    let text = r#"stop = "1 s"
[table.line]
x = [0, 0.3, 1, 4]
y = [1, 1.6, 3, 9]
interpolation = "spline"
extrapolation = "linear"
[table.up]
x = [0, 1, 2, 3]
y = [0, 0, 1, 1]
interpolation = "monotone"
[table.product]
x = [0, 1, 3]
y = [0, 2]
z = [[1, 5], [2, 10], [4, 20]]
[table.smooth]
x = [0, 1, 2, 3]
y = [0, 1, 2]
z = [[0, 1, 4], [1, 2, 5], [4, 5, 8], [9, 10, 13]]
interpolation = "spline"
[unit.a]
kind = "equations"
outputs = { line = "line(2.5) + line(-1)", up = "up(0.5) + up(1.5) + up(2.5)", product = "product(2, 1.5)", corner = "smooth(2, 1)", symmetric = "smooth(1.5, 0.5) - smooth(1.5, 1.5)" }
"#;
    let [line, up, product, corner, symmetric] = ends(text);
    near(line, 6.0 - 1.0, 1e-13);
    near(up, 0.0 + 0.5 + 1.0, 1e-15);
    near(product, (1.0 + 2.0) * (1.0 + 2.0 * 1.5), 1e-14);
    near(corner, 5.0, 1e-14);
    // y^2 by the natural spline of three points: 5/16 and 37/16.
    near(symmetric, 5.0 / 16.0 - 37.0 / 16.0, 1e-14);
}

#[test]
fn tables_come_from_files() {
    let folder = Folder::new("tables");
    folder.write("pump.csv", "# made by hand\nhead,flow\n3,1\n1,2\n");
    folder.write("map.csv", "rpm,0,10\n1,0,1\n2,2,3\n");
    let text = r#"stop = "1 s"
[table.pump]
file = "pump.csv"
columns = ["flow", "head"]
[table.map]
file = "map.csv"
[unit.a]
kind = "equations"
outputs = { head = "pump(1.5)", map = "map(1.5, 5)" }
"#;
    let plan = superdense::load(&folder.write("s.toml", text), &[], &Overrides::default());
    let (sim, _) = ran(plan.unwrap_or_else(|d| panic!("{d}")));
    let at = |port| sim.probe(sim.find("a").unwrap(), port, 0).and_then(|v| v.as_real()).unwrap();
    assert_eq!([at(0), at(1)], [2.0, 1.5]);
}

/// Functions are put into the formulas that call them, in any order of declaration.
#[test]
fn functions_are_put_in() {
    let text = r#"stop = "1 s"
[parameters]
k = "twice(2)"
[function.energy]
args = ["m", "v"]
value = "m*square(v)/twice(1)"
[function.square]
args = ["x"]
value = "x*x"
[function.twice]
args = ["x"]
value = "2*x"
[unit.a]
kind = "equations"
states = { x = 1 }
derivatives = { x = "-k*square(x)" }
outputs = { x = "x", energy = "energy(3, x)", k = "k" }
[[unit.a.event]]
name = "half"
when = "square(x) <= 0.25"
"#;
    let [x, energy, k] = ends(text);
    assert_eq!(k, 4.0);
    near(x, 1.0 / 5.0, 1e-8);
    near(energy, 1.5 * x * x, 1e-15);
}

/// The end of a run is an event, with its message.
#[test]
fn events_end_runs_as_planned() {
    let (sim, ended) = ran(loaded(
        r#"stop = "9 s"
[unit.a]
kind = "equations"
states = { level = 1 }
derivatives = { level = "-0.5" }
outputs = { level = "level" }
[[unit.a.event]]
name = "empty"
when = "level <= 0"
terminate = "the tank is empty"
"#,
    ));
    assert_eq!(ended, Ended::Stopped("the tank is empty".into()));
    assert_eq!(sim.now().ticks, 2_000_000_000);
}

/// Instants follow from parameters of the unit, and from what events leave behind.
#[test]
fn instants_are_formulas() {
    let text = r#"stop = "10 s"
[unit.a]
kind = "equations"
parameters = { first = "1 s", gap = [0.5, 0.25] }
states = { x = 0 }
discrete = { next = "2.5", n = 0, last = 0, early = 0, met = 0 }
derivatives = { x = "1/2" }
outputs = { n = "n", last = "last", early = "early", met = "met" }
[[unit.a.event]]
name = "start"
at = "first + gap[1]"
reset = { early = "t" }
[[unit.a.event]]
name = "beat"
at = "next"
reset = { next = "next + 2", n = "n + 1", last = "t" }
[[unit.a.event]]
name = "meets"
at = "9 - x"
reset = { met = "t" }
"#;
    let [n, last, early, met] = ends(text);
    assert_eq!([n, last, early], [4.0, 8.5, 1.25]);
    near(met, 6.0, 2e-9);
}

/// Lists are vectors and matrices; ranges may have two dimensions.
#[test]
fn lists_are_vectors_and_matrices() {
    let text = r#"stop = "1 s"
[parameters]
weights = [1, 2, 3]
[unit.a]
kind = "equations"
parameters = { A = [[0, 1], [-4, 0]], "b[1..=3]" = [5, "6*1", 7], "C[i in 1..=2][j in 1..=3]" = [[11, 12, 13], [21, 22, 23]] }
states = { "x[i in 0..2]" = [1, 0], "u[i in 1..=2][j in 1..=3]" = "C[i][j]" }
derivatives = { "x[i]" = "sum(A[i][k]*x[k] for k in 0..2)", "u[i][j]" = "i*10 + j - u[i][j]" }
outputs = { x = "x[0]", b = "b[1] + 10*b[3]", weights = "sum(weights[k] for k in 0..3)", u = "sum(sum(u[i][j] for j in 1..=3) for i in 1..=2)", last = "weights[2]*C[2][1]" }
"#;
    let [x, b, weights, u, last] = ends(text);
    near(x, 2.0_f64.cos(), 1e-8);
    assert_eq!([b, weights, last], [75.0, 6.0, 63.0]);
    near(u, 11.0 + 12.0 + 13.0 + 21.0 + 22.0 + 23.0, 1e-9);
}

#[test]
fn parameters_come_from_files() {
    let folder = Folder::new("parameters");
    folder.write(
        "p.json",
        r#"{ "g": 1.5, "net": { "delay": "2 ms" }, "k": [[1, 2], [3, 4]], "twice": "2*g" }"#,
    );
    folder.write("q.csv", "name,value,unit\nmass,2,kg\nlong.way,\"3*mass\",\nplain,0.5,\n");
    let text = r#"stop = "1 s"
parameters = "p.json"
[unit.a]
template = "box"
[template.box]
parameters = "q.csv"
outputs = { y = "b.y" }
[template.box.unit.b]
kind = "equations"
outputs = { y = "g + net.delay + k[1][0] + twice + mass + long.way + plain" }
"#;
    let plan = superdense::load(&folder.write("s.toml", text), &[], &Overrides::default());
    let (sim, _) = ran(plan.unwrap_or_else(|d| panic!("{d}")));
    let y = sim.probe(sim.find("a/b").unwrap(), 0, 0).and_then(|v| v.as_real()).unwrap();
    near(y, 1.5 + 0.002 + 3.0 + 3.0 + 2.0 + 6.0 + 0.5, 1e-12);
    folder.write("q.csv", "mass,2\n");
    let wrong = superdense::load(&folder.0.join("s.toml"), &[], &Overrides::default());
    assert!(wrong.unwrap_err().to_string().contains("name,value"));
}

/// Events draw from the stream of their unit: moments are those of the distributions, and the numbers of one unit
/// do not depend on others.
#[test]
fn events_draw_random_numbers() {
    let unit = |name: &str, every: &str| {
        format!(
            r#"[unit.{name}]
kind = "equations"
discrete = {{ n = 0, u = 0, uu = 0, z = 0, zz = 0, e = 0 }}
outputs = {{ u = "u/n", uu = "uu/n", z = "z/n", zz = "zz/n", e = "e/n" }}
[[unit.{name}.event]]
name = "draw"
every = "{every}"
reset = {{ n = "n + 1", u = "u + uniform(2, 4)", z = "z + normal(5, 2)", e = "e + exponential(3)" }}
[[unit.{name}.event]]
name = "squares"
every = "{every}"
reset = {{ uu = "uu + uniform(0, 1)^2", zz = "zz + normal(0, 2)^2" }}
"#
        )
    };
    let alone = format!("stop = 1\n{}", unit("a", "100 us"));
    let [u, uu, z, zz, e] = ends(&alone);
    // Within four standard deviations of the mean of 10 000.
    near(u, 3.0, 4.0 * 2.0 / 12.0_f64.sqrt() / 100.0);
    near(uu, 1.0 / 3.0, 4.0 * 0.3 / 100.0);
    near(z, 5.0, 4.0 * 2.0 / 100.0);
    near(zz, 4.0, 4.0 * 4.0 * 2.0_f64.sqrt() / 100.0);
    near(e, 3.0, 4.0 * 3.0 / 100.0);
    let both = format!("{alone}{}", unit("other", "70 us"));
    assert_eq!(ends::<5>(&both), [u, uu, z, zz, e]);
    let other = alone.replace("stop = 1\n", "stop = 1\nseed = 2\n");
    assert_ne!(ends::<5>(&other), [u, uu, z, zz, e]);
    let wrong = alone.replace("u = \"u/n\"", "u = \"uniform(0, 1)\"");
    assert!(plan(&wrong).unwrap_err().to_string().contains("nothing is drawn here"));
}

/// An event for each index knows the index in its times, too: clocks whose phases are apart.
#[test]
fn times_of_events_know_their_index() {
    let text = r#"stop = "2 s"
[unit.a]
kind = "equations"
discrete = { "s[k in 0..3]" = 0, at = 0 }
outputs = { "s[k]" = "s[k]", at = "at" }
[[unit.a.event]]
name = "tick"
for = "k in 0..3"
every = "(k + 2)/4"
from = "(k + 1)/8"
reset = { "s[k]" = "s[k] + 1" }
[[unit.a.event]]
name = "once"
for = "k in 0..3"
at = "(k + 1)/4"
reset = { at = "at + (k + 1)*t" }
"#;
    // From 1/8 each 1/2, from 1/4 each 3/4, from 3/8 each second.
    let [first, second, third, at] = ends(text);
    assert_eq!([first, second, third], [4.0, 3.0, 2.0]);
    near(at, 0.25 + 2.0 * 0.5 + 3.0 * 0.75, 1e-12);
}

/// A text may be written as a whole number: a column by its place.
#[test]
fn texts_may_be_whole_numbers() {
    let folder = Folder::new("columns");
    folder.write("t.csv", "time,a,b\n0,1,2\n1,3,4\n");
    let text = "stop = 2\n[unit.a]\nkind = 'csv'\nfile = 't.csv'\ncolumn = COLUMN\n";
    for column in ["3", "'3'", "'b'"] {
        let file = folder.write("a.toml", text.replace("COLUMN", column));
        let plan = superdense::load(&file, &[], &Overrides::default());
        let (sim, _) = ran(plan.unwrap_or_else(|d| panic!("{d}")));
        let model = sim.find("a").unwrap();
        let y = sim.probe(model, 0, sim.clock()).and_then(|v| v.as_real());
        assert_eq!(y, Some(4.0), "{column}");
    }
}

/// A `let` of a mode takes the place of the unit's, also in formulas of the unit and in helpers that read it; one that all
/// modes have need not stand in the unit.
#[test]
fn helpers_of_modes_hold_everywhere() {
    let text = "stop = 10\n[unit.b]\nkind = 'equations'\nstates = { s = 0 }\ndiscrete = { n = 0 }\n\
                let = { i = '0', double = '2*i' }\nderivatives = { s = 'double/2 + extra' }\n\
                outputs = { s = 's', i = 'i', double = 'double', n = 'n' }\n\
                [[unit.b.event]]\nname = 'seen'\nwhen = 'double > 1'\nreset = { n = '10*i' }\n\
                [unit.b.mode.wait]\nlet = { extra = '0' }\n[[unit.b.mode.wait.event]]\nname = 'go'\nwhen = 't >= 1'\nto = 'charge'\n\
                [unit.b.mode.charge]\nlet = { i = '1.5', extra = '0*s' }\n\
                [[unit.b.mode.charge.event]]\nname = 'full'\nwhen = 's >= 3'\nto = 'off'\n\
                [unit.b.mode.off]\nlet = { extra = '0' }\n\
                [result]\ns = 'final(b.s)'\nfull = \"first(event('b', 'full'))\"\nmost = 'max(b.double)'\nlast = 'final(b.i)'\n\
                n = 'final(b.n)'\n";
    let done = crate::results::run(text, &[]);
    for (name, wanted) in [("s", 3.0), ("full", 3.0), ("most", 3.0), ("last", 0.0), ("n", 15.0)] {
        let found = crate::results::value(&done, name).unwrap_or(f64::NAN);
        near(found, wanted, 1e-8);
    }
}

/// Keys of arrays in resets mean states, also in a unit with algebraic variables.
#[test]
fn resets_of_arrays_know_states() {
    let text = "stop = 2\n[unit.r]\nkind = 'equations'\nmethod = 'rodas'\nstates = { 'u[i in 1..=3]' = 1 }\n\
                derivatives = { 'u[i]' = '0' }\nalgebraic = { 'R[i in 1..=3]' = 1 }\n\
                residuals = { 'R[i]' = 'R[i] - u[i]' }\noutputs = { a = 'R[1] + R[2] + R[3]' }\n\
                [[unit.r.event]]\nname = 'dose'\nat = 1\nreset = { 'u[i]' = 'u[i] + i' }\n\
                [result]\na = 'final(r.a)'\n";
    let done = crate::results::run(text, &[]);
    near(crate::results::value(&done, "a").unwrap_or(f64::NAN), 9.0, 1e-9);
}

/// The keys of `rest` were not those of the array.
#[test]
fn rest_of_many_events_has_their_indices() {
    let text = "stop='1 s'\n[unit.b]\nkind='equations'\nstates={'y[i in 0..2]'=1,'v[i in 0..2]'=0}\n\
         derivatives={'y[i in 0..2]'='v[i]','v[i in 0..2]'='-9.81'}\noutputs={y='y[1]'}\n\
         [[unit.b.event]]\nname='hit'\nfor='i in 0..2'\nwhen='y[i] <= 0 and v[i] < 0'\n\
         reset={'v[i]'='-0.5*v[i]'}\nrest={within='1 us','y[i]'=0,'v[i]'=0}\n";
    crate::plan_with(text, &[]).unwrap_or_else(|d| panic!("{d}"));
}
