//! Power-balanced coupling (Moshagen 2021, pages 9 to 15).
use super::library::{Results, number};

/// x² + v² at every exchange.
fn energies(sets: &[&str]) -> Vec<f64> {
    let options: Vec<&str> = sets.iter().flat_map(|s| ["--set", s]).collect();
    let rows = Results::of("papers/003_power_balanced.toml", &options).rows("samples.csv");
    assert_eq!(rows.len(), 376);
    rows.iter().map(|r| number(&r[1]).powi(2) + number(&r[2]).powi(2)).collect()
}

/// Energy at the end by that at the start: 1.04^375 and 1.0004^375 by extrapolation of order 0
/// and 1; with equal power for both it stays, also in the steps where x or v passes through zero.
#[test]
fn energy_of_spring_and_mass() {
    for (set, ratio) in [
        (&["coupling.power=[]", "coupling.extrapolation=0"][..], 1.04f64.powi(375)),
        (&["coupling.power=[]"], 1.0004f64.powi(375)),
        (&[], 1.0),
        (&["coupling.extrapolation=0"], 1.0),
    ] {
        let energies = energies(set);
        let off = (energies[375] / ratio - 1.0).abs();
        assert!(off < 1e-9, "{set:?}: {}", energies[375]);
        if ratio == 1.0 {
            let worst = energies.iter().map(|e| (e - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-9, "{set:?}: {worst}");
        }
    }
}

/// A damper beside the spring, in the unit that gives the force: the force follows the told speed at once.
/// The energy of spring and mass and the energy that the damper took keep their sum, from weak to
/// strong dampers.
#[test]
fn energy_with_a_damper_in_the_force() {
    for (damper, order) in [(0.05, 1), (0.5, 1), (3.0, 1), (0.5, 0)] {
        let sets = [
            "stop=20".to_owned(),
            "record=[\"spring.x\",\"mass.v\",\"spring.lost\"]".to_owned(),
            "plot=[]".to_owned(),
            "unit.spring.states.lost=0".to_owned(),
            format!("unit.spring.derivatives.lost=\"{damper}*v^2\""),
            format!("unit.spring.outputs.force=\"-c*x - {damper}*v\""),
            format!("unit.spring.outputs.rate=\"-c*v - {damper}*a\""),
            "unit.spring.outputs.lost=\"lost\"".to_owned(),
            "unit.spring.method=\"taylor\"".to_owned(),
            "unit.spring.tolerance=1e-13".to_owned(),
            "unit.spring.absolute_tolerance=1e-13".to_owned(),
            format!("coupling.extrapolation={order}"),
        ];
        let worst = |more: &[&str]| {
            let options: Vec<&str> = sets
                .iter()
                .map(String::as_str)
                .chain(more.iter().copied())
                .flat_map(|s| ["--set", s])
                .collect();
            let rows = Results::of("papers/003_power_balanced.toml", &options).rows("samples.csv");
            assert_eq!(rows.len(), 101);
            let total = |r: &Vec<String>| {
                (number(&r[1]).powi(2) + number(&r[2]).powi(2)) / 2.0 + number(&r[3])
            };
            rows.iter().map(|r| (total(r) - 0.5).abs()).fold(0.0, f64::max)
        };
        let (balanced, plain) = (worst(&[]), worst(&["coupling.power=[]"]));
        assert!(balanced < plain && plain > 1e-5, "{damper}, {order}: {balanced} {plain}");
        // Stronger ones have steps in which both signals fade to nothing: there is nothing to divide by.
        assert!(balanced < 1e-9 || damper > 1.0, "{damper}, {order}: {balanced}");
    }
}

/// Two masses with friction in a chain of two springs, all four units of their own. Each mass
/// counts the work of its friction.
const CHAIN: &str = r#"
stop = "20 s"
sample = "0.1 s"
record = ["s1.e", "m1.speed", "m1.lost", "s2.e", "m2.speed", "m2.lost"]
connections = [
  "s1.f -> m1.left", "m1.v_left -> s1.v",
  "s2.f_left -> m1.right", "m1.v_right -> s2.v_left",
  "s2.f_right -> m2.left", "m2.v_left -> s2.v_right",
]
[parameters]
d = 0.1
[coupling]
step = "0.1 s"
extrapolation = 1
slopes = "derivatives"
power = [["s1.f", "m1.v_left"], ["s2.f_left", "m1.v_right"], ["s2.f_right", "m2.v_left"]]

[unit.s1]
kind = "equations"
method = "taylor"
segment_order = 9
exchange_tolerance = 1e-12
tolerance = 1e-13
absolute_tolerance = 1e-13
states = { length = 1.0 }
inputs = { v = 0.0 }
derivatives = { length = "v" }
outputs = { e = "length", f = "-length" }

[unit.s2]
kind = "equations"
method = "taylor"
segment_order = 9
exchange_tolerance = 1e-12
tolerance = 1e-13
absolute_tolerance = 1e-13
states = { length = 0.5 }
inputs = { v_left = 0.0, v_right = 0.0 }
derivatives = { length = "v_right - v_left" }
outputs = { e = "length", f_left = "2*length", f_right = "-2*length" }

[unit.m1]
kind = "equations"
method = "taylor"
segment_order = 9
exchange_tolerance = 1e-12
tolerance = 1e-13
absolute_tolerance = 1e-13
states = { v = 0.0, lost = 0.0 }
inputs = { left = -1.0, right = 1.0 }
derivatives = { v = "left + right - d*v", lost = "d*v^2" }
outputs = { v_left = "v", v_right = "v", speed = "v", lost = "lost" }

[unit.m2]
kind = "equations"
method = "taylor"
segment_order = 9
exchange_tolerance = 1e-12
tolerance = 1e-13
absolute_tolerance = 1e-13
states = { v = 0.0, lost = 0.0 }
inputs = { left = -1.0 }
derivatives = { v = "(left - d*v)/2", lost = "d*v^2" }
outputs = { v_left = "v", speed = "v", lost = "lost" }
"#;

/// N units that lose energy: what springs, masses and friction have together stays the same.
#[test]
fn energy_of_a_chain_with_friction() {
    let dir = super::folder("balance-chain");
    std::fs::write(dir.join("chain.toml"), CHAIN).unwrap();
    let total = |row: &str| {
        let c: Vec<f64> = row.split(',').map(number).collect();
        let stored = c[1] * c[1] / 2.0 + c[2] * c[2] / 2.0 + c[4] * c[4] + c[5] * c[5];
        stored + c[3] + c[6]
    };
    let worst = |set: &str| {
        super::good(&dir, &format!("run chain.toml --quiet --force --out out {set}"));
        let text = super::read(&dir.join("out"), "samples.csv");
        let all: Vec<f64> = text.lines().skip(1).map(total).collect();
        assert_eq!(all.len(), 201);
        all.iter().map(|e| (e - 0.75).abs()).fold(0.0, f64::max)
    };
    let (balanced, plain) = (worst(""), worst("--set coupling.power=[]"));
    assert!(balanced < 1e-9, "{balanced}");
    assert!(plain > 1e-4, "{plain}");
}

/// Two masses with a spring between them: three units, both bonds declared.
fn three(tolerance: &str, step: &str, speed: f64) -> String {
    let solver = format!(
        "kind = 'equations'\nmethod = 'taylor'\nsegment_order = 9\nexchange_tolerance = {tolerance}\n\
         tolerance = 1e-13\nabsolute_tolerance = 1e-13\n"
    );
    format!(
        "stop = '20 s'\nsample = '0.1 s'\nrecord = ['s.e', 'm1.speed', 'm2.speed']\n\
         connections = ['s.f1 -> m1.f', 'm1.v -> s.v1', 's.f2 -> m2.f', 'm2.v -> s.v2']\n\
         [coupling]\nstep = '{step}'\nextrapolation = 1\nslopes = 'derivatives'\n\
         power = [['s.f1', 'm1.v'], ['s.f2', 'm2.v']]\n\
         [unit.s]\n{solver}states = {{ length = 1.0 }}\ninputs = {{ v1 = {speed:?}, v2 = 0.0 }}\n\
         derivatives = {{ length = 'v2 - v1' }}\noutputs = {{ e = 'length', f1 = 'length', f2 = '-length' }}\n\
         [unit.m1]\n{solver}states = {{ v = {speed:?} }}\ninputs = {{ f = 1.0 }}\n\
         derivatives = {{ v = 'f' }}\noutputs = {{ v = 'v', speed = 'v' }}\n\
         [unit.m2]\n{solver}states = {{ v = 0.0 }}\ninputs = {{ f = -1.0 }}\n\
         derivatives = {{ v = 'f/3' }}\noutputs = {{ v = 'v', speed = 'v' }}\n"
    )
}

/// The balance of N units is exact, or what is missing is told.
#[test]
fn what_is_missing_from_the_balance_is_told() {
    let dir = super::folder("balance-three");
    let run = |text: &str| {
        std::fs::write(dir.join("three.toml"), text).unwrap();
        super::good(&dir, "run three.toml --quiet --force --out out");
        let table = super::read(&dir.join("out"), "samples.csv");
        let total = |row: &str| {
            let c: Vec<f64> = row.split(',').map(number).collect();
            (c[1] * c[1] + c[2] * c[2] + 3.0 * c[3] * c[3]) / 2.0
        };
        let all: Vec<f64> = table.lines().skip(1).map(total).collect();
        let worst = all.iter().map(|e| (e - all[0]).abs()).fold(0.0, f64::max);
        let summary = super::json(&super::read(&dir.join("out"), "summary.json"));
        let check = super::superdense(&dir, "check three.toml");
        let warned = String::from_utf8_lossy(&[check.stdout, check.stderr].concat()).into_owned();
        (worst, summary["notes"].to_string() + &warned)
    };
    for (tolerance, step, speed) in [
        ("1e-12", "0.1 s", 0.0),
        ("1e-12", "0.1 s", 0.3),
        ("1e-12", "0.3 s", 0.0),
        ("1e-6", "0.1 s", 0.0),
        ("1e-6", "0.3 s", 0.3),
    ] {
        let (worst, notes) = run(&three(tolerance, step, speed));
        let told = notes.contains("balanced") || notes.contains("exchange_tolerance");
        assert!(worst < 1e-9 || told, "{tolerance}, {step}, {speed}: {worst:e} {notes}");
        assert!(worst > 1e-10 || !told, "{tolerance}, {step}, {speed}: {worst:e} {notes}");
        assert_eq!(notes.contains("exchange_tolerance"), tolerance == "1e-6", "{notes}");
    }
}
