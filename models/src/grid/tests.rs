//! Tests of case files and of the power flow on small networks with known answers.
use super::{
    CaseError,
    case::Case,
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
    matpower::parse(&three_buses(more)).unwrap_err().to_string()
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for more in [
        "mpc = scale_load(2, mpc);",
        "mpc.bus(:, 3) = mpc.bus(:, 3) * mpc.bus(:, 4);",
        "mpc.bus(:, [3 4]) = mpc.bus(:, 3);",
        "mpc.bus(:, 99) = 1;",
        "mpc.bus(9, 3) = 1;",
        "mpc.bus(find(mpc.bus(:, 3)), 3) = 0;",
        "mpc.bus = other;",
        "mpc.bus(:, 3) = nobody;",
        "if mpc.bus(1, 2) == 3",
        "for k = 1",
        "x = [1 2]",
        "[A, B] = nobody",
    ] {
        let why = refusal(more);
        let wanted = format!("line 15: `{}` computes", more.trim_end_matches(';'));
        assert!(why.starts_with(&wanted) && why.contains("savecase"), "{why}");
    }
    assert!(refusal("mpc.areas = [ 1 2").contains("line 15: `mpc.areas = [ 1 2` has no closing"));
    let scaled = three_buses("").replace("10 0 ];", "10 0 ] / 2;");
    let why = matpower::parse(&scaled).unwrap_err().to_string();
    assert!(why.starts_with("line 9: `mpc.gen = [ 1 0") && why.contains("computes"), "{why}");
    let word = three_buses("").replace("0.4930", "0.4930-x");
    assert!(
        matpower::parse(&word)
            .unwrap_err()
            .to_string()
            .contains("line 12: `0.4930-x` is no number")
    );
}

/// The tail of distribution cases (ohms and kW), and other things that cases compute.
#[test]
fn files_may_compute() {
    let tail = "[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD, GS, BS, BUS_AREA, VM, ...
    VA, BASE_KV, ZONE, VMAX, VMIN, LAM_P, LAM_Q, MU_VMAX, MU_VMIN] = idx_bus;
[F_BUS, T_BUS, BR_R, BR_X] = idx_brch;
Vbase = mpc.bus(1, BASE_KV) * 1e3;      %% in Volts
Sbase = mpc.baseMVA * 1e6;              %% in VA
mpc.branch(:, [BR_R BR_X]) = mpc.branch(:, [BR_R BR_X]) / (Vbase^2 / Sbase);
mpc.bus(:, [PD, QD]) = mpc.bus(:, [PD, QD]) / 1e3;
";
    let case = matpower::parse(&three_buses(tail)).unwrap();
    let ohm = 12.66 * 12.66 / 10.0;
    for (found, wanted) in [
        (case.branches[1].series[1], 0.2511 / ohm),
        (case.branches[0].series[0], 0.0922 / ohm),
        (case.buses[1].demand[1], 0.06e-3),
    ] {
        assert!((found / wanted - 1.0).abs() < 1e-14, "{found}, not {wanted}");
    }
    let of = |more: &str| matpower::parse(&three_buses(more)).unwrap();
    let factor = "define_constants;\npf = 0.8;
mpc.bus(:, QD) = mpc.bus(:, PD) * sin(acos(pf));\nmpc.bus(:, PD) = mpc.bus(:, PD) .* pf;";
    let [p, q] = of(factor).buses[1].demand;
    assert!((p - 0.08).abs() < 1e-16 && (q - 0.06).abs() < 1e-16, "{p} {q}");
    for (text, wanted) in [
        ("50/3", 50.0 / 3.0),
        ("2 + 3 * -2^2 / 4 - -1", 0.0),
        ("1e1 - (1 - sqrt(4))", 11.0),
        ("mpc.bus(2, 10) * mpc.baseMVA", 126.6),
        ("[PQ, X] = idx_bus;\nmpc.baseMVA = X + PQ", 3.0),
        ("f = 0;\nif f\nf = nobody(3);\nif 1\nend\nelse\nf = 7\nend\nmpc.baseMVA = f", 7.0),
    ] {
        let more =
            if text.contains('=') { text.to_owned() } else { format!("mpc.baseMVA = {text};") };
        let base = of(&more).base;
        assert!((base - wanted).abs() < 1e-12, "{text}: {base}");
    }
    let words = three_buses("").replace(" 12.66 1 1 1;", " 12.66/sqrt(3) 1 1 1;");
    assert_eq!(matpower::parse(&words).unwrap().buses, of("").buses);
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
fn second(ty: u8, status: [u8; 2]) -> Result<f64, CaseError> {
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
    let why = second(2, [0, 1]).unwrap_err().to_string();
    assert!(why.contains("reference bus 1 has no generator in service"), "{why}");
}

