//! Outages, bursts of losses and jitter against closed forms.
use crate::kinds::testing::Bench;

const SOURCE: &str = "[unit.s]\nkind='packet-source'\npattern='periodic'\nbytes=125\n";

/// Times in seconds of what a port sent.
fn times(bench: &Bench, port: &str) -> Vec<f64> {
    let time = |e: &String| e.split('@').next().unwrap().parse().unwrap();
    bench.events(port).iter().map(time).collect()
}

/// A link that can fail, and does not, is one that cannot.
#[test]
fn a_link_that_does_not_fail_is_a_link() {
    for (more, seconds) in [("", 50.0), ("loss=0.3\n", 50.0), ("capacity=2\nloss=0.1\n", 200.0)] {
        let run = |fault: &str| {
            let text = format!(
                "connections=['s.out -> l.in', 'l.present -> g.u']\n[unit.g]\nkind='gain'\ngain=1.0\n\
                 [unit.s]\nkind='packet-source'\nrate=4\nbytes=125\n\
                 [unit.l]\nkind='link'\nrate=4000.0\npropagation=0.3\n{more}{fault}"
            );
            let bench = Bench::run(&text, seconds);
            let ports = ["l.out", "l.dropped"].map(|port| bench.events(port));
            (ports, bench.signal("l.present"), bench.probe("l.utilisation"), bench.probe("l.loss"))
        };
        assert_eq!(run("outages=[]"), run(""), "{more}");
    }
}

#[test]
fn outages_cut_what_is_under_way_and_the_rest_waits() {
    // 0.25 s each from 0 on, the wire takes 1 s; down from 0.6 to 2.
    let text = |more: &str| {
        format!(
            "connections=['s.out -> l.in']\n{SOURCE}period=0.1\nlimit=5\n\
             [unit.l]\nkind='link'\nrate=4000.0\npropagation=1\noutages=[[0.6, 2]]\n{more}"
        )
    };
    let bench = Bench::run(&text(""), 5.0);
    assert_eq!(times(&bench, "l.out"), [3.25, 3.5]);
    let cut = ["0.6@1 packet 0/1 to 0", "0.6@1 packet 0/2 to 0", "0.6@1 packet 0/3 to 0"];
    assert_eq!(bench.events("l.dropped"), cut);
    // 0.6 s of transmissions, the last one cut short, and two more.
    assert!((bench.probe("l.utilisation") - 1.1 / 5.0).abs() < 1e-9);
    assert_eq!(bench.probe("l.loss"), 0.6);
    let bench = Bench::run(&text("while_down='drop'"), 5.0);
    assert_eq!((bench.count("l.out"), bench.count("l.dropped")), (0, 5));
    // One goes, and of those that come while the link is down one has room.
    let early = text("capacity=1").replace("[[0.6, 2]]", "[[0.1, 2]]");
    let bench = Bench::run(&early, 5.0);
    assert_eq!(times(&bench, "l.out"), [3.25]);
    assert_eq!(bench.count("l.dropped"), 4);
}

#[test]
fn messages_take_links_down_and_up() {
    let bench = Bench::run(
        &format!(
            "connections=['s.out -> l.in', 'd.y -> l.down', 'u.y -> l.up']\n{SOURCE}period=1\nlimit=6\n\
             [unit.d]\nkind='schedule'\ntimes=[0.5, 1.5]\n[unit.u]\nkind='schedule'\ntimes=[2.5]\n\
             [unit.l]\nkind='link'\nrate=4000.0\npropagation=0.1"
        ),
        6.0,
    );
    assert_eq!(times(&bench, "l.out"), [0.35, 2.85, 3.1, 3.35, 4.35, 5.35]);
}

