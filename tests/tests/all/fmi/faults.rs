//! Faults of FMUs and scenarios, and the messages about them.
use super::{Bench, S, WITHOUT};
use superdense_tests::fmu;

fn faulty(fault: i32) -> String {
    format!(
        "[unit.plant]\nkind = 'fmu'\npath = 'faulty.fmu'\nstep = '100 ms'\nstart = {{ fault = {fault} }}\n"
    )
}

#[test]
fn every_status_ends_the_run_with_its_story() {
    let bench = Bench::new("faults").fmu("faulty", &[]);
    let cases: [(i32, &[&str]); 6] = [
        (1, &["gave error", "the oil is gone", "fmi3DoStep from 0.5 s by 0.1 s"]),
        (2, &["gave fatal", "vendor"]),
        (4, &["gave discard", "make `step` smaller"]),
        (6, &["output y", "NaN"]),
        (7, &["made no progress"]),
        (8, &["went to 0.7 s"]),
    ];
    for (fault, parts) in cases {
        let e = bench.fails(&faulty(fault), S);
        for part in [&["plant", "FMU faulty"], parts].concat() {
            assert!(e.contains(part), "fault {fault}: {e} should contain {part}");
        }
    }
}

#[test]
fn discarded_steps_are_tried_shorter_where_the_state_can_be_brought_back() {
    let bench = Bench::new("discard").fmu("faulty", &[]);
    let run = bench.run(&faulty(3), S);
    assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-12);
    assert!(run.sim.statistics()["rejected_steps"] > 0);
    let bench = Bench::new("discarded").fmu("faulty", &[WITHOUT]);
    let e = bench.fails(&faulty(3), S);
    assert!(e.contains("gave discard"), "{e}");
}

/// The FMU is not asked beyond the end: a step across it is cut there, and none begins there.
#[test]
fn no_step_begins_at_the_end() {
    let (bench, half) = (Bench::new("end").fmu("faulty", &[]), S / 2);
    let ends = |stop: &str| faulty(1).replace("[unit", &format!("STOP {stop}\n[unit"));
    let run = bench.run(&ends("'0.5 s'"), half);
    assert!((run.value("plant", 0, half) - 0.5).abs() < 1e-12);
    assert!(bench.fails(&ends("'0.6 s'"), half).contains("from 0.5 s by 0.1 s"));
    let run = bench.run(&ends("'0.45 s'"), S * 45 / 100);
    assert!((run.value("plant", 0, S * 45 / 100) - 0.45).abs() < 1e-12);
}

/// An input brings the FMU back inside its steps; what it discards then is tried shorter, too.
#[test]
fn discarded_steps_are_tried_shorter_after_going_back() {
    let bench = Bench::new("discard-back").fmu("faulty", &[]);
    let text = "connections = ['s.y -> plant.u']\n[unit.s]\nkind = 'sine'\nfrequency = 1.3\n";
    let run = bench.run(&format!("{text}{}", faulty(9)), S);
    assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-9);
    assert!(run.sim.statistics()["rejected_steps"] > 0);
}

/// The end of a step that is an ulp beyond the target is the target.
#[test]
fn a_step_that_ends_an_ulp_late_is_whole() {
    let bench = Bench::new("late").fmu("faulty", &[]);
    for step in ["1 ms", "0.1 ms", "333333333 ns"] {
        let run = bench.run(&faulty(10).replace("100 ms", step), S);
        assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-9, "{step}");
    }
}

/// Prints of an FMU are not among results: it goes to the other output. Seen from outside, in a
/// process of its own.
#[test]
fn prints_do_not_mix_with_results() {
    const CHILD: &str = "SUPERDENSE_TEST_LOUD";
    if std::env::var_os(CHILD).is_some() {
        let bench = Bench::new("loud").fmu("faulty", &[]);
        drop(bench.run(&faulty(11), S));
        return;
    }
    let name = "fmi::faults::prints_do_not_mix_with_results";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    let output = child.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    assert!(out.contains("1 passed"), "{out}{err}");
    assert_eq!((out.contains("the FMU prints"), err.contains("the FMU prints")), (false, true));
}

#[test]
fn warnings_are_told_and_go_on() {
    let bench = Bench::new("warning").fmu("faulty", &[]);
    let run = bench.run(&faulty(5), S);
    assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-12);
    assert!(run.facts().iter().any(|f| f.1.contains("the oil is low")));
}

/// A text that an FMU declares and does not give.
#[test]
fn texts_that_are_not_given_are_named() {
    let text = "<String name='label' valueReference='77' causality='output'><Start value='x'/></String></ModelVariables>";
    let bench = Bench::new("texts").fmu("faulty", &[("</ModelVariables>", text)]);
    let refused = bench.load(&faulty(0)).map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
    assert!(refused.contains("fmi3GetString of label gave error"), "{refused}");
    let quiet = faulty(0).replace("kind = 'fmu'", "kind = 'fmu'\nignore = ['label']");
    bench.run(&quiet, S);
}