/// A ring of 20 000 buses, which dense matrices have no room for: between equal ones nothing flows, and
/// one load draws from both sides.
#[test]
fn networks_may_be_large() {
    let mut text =
        "mpc.baseMVA = 100;\nmpc.gen = [ 1 0 0 300 -300 1 100 1 ];\nmpc.bus = [\n".to_owned();
    let n = 20_000;
    for k in 1..=n {
        let demand = if k == n / 2 + 1 { "1e-3" } else { "0" };
        text += &format!("{k} {} {demand} 0 0 0 1 1 0\n", if k == 1 { 3 } else { 1 });
    }
    text += "];\nmpc.branch = [\n";
    (1..=n).for_each(|k| text += &format!("{k} {} 0.001 0 0 0 0 0 0 0 1\n", k % n + 1));
    let case = matpower::parse(&(text + "];")).and_then(Case::checked).unwrap();
    let flow = flow::solve(&case).unwrap();
    // V (1 - V) = P R, for the load at the end of two resistances of 10 beside each other.
    let v = (1.0 + (1.0_f64 - 4.0 * 1e-5 * 5.0).sqrt()) / 2.0;
    assert!((flow.vm[n / 2] - v).abs() < 1e-9 && flow.vm[0] == 1.0, "{}", flow.vm[n / 2]);
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
        let why = matpower::parse(&text).and_then(Case::checked).unwrap_err().to_string();
        assert!(why.contains(wanted), "{why}");
    }
}

/// The IEEE 39-bus case with a change.
fn ieee39(change: impl FnOnce(&mut Value)) -> Result<Case, CaseError> {
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
    let why = ieee39(|v| list(v, "gen").retain(|g| g["bus"] != 31)).unwrap_err().to_string();
    assert!(why.contains("reference bus 31 has no generator in service"), "{why}");
    let twice = |v: &mut Value| {
        let again = v["gen"][0].clone();
        list(v, "gen").push(again);
    };
    let why = ieee39(twice).unwrap_err().to_string();
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
        let why = ieee39(|v| v[part][0]["rateA"] = json!(1)).unwrap_err().to_string();
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
        let why = ieee39(|v| v[part][name] = json!(x)).unwrap_err().to_string();
        assert!(why.contains("R, T1 and T3 must be above zero"), "{why}");
    }
    let why = ieee39(|v| v["f0"] = json!(0)).unwrap_err().to_string();
    assert!(why.contains("frequency is 0 Hz"), "{why}");
}

