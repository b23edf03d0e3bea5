//! Packet networks and queues: against ns-3, queueing theory and the links of demand response.
use super::{
    grid::{data, place, samples},
    library::Results,
};
use std::process::Command;

/// FNV-1a over lines `ns,source/number` in the order of arrival.
const S4A_DIGEST: u64 = 0xd266_28ce_578a_1914;

#[test]
fn s4a_receives_every_packet_in_the_nanosecond_of_ns3() {
    let results = Results::of("network/s4a.toml", &[]);
    let arrivals: Vec<String> = results
        .rows("trajectory.csv")
        .iter()
        .filter(|r| r[2] == "bottleneck.out")
        .map(|r| format!("{},{}", r[0], r[3]))
        .collect();
    assert_eq!(arrivals.len(), 52_315);
    let text = std::fs::read_to_string(data("network/s4a_rx.csv")).unwrap();
    for (k, line) in text.lines().skip(1).enumerate() {
        assert_eq!(arrivals[50 * k], line, "packet {}", 50 * k);
    }
    let bytes = arrivals.iter().flat_map(|line| line.bytes().chain([b'\n']));
    let digest = bytes
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(digest, S4A_DIGEST);
}

/// Little's law: 40 ms, and three hops of the delay. t = 3.883 for a single run at 99.9 %; the
/// recorded interval has t = 2.093.
#[test]
fn s4b_intervals_cover_jacksons_sojourn() {
    for (delay, exact) in [("1 ms", 0.043), ("0 s", 0.040)] {
        let results =
            Results::of("network/s4b.toml", &["--set", &format!("network.delay={delay}")]);
        let (heading, rows) = samples(&results);
        let last = rows.last().expect("a row");
        let [low, mean, high] =
            ["low", "mean", "high"].map(|n| last[place(&heading, &format!("out.{n}"))]);
        let half = 3.883 / 2.093 * (high - low) / 2.0;
        assert!((mean - exact).abs() < half && half < 0.1 * exact, "{mean} ± {half} for {exact}");
    }
}

/// Runs a scenario given as text.
pub(super) fn run(name: &str, text: &str, options: &[&str]) -> Results {
    let file = std::env::temp_dir().join(format!("network-{}-{name}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let results = Results::of(file.to_str().unwrap(), options);
    std::fs::remove_file(file).unwrap();
    results
}

/// Rates of arrival and service, distribution, most jobs in the station; W or the probability of
/// loss by theory, and the band that 2000 s allow.
type Station<'a> = (&'a str, f64, f64, &'a str, Option<u32>, f64, f64);

/// Pollaczek-Khinchine for M/D/1, Erlang for M/M/1/K, embedded chain for M/D/1/K. The bands are
/// four standard errors: about 2 million arrivals whose correlation time is 1/(mu (1 - rho)^2).
const STATIONS: [Station<'_>; 5] = [
    ("mm1", 800.0, 1000.0, "exponential", None, 0.005, 0.000_25),
    ("md1", 800.0, 1000.0, "constant", None, 0.003, 0.000_15),
    ("mm1k", 1000.0, 874.126, "exponential", Some(21), 0.132_755_58, 0.004),
    ("md1k", 1000.0, 874.126, "constant", Some(21), 0.126_282_61, 0.004),
    ("mm1k20", 900.0, 1000.0, "exponential", Some(20), 0.013_651_39, 0.002),
];

#[test]
fn stations_agree_with_queueing_theory() {
    for (name, arrivals, service, distribution, capacity, exact, band) in STATIONS {
        let room = capacity.map_or(String::new(), |k| format!("capacity = {k}\n"));
        let text = format!(
            "stop = 2000\nsample = 'none'\nrecord = ['served.mean', 'source.count', 'gone.count']\n\
             connections = ['source.out -> station.in', 'station.out -> served.in', \
             'station.lost -> gone.in']\n\
             [unit.source]\nkind = 'arrivals'\nrate = {arrivals}\n\
             [unit.station]\nkind = 'server'\ndistribution = '{distribution}'\nmean = {}\n{room}\
             [unit.served]\nkind = 'sink'\n[unit.gone]\nkind = 'sink'\n",
            1.0 / service
        );
        let results = run(name, &text, &[]);
        let (heading, rows) = samples(&results);
        let value = |label: &str| rows.last().expect("a row")[place(&heading, label)];
        let found = match capacity {
            None => value("served.mean"),
            Some(_) => value("gone.count") / value("source.count"),
        };
        assert!((found - exact).abs() < band, "{name}: {found}, not {exact}");
    }
}

/// A wide network is the closed form of s2; on a narrow one exactly those commands are lost that
/// find the queue full, and a room that heard nothing goes on cooling.
#[test]
fn s2_commands_and_reports_over_contended_links() {
    let contended = |sets: &[&str]| {
        let options: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let results = Results::of("grid/s2_network.toml", &options);
        let (heading, rows) = samples(&results);
        let column = |label: &str| -> Vec<f64> {
            let at = place(&heading, label);
            rows.iter().map(|row| row[at]).collect()
        };
        ["total.power", "total.switches", "believed.power", "downlink.loss"].map(column)
    };
    let wide = "network.rate=1e12";
    let [power, switches, believed, loss] =
        contended(&[wide, "network.propagation=0", "network.capacity=1000000", "network.loss=0"]);
    assert_eq!((switches[360], loss[360]), (7_377.0, 0.0));
    assert!((power[360] - 2_307.941).abs() < 1e-3 && (believed[360] - power[360]).abs() < 1e-6);
    assert!(power[181].abs() < 1e-9);
    let [power, _, believed, loss] = contended(&["network.capacity=300", "network.loss=0"]);
    // One in transmission, 300 wait.
    assert!((loss[360] - 0.699).abs() < 1e-12, "{}", loss[360]);
    assert!(power[181] > 0.5 * power[179], "{} after {} kW", power[181], power[179]);
    // The first reports, of all 413 rooms that cool at once, overflow the uplink, too.
    assert!((believed[360] - power[360]).abs() > 10.0);
}

/// Failures in the course of a run: scenario, and the text of the error.
const FAILURES: [(&str, &str); 2] = [
    (
        "connections = ['s.out -> r.in']\n[unit.s]\nkind = 'packet-source'\nrate = 5.0\nto = 9\n\
         [unit.r]\nkind = 'routes'\nroutes = [{ to = 1, out = 1 }]\n",
        "no route to address 9 for packet 1 of source 0: add a route or a `default` output",
    ),
    (
        "connections = ['s.out -> w.in']\n[unit.s]\nkind = 'packet-source'\nrate = 5.0\nto = 9\n\
         [unit.w]\nkind = 'wan'\naddresses = [1, 2]\n",
        "source 0 sends to address 9, which the network does not know: add it to `addresses`",
    ),
];

#[test]
fn failing_runs_say_what_to_do() {
    let folder = super::folder(&format!("failures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (text, message) in FAILURES {
        let file = folder.join("case.toml");
        std::fs::write(&file, format!("stop = 10\n{text}")).unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_superdense"))
            .args(["run", "--quiet", "--force"])
            .arg(&file)
            .arg("--out")
            .arg(folder.join("results"))
            .output()
            .expect("the command starts");
        let told = String::from_utf8_lossy(&done.stderr);
        // Lines are wrapped to the terminal.
        let told = told.replace(['|', '\n'], " ");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!done.status.success() && told.contains(message), "{message}: {told}");
    }
}
