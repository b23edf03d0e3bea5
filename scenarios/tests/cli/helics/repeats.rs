//! Runs again: live, and from a record.
use super::{Bench, LAG, LAGS, json};

/// Runs with peers that sleep at random; `SUPERDENSE_LONG=1` makes 50 of them.
fn runs() -> usize {
    if std::env::var_os("SUPERDENSE_LONG").is_some() { 50 } else { 5 }
}

/// Acceptance 7 and 13: the wall-clock timing of peers changes nothing, and a record gives the files of the live run.
#[test]
fn runs_are_repeated_live_and_from_records() {
    let Some(bench) = Bench::new("repeats") else { return };
    let script = |sleep: &str| {
        format!(
            "pub peer/u double; sub own/x double; run; every 0.07 14 peer/u 0.5 {sleep}; until 1"
        )
    };
    let other =
        "pub other/v double; sub own/x double; run; every 0.05 20 other/v 1.5 0.004; until 1";
    let more = "[[federate.input]]\nfrom = 'other/v'\nto = 'second.u'\n";
    let head = format!(
        "stop = '1 s'\nrecord = ['lag.x', 'second.y']\n{LAG}[unit.second]\nkind = 'delay'\nof = 'event'\ndelay = '3 ms'\n"
    );
    bench.write(&head, &format!("{LAGS}{more}"), &[("peer", &script("0.004")), ("other", other)]);
    let files = [
        "federation/inbound.csv",
        "federation/outbound.csv",
        "trajectory.csv",
        "events.csv",
        "samples.csv",
        "summary.json",
    ];
    let all = |out: &str| files.map(|f| bench.read(&format!("{out}/{f}")));
    bench.run("run s.toml --out out/first");
    let first = all("out/first");
    assert!(first[0].lines().count() > 30, "{}", first[0]);
    for run in 1..runs() {
        bench.run("run s.toml --out out/next");
        assert_eq!(all("out/next"), first, "run {run}");
    }
    bench.run("run s.toml --replay out/first --out out/replayed");
    assert_eq!(all("out/replayed"), first);
    assert!(bench.run("federation diff out/first out/replayed").contains("equal"));
    assert!(json(&first[5])["trace_hash"].is_string());
    // A planted bit.
    let file = bench.dir.join("out/replayed/federation/inbound.csv");
    let text = first[0].replacen("peer/u,double,1.0\n", "peer/u,double,1.0000000000000002\n", 1);
    assert_ne!(text, first[0]);
    std::fs::write(file, text).unwrap();
    let output = bench.output("federation diff out/first out/replayed");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains("inbound.csv, line ") && told.contains("1.0000000000000002"), "{told}");
}
