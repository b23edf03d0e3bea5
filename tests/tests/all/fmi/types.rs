//! Signals of all types, through FMUs that feed each of them through.
use super::Bench;
use superdense::{
    Overrides, load,
    run::{
        executor::Executor,
        memory::{Finished, Keep, run},
        pulse::Pulse,
    },
};

/// The ways to run it: file and keys.
const WAYS: [(&str, &str); 6] = [
    ("types", "interface = 'co-simulation'"),
    ("types", "interface = 'co-simulation'\nstate_access = false"),
    ("types", "interface = 'co-simulation'\nevent_mode = false"),
    ("types", "interface = 'model-exchange'"),
    ("types2", "interface = 'co-simulation'"),
    ("types2", "interface = 'model-exchange'"),
];

fn bench(name: &str) -> Bench {
    Bench::new(&format!("types-{name}")).fmu("types", &[]).fmu_2("types", &[])
}

fn unit(name: &str, (file, keys): (&str, &str), start: &str) -> String {
    format!(
        "[unit.{name}]\nkind = 'fmu'\npath = '{file}.fmu'\nunconnected = 'ok'\n{keys}\nstart = {{ {start} }}\n"
    )
}

fn finished(bench: &Bench, text: &str) -> Result<Finished, String> {
    let file = bench.0.join("types.toml");
    let text = format!("stop = '1 s'\nsample = '250 ms'\n{text}");
    std::fs::write(&file, text).unwrap();
    let plan = load(&file, &[], &Overrides::default()).map_err(|d| format!("{d:?}"))?;
    let done = run(plan, Keep::ALL, Executor::default(), &Pulse::default());
    done.map(Option::unwrap).map_err(|e| e.to_string())
}

/// The columns of a row of samples.
fn row(done: &Finished, time: &str) -> Vec<String> {
    let begin = format!("{time},");
    let row = done.samples.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("{time} s: {}", done.samples));
    row.split(',').skip(1).map(str::to_owned).collect()
}

fn record(outputs: &[&str]) -> String {
    let all: Vec<String> =
        outputs.iter().flat_map(|o| ["a", "b"].map(|u| format!("'{u}.{o}'"))).collect();
    format!("record = [{}]\n", all.join(", "))
}

/// The extreme values of each type, from the start on, from one FMU to the next and into tables.
#[test]
fn extreme_values_are_exact() {
    let bench = bench("extreme");
    for (name, low, high) in [
        ("Int8", "-128", "127"),
        ("UInt8", "0", "255"),
        ("Int16", "-32768", "32767"),
        ("UInt16", "0", "65535"),
        ("Int32", "-2147483648", "2147483647"),
        ("UInt32", "0", "4294967295"),
        ("Int64", "-9223372036854775808", "9223372036854775807"),
        ("Int64", "-9007199254740993", "4503599627370497"),
        ("UInt64", "9007199254740993", "18446744073709551615"),
        ("Float64", "-1.7976931348623157e308", "5e-324"),
    ] {
        for (way, value) in WAYS.iter().flat_map(|&way| [(way, low), (way, high)]) {
            if way.0 == "types2" && name != "Int32" {
                continue;
            }
            let text = format!(
                "connections = ['a.{name}_output -> b.{name}_input']\n{}{}{}",
                record(&[&format!("{name}_output")]),
                unit("a", way, &format!("{name}_input = {}", quoted(value))),
                unit("b", way, "")
            );
            let done = finished(&bench, &text).unwrap_or_else(|e| panic!("{way:?} {name}: {e}"));
            for time in ["0", "1"] {
                assert_eq!(row(&done, time), [value; 2], "{way:?} {name} at {time} s");
            }
        }
    }
}

/// A value as TOML: integers of more than 64 bits with a sign as texts.
fn quoted(value: &str) -> String {
    if value.parse::<i64>().is_ok() || value.contains('e') {
        value.into()
    } else {
        format!("'{value}'")
    }
}

/// Texts and bytes are events of their outputs: one at the start, and one for each change.
#[test]
fn texts_and_bytes_go_on() {
    let bench = bench("words");
    for way in WAYS {
        let said = [("0", "Set me!"), ("0.25", "Set me!"), ("0.5", "hello, you"), ("1", "π")];
        let text = format!(
            "connections = ['s.y -> a.String_input', 'a.String_output -> b.String_input']\n{}{}{}\
             [unit.s]\nkind = 'schedule'\ntimes = [0.3, 0.7]\nvalues = ['hello, you', 'π']\n",
            record(&["String_output"]),
            unit("a", way, ""),
            unit("b", way, "String_input = 'none'"),
        );
        let done = finished(&bench, &text).unwrap_or_else(|e| panic!("{way:?}: {e}"));
        for (time, said) in said {
            let wanted = if said.contains(',') { format!("\"{said}\"") } else { said.to_owned() };
            let all = row(&done, time).join(",");
            assert_eq!(all, format!("{wanted},{wanted}"), "{way:?} at {time} s");
        }
        if way.0 == "types2" {
            continue;
        }
        let text = format!(
            "connections = ['s.y -> a.Binary_input', 'a.Binary_output -> b.Binary_input', 's.y -> b.names_2']\n\
             record = ['a.Binary_output', 'b.Binary_output', 'b.told_1', 'b.told_2']\n{}{}\
             [unit.s]\nkind = 'schedule'\ntimes = [0.3, 0.7]\nvalues = ['a0fF', '']\n",
            unit("a", way, "Binary_input = '0102'"),
            unit("b", way, "names = ['uno', 'due']"),
        );
        let done = finished(&bench, &text).unwrap_or_else(|e| panic!("{way:?}: {e}"));
        assert_eq!(row(&done, "0"), ["0102", "0102", "uno", "due"], "{way:?}");
        assert_eq!(row(&done, "0.5"), ["a0ff", "a0ff", "uno", "a0fF"], "{way:?}");
        assert_eq!(row(&done, "1"), ["", "", "uno", ""], "{way:?}");
    }
}

