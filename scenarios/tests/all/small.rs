//! Near zero: states that begin there are as sure as others, and those that end there stay within their guards.
use crate::results::{run, value};
use superdense::run::memory::Finished;

#[test]
fn small_starts_are_met_as_well_as_large_ones() {
    // 0.1 e^-kt falls to a hundredth; a logistic curve rises to one.
    let dose = "stop = '24 h'\n[unit.p]\nkind = 'equations'\nmethod = '@'\nparameters = { k = '0.5 1/h', thr = '1 ng' }\n\
                states = { a = '100 ng', b = '0 ng' }\nderivatives = { a = '-k*a', b = 'k*a' }\noutputs = { b = 'b' }\n\
                [[unit.p.event]]\nname = 'out'\nwhen = 'a <= thr'\n\
                [result]\nat = \"first(event('p', 'out'))/3600\"\nlast = 'final(p.b)*1e12'\n";
    let rise = "stop = '200 s'\n[unit.p]\nkind = 'equations'\nmethod = '@'\nstates = { x = 1e-10 }\n\
                derivatives = { x = '0.2*x*(1 - x)' }\noutputs = { x = 'x' }\n\
                [[unit.p.event]]\nname = 'out'\nwhen = 'x >= 0.01'\n\
                [result]\nat = \"first(event('p', 'out'))\"\nlast = 'final(p.x)'\n";
    let (falls, rises) = (100.0f64.ln() / 0.5, ((1e10 - 1.0) / 99.0f64).ln() / 0.2);
    let gone = 100.0 * (1.0 - (-12.0f64).exp());
    for (method, share) in [
        ("rk45", 1e-6),
        ("rk23", 1e-5),
        ("taylor", 1e-6),
        ("rodas", 1e-6),
        ("auto", 1e-5),
        ("qss3", 3e-3),
    ] {
        for (text, at, last) in [(dose, falls, gone), (rise, rises, 1.0)] {
            let done = run(&text.replace('@', method), &[]);
            for (name, wanted) in [("at", at), ("last", last)] {
                let found = value(&done, name).unwrap_or(f64::NAN);
                let error = (found / wanted - 1.0).abs();
                assert!(error < share, "{method}: {name} is {found}, not {wanted}");
            }
        }
    }
}

/// Steps that are much more accurate than the tolerances ask for leave no doubt, however small a state stays beside
/// these.
#[test]
fn thresholds_below_the_tolerances() {
    let text = "stop = '20 ms'\n[unit.m]\nkind = 'equations'\nmethod = '@'\nstates = { q = 0, p = 0 }\n\
                derivatives = { q = '(1e-9*(1 + sin(2000*t)) - q)/1e-3', p = '2e3*(q - p)' }\n\
                outputs = { p = 'p' }\n[[unit.m.event]]\nname = 'half'\nwhen = 'p >= 0.9e-9'\n\
                [result]\nn = \"count(event('m', 'half'))\"\nfirst = \"first(event('m', 'half'))\"\n";
    let with = |method: &str| run(&text.replace('@', method), &[]);
    let fine = run(&text.replace("'@'", "'rk45'\nabsolute_tolerance = 1e-18"), &[]);
    let wanted = value(&fine, "first").expect("it rises");
    assert!(fine.summary.notes.is_empty(), "{:?}", fine.summary.notes);
    for method in ["rk45", "rk23", "taylor", "rodas"] {
        let done = with(method);
        // Chance, for the tolerance allows any value.
        let told = |n: &String| n.contains("stays below") && n.contains("`absolute_tolerance`");
        assert!(done.summary.notes.iter().any(told), "{method}: {:?}", done.summary.notes);
        assert_eq!(value(&done, "n"), Some(7.0), "{method}");
        let first = value(&done, "first").expect("it rises");
        assert!((first - wanted).abs() < 2e-6, "{method}: {first}, not {wanted}");
    }
}

