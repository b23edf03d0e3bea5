//! Tests of case files and of the power flow on small networks with known answers.
use super::{
    case::{Bus, BusType, Case},
    flow,
    machines::{Machines, Plan},
    matpower,
};
use serde_json::{Value, json};

/// Two loads behind a reference bus, as a MATPOWER case; `more` stands behind the tables.
fn three_buses(more: &str) -> String {
    format!(
        "function mpc = three % a comment
mpc.version = '2';
mpc.baseMVA = 10;
mpc.bus = [ % id type Pd Qd
 1 3 0 0 0 0 1 1 0 12.66 1 1 1
 2, 1, 0.1, 0.06, 0, 0, 1, 1, 0, ... continued
    12.66, 1, 1.1, 0.9; 3 1 0.09 0.04 0 0 1 1 0 12.66 1 1.1 0.9;
];
mpc.gen = [ 1 0 0 10 -10 1 100 1 10 0 ];
mpc.branch = [
 1 2 0.0922 0.0470 0 0 0 0 0 0 1 -360 360;
 2 3 0.4930 0.2511 0 0 0 0 0 0 1 -360 360;
];
mpc.bus_name = {{ 'a 100 % [bus'; \"it's\"; 'don''t' }};
{more}"
    )
}

fn refusal(more: &str) -> String {
    matpower::parse(&three_buses(more)).unwrap_err()
}

#[test]
fn a_file_that_computes_is_refused_with_its_line() {
    for more in [
        "mpc.bus(:, [3, 4]) = mpc.bus(:, [3, 4]) / 1e3;",
        "mpc.bus(2, 3) = 10;",
        "mpc.bus = [1 3 0 0 0 0 1 1 0 12.66 1 1 1];",
        "mpc.baseMVA = 100;",
        "mpc = scale_load(2, mpc);",
        "define_constants;",
    ] {
        let why = refusal(more);
        let wanted = format!("line 15: `{}` computes", more.trim_end_matches(';'));
        assert!(why.starts_with(&wanted) && why.contains("savecase"), "{why}");
    }
    assert!(refusal("mpc.areas = [ 1 2").contains("line 15: `mpc.areas = [ 1 2` has no closing"));
    let scaled = three_buses("").replace("10 0 ];", "10 0 ] / 2;");
    let why = matpower::parse(&scaled).unwrap_err();
    assert!(why.starts_with("line 9: `mpc.gen = [ 1 0") && why.contains("computes"), "{why}");
}

#[test]
fn comments_and_continued_lines_are_understood() {
    let plain = matpower::parse(&three_buses("")).unwrap();
    assert_eq!(plain.buses.len(), 3);
    assert_eq!(plain.buses[1].demand, [0.1, 0.06]);
    let commented = format!("%{{\nmpc.bus = [ 9 9 ];\n%{{\n%}}\n%}}\n{}", three_buses(""));
    assert_eq!(matpower::parse(&commented).unwrap(), plain);
    let ended = three_buses("end\nreturn; % mpc.bus(2, 3) = 10;\nmpc.areas = [1 1]';");
    assert_eq!(matpower::parse(&ended).unwrap(), plain);
}

/// Voltage at bus 2 of two buses: its type, and the status of the generators.
fn second(ty: u8, status: [u8; 2]) -> Result<f64, String> {
    let [first, other] = status;
    let text = format!(
        "mpc.baseMVA = 100;
mpc.bus = [ 1 3 0 0 0 0 1 1 0; 2 {ty} 90 30 0 0 1 1 0 ];
mpc.gen = [ 1 0 0 300 -300 1 100 {first}; 2 40 20 300 -300 1 100 {other} ];
mpc.branch = [ 1 2 0.01 0.1 0 250 250 250 0 0 1 ];"
    );
    Ok(flow::solve(&matpower::parse(&text)?.checked()?)?.vm[1])
}

/// Voltages by another program, with MATPOWER's rules.
#[test]
fn buses_are_what_their_generators_in_service_make_them() {
    for (ty, status, wanted) in [(1, 1, 0.983_507), (2, 1, 1.0), (2, 0, 0.955_004)] {
        let found = second(ty, [1, status]).unwrap();
        assert!((found - wanted).abs() < 5e-7, "type {ty}, status {status}: {found}");
    }
    let why = second(2, [0, 1]).unwrap_err();
    assert!(why.contains("reference bus 1 has no generator in service"), "{why}");
}

#[test]
fn networks_that_would_take_minutes_are_refused() {
    let mut case = ieee39(|_| {}).unwrap();
    let bus = Bus { ty: BusType::Isolated, ..case.buses[0].clone() };
    case.buses.resize(1501, bus);
    let why = flow::solve(&case).unwrap_err();
    assert!(
        why.contains("the network has 1501 buses, and power flows are solved for 1500"),
        "{why}"
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    let whys = [
        ("1 2 0.0922 0.0470 0", "1 2 0.0922 0.0470 NaN", "branch 1 to 2"),
        ("1 0 0 10 -10 1", "1 NaN 0 10 -10 1", "generator at bus 1"),
        (" 2, 1, 0.1", " 2, 1.5, 0.1", "line 6: bus type 1.5"),
    ];
    for (good, bad, wanted) in whys {
        let text = three_buses("").replace(good, bad);
        let why = matpower::parse(&text).and_then(Case::checked).unwrap_err();
        assert!(why.contains(wanted), "{why}");
    }
}

/// The IEEE 39-bus case with a change.
fn ieee39(change: impl FnOnce(&mut Value)) -> Result<Case, String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/library/grid/ieee39.json");
    let mut value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    change(&mut value);
    Case::json(&value.to_string())?.checked()
}

fn machines(case: &Case) -> Machines {
    let governed = vec![false; case.machines.len()];
    Machines::new(case, &Plan { governed, ..Plan::default() }).unwrap()
}

fn list<'a>(value: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    value[name].as_array_mut().unwrap()
}

#[test]
fn a_reference_bus_has_one_machine_and_others_one_at_most() {
    let why = ieee39(|v| list(v, "gen").retain(|g| g["bus"] != 31)).unwrap_err();
    assert!(why.contains("reference bus 31 has no generator in service"), "{why}");
    let twice = |v: &mut Value| {
        let again = v["gen"][0].clone();
        list(v, "gen").push(again);
    };
    let why = ieee39(twice).unwrap_err();
    assert!(why.contains("two machines at bus 30: join them"), "{why}");
}

#[test]
fn isolated_buses_have_no_part() {
    let plain = ieee39(|_| {}).unwrap();
    let bus =
        json!({"id": 40, "type": 4, "Pd": 9, "Qd": 0, "Gs": 0, "Bs": 1, "Vm": 1, "Va_deg": 0});
    let more = ieee39(|v| list(v, "bus").push(bus)).unwrap();
    assert_eq!(machines(&more).powers(), machines(&plain).powers());
    let fewer = ieee39(|v| v["bus"][37]["type"] = json!(4)).unwrap();
    assert_eq!(machines(&fewer).powers().len(), 9);
}

#[test]
fn fields_of_a_network_are_known() {
    let off = ieee39(|v| v["branch"][0]["status"] = json!(0)).unwrap();
    let gone = ieee39(|v| drop(list(v, "branch").remove(0))).unwrap();
    assert_eq!(off, gone);
    let without = ieee39(|v| list(v, "gen")[0]["status"] = json!(0)).unwrap();
    assert_eq!((without.machines.len(), without.generators.len()), (9, 9));
    for part in ["bus", "branch", "gen"] {
        let why = ieee39(|v| v[part][0]["rateA"] = json!(1)).unwrap_err();
        assert!(why.contains("unknown field `rateA`"), "{why}");
    }
}

/// A solution far from the start of Newton's method is told with magnitudes above zero and angles
/// within a turn, by hand: 162 + j1 and 81 MW behind a shift of 60 degrees.
#[test]
fn voltages_are_told_as_they_are() {
    let text = "mpc.baseMVA = 100;
mpc.bus = [ 1 3 0 0 0 0 1 1 0; 2 1 162 1 0 0 1 1 0; 3 1 81 0 0 0 1 1 0 ];
mpc.gen = [ 1 0 0 300 -300 1 100 1 ];
mpc.branch = [ 1 2 0.01 0.12 0 0 0 0 0 60 1; 2 3 0.01 0.1 0.05 0 0 0 0 0 1 ];";
    let flow = flow::solve(&matpower::parse(text).and_then(Case::checked).unwrap()).unwrap();
    for (k, vm, va) in [(1, 0.9145, -78.625), (2, 0.9034, -84.266)] {
        assert!((flow.vm[k] - vm).abs() < 1e-4, "{flow:?}");
        assert!((flow.va[k].to_degrees() - va).abs() < 1e-3, "{flow:?}");
    }
}

/// Bus couplers carry currents whose sums round.
#[test]
fn bus_couplers_converge() {
    for x in ["1e-4", "3e-6", "1e-7"] {
        let text = format!(
            "mpc.baseMVA = 100;
mpc.bus = [ 1 3 0 0 0 0 1 1 0; 2 1 50 20 0 0 1 1 0; 3 1 50 20 0 0 1 1 0 ];
mpc.gen = [ 1 0 0 300 -300 1 100 1 ];
mpc.branch = [ 1 2 0.01 0.1 0 0 0 0 0 0 1; 2 3 0 {x} 0 0 0 0 0 0 1 ];"
        );
        let flow = flow::solve(&matpower::parse(&text).and_then(Case::checked).unwrap()).unwrap();
        assert!((flow.vm[1] - flow.vm[2]).abs() < 1e-4 && flow.steps < 8, "{x}: {flow:?}");
    }
}

#[test]
fn governors_and_frequencies_are_checked() {
    for (part, name, x) in
        [("gov", "R", -0.05), ("gov", "R", 0.0), ("gov", "T1", 0.0), ("gov", "T2", -1.0)]
    {
        let why = ieee39(|v| v[part][name] = json!(x)).unwrap_err();
        assert!(why.contains("R, T1 and T3 must be above zero"), "{why}");
    }
    let why = ieee39(|v| v["f0"] = json!(0)).unwrap_err();
    assert!(why.contains("frequency is 0 Hz"), "{why}");
}

mod runs {
    use crate::kinds::testing::{Bench, mistakes_in};
    use std::path::{Path, PathBuf};

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/library/grid")
    }

    fn grid(more: &str) -> String {
        format!("[unit.g]\nkind='power-system'\nnetwork='ieee39.json'\n{more}")
    }

    fn coi(more: &str) -> f64 {
        Bench::run_in(&folder(), &grid(more), 3.0).probe("g.coi_hz")
    }

    /// One table, a list of them, and more than one fault.
    #[test]
    fn faults_are_one_or_many() {
        let one = "{ bus=16, reactance=1e-3, from=1, to=1.1 }";
        let single = coi(&format!("fault={one}"));
        assert!((single - 60.0).abs() > 0.01, "{single}");
        assert_eq!(coi(&format!("fault=[{one}]")), single);
        let other = "{ bus=16, reactance=1e-3, from=2, to=2.1 }";
        assert_ne!(coi(&format!("fault=[{one}, {other}]")), single);
        // Two at once are one of half the reactance.
        let half = one.replace("1e-3", "5e-4");
        let twice = coi(&format!("fault=[{one}, {one}]"));
        assert!((twice - coi(&format!("fault={half}"))).abs() < 1e-8, "{twice}");
    }

    /// A fault that ends with its line: afterwards the network is as in a file without the line.
    #[test]
    fn branches_open_and_close() {
        let fault = "fault={ bus=16, reactance=1e-3, from=1, to=1.1 }\n";
        let open = coi(&format!("{fault}outages=[{{ from=17, to=16, at=1.1 }}]"));
        assert_ne!(open, coi(fault));
        let back = "outages=[{ from=16, to=17, at=1.1, until=1.1001 }]";
        assert!((coi(&format!("{fault}{back}")) - coi(fault)).abs() < 1e-3);
        // Bus 12 hangs on two transformers.
        let dark = "outages=[{ from=12, to=11, at=1 }, { from=12, to=13, at=1 }]";
        let mut bench = Bench::start(&folder(), &grid(dark));
        let why = bench.go(3.0).unwrap_err().to_string();
        assert!(why.contains("an island without generation: the loads at bus 12"), "{why}");
    }

    #[test]
    fn wrong_disturbances_are_mistakes() {
        for (more, wanted) in [
            ("fault='x'", "`fault` is no table or list of tables"),
            ("trips=5", "`trips` is no table or list of tables"),
            ("trips={ bus=16, at=1 }", "there is no machine at bus 16"),
            ("fault={ bus=16, reactance=nan, from=1, to=2 }", "a reactance above zero"),
            ("outages=[{ from=1, to=30, at=1 }]", "there is no branch 1 to 30"),
            ("telemetry=[39, 39]", "`telemetry` names bus 39 twice"),
            ("thresholds=[59.5, 59.5]", "a threshold stands twice"),
        ] {
            let found = mistakes_in(&folder(), &grid(more)).join("\n");
            assert!(found.contains(wanted), "{more}: {found}");
        }
    }
}
