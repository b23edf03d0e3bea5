//! `[result]` over outputs of FMUs that nobody is wired to.
use super::Bench;
use superdense::{
    Overrides, load,
    result::Outcome,
    run::{
        executor::Executor,
        memory::{Finished, Keep, run},
        pulse::Pulse,
    },
};

/// A run of one second.
fn finished(bench: &Bench, text: &str) -> Finished {
    let file = bench.0.join("second.toml");
    std::fs::write(&file, format!("stop = '1 s'\n{text}")).unwrap();
    let plan = load(&file, &[], &Overrides::default()).unwrap_or_else(|d| panic!("{d}"));
    run(plan, Keep::default(), Executor::default(), &Pulse::default()).unwrap().unwrap()
}

fn outcome<'a>(done: &'a Finished, name: &str) -> &'a Outcome {
    &done.summary.results.iter().find(|line| line.name == name).unwrap().outcome
}

/// Model exchange knows its solution between messages.
#[test]
fn of_model_exchange() {
    let bench = Bench::new("results-me").fmu("bouncing", &[]).fmu_2("bouncing", &[]);
    let g = 9.81_f64;
    let (t1, v1) = ((2.0 / g).sqrt(), 0.7 * (2.0 * g).sqrt());
    let rest = 1.0 - t1;
    let area = 2.0 * t1 / 3.0 + v1 * rest.powi(2) / 2.0 - g * rest.powi(3) / 6.0;
    for version in ["", "2"] {
        let done = finished(
            &bench,
            &format!(
                "[unit.u]\nkind = 'fmu'\npath = 'bouncing{version}.fmu'\ntolerance = 1e-9\n\
                 interface = 'model-exchange'\n[result]\n\
                 top = {{ value = 'max(u.h)', over = ['0.5 s', 'stop'] }}\n\
                 top_at = {{ value = 'time_of_max(u.h)', over = ['0.5 s', 'stop'] }}\n\
                 mean = 'mean(u.h)'\nbounces = 'max(u.bounces)'\nfast = 'max(abs(u.v))'\n"
            ),
        );
        let near = |name: &str, wanted: f64| {
            let Outcome::Number(Some(found)) = outcome(&done, name) else {
                panic!("{name} is a number")
            };
            assert!((found - wanted).abs() < 1e-7, "{version} {name}: {found}, not {wanted}");
        };
        near("top", v1 * v1 / (2.0 * g));
        near("top_at", t1 + v1 / g);
        near("mean", area);
        near("bounces", 1.0);
        near("fast", (2.0 * g).sqrt());
    }
}

/// Between messages, outputs follow the time and the inputs of their own instant.
#[test]
fn of_outputs_that_read_inputs() {
    let bench = Bench::new("results-driven").fmu("driven", &[]).fmu_2("driven", &[]);
    for version in ["", "2"] {
        let done = finished(
            &bench,
            &format!(
                "connections = ['s.y -> u.u', 's.y -> t.u']\n\
                 [unit.s]\nkind = 'sine'\nfrequency = 0.5\n\
                 [unit.u]\nkind = 'fmu'\npath = 'driven{version}.fmu'\nunconnected = 'ok'\n\
                 interface = 'model-exchange'\ntolerance = 1e-9\n\
                 [unit.t]\nkind = 'equations'\ninputs = {{ u = 0 }}\nstates = {{ x = 0 }}\n\
                 derivatives = {{ x = 'u - x' }}\noutputs = {{ y = '2*u + x' }}\ntolerance = 1e-9\n\
                 [result]\nat = \"at(u.y, '0.77 s')\"\nat_twin = \"at(t.y, '0.77 s')\"\n\
                 area = 'integral(u.y)'\narea_twin = 'integral(t.y)'\n\
                 most = 'max(u.y)'\nmost_twin = 'max(t.y)'\n"
            ),
        );
        let number = |name: &str| match outcome(&done, name) {
            Outcome::Number(Some(found)) => *found,
            other => panic!("{name} is no number: {other:?}"),
        };
        for name in ["at", "area", "most"] {
            let (own, twin) = (number(name), number(&format!("{name}_twin")));
            assert!((own - twin).abs() < 1e-6, "{version} {name}: {own}, not {twin}");
        }
    }
}

/// Co-simulation is known at communication points only, and its results say so.
#[test]
fn of_co_simulation() {
    let bench = Bench::new("results-cs").fmu("mass", &[]);
    let done = finished(
        &bench,
        "[unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '10 ms'\n[result]\n\
         least = 'min(u.x)'\nlast = 'final(u.x)'\ntwice = '2*least'\n",
    );
    let sampled = |name| matches!(outcome(&done, name), Outcome::Object { sampled: true, .. });
    assert!(sampled("least") && sampled("twice") && !sampled("last"));
    // x'' = -4 x - 0.5 x' from 1 has not turned after 1 s; receivers follow within the exchange tolerance.
    let (least, last) = (outcome(&done, "least").value(), outcome(&done, "last").value());
    assert!((least.unwrap() - last.unwrap()).abs() < 1e-6, "{least:?} {last:?}");
}

/// An output that counts in another unit than the SI base unit is compared with numbers, and with no quantity.
#[test]
fn of_outputs_in_other_units() {
    let units = [
        ("<Unit name=\"m\"/>", "<Unit name=\"mm\"/>"),
        ("start=\"1\" unit=\"m\"", "start=\"1\" unit=\"mm\""),
    ];
    let bench = Bench::new("results-units").fmu("mass", &units);
    let with = |results: &str| {
        format!(
            "[parameters]\nbound = '500 um'\nlong = '10 s'\n\
             [unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '10 ms'\n\
             [unit.v]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '10 ms'\ncount = 2\n[result]\n{results}"
        )
    };
    for formula in ["first(u.x < bound)", "final(u.x)/bound", "first(mean(v[*].x) < bound)"] {
        let mistakes = bench.load(&with(&format!("z = '{formula}'\n"))).unwrap_err();
        let text = format!("{mistakes:?}");
        assert!(text.contains("`bound` counts in SI base units"), "{formula}: {text}");
    }
    let done = finished(&bench, &with("z = 'first(u.x < 0.5)'\nshare = 'integral(u.x)/long'\n"));
    assert!(outcome(&done, "z").value().is_some_and(|z| (0.4..0.7).contains(&z)));
}
