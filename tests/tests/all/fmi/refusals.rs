//! Parts that an FMU may lack, and archives that are no FMUs: each is named.
use super::{Bench, fmu};
use std::process::Command;
use superdense_adapters::fmi::{archive::Unpacked, description::Version};

fn unit(file: &str, more: &str) -> String {
    format!(
        "[unit.u]\nkind = 'fmu'\npath = '{file}.fmu'\nunconnected = 'ok'\nstep = '10 ms'\n{more}\n"
    )
}

fn refused(bench: &Bench, text: &str) -> String {
    bench.load(text).map(drop).map_err(|e| format!("{e:?}")).unwrap_err()
}

#[test]
fn descriptions() {
    let bench = Bench::new("refused-descriptions");
    let pack = |text: &str| {
        fmu::pack(&bench.0.join("text.fmu"), &[("modelDescription.xml", text.as_bytes())]);
    };
    let driven = fmu::description("driven");
    let space = fmu::description("space");
    let declared = driven.split_once("?>").unwrap().1;
    for (text, part) in [
        ("<fmiModelDescription fmiVersion='1.0'/>".to_owned(), "the FMU is of FMI 1.0; export it as FMI 2.0 or 3.0"),
        (format!("<!DOCTYPE a [<!ENTITY b 'c'>]>{declared}"), "no readable XML: "),
        (
            driven.replace("causality=\"local\" variability=\"continuous\" initial=\"calculated\" derivative=\"1\"", ""),
            "variable der(x) is listed as a derivative, but names no state by `derivative`",
        ),
        (driven.replace("<EventIndicator valueReference=\"200\"", "<EventIndicator valueReference=\"77\""), ", which is no variable"),
        (space.replace("structuralParameter", "parameter"), "variable x: a dimension without a length"),
        (driven.replace("<ModelExchange", "<ScheduledExecution"), "neither an element CoSimulation nor ModelExchange"),
        (driven.replace("valueReference=\"2\" causality", "valueReference=\"two\" causality"), "variable u: no value reference"),
    ] {
        pack(&text);
        let e = refused(&bench, &unit("text", ""));
        assert!(e.contains(part), "{part}: {e}");
    }
}

/// Functions of an interface that is not used may be missing.
#[test]
fn functions_that_are_missing() {
    let both = ("<ModelExchange", "<CoSimulation modelIdentifier=\"space\"/><ModelExchange");
    let bench = Bench::new("refused-functions").fmu("space", &[both]);
    bench.run(&unit("space", "interface = 'model-exchange'"), super::S);
    let e = refused(&bench, &unit("space", "interface = 'co-simulation'"));
    assert!(e.contains("the binary has no function fmi3InstantiateCoSimulation"), "{e}");
}

/// A binary that wants a library which nobody has loaded.
#[test]
fn symbols_that_are_not_resolved() {
    let bench = Bench::new("refused-symbols").fmu("space", &[]);
    let source = bench.0.join("open.c");
    std::fs::write(
        &source,
        "int Py_Nothing(void);\nint fmi3GetVersion(void) { return Py_Nothing(); }\n",
    )
    .unwrap();
    let library = bench.0.join("open.so");
    let cc =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(cc.unwrap().success());
    let (text, bytes) = (fmu::description("space"), std::fs::read(&library).unwrap());
    let entries: [(&str, &[u8]); 2] =
        [("modelDescription.xml", text.as_bytes()), (&fmu::binary("space"), &bytes)];
    fmu::pack(&bench.0.join("space.fmu"), &entries);
    let e = refused(&bench, &unit("space", ""));
    assert!(
        e.contains("undefined symbol: Py_Nothing; start the program with the library that has it"),
        "{e}"
    );
    assert!(e.contains("LD_PRELOAD="), "{e}");
}

/// A link in an archive leads nowhere: it becomes a file with the place as its text.
#[test]
fn links_are_not_followed() {
    let bench = Bench::new("refused-links");
    let file = bench.0.join("space.fmu");
    fmu::pack(&file, &[("modelDescription.xml", fmu::description("space").as_bytes())]);
    fmu::link(&file, "resources/key", "/etc/hostname");
    let key = Unpacked::new(&file, Version::V3).unwrap().resources().join("key");
    let found = std::fs::symlink_metadata(&key);
    assert!(found.is_err() || found.unwrap().is_file(), "no link is made");
}
