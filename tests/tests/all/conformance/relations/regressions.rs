//! Scenarios that once went wrong, from `tests/data/regressions`, and what is right.
use super::table::{Case, Near, check, file};

const NONE: &[&str] = &["rk45"];
const NS: &[&str] = &["ns"];

#[test]
fn regressions_of_conditions() {
    let pump = |id: &str, condition: &str| -> Case {
        let asked = "level >= 1 and (manual > 0 or auto > 0)";
        file(id, "false_event_pump.toml")
            .replaced(asked, condition)
            .stop(10.0)
            .end_of("tank", 1, 0.0)
    };
    check(&[
        file("R.or", "false_event_or_strict.toml").stop(10.0).end(0, 0.0),
        pump("R.pump1", "level >= 1 and (manual > 0 or auto > 0)"),
        pump("R.pump2", "level >= 1 and (manual != 0 or auto != 0)"),
        pump("R.pump3", "level >= 1 and (manual < 0 or auto < 0)"),
        pump("R.pump4", "level >= 1 and not (manual <= 0 and auto <= 0)"),
        pump("R.pump5", "(level >= 1 and manual > 0) or (level >= 1 and auto > 0)"),
        file("R.threshold", "rodas_false_events_at_threshold.toml").affine(2e-2).stop(1.0),
    ]);
}

#[test]
fn regressions_of_sliding() {
    let methods: &[&str] = &["rk45", "rk23", "taylor", "rodas", "auto"];
    let fine: &[&str] = &["us", "ns", "ps", "fs"];
    check(&[
        // Reference: the piecewise smooth system by fixed steps of 10 us with the sliding field.
        file("R.c1", "sliding_false_zeno_c1.toml")
            .curved(0.0)
            .within(1e-4)
            .only(methods)
            .resolutions(fine)
            .stop(20.0)
            .end(0, 5.714_28)
            .end(1, 3.396_65),
        file("R.c5", "sliding_false_zeno_c5.toml")
            .curved(0.0)
            .within(1e-3)
            .only(methods)
            .resolutions(fine)
            .stop(8.0)
            .end(0, 2.684_80),
    ]);
}

#[test]
fn regressions_of_runs() {
    let delay = |id: &str| {
        // x is a polynomial between whole seconds: x(5) is the sum of (-1)^k (6-k)^k / k!.
        file(id, "delay_of_own_output.toml")
            .curved(0.0)
            .within(1e-5)
            .only(&["rk45", "rk23", "taylor", "rodas"])
            .resolutions(NS)
            .stop(5.0)
            .event("zero", Near(1.0), 0)
            .event("zero", Near(DELAYED_ZERO), 0)
            .end(0, 0.158_333_333)
    };
    check(&[
        delay("R.delay1"),
        delay("R.delay2")
            .replaced(
                "\"u.x -> g.u via delay('1 s',1)\",\"g.y -> u.xd\"",
                "\"u.x -> u.xd via delay('1 s',1)\"",
            )
            .replaced("[unit.g]\nkind=\"gain\"\ngain=1.0\n", ""),
        file("R.tanks", "tanks_run_empty.toml")
            .curved(1e-2)
            .within(1e-4)
            .without(&["euler", "rk4"], "300 000 steps")
            .without(&["liqss2", "mliqss2"], "crawl where roots have no slope")
            .resolutions(NS)
            .stop(1800.0)
            .end_of("cascade", 0, 0.0)
            .end_of("cascade", 1, 0.0),
    ]);
}

/// References: the classical method with steps of 1 us, and Newton's iteration for the diodes in each of
/// its stages; steps of 2 us give the same eleven digits.
#[test]
fn regressions_of_steps() {
    let ms: &[&str] = &["us", "ns", "ps"];
    check(&[
        file("R.rectifier", "rectifier_taylor_wrong.toml")
            .algebraic()
            .resolutions(ms)
            .stop(0.2)
            .end(0, 5.788_79),
        file("R.bridge", "bridge_leakage.toml")
            .algebraic()
            .resolutions(ms)
            .stop(0.05)
            .event("five", Near(3.059_151_73e-3), 0)
            .end(0, 7.167_211_58),
    ]);
}

/// The second zero of x'(t) = -x(t-1), between 3 s and 4 s.
const DELAYED_ZERO: f64 = 3.345_939_886;

#[test]
fn regressions_of_reading() {
    let infinite = |id: &str, quantity: &str| {
        file(id, "panic_infinite_quantity.toml")
            .replaced("1e400 s", quantity)
            .only(NONE)
            .resolutions(NS)
            .error(&["refused", "finite"])
    };
    let total = |id: &str, from: &str, to: &str| {
        file(id, "indexed_ports_refused.toml")
            .replaced(from, to)
            .only(NONE)
            .resolutions(NS)
            .stop(1.0)
            .end_of("total", 0, 2.0)
    };
    check(&[
        file("R.time", "parameter_named_t.toml")
            .only(NONE)
            .resolutions(NS)
            .error(&["refused", "time"]),
        infinite("R.infinite1", "1e400 s"),
        infinite("R.infinite2", "1e307 km"),
        infinite("R.infinite3", "1/0 s"),
        infinite("R.infinite4", "0/0 s"),
        total("R.index1", "total.u[0]", "total.u[0]"),
        total("R.index2", "\"a.y -> total.u[0]\", \"a.y -> total.u2\"", "\"a.y -> total.u[0..2]\""),
        total("R.index3", "total.u2", "total.u[1]"),
    ]);
}
