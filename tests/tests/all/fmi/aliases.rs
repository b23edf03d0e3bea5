//! Other names of variables, and the units that descriptions define.
use super::{Bench, S, fmu};
use superdense::{Overrides, load};
use superdense_adapters::fmi::report;

const FEET: f64 = 3.280_839_895;

/// A ball whose height has another name, in feet and in degrees of a scale with an offset.
const NAMED: [(&str, &str); 2] = [
    (
        "<DefaultExperiment",
        "<UnitDefinitions><Unit name=\"m\"><BaseUnit m=\"1\"/>\
      <DisplayUnit name=\"ft\" factor=\"3.280839895\"/><DisplayUnit name=\"mark\" factor=\"2\" offset=\"-3\"/>\
      </Unit></UnitDefinitions><DefaultExperiment",
    ),
    (
        "start=\"1\"/>",
        "start=\"1\" unit=\"m\"><Alias name=\"h_ft\" displayUnit=\"ft\"/>\
      <Alias name=\"h_mark\" displayUnit=\"mark\"/><Alias name=\"height\"/></Float64>",
    ),
];

fn unit(start: &str) -> String {
    format!("[unit.u]\nkind = 'fmu'\npath = 'bouncing.fmu'\n{start}\n")
}

/// The value of an output by its name.
fn value(bench: &Bench, text: &str, output: &str, at: i64) -> f64 {
    let plan = bench.load(text).unwrap_or_else(|e| panic!("{e}"));
    let unit = plan.units.iter().find(|u| u.path == "u").unwrap();
    let port = unit.ports.outputs.iter().position(|p| p.name == output);
    let port = port.unwrap_or_else(|| panic!("{output} of {:?}", unit.ports.outputs));
    bench.run(text, at).value("u", port as u16, at)
}

#[test]
fn aliases_are_outputs_in_their_units() {
    let bench = Bench::new("alias").fmu("bouncing", &NAMED);
    let at = S / 5;
    let h = value(&bench, &unit(""), "h", at);
    assert!((h - (1.0 - 9.81 * 0.02)).abs() < 1e-8, "{h}");
    for (name, wanted) in [("h_ft", FEET * h), ("h_mark", 2.0 * h - 3.0), ("height", h)] {
        let found = value(&bench, &unit(""), name, at);
        assert!((found - wanted).abs() < 1e-9, "{name}: {found}, not {wanted}");
    }
    // Who hears an alias hears its polynomials.
    let wired = "connections = ['u.h_ft -> y.u']\n[unit.y]\nkind = 'integrator'\n";
    let area = bench.run(&format!("{wired}{}", unit("")), at).value("y", 0, at);
    let wanted = FEET * (0.2 - 9.81 * 0.2_f64.powi(3) / 6.0);
    assert!((area - wanted).abs() < 1e-6, "{area}, not {wanted}");
    let plan = load(&bench.0.join("bouncing.fmu"), &[], &Overrides::default()).unwrap();
    assert!(plan.record.iter().any(|r| r.label == "fmu.h_ft" && r.unit.as_deref() == Some("ft")));
    let info = report::info(&bench.0.join("bouncing.fmu")).unwrap().text();
    assert!(info.contains("h_ft [ft], which is h"), "{info}");
}

/// A difference has no offset; co-simulation scales the derivatives that an FMU gives, too.
#[test]
fn differences_and_derivatives() {
    let relative = ("unit=\"m\">", "unit=\"m\" relativeQuantity=\"true\">");
    let bench = Bench::new("alias-relative").fmu("bouncing", &[NAMED[0], NAMED[1], relative]);
    let (h, mark) = (value(&bench, &unit(""), "h", S), value(&bench, &unit(""), "h_mark", S));
    assert!((mark - 2.0 * h).abs() < 1e-12, "{mark} {h}");
    let changes = [
        (
            "<Unit name=\"m\"/>",
            "<Unit name=\"m\"><DisplayUnit name=\"ft\" factor=\"3.280839895\"/></Unit>",
        ),
        (
            "start=\"1\" unit=\"m\"/>",
            "start=\"1\" unit=\"m\"><Alias name=\"x_ft\" displayUnit=\"ft\"/></Float64>",
        ),
    ];
    let bench = Bench::new("alias-rates").fmu("mass", &changes);
    let text = |output: &str| {
        format!(
            "connections = ['u.{output} -> y.u']\n[unit.y]\nkind = 'integrator'\n\
             [unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '100 ms'\nunconnected = 'ok'\n"
        )
    };
    let [own, feet] = ["x", "x_ft"].map(|o| bench.run(&text(o), S).value("y", 0, S));
    assert!((feet - FEET * own).abs() < 1e-5, "{feet}, not {}", FEET * own);
}

