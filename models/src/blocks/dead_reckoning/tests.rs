use crate::kinds::testing::Bench;

/// x = sin t + 0.3 sin 3.7 t, told by its source within 1e-11.
const SOURCE: &str = "
    unit.a = { kind = 'sine', frequency = 0.15915494309189535, order = 9, exchange_tolerance = 1e-11 }
    unit.b = { kind = 'sine', frequency = 0.5888732894400127, amplitude = 0.3, order = 9, exchange_tolerance = 1e-11 }
    unit.x = { kind = 'sum', signs = '++' }";
const WIRES: &str = "'a.y -> x.u1', 'b.y -> x.u2', 'x.y -> d.u'";

fn x(t: f64) -> f64 {
    t.sin() + 0.3 * (3.7 * t).sin()
}

fn run(keys: &str, wires: &str, more: &str) -> Bench {
    let text = format!(
        "connections = [{WIRES}, {wires}]\n{SOURCE}\nunit.d = {{ kind = 'dead-reckoning', {keys} }}\n{more}"
    );
    Bench::run(&text, 20.0)
}

/// Instants of what was sent on a port.
fn times(bench: &Bench, port: &str) -> Vec<f64> {
    let time = |s: &String| s.split('@').next().unwrap().parse().unwrap();
    bench.signal(port).iter().map(time).collect()
}

fn largest(bench: &Bench, port: &str, instants: impl Iterator<Item = f64>) -> f64 {
    instants.map(|t| (bench.held(port, t) - x(t)).abs()).fold(0.0, f64::max)
}

fn dense() -> impl Iterator<Item = f64> {
    (0..20_000).map(|k| f64::from(k) * 1e-3 + 3e-7)
}

/// Numbers and instants of updates are those of an independent calculation, which looks for each next one by bisection. To
/// hold values 4.74 ms long, the longest that is as exact, takes 4220 messages; to send values with rates each 62.6 ms, 319.
#[test]
fn updates_come_where_the_model_leaves_the_band() {
    for (order, count, third, last) in [
        (0, 1674, 0.009_479_762_765, 19.987_207_494),
        (1, 208, 0.240_671_254_297, 19.995_140_748),
        (2, 97, 0.325_626_427_584, 19.812_265_888),
    ] {
        let bench = run(&format!("band = 0.01, order = {order}"), "", "");
        let sent = times(&bench, "d.sent");
        // The sum says something before it has heard both, which is told, too, at 0 s.
        let sent: Vec<f64> =
            [0.0].into_iter().chain(sent.into_iter().filter(|t| *t > 0.0)).collect();
        assert_eq!(sent.len(), count, "order {order}");
        assert!((sent[2] - third).abs() < 1e-6, "order {order}: {}", sent[2]);
        assert!((sent[count - 1] - last).abs() < 1e-6, "order {order}: {}", sent[count - 1]);
        let worst = largest(&bench, "d.y", dense());
        assert!((0.0099..=0.01 + 2e-10).contains(&worst), "order {order}: {worst}");
    }
}

/// A linear system that is the signal's own needs its state once.
#[test]
fn a_model_that_is_right_is_told_once() {
    let keys = "band = 0.001, dynamics = [1, 0, 14.69, 0, 13.69]";
    let bench = run(keys, "", "");
    assert_eq!(times(&bench, "d.sent").iter().filter(|t| **t > 0.0).count(), 0);
    let worst = largest(&bench, "d.y", dense());
    assert!(worst < 2e-6, "{worst}");
}

/// Each third update is lost. The receiver is wrong from there to the next one, and no longer.
#[test]
fn a_loss_ends_with_the_next_update() {
    let bench = run(
        "band = 0.01",
        "'d.sent -> net.in', 'net.out1 -> r.in', 'net.out2 -> r.in', 'net.out3 -> n.u'",
        "unit.net = { kind = 'router', mode = 'turn', outputs = 3 }
         unit.r = { kind = 'dead-reckoning-receiver' }\nunit.n = { kind = 'counter' }",
    );
    let sent = times(&bench, "d.sent");
    let lost = times(&bench, "net.out3");
    assert_eq!(lost.len(), sent.len() / 3);
    let within_loss = |t: f64| {
        let next = |l: f64| *sent.iter().find(|s| **s > l).unwrap_or(&20.0);
        lost.iter().any(|l| *l <= t && t <= next(*l))
    };
    let (wrong, right): (Vec<f64>, Vec<f64>) = dense().partition(|t| within_loss(*t));
    let worst = largest(&bench, "r.y", right.into_iter());
    assert!((0.0099..=0.01 + 2e-10).contains(&worst), "{worst} where nothing was lost");
    let worst = largest(&bench, "r.y", wrong.into_iter());
    assert!((0.05..0.08).contains(&worst), "{worst} where an update was lost");
}

/// Updates come 50 ms late. A receiver that knows it goes on from where the model was; one that does not is late.
#[test]
fn known_delays_are_made_good() {
    let law = "dynamics = [1, 0, 14.69, 0, 13.69]";
    let bench = run(
        &format!("band = 0.001, {law}"),
        "'d.sent -> late.u', 'late.y -> r.in', 'late.y -> s.in'",
        &format!(
            "unit.late = {{ kind = 'delay', delay = '50 ms' }}
             unit.r = {{ kind = 'dead-reckoning-receiver', delay = '50 ms', {law} }}
             unit.s = {{ kind = 'dead-reckoning-receiver', {law} }}"
        ),
    );
    let after = || dense().filter(|t| *t > 0.06);
    let worst = largest(&bench, "r.y", after());
    assert!(worst < 2e-6, "{worst}");
    let worst = largest(&bench, "s.y", after());
    let late = dense().map(|t| (x(t) - x(t - 0.05)).abs()).fold(0.0, f64::max);
    assert!((worst - late).abs() < 1e-3, "{worst}, not {late}");
}

/// Jumps beyond the band are told at once, smaller ones are not.
#[test]
fn jumps_are_told_at_their_instant() {
    let text = "connections = ['s.y -> h.u', 'h.y -> d.u']
        unit.s = { kind = 'schedule', times = [1, 2, 3], values = [0.5, 0.9, 2.0] }
        unit.h = { kind = 'hold' }\nunit.d = { kind = 'dead-reckoning', band = 0.45 }";
    let bench = Bench::run(text, 5.0);
    let jumps: Vec<String> =
        bench.signal("d.y").into_iter().filter(|s| !s.starts_with("0@")).collect();
    assert_eq!(jumps, ["1@2 Jump [0.5] left 0", "3@2 Jump [2.0] left 0.5"]);
}
