//! Links with faults beside ns-3 3.37, where its headers are installed (Debian: `libns3-dev`).
use super::network::run;
use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

/// The program of ns-3, compiled once per source; nothing without ns-3 or a compiler.
fn peer() -> Option<PathBuf> {
    let found = Command::new("pkg-config").args(["--exists", "ns3-core"]).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("skipped: ns-3 is not installed (Debian: apt-get install libns3-dev)");
        return None;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (program, source) = (folder.join("ns3_link"), folder.join("ns3_link.cc"));
    let text = include_str!("ns3_link.cc");
    if program.exists() && std::fs::read_to_string(&source).is_ok_and(|old| old == text) {
        return Some(program);
    }
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("c++");
    compiler.arg("-o").arg(&program).arg(&source);
    let libraries = ["core", "network", "point-to-point"];
    let done = compiler.args(libraries.map(|name| format!("-lns3-{name}"))).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// A full queue and losses in bursts: each packet arrives in the nanosecond in which ns-3 lets it arrive,
/// fed with the times of sending and the numbers of the packets that we lost.
#[test]
fn lossy_links_deliver_in_the_nanosecond_of_ns3() {
    let Some(program) = peer() else { return };
    let results = run(
        "ns3",
        "stop = 61\nsample = 'none'\nrecord = ['s.out', 'l.out', 'l.dropped']\nconnections = ['s.out -> l.in']\n\
         [unit.s]\nkind = 'packet-source'\nrate = 350\nbytes = 254\nheader = 2\nuntil = '60 s'\n\
         [unit.l]\nkind = 'link'\nrate = '700 kb/s'\npropagation = '10 ms'\ncapacity = 20\n\
         burst_begin = 0.01\nburst_end = 0.2\nloss = 0.001\nburst_loss = 0.7\n",
        &[],
    );
    let rows = results.rows("trajectory.csv");
    let of = |port: &str| -> Vec<(String, String)> {
        let own = rows.iter().filter(|r| r[2] == port);
        own.map(|r| (r[0].clone(), r[3].trim_start_matches("0/").to_owned())).collect()
    };
    let (sent, dropped, arrived) = (of("s.out"), of("l.dropped"), of("l.out"));
    assert!(sent.len() > 20_000 && dropped.len() > 800 && arrived.len() > 19_000);
    let mut input = format!("700000 10000000 20 256 {}", sent.len());
    sent.iter().for_each(|(ns, _)| input.extend([" ", ns]));
    input += &format!(" {}", dropped.len());
    dropped.iter().for_each(|(_, number)| input.extend([" ", number]));
    let mut peer = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the peer starts");
    peer.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = peer.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<&str> = text.lines().collect();
    assert_eq!(theirs.len(), arrived.len());
    for (theirs, (ns, number)) in theirs.iter().zip(&arrived) {
        assert_eq!(*theirs, format!("{ns},{number}"));
    }
}
