//! Simulators of others: sun from a table (mosaik-csv), PV plants (mosaik-pv), the CIGRE medium-voltage grid
//! (mosaik-pandapower-2) and a writer of tables, against the same in mosaik itself. Both take half a minute.
use super::{Bench, python, root};
use std::process::Command;

const SCENARIO: &str = include_str!("../../../mosaik/grid.toml");

#[test]
fn a_grid_with_pv_is_that_of_mosaik_to_the_bit() {
    if std::env::var_os("SUPERDENSE_LONG").is_none() {
        println!("skipped: half a minute (SUPERDENSE_LONG=1 runs it)");
        return;
    }
    let Some(python) = python("mosaik_components.pandapower, mosaik_components.pv") else { return };
    let bench = Bench::new("grid", python);
    let mut command = Command::new(&bench.python);
    command.arg(root().join("tests/mosaik/grid.py")).arg(".").current_dir(&bench.folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.run(&SCENARIO.replace("python3", &bench.python));
    let read = |name: &str| std::fs::read_to_string(bench.folder.join(name)).unwrap();
    let (own, their) = (read("ours.csv"), read("mosaik.csv"));
    assert_eq!(their.lines().count(), 97);
    assert!(own == their, "{own}\n{their}");
}
