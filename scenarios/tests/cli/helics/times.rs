//! Instants there and back, and when values are heard.
use super::{BALL, Bench};

/// Acceptance 2: the instants in a peer are those of the located events.
#[test]
fn located_events_arrive_at_their_ticks() {
    let Some(bench) = Bench::new("ball") else { return };
    let federate = "[[federate.output]]\nfrom = 'ball.bounces'\nas = 'own/bounces'\ntype = 'int'\n";
    bench.write(BALL, federate, &[("peer", "sub own/bounces int; run; until 4")]);
    bench.run("run s.toml");
    let events: Vec<String> = bench.read("out/s/events.csv").lines().skip(1).map(String::from).collect();
    assert_eq!(events.len(), 2, "{events:?}");
    let log = bench.log("peer");
    for (k, row) in events.iter().enumerate() {
        let time = row.split(',').next().unwrap();
        let (whole, part) = time.split_once('.').unwrap();
        let ticks: i64 = format!("{whole}{part:0<9}").parse().unwrap();
        // Heard at the next nanosecond.
        let line = format!("{} own/bounces {}", ticks + 1, k + 1);
        assert!(log.contains(&line), "{line} in {log:?}");
        let record = format!("{ticks},{ticks}:0,ball.bounces,own,int64,{}", k + 1);
        let out = bench.read("out/s/federation/outbound.csv");
        assert!(out.lines().any(|l| l.starts_with(&record[..record.len() - 2])), "{record} in {out}");
    }
}

const ECHO: &str = "stop = '1 s'
sample = 'none'
[unit.half]
kind = 'equations'
inputs = { u = 0 }
discrete = ['k']
states = { k = 0 }
outputs = { y = 'u' }
";
