//! Instants there and back, and when values are heard.
use super::{BALL, Bench};

/// Acceptance 2: the instants in a peer are those of the located events.
#[test]
fn located_events_arrive_at_their_ticks() {
    let Some(bench) = Bench::new("ball") else { return };
    let federate = "[[federate.output]]\nfrom = 'ball.bounces'\nas = 'own/bounces'\ntype = 'int'\n";
    bench.write(BALL, federate, &[("peer", "sub own/bounces int; run; until 4")]);
    bench.run("run s.toml");
    let events = bench.read("out/s/events.csv");
    let times: Vec<&str> = events.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    assert_eq!(times.len(), 2, "{events}");
    let out = bench.read("out/s/federation/outbound.csv");
    for (k, time) in (1..).zip(times) {
        let (whole, part) = time.split_once('.').unwrap();
        let ticks: i64 = format!("{whole}{part:0<9}").parse().unwrap();
        let heard = format!("{ticks} own/bounces {k}");
        assert!(bench.log("peer").contains(&heard), "{heard} in {:?}", bench.log("peer"));
        let sent = format!("{ticks},{ticks}:0,ball.bounces,own,int64,{k}");
        assert!(out.lines().any(|l| l == sent), "{sent} in {out}");
    }
}

/// Something that ticks, and something that hears.
const ECHO: &str = "stop = '1 s'
sample = 'none'
[unit.echo]
kind = 'delay'
of = 'event'
delay = '1 ns'
[unit.clock]
kind = 'clock'
period = '0.5 s'
value = 1.0
";

/// Acceptance 6: what peers send at the instant at which this federate was granted is heard 1 ns later, and with `last`
/// at that instant.
#[test]
fn last_hears_at_the_instant_and_next_a_nanosecond_later() {
    for (instant, heard) in [("next", "500000001"), ("last", "500000000")] {
        let Some(bench) = Bench::new(&format!("instant-{instant}")) else { return };
        let federate = format!(
            "instant = '{instant}'\n[[federate.input]]\nfrom = 'peer/u'\nto = 'echo.u'\n[[federate.output]]\n\
             from = 'clock.y'\nas = 'own/tick'\n"
        );
        let peer = "pub peer/u double; run; to 0.5; put peer/u 7; to 1";
        bench.write(ECHO, &federate, &[("peer", peer)]);
        bench.run("run s.toml");
        let record = bench.read("out/s/federation/inbound.csv");
        let line = record.lines().nth(1).unwrap_or_default();
        assert!(
            line.starts_with(&format!("{heard},{heard}:0,echo.u,peer/u,double,7.0")),
            "{instant}: {record}"
        );
    }
}

/// An output between nanoseconds is refused, or published at the next one.
#[test]
fn outputs_between_nanoseconds() {
    let Some(bench) = Bench::new("between") else { return };
    let head = "stop = '3 s'\nresolution = 'ps'\nsample = 'none'\n[unit.clock]\nkind = 'clock'\nperiod = '1/3 s'\n\
                value = 2.0\nlimit = 3\n";
    let output = "[[federate.output]]\nfrom = 'clock.y'\nas = 'own/tick'\n";
    let peer = [("peer", "sub own/tick double; run; until 3")];
    bench.write(head, output, &peer);
    let told = bench.fails("run s.toml", 3);
    assert!(
        told.contains("`clock.y` at 0.333333333333 s") && told.contains("rounding = \"up\""),
        "{told}"
    );
    bench.write(head, &format!("rounding = 'up'\n{output}"), &peer);
    bench.run("run s.toml");
    let record = bench.read("out/s/federation/outbound.csv");
    assert!(record.contains("333333334,333333333333:0,clock.y,own,double,2.0"), "{record}");
    assert!(
        bench.log("peer").contains(&"333333334 own/tick 2.0".to_owned()),
        "{:?}",
        bench.log("peer")
    );
}

/// Acceptance 3: random ticks up to the latest time pass libhelics unchanged; `SUPERDENSE_LONG=1` takes 10^5 of them. A
/// grant at another nanosecond would make the output one between nanoseconds.
#[test]
fn random_ticks_pass_unchanged() {
    let Some(bench) = Bench::new("ticks") else { return };
    let mean = if std::env::var_os("SUPERDENSE_LONG").is_some() { 41.9 } else { 1000.0 };
    let head = format!(
        "stop = '4194304 s'\nsample = 'none'\nconnections = ['jobs.out -> sink.in']\n[unit.jobs]\nkind = 'arrivals'\n\
         mean = {mean}\n[unit.sink]\nkind = 'sink'\n"
    );
    let output = "[[federate.output]]\nfrom = 'jobs.count'\nas = 'own/count'\ntype = 'int'\n";
    bench.write(&head, output, &[]);
    bench.run("run s.toml");
    let record = bench.read("out/s/federation/outbound.csv");
    let count = record.lines().skip(1).filter(|l| {
        let mut fields = l.split(',');
        let (at, tag) = (fields.next().unwrap(), fields.next().unwrap());
        tag.split(':').next() == Some(at)
    });
    let (count, lines) = (count.count(), record.lines().count() - 1);
    println!("{count} ticks");
    assert_eq!(count, lines);
    assert!(count as f64 > 4e6 / mean, "{count}");
}