/// Start values may be given under each name, in its unit or as a quantity.
#[test]
fn start_values_have_the_unit_of_their_name() {
    let bench = Bench::new("alias-start").fmu("bouncing", &NAMED);
    for (start, wanted) in [
        ("h_ft = 3.280839895", 1.0),
        ("h_ft = '2 m'", 2.0),
        ("h_ft = '10 ft'", 3.048),
        ("h_mark = 1", 2.0),
        ("h_mark = '50 cm'", 0.5),
        ("height = 4", 4.0),
    ] {
        let h = value(&bench, &unit(&format!("start = {{ {start} }}")), "h", 0);
        assert!((h - wanted).abs() < 1e-8, "{start}: {h}");
    }
    let refused = bench
        .load(&unit("start = { h_ft = '2 s' }"))
        .map(drop)
        .map_err(|e| format!("{e:?}"))
        .unwrap_err();
    assert!(refused.contains("is in s, and the FMU counts it in ft"), "{refused}");
}

#[test]
fn which_aliases_have_ports() {
    let bench = Bench::new("alias-which").fmu("bouncing", &NAMED);
    let ports = |keys: &str| -> Vec<String> {
        let plan = bench.load(&unit(keys)).unwrap();
        plan.units[0].ports.outputs.iter().map(|p| p.name.clone()).collect()
    };
    assert_eq!(ports("aliases = ['h_ft']")[..3], ["h", "h_ft", "v"]);
    assert_eq!(ports("aliases = false")[..2], ["h", "v"]);
    assert_eq!(ports("ignore = ['h_mark']")[..4], ["h", "h_ft", "height", "v"]);
    let refused =
        bench.load(&unit("aliases = ['x']")).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
    for part in ["no output has the alias `x`", "`h_ft`, `h_mark`, `height`"] {
        assert!(refused.contains(part), "{refused}");
    }
}

/// Units of descriptions meet the units of what they are connected to, however they are spelled.
#[test]
fn connections_compare_units() {
    let spelled = |name: &str, base: &str, folder: &str| {
        let unit = format!("<Unit name=\"m\"/><Unit name=\"{name}\"><BaseUnit {base}/></Unit>");
        let changes =
            [("<Unit name=\"m\"/>", &*unit), ("unit=\"m\"/>", &*format!("unit=\"{name}\"/>"))];
        Bench::new(folder).fmu("mass", &changes)
    };
    let text = |receiver: &str| {
        format!(
            "connections = ['u.x -> w.x']\n[unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nstep = '100 ms'\n\
             unconnected = 'ok'\n[unit.w]\nkind = 'equations'\ninputs = {{ x = '{receiver}' }}\noutputs = {{ y = 'x' }}\n"
        )
    };
    let accel = spelled("m/s2", "m=\"1\" s=\"-2\"", "alias-units");
    accel.load(&text("0 m/s^2")).map(drop).unwrap_or_else(|e| panic!("{e}"));
    let refused = accel.load(&text("0 m")).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
    assert!(refused.contains("m/s^2"), "{refused}");
    let [metre, second] = ["m", "s"].map(|unit| {
        let base = format!("{unit}=\"1\"");
        spelled(unit, &base, &format!("alias-{unit}"))
    });
    std::fs::copy(second.0.join("mass.fmu"), metre.0.join("second.fmu")).unwrap();
    let both = "connections = ['u.x -> w.F']\n[unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nunconnected = 'ok'\n\
                [unit.w]\nkind = 'fmu'\npath = 'second.fmu'\n";
    metre.load(both).map(drop).unwrap_or_else(|e| panic!("F has no unit: {e}"));
    fmu::build(&metre.0, "mass", &[("name=\"F\"", "name=\"F\" unit=\"s\"")]);
    let looped = "connections = ['u.x -> w.F']\n[unit.u]\nkind = 'fmu'\npath = 'mass.fmu'\nunconnected = 'ok'\n\
                  [unit.w]\nkind = 'fmu'\npath = 'mass.fmu'\n";
    let refused = metre.load(looped).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
    assert!(refused.contains("`u.x` is in m, but `w.F` is in s"), "{refused}");
}