/// A link is down in the spells of the list, and between messages: the end of one is not that of the other.
#[test]
fn an_outage_ends_when_the_last_of_its_causes_ends() {
    let arrived = |list: &str, down: &str, up: &str| {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in', 'd.y -> l.down', 'u.y -> l.up']\n\
                 {SOURCE}period=1\nstart=0.5\n\
                 [unit.d]\nkind='schedule'\ntimes=[{down}]\n[unit.u]\nkind='schedule'\ntimes=[{up}]\n\
                 [unit.l]\nkind='link'\nrate=1e9\nwhile_down='drop'\noutages={list}"
            ),
            12.0,
        );
        times(&bench, "l.out").into_iter().map(f64::floor).collect::<Vec<_>>()
    };
    // The list within messages, messages within the list, and each over an end of the other.
    assert_eq!(arrived("[[4, 6]]", "2", "9"), [0.0, 1.0, 9.0, 10.0, 11.0]);
    assert_eq!(arrived("[[2, 9]]", "4", "6"), [0.0, 1.0, 9.0, 10.0, 11.0]);
    assert_eq!(arrived("[[2, 6]]", "4", "9"), [0.0, 1.0, 9.0, 10.0, 11.0]);
    assert_eq!(arrived("[[4, 9]]", "2", "6"), [0.0, 1.0, 9.0, 10.0, 11.0]);
}

/// The share of losses and the mean length of bursts of Gilbert and Elliott's chain.
#[test]
fn losses_come_in_bursts() {
    let bench = Bench::run(
        &format!(
            "connections=['s.out -> l.in']\n{SOURCE}period=0.01\n[unit.l]\nkind='link'\nrate=1e9\n\
             burst_begin=0.02\nburst_end=0.25\nloss=0.01\nburst_loss=0.8"
        ),
        2000.005,
    );
    // 200 000 packets in about 3 700 bursts: the share has a deviation of 0.0012.
    let bad = 0.02 / 0.27;
    let share = 0.8 * bad + 0.01 * (1.0 - bad);
    assert!((bench.probe("l.loss") - share).abs() < 4.0 * 0.0012, "{}", bench.probe("l.loss"));
    let lost = times(&bench, "l.dropped");
    // After a loss the next packet is lost with a probability that the chain gives.
    let pairs = lost.windows(2).filter(|w| w[1] - w[0] < 0.015).count() as f64;
    let bad_then = 0.8 * bad / share;
    let next_bad = bad_then * 0.75 + (1.0 - bad_then) * 0.02;
    let expected = 0.8 * next_bad + 0.01 * (1.0 - next_bad);
    let found = pairs / lost.len() as f64;
    assert!((found - expected).abs() < 4.0 * 0.0043, "{found}, not {expected}");
}

/// Mean and deviation of the delay, and who overtakes whom.
#[test]
fn jitter_has_its_distribution() {
    let run = |jitter: &str, reorder: bool| {
        let bench = Bench::run(
            &format!(
                "connections=['s.out -> l.in', 'l.out -> k.in']\n{SOURCE}period=0.01\n\
                 [unit.k]\nkind='packet-sink'\n\
                 [unit.l]\nkind='link'\nrate=1e9\npropagation=0.1\njitter={{{jitter}}}\nreorder={reorder}"
            ),
            500.0,
        );
        let number = |e: &String| e.split(['/', ' ']).nth(3).unwrap().parse::<u32>().unwrap();
        let order: Vec<u32> = bench.events("l.out").iter().map(number).collect();
        let overtaken = order.windows(2).filter(|w| w[1] < w[0]).count();
        (bench.probe("k.delay") - 0.1 - 1e-6, overtaken, order.len())
    };
    for (jitter, mean, deviation) in [
        ("low=0.0, high=0.04", 0.02, 0.0116),
        ("distribution='exponential', mean=0.03", 0.03, 0.03),
        ("distribution='normal', mean=0.05, deviation=0.01", 0.05, 0.01),
        ("distribution='erlang', mean=0.03, stages=3", 0.03, 0.0174),
        ("distribution='triangular', low=0.0, mode=0.01, high=0.05", 0.02, 0.0108),
        ("distribution='constant', mean=0.02", 0.02, 0.0),
    ] {
        let (found, overtaken, count) = run(jitter, true);
        let within = 4.0 * deviation / (count as f64).sqrt() + 1e-8;
        assert!((found - mean).abs() < within, "{jitter}: {found}, not {mean}");
        assert_eq!(overtaken > 0, deviation > 0.0, "{jitter}");
        let (longer, overtaken, _) = run(jitter, false);
        assert_eq!(overtaken, 0, "{jitter}");
        assert!(longer >= found - 1e-9, "{jitter}: who waits for others is later");
    }
}
