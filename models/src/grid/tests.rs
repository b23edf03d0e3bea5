//! Tests of case files and of the power flow on small networks with known answers.
use super::matpower;

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
