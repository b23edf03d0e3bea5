//! States that begin near zero: what they become is as sure as that of others.
use crate::results::{run, value};

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