/// State access that brings nothing back is found when the FMU is loaded, and not used.
#[test]
fn state_access_is_tried_before_it_is_used() {
    let bench = Bench::new("forgetful").fmu("faulty", &[]);
    let input = "connections = ['s.y -> plant.u']\n[unit.s]\nkind = 'step'\nat = 0.33\nto = 1.0\n";
    let told =
        |run: &super::Run| run.facts().iter().filter(|f| f.1.contains("state access")).count();
    let run = bench.run(&format!("{input}{}", faulty(29)), S);
    let part = "its state access does not do what the description says: after fmi3SetFMUState the step from 0 s ends \
                with other values than before; it is run as one without";
    assert!(run.facts().iter().any(|f| f.1.contains(part)), "{:?}", run.facts());
    assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-9);
    // Without the trial the step that was cut at 0.33 s is in the results twice.
    let trusted = format!("{input}{}state_access = true\n", faulty(29));
    let run = bench.run(&trusted, S);
    assert!(told(&run) == 0 && run.value("plant", 0, S) > 1.05);
    // One unit of an archive finds out for all that live with it.
    drop(run);
    let good = Bench::new("remembering").fmu("faulty", &[]);
    let run = good.run(&format!("{input}{}", faulty(0)), S);
    assert_eq!(told(&run), 0);
    assert!((run.value("plant", 0, S) - 1.0).abs() < 1e-9);
    let refused = bench.load(&format!("{}state_access = 'no'\n", faulty(0)));
    let refused = refused.map(drop).map_err(|e| format!("{e:?}")).unwrap_err();
    assert!(refused.contains("`state_access` is none of"), "{refused}");
}

#[test]
fn refused_inputs_are_named() {
    let bench = Bench::new("input").fmu("faulty", &[]);
    let text = "connections = ['s.y -> plant.u']\n[unit.s]\nkind = 'step'\nat = 0.33\nto = 11.0\n";
    let e = bench.fails(&format!("{text}{}", faulty(0)), S);
    assert!(e.contains("u (reference 2) to [11.0] gave discard"), "{e}");
}

#[test]
fn mistakes_of_scenarios_have_remedies() {
    let ball = Bench::new("scenario").fmu("ball", &[]);
    fmu::build(&ball.0, "mass", &[]);
    fmu::pack(&ball.0.join("empty.fmu"), &[("a", b"b")]);
    fmu::pack(
        &ball.0.join("evil.fmu"),
        &[("modelDescription.xml", fmu::description("ball").as_bytes()), ("../evil", b"x")],
    );
    fmu::pack(
        &ball.0.join("bare.fmu"),
        &[("modelDescription.xml", fmu::description("ball").as_bytes())],
    );
    let clock = fmu::description("ball").replace(
        "<Int32 name=\"bounces\"",
        "<Clock name=\"tick\" valueReference=\"7\" causality=\"input\"/><Int32 name=\"bounces\"",
    );
    fmu::pack(&ball.0.join("clock.fmu"), &[("modelDescription.xml", clock.as_bytes())]);
    let binary = clock.replace("Clock name", "Binary name");
    fmu::pack(&ball.0.join("binary.fmu"), &[("modelDescription.xml", binary.as_bytes())]);
    let token = fmu::description("mass").replace("{mass}", "{other}");
    let file = ball.0.join("mass.fmu");
    std::fs::rename(ball.0.join("mass.fmu"), ball.0.join("good.fmu")).unwrap();
    let mass = std::fs::read(ball.0.join("mass.so")).unwrap();
    fmu::pack(&file, &[("modelDescription.xml", token.as_bytes()), (&fmu::binary("mass"), &mass)]);
    std::fs::write(ball.0.join("text.fmu"), "no archive").unwrap();
    let cases = [
        ("path = 'none.fmu'", "there is no file `none.fmu`"),
        ("path = 'text.fmu'", "no zip archive"),
        ("path = 'empty.fmu'", "no modelDescription.xml"),
        ("path = 'evil.fmu'", "leads out of the archive"),
        ("path = 'bare.fmu'", "no binary binaries/"),
        ("path = 'clock.fmu'", "`tick` is a clock; clocks are not supported"),
        ("path = 'binary.fmu'", "no binary binaries/"),
        ("path = 'ball.fmu'\ninterface = 'model-exchange'", "does not have the interface"),
        ("path = 'mass.fmu'", "wrong instantiation token"),
        ("path = 'ball.fmu'\nstep = 0", "`step` must be longer than zero"),
        ("path = 'ball.fmu'\nstart = { e = 2 }", "start value of `e`: 2 is not within 0 … 1"),
        ("path = 'ball.fmu'\nstart = { ee = 2 }", "the FMU has no variable `ee`"),
        ("path = 'ball.fmu'\nstart = { bounces = 0.5 }", "0.5 is not whole"),
        ("path = 'ball.fmu'\nstart = { e = [0.1, 0.2] }", "2 values for 1 elements"),
        ("path = 'ball.fmu'\nignore = ['z']", "has no variable `z`"),
        ("path = 'ball.fmu'\nsegment_order = 4", "`segment_order` is 4"),
        ("path = 'good.fmu'\nstart = { m = -1.0 }", "the mass must be positive"),
    ];
    for (lines, part) in cases {
        let e = ball.load(&format!("[unit.u]\nkind = 'fmu'\n{lines}\n"));
        let e = format!("{:?}", e.map(|_| ()).unwrap_err());
        assert!(e.contains(part), "{lines}: {e} should contain {part}");
    }
}