/// A tank that runs empty: rounding puts its level below zero, where the square root has no value. The branch
/// that guards it does so in outputs, conditions, resets and what others hear, too.
#[test]
fn guards_hold_wherever_a_formula_stands() {
    let text = "stop = '10 s'\nconnections = ['h.q -> sum.u']\nrecord = ['h.q', 'sum.y']\n[unit.h]\nkind = 'equations'\n\
                method = '@'\nstates = { h = 1 }\ndiscrete = { s = 0 }\nlet = { q = 'if h > 0 then sqrt(h) else 0' }\n\
                derivatives = { h = '-q' }\noutputs = { q = 'q', s = 's' }\n\
                [[unit.h.event]]\nname = 'read'\nevery = '1 s'\nreset = { s = 's + q' }\n\
                [[unit.h.event]]\nname = 'low'\nwhen = 'q < 0.01'\n\
                [unit.sum]\nkind = 'integrator'\n\
                [result]\nout = 'final(sum.y)'\nread = 'final(h.s)'\nlow = \"first(event('h', 'low'))\"\n\
                mean = 'mean(h.q)'\n";
    for method in ["rk45", "rk23", "rodas", "taylor"] {
        let done = run(&text.replace('@', method), &[]);
        for (name, wanted) in [("out", 1.0), ("read", 0.5), ("low", 1.98), ("mean", 0.1)] {
            let found = value(&done, name).unwrap_or(f64::NAN);
            assert!((found - wanted).abs() < 1e-3, "{method}: {name} is {found}, not {wanted}");
        }
    }
}

/// Robertson's equations: the second species stays below 4e-5. With a larger quantum it swings to and fro in that, and
/// the rate with its square is far off: 0.249 of the first species for 0.716 after 40 s, without a word.
#[test]
fn states_that_are_lost_in_their_quanta_are_told() {
    let text = "stop = '40 s'\n[unit.r]\nkind = 'equations'\n@\nstates = { a = 1, b = 0, c = 0 }\n\
                derivatives = { a = '-0.04*a + 1e4*b*c', b = '0.04*a - 1e4*b*c - 3e7*b^2', c = '3e7*b^2' }\n\
                outputs = { a = 'a' }\n[result]\nlast = 'final(r.a)'\n";
    let lost = |done: &Finished| {
        done.summary.notes.iter().any(|n| n.contains("swung to and fro within its quantum"))
    };
    for (quantum, is_lost) in [("1e-3", true), ("1e-5", true), ("1e-6", false)] {
        let done = run(&text.replace('@', &format!("method = 'qss1'\ndq_min = {quantum}")), &[]);
        assert_eq!(lost(&done), is_lost, "{quantum}");
    }
    // It is the cheapest method by its first quanta, and gives way to rodas.
    let text = text.replace('@', "method = 'auto'\ntolerance = 1e-3\nabsolute_tolerance = #");
    for tolerance in ["1e-3", "1e-5"] {
        let done = run(&text.replace('#', tolerance), &[]);
        let last = value(&done, "last").unwrap();
        assert!((last - 0.7158).abs() < 2e-3 && !lost(&done), "{tolerance}: {last}");
    }
}

/// Two circuits with an algebraic loop of gain one half: quadratic extrapolation of what goes round makes it grow. It
/// came to 9e78 V without a word.
#[test]
fn couplings_that_diverge_are_told() {
    let text = "stop = '10 ms'\nsample = 'none'\nconnections = ['a.v -> b.v', 'b.i -> a.i']\n\
                [coupling]\nstep = '0.05 ms'\n@\n\
                [unit.a]\nkind = 'equations'\nstates = { u = 10 }\ninputs = { i = 0 }\nderivatives = { u = '-i/1e-5' }\n\
                outputs = { v = 'u - 50*i', u = 'u' }\nexchange_tolerance = 1e-10\n\
                [unit.b]\nkind = 'equations'\nstates = { w = 0 }\ninputs = { v = 0 }\n\
                derivatives = { w = '(v - w)/100/2e-5' }\noutputs = { i = '(v - w)/100', w = 'w' }\n\
                exchange_tolerance = 1e-10\n[result]\nu = 'final(a.u)'\n";
    for (policy, diverges) in [
        ("extrapolation = 2", true),
        ("extrapolation = 0", false),
        ("feed_through = 'settled'", false),
    ] {
        let done = run(&text.replace('@', policy), &[]);
        let told = |n: &String| n.contains("the coupling diverges") && n.contains("`step`");
        assert_eq!(
            done.summary.notes.iter().any(told),
            diverges,
            "{policy}: {:?}",
            done.summary.notes
        );
        assert_eq!(value(&done, "u").unwrap().abs() > 1e9, diverges, "{policy}");
    }
}