mod runs {
    use crate::kinds::testing::{Bench, mistakes_in};
    use std::path::{Path, PathBuf};

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/library/grid")
    }

    fn grid(more: &str) -> String {
        format!(
            "[unit.g]\nkind='power-system'\nnetwork='ieee39.json'\nexchange_tolerance=1e3\n{more}"
        )
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
    }

    /// A schedule of events at an input of the grid.
    fn told(input: &str, times: &str, values: &str, number: usize) -> String {
        format!("[unit.s{number}]\nkind='schedule'\ntimes={times}\nvalues={values}\n# -> {input}\n")
    }

    /// A grid whose inputs get events: (input, times, values).
    fn driven(more: &str, events: &[(&str, &str, &str)]) -> Bench {
        let wires: Vec<String> =
            events.iter().zip(0..).map(|(e, k)| format!("'s{k}.y -> g.{}'", e.0)).collect();
        let units: Vec<String> =
            events.iter().zip(0..).map(|(e, k)| told(e.0, e.1, e.2, k)).collect();
        let text = format!("connections=[{}]\n{}{}", wires.join(","), units.concat(), grid(more));
        Bench::run_in(&folder(), &text, 3.0)
    }

    /// Messages open, close, trip and change as times do.
    #[test]
    fn events_do_what_times_do() {
        let fault = "fault={ bus=16, reactance=1e-3, from=0.9, to=1 }\n";
        let by_time = |more: &str| Bench::run_in(&folder(), &grid(&format!("{fault}{more}")), 3.0);
        let outage = by_time("outages=[{ from=16, to=17, at=1.1, until=2 }]");
        let opened =
            driven(fault, &[("open_16_17", "[1.1, 1.3]", "[1, 1]"), ("close_16_17", "[2]", "[0]")]);
        let trip = by_time("trips=[{ bus=38, at=1.1 }]");
        let tripped = driven(fault, &[("trip_38", "[1.1, 1.5]", "[1, 1]")]);
        for (a, b) in [(&outage, &opened), (&trip, &tripped)] {
            for port in ["g.coi_hz", "g.delta30", "g.f39_hz", "g.v_4", "g.q_31", "g.p_2_3"] {
                assert!((a.probe(port) - b.probe(port)).abs() < 1e-8, "{port}");
            }
        }
        assert_eq!(tripped.events("g.tripped"), ["1.1@1 8"]);
        let shed = driven("", &[("shed_16", "[1]", "[0.25]")]);
        let less = driven("", &[("load_16", "[0.5, 1]", "[1, 0.75]")]);
        assert!((shed.probe("g.coi_hz") - less.probe("g.coi_hz")).abs() < 1e-9);
        assert!((less.probe("g.shed_mw") - 329.0 / 4.0).abs() < 1e-9);
        let more = driven("", &[("load_16", "[1]", "[1.5]"), ("shed_16", "[1.5]", "[0.25]")]);
        assert!((more.probe("g.shed_mw") + 329.0 / 4.0).abs() < 1e-9);
    }

    /// Shedding more than the load is told.
    #[test]
    fn shedding_more_than_there_is_is_told() {
        let all = driven(
            "",
            &[("shed_16", "[1, 1.5, 2]", "[0.5, 0.5, 0.25]"), ("load_4", "[1]", "[-2]")],
        );
        let told = |name: &str, of: &str| {
            format!("{name} {of} of the load is left to take: the rest has no effect")
        };
        assert_eq!(
            all.notes(),
            [told("1", "`load 4` says -2, and 0"), told("2", "`shed 16` says 0.25, and 0")]
        );
    }

    /// Powers at the start are those of the power flow, and currents add up at every bus.
    #[test]
    fn outputs_tell_the_network() {
        let bench = Bench::run_in(&folder(), &grid(""), 0.1);
        for (port, wanted) in [("g.v_31", 0.982), ("g.v_39", 1.03), ("g.p_38", 830.0)] {
            assert!((bench.probe(port) - wanted).abs() < 1e-6, "{port}: {}", bench.probe(port));
        }
        assert!((bench.probe("g.pd_16") - 329.0).abs() < 1e-6);
        assert!((bench.probe("g.qd_16") - 32.3).abs() < 1e-6);
        assert!((bench.probe("g.p_29_38") + 824.7).abs() < 1.0, "{}", bench.probe("g.p_29_38"));
        let late = driven("", &[("load_20", "[1]", "[0]"), ("open_1_39", "[1]", "[0]")]);
        assert_eq!(
            [late.probe("g.p_1_39"), late.probe("g.pd_20"), late.probe("g.islands")],
            [0.0, 0.0, 1.0]
        );
        // A signal that is heard jumps to what it is.
        let wires = "connections=['g.v_4 -> x.u', 'g.p_16_17 -> y.u', 'g.island30_hz -> z.u']\n";
        let gain = |name: &str| format!("[unit.{name}]\nkind='gain'\ngain=1\n");
        let gains = ["x", "y", "z"].map(gain).concat();
        let text = format!("{wires}{gains}{}", grid("trips=[{ bus=38, at=1 }]"));
        let bench = Bench::run_in(&folder(), &text, 1.0);
        for (told, is) in [("x.y", "g.v_4"), ("y.y", "g.p_16_17"), ("z.y", "g.island30_hz")] {
            let [told, is] = [told, is].map(|port| bench.probe(port));
            assert!((told - is).abs() < 1e-9 && is != 0.0, "{told} {is}");
        }
    }

    /// Bus 12 hangs on two transformers: it loses its load, and gets it back.
    #[test]
    fn islands_without_machines_are_dark() {
        let dark = "outages=[{ from=12, to=11, at=1, until=2 }, { from=12, to=13, at=1 }]";
        let bench = Bench::run_in(&folder(), &grid(dark), 1.5);
        for (port, wanted) in
            [("g.v_12", 0.0), ("g.lost_mw", 8.53), ("g.islands", 1.0), ("g.pd_12", 0.0)]
        {
            assert_eq!(bench.probe(port), wanted, "{port}");
        }
        assert_eq!(bench.events("g.islanded"), ["1@1 1"]);
        let bench = Bench::run_in(&folder(), &grid(dark), 3.0);
        assert!(bench.probe("g.v_12") > 0.9 && bench.probe("g.lost_mw") == 0.0);
        assert_eq!(bench.events("g.islanded"), ["1@1 1", "2@1 1"]);
        assert!(bench.events("g.blackout").is_empty());
    }

    /// Without bus 39's two lines two islands go on, each at a frequency of its own.
    #[test]
    fn islands_have_frequencies_of_their_own() {
        let bench = driven("", &[("open_1_39", "[1]", "[0]"), ("open_9_39", "[1]", "[0]")]);
        let [own, one, other] =
            ["g.f39_hz", "g.island39_hz", "g.island30_hz"].map(|p| bench.probe(p));
        assert!((own - one).abs() < 1e-9 && (one - other).abs() > 0.01, "{own} {one} {other}");
        assert_eq!(bench.probe("g.islands"), 2.0);
        // Bus 39 has more inertia than all others together.
        assert!((bench.probe("g.coi_hz") - one).abs() < 1e-9);
        assert_eq!(bench.events("g.islanded"), ["1@1 2"]);
        let tripped = driven(
            "",
            &[("open_1_39", "[1]", "[0]"), ("open_9_39", "[1]", "[0]"), ("trip_39", "[2]", "[0]")],
        );
        assert_eq!(tripped.probe("g.island39_hz"), 0.0);
        assert_eq!([tripped.probe("g.v_39"), tripped.probe("g.lost_mw")], [0.0, 1104.0]);
        // Both are means over the machines of one island, added up in different orders.
        let apart = tripped.probe("g.coi_hz") - tripped.probe("g.island30_hz");
        assert!(apart.abs() < 1e-12, "{apart}");
    }

    #[test]
    fn a_blackout_is_a_result() {
        let trips: Vec<String> =
            (30..40).map(|bus| format!("{{ bus={bus}, at={} }}", f64::from(bus) / 20.0)).collect();
        let bench = Bench::run_in(&folder(), &grid(&format!("trips=[{}]", trips.join(","))), 3.0);
        for port in ["g.coi_hz", "g.island30_hz", "g.v_16", "g.islands", "g.p_16_17", "g.p_39"] {
            assert_eq!(bench.probe(port), 0.0, "{port}");
        }
        assert!((bench.probe("g.lost_mw") - 6254.23).abs() < 1e-9);
        assert_eq!(bench.count("g.blackout"), 1);
        assert!(bench.events("g.blackout")[0].starts_with("1.95@1 6254.2"));
    }

    /// The 39 buses as a MATPOWER case with a table of machines are those of the JSON file.
    #[test]
    fn machines_may_stand_in_a_table() {
        let file = std::fs::read_to_string(folder().join("ieee39.json")).unwrap();
        let v: serde_json::Value = serde_json::from_str(&file).unwrap();
        let list = |name: &str| v[name].as_array().unwrap().clone();
        let mut case = "mpc.baseMVA = 100;\nmpc.bus = [\n".to_owned();
        for b in list("bus") {
            let of = |name: &str| b[name].to_string();
            let [id, ty, pd, qd, gs, bs, vm, va] =
                ["id", "type", "Pd", "Qd", "Gs", "Bs", "Vm", "Va_deg"].map(of);
            case += &format!("{id} {ty} {pd} {qd} {gs} {bs} 1 {vm} {va}\n");
        }
        case += "];\nmpc.gen = [\n";
        let (mut own, mut system) = ("# ratings\nH, bus, xdp, Sn\n".to_owned(), String::new());
        system += "bus,Sn,H,xdp\n";
        for g in list("gen") {
            let of = |name: &str| g[name].as_f64().unwrap();
            let (bus, base) = (g["bus"].as_u64().unwrap(), of("Sn") / 100.0);
            let of_bus = list("bus").into_iter().find(|b| b["id"] == g["bus"]).unwrap();
            case += &format!("{bus} {} 0 0 0 {} 100 1\n", 100.0 * of("Pm"), of_bus["Vm"]);
            own += &format!("{}, {bus}, {}, {}\n", of("H") / base, of("xdp") * base, of("Sn"));
            system += &format!("{bus},{},{},{}\n", of("Sn"), of("H"), of("xdp"));
        }
        case += "];\nmpc.branch = [\n";
        for b in list("branch") {
            let of = |name: &str| b[name].to_string();
            let [f, t, r, x, c, tap, shift] = ["f", "t", "r", "x", "b", "tap", "shift"].map(of);
            case += &format!("{f} {t} {r} {x} {c} 0 0 0 {tap} {shift} 1\n");
        }
        let dir = std::env::temp_dir().join(format!("machines-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
        write("case.m", &(case + "];"));
        write("own.csv", &own);
        write("system.csv", &system);
        write("few.csv", "bus,Sn,H,xdp\n30,100,1,1\n");
        write("many.csv", &(system.clone() + "1,100,1,1\n"));
        write("word.csv", "bus,Sn,H,xdp\n30,100,x,1\n");
        write("column.csv", "bus,Sn,H,x\n30,100,1,1\n");
        let text = |more: &str| {
            format!(
                "[unit.g]\nkind='power-system'\nnetwork='case.m'\nexchange_tolerance=1e3\n\
                 fault={{ bus=16, reactance=1e-3, from=1, to=1.1 }}\n{more}"
            )
        };
        let table = "governor={ R=0.05, T1=0.05, T2=1.0, T3=2.1 }\nall_governed=true\n";
        let json = coi("fault={ bus=16, reactance=1e-3, from=1, to=1.1 }\nall_governed=true");
        for more in ["machines='own.csv'", "machines='system.csv'\nmachine_base='system'"] {
            let found = Bench::run_in(&dir, &text(&format!("{table}{more}")), 3.0);
            assert!((found.probe("g.coi_hz") - json).abs() < 1e-9, "{more}");
        }
        let fifty = Bench::run_in(&dir, &text("machines='own.csv'\nfrequency=50"), 0.5);
        assert!((fifty.probe("g.coi_hz") - 50.0).abs() < 1e-9);
        for (more, wanted) in [
            ("", "no machine data"),
            ("machines='few.csv'", "few.csv: the generator at bus 31 has no machine"),
            ("machines='many.csv'", "many.csv: the machine at bus 1 has no generator in service"),
            ("machines='word.csv'", "word.csv: line 2: `x` is no number"),
            ("machines='column.csv'", "column.csv: unknown column `x`"),
            ("machines='none.csv'", "none.csv"),
            ("machines='own.csv'\nall_governed=true", "no governor data"),
            ("machines='own.csv'\ngovernor={ R=1 }", "`T1` is no number"),
        ] {
            let found = mistakes_in(&dir, &text(more)).join("\n");
            assert!(found.contains(wanted), "{more}: {found}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    /// A machine that swings through a threshold reports it each time, or once, or only after it rose
    /// far enough.
    #[test]
    fn thresholds_are_armed_again() {
        let fault = "fault={ bus=16, reactance=1e-3, from=0.5, to=0.6 }\nthresholds=[59.99]\n";
        let count = |rearm: &str| {
            Bench::run_in(&folder(), &grid(&format!("{fault}{rearm}")), 5.0).count("g.report_34")
        };
        // By an independent integration.
        assert_eq!(["", "rearm='above'", "rearm=0.3"].map(count), [2; 3]);
        assert_eq!(["rearm='never'", "rearm=100"].map(count), [1; 2]);
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
            ("rearm='below'", "`rearm` is none of these"),
            ("rearm=-1", "`rearm` is none of these"),
        ] {
            let found = mistakes_in(&folder(), &grid(more)).join("\n");
            assert!(found.contains(wanted), "{more}: {found}");
        }
    }
}