/// An FMU with event mode tells its texts at the time of the input; a worker carries all types.
#[test]
fn changes_have_their_time_and_cross_processes() {
    let bench = super::isolation::bench("types-times").fmu("types", &[]);
    for isolation in ["", "\nisolation = 'process'"] {
        let way = format!("interface = 'co-simulation'{isolation}");
        let text = format!(
            "connections = ['s.y -> a.String_input', 'a.UInt64_output -> b.UInt64_input']\n\
             record = ['a.String_output', 'a.Binary_output', 'b.UInt64_output']\n{}{}\
             [unit.s]\nkind = 'schedule'\ntimes = [0.333]\nvalues = ['now']\n",
            unit(
                "a",
                ("types", &way),
                "UInt64_input = '18446744073709551615', Binary_input = 'dead'"
            ),
            unit("b", ("types", &way), ""),
        );
        let done = finished(&bench, &text).unwrap();
        assert_eq!(row(&done, "0.5"), ["now", "dead", "18446744073709551615"]);
        let told =
            done.trajectory.lines().any(|l| l.starts_with("333000000,") && l.contains("now"));
        assert!(told, "{}", done.trajectory);
    }
}

/// Items of enumerations by their names, and truth values, in formulas and results.
#[test]
fn items_and_truth_values() {
    let bench = bench("items");
    for way in WAYS {
        let text = format!(
            "connections = ['a.Enumeration_output -> b.Enumeration_input', 'a.Boolean_output -> b.Boolean_input']\n\
             {}{}{}[result]\nchoice = 'final(b.Enumeration_output)'\ntruth = 'final(b.Boolean_output)'\n",
            record(&["Enumeration_output", "Boolean_output"]),
            unit("a", way, "Enumeration_input = 'Option 2', Boolean_input = true"),
            unit("b", way, ""),
        );
        let done = finished(&bench, &text).unwrap_or_else(|e| panic!("{way:?}: {e}"));
        assert_eq!(row(&done, "1"), ["2", "2", "1", "1"], "{way:?}");
    }
}

/// Values that a type does not have, and texts that are no bytes.
#[test]
fn values_that_do_not_fit_are_named() {
    let bench = bench("misfits");
    let way = WAYS[0];
    for (start, part) in [
        ("UInt64_input = -1", "-1 is not within 0 … 18446744073709551615"),
        ("UInt64_input = '18446744073709551616'", "18446744073709551616 is not within 0 …"),
        (
            "Int64_input = '9223372036854775808'",
            "is not within -9223372036854775808 … 9223372036854775807",
        ),
        ("Int8_input = 128", "128 is not within -128 … 127"),
        ("Binary_input = '0'", "`0` is no row of bytes in hexadecimal digits"),
        ("Enumeration_input = 'Option 3'", "`Option 3` is none of Option 1 (1), Option 2 (2)"),
    ] {
        let e = finished(&bench, &unit("a", way, start)).map(drop).unwrap_err();
        assert!(e.contains(part), "{start}: {e}");
    }
    let wired = |from: &str, to: &str| {
        let text = format!("connections = ['a.{from} -> b.{to}']\n");
        let text =
            text + &unit("a", way, "UInt64_input = '18446744073709551615'") + &unit("b", way, "");
        finished(&bench, &text).map(drop).unwrap_err()
    };
    let e = wired("String_output", "Binary_input");
    assert!(e.contains("input Binary_input of type Binary: `Set me!` is no row of bytes"), "{e}");
    // A schedule reads `00fF` as a capacity of zero.
    let text = "connections = ['s.y -> a.String_input']\n[unit.s]\nkind = 'schedule'\ntimes = [0.3]\nvalues = ['00fF']\n";
    let e = finished(&bench, &(text.to_owned() + &unit("a", way, ""))).map(drop).unwrap_err();
    assert!(e.contains("String_input") && e.contains("text"), "{e}");
    let e = wired("UInt64_output", "Int64_input");
    let part = "input Int64_input of type Int64 would be 18446744073709551615, but takes whole numbers from \
                -9223372036854775808 to 9223372036854775807";
    assert!(e.contains(part), "{e}");
    let e = wired("String_output", "Int32_input");
    assert!(e.contains("event") && e.contains("signal"), "{e}");
}

/// A run of one FMU shows all of its outputs.
#[test]
fn an_fmu_alone_records_all_types() {
    let bench = bench("alone");
    let plan = load(&bench.0.join("types.fmu"), &[], &Overrides::default()).unwrap();
    let labels: Vec<&str> = plan.record.iter().map(|r| r.label.as_str()).collect();
    for label in ["fmu.String_output", "fmu.Binary_output", "fmu.told_2", "fmu.UInt64_output"] {
        assert!(labels.contains(&label), "{labels:?}");
    }
    let done = run(plan, Keep::ALL, Executor::default(), &Pulse::default()).unwrap().unwrap();
    assert!(done.samples.contains("Set me!,666f6f,1,first,second"), "{}", done.samples);
}