/// A block sticks on a belt that swings. An output that is the surface of this slide is zero as long as it sticks, however
/// the method rounds; the block comes to the belt where 0.5 - t = 0.3 sin t.
#[test]
fn surfaces_of_slides_stand_on_zero() {
    let text = "stop = '10 s'\n[unit.b]\nkind = 'equations'\nswitching = 'sliding'\nmethod = '@'\nstates = { v = 0.5 }\n\
                derivatives = { v = '-sign(v - 0.3*sin(t))' }\noutputs = { r = 'v - 0.3*sin(t)' }\n[result]\n\
                sticks = 'duration(b.r == 0)'\nholds = 'duration(b.r >= 0)'\nn = 'count(b.r == 0)'\n";
    for method in ["rk45", "rk23", "rodas", "taylor", "qss3", "auto"] {
        let done = run(&text.replace('@', method), &[]);
        for (name, wanted) in [("sticks", 9.613_174_981), ("holds", 10.0), ("n", 1.0)] {
            let found = value(&done, name).unwrap_or(f64::NAN);
            assert!((found - wanted).abs() < 1e-6, "{method}: {name} is {found}, not {wanted}");
        }
    }
}

/// Steps over equations without states are checked as well: v^3 + v = A sin(t), whose v passes zero within a
/// thousandth of the way of sin(t) where A is large.
#[test]
fn equations_without_states() {
    for (a, most, last) in [
        (1, 0.682_327_803_828_019_3, -0.451_798_902_891_663_4),
        (1000, 9.966_666_790_534_973, -8.122_583_561_402_696),
    ] {
        for method in ["rodas", "auto", "taylor"] {
            let text = format!(
                "stop = '10 s'\n[unit.d]\nkind = 'equations'\nmethod = '{method}'\nalgebraic = {{ v = 0 }}\n\
                 residuals = {{ v = 'v^3 + v - {a}*sin(t)' }}\noutputs = {{ v = 'v' }}\n\
                 [result]\nmost = 'max(d.v)'\nlast = 'final(d.v)'"
            );
            let done = run(&text, &[]);
            for (name, wanted) in [("most", most), ("last", last)] {
                let found = value(&done, name).unwrap_or(f64::NAN);
                assert!((found - wanted).abs() < 1e-6, "{method}, {a}: {name} is {found}");
            }
        }
    }
}

/// A membrane of 100 pF that is charged over 100 MOhm: all that happens is far below the tolerances, under which it came to 5 V
/// from a source of 0.1 V. The closed form knows it; other methods tell.
#[test]
fn charges_of_picocoulombs() {
    let text = |method: &str| {
        format!(
            "stop = '1 s'\nsample = 'none'\nconnections = ['p.y -> m.u']\n[unit.p]\nkind = 'pulse'\nperiod = '0.2 s'\n\
             width = '0.1 s'\noffset = '0.1 s'\nhigh = 0.1\n[unit.m]\nkind = 'equations'\nmethod = '{method}'\n\
             inputs = {{ u = 0 }}\nparameters = {{ C = 100e-12, R = 100e6 }}\nstates = {{ q = 0 }}\n\
             derivatives = {{ q = '(u - q/C)/R' }}\noutputs = {{ V = 'q/C' }}\n[[unit.m.event]]\nname = 'fire'\n\
             when = 'q >= 5e-12'\n[result]\nn = \"count(event('m', 'fire'))\"\nmost = 'max(m.V)'\n"
        )
    };
    for method in ["auto", "closed"] {
        let done = run(&text(method), &[]);
        assert_eq!(value(&done, "n"), Some(5.0), "{method}: {:?}", done.summary.notes);
        assert!(value(&done, "most").is_some_and(|v| (0.06..0.1).contains(&v)), "{method}");
    }
    for method in ["qss2", "qss3", "liqss2", "rk45", "rodas"] {
        let done = run(&text(method), &[]);
        let told = |note: &String| note.contains("stays below") && note.contains("q' =");
        assert!(done.summary.notes.iter().any(told), "{method}: {:?}", done.summary.notes);
    }
}

/// A linear quantised method may see its equilibrium within the quantum of zero, and never leave that.
#[test]
fn states_that_stay_at_zero_though_they_are_driven() {
    let text = |drive: &str| {
        format!(
            "stop = '100 s'\n[unit.m]\nkind = 'equations'\nmethod = 'liqss1'\nstates = {{ x = 0 }}\n\
             derivatives = {{ x = '({drive} - x)/10' }}\noutputs = {{ x = 'x' }}\n"
        )
    };
    let stays = |drive: &str| {
        let done = run(&text(drive), &[]);
        done.summary.notes.iter().any(|note| note.contains("stays below") && note.contains("x' ="))
    };
    assert!(stays("100e-12") && !stays("0"));
}
