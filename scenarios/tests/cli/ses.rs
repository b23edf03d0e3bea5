//! System entity structures by the command line: pruning, flattening, building, and control of experiments.
use super::{
    folder, good, json, library,
    library::{Results, number},
    read, superdense,
};
use serde_json::{Value as Json, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The structure of a control loop with optional feed-forward.
fn feedforward() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/ses/feedforward.json");
    file.display().to_string()
}

/// Basic models and couplings.
fn counts(fpes: &Json) -> (usize, usize) {
    (fpes["models"].as_array().unwrap().len(), fpes["couplings"].as_array().unwrap().len())
}

fn fpes(dir: &Path, file: &str, sets: &str) -> Json {
    good(dir, &format!("ses prune {file} {sets} --out out"));
    json(&read(dir, "out/fpes.json"))
}

/// A structure in a folder of its own, as `s.json`.
fn written(name: &str, structure: &Json) -> PathBuf {
    let dir = folder(&format!("ses-{name}"));
    fs::write(dir.join("s.json"), structure.to_string()).unwrap();
    dir
}

/// The mistake of a structure: the command ends with 2, and never with a panic.
#[track_caller]
fn refused(dir: &Path, sets: &str, message: &str, remedy: &str) {
    let output = superdense(dir, &format!("ses prune s.json {sets} --out out"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(message) && told.contains(remedy), "{told}");
    // Where a scenario is expected it is the same mistake.
    let sets = if sets.is_empty() { String::new() } else { format!(" {sets}") };
    let output = superdense(dir, &format!("check s.json{sets}"));
    let told = String::from_utf8_lossy(&output.stderr).replace("\n  | ", " ");
    assert_eq!(output.status.code(), Some(2), "{told}");
}

/// A tree of one aspect with these parts, couplings and SESvars.
fn tree(parts: Json, couplings: Json, vars: Json) -> Json {
    json!({
        "vars": vars,
        "tree": {
            "name": "root",
            "aspects": [{ "name": "rootDEC", "parts": parts, "couplings": couplings }],
        },
        "scenario": { "stop": 1 },
    })
}

fn leaf(name: &str, mb: &str, attributes: Json) -> Json {
    json!({ "name": name, "mb": mb, "attributes": attributes })
}

#[test]
fn variants_have_their_basic_models_and_couplings() {
    let dir = folder("ses-counts");
    let file = feedforward();
    let without = fpes(&dir, &file, "");
    let pes = json(&read(&dir, "out/pes.json"));
    assert_eq!(counts(&without), (7, 7));
    assert_eq!(without["settings"]["expMethod"]["k"], json!([1, 2, 5, 10]));
    assert_eq!(without["settings"]["simMethod"]["simulator"], "rk45");
    assert!(!pes.to_string().contains("feedforwardCtrl"), "{pes}");
    let with = fpes(&dir, &file, "--set feedforward=1");
    assert_eq!(counts(&with), (9, 10));
    let names: Vec<&str> =
        with["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    let expected = [
        "sourceSys",
        "feedbackSys",
        "ctrlPIDSys",
        "procUnitSys",
        "sourceDist",
        "tfDist",
        "addDist",
        "tfFeedforward",
        "addFeedforward",
    ];
    assert_eq!(names, expected);
    // Ports of composed entities are gone.
    let joined = with["couplings"].as_array().unwrap();
    assert!(joined.contains(&json!({ "from": "ctrlPIDSys.y", "to": "addFeedforward.u1" })));
    assert!(joined.contains(&json!({ "from": "sourceDist.y", "to": "tfFeedforward.u" })));
    assert!(joined.contains(&json!({ "from": "addFeedforward.y", "to": "procUnitSys.u" })));
    // An entity keeps its name, and tells its kind.
    let pes = json(&read(&dir, "out/pes.json"));
    assert!(pes.to_string().contains(r#""selected":{"feedforwardCtrlSPEC":"fc"}"#), "{pes}");
    let told = good(&dir, &format!("ses build {file} --set feedforward=1 --out built --json"));
    let told = json(&told);
    assert_eq!((&told["models"], &told["couplings"]), (&json!(9), &json!(10)));
}

/// The scenario that is built is the one that is run, wherever it stands.
#[test]
fn a_built_scenario_is_the_variant() {
    let dir = folder("ses-build");
    let (file, sets) = (feedforward(), "--set k=2 --set Ti=20");
    good(&dir, &format!("ses build {file} --set feedforward=1 --out a/b"));
    good(&dir, &format!("run a/b/feedforward.toml {sets} --plot none --out built"));
    good(&dir, &format!("run {file} --set feedforward=1 {sets} --plot none --out direct"));
    let hash = |name: &str| json(&read(&dir.join(name), "summary.json"))["trace_hash"].clone();
    assert_eq!(hash("built"), hash("direct"));
    good(&dir, &format!("check {file} --set mysim=taylor"));
}

/// Overshoot and settling time after a disturbance, against an independent solution.
#[test]
fn control_loops_meet_the_reference() {
    let expected = [
        ("0", "1", "10", 0.458868, 39.78),
        ("0", "2", "20", 0.367863, 45.0),
        ("0", "5", "5", 0.181959, 11.37),
        ("0", "10", "2", 0.096882, 4.54),
        ("1", "1", "5", 0.005077, 0.0),
        ("1", "2", "10", 0.0000637, 0.0),
        ("1", "5", "20", 0.0, 0.0),
    ];
    for (structure, k, ti, overshoot, settling) in expected {
        for method in ["rk45", "rodas", "taylor"] {
            let run = run(&[
                &format!("feedforward={structure}"),
                &format!("k={k}"),
                &format!("Ti={ti}"),
                &format!("mysim={method}"),
            ]);
            let (found, settled) = (run.result("overshoot"), run.result("settling"));
            let told = format!("{structure} {k} {ti} {method}: {found} {settled}");
            assert!((found - overshoot).abs() < 1e-5, "{told}");
            assert!((settled - settling).abs() < 0.01, "{told}");
        }
    }
}

fn run(sets: &[&str]) -> Results {
    let options: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    Results::of("ses/feedforward.json", &[&options[..], &["--plot", "none"]].concat())
}

/// With Ti = 20 the zero of the controller cancels the pole of the process.
#[test]
fn a_cancelled_pole_has_a_closed_form() {
    for (k, tau) in [("2", None), ("5", Some(5.0))] {
        let run = run(&[&format!("k={k}"), "Ti=20"]);
        let mut looked = 0;
        for row in run.rows("samples.csv") {
            let (t, y) = (number(&row[0]), number(&row[1]));
            let gain: f64 = number(k);
            let start = 1.0 - (-gain * t / 20.0).exp();
            let after = (t - 100.0).max(0.0);
            let disturbance = match tau {
                None => 0.1 * after * (-after / 10.0).exp(),
                Some(k) => {
                    let rates: [f64; 2] = [0.1, k / 20.0];
                    0.1 * ((-after * rates[0]).exp() - (-after * rates[1]).exp())
                        / (rates[1] - rates[0])
                }
            };
            assert!((y - start - disturbance).abs() < 1e-7, "k = {k}, {t} s: {y}");
            looked += usize::from(after > 0.0);
        }
        assert_eq!(looked, 200);
    }
}

/// No controller of the ranges meets both goals without feed-forward; the first one with it does.
#[test]
fn experiment_control_ends_with_feed_forward() {
    let dir = folder("ses-control");
    let study = library::library().join("studies/feedforward.toml").display().to_string();
    let dry = good(&dir, &format!("study {study} --dry-run"));
    assert!(dry.contains("8 to 32 runs"), "{dry}");
    let mut first: Option<[String; 2]> = None;
    for workers in [1, 3] {
        let told = good(&dir, &format!("study {study} --workers {workers} --out w{workers}"));
        let line = "(settling < 15) and (overshoot < 0.05) holds first at feedforward = 1, k = 1, Ti = 2 \
                    (variant 2 of 2)";
        assert!(told.contains(line), "{told}");
        let out = dir.join(format!("w{workers}"));
        let files = ["results.csv", "answers.json"].map(|name| read(&out, name));
        assert!(first.get_or_insert_with(|| files.clone()) == &files);
    }
    let [table, answers] = first.unwrap();
    let answer = &json(&answers)["control"];
    assert_eq!(answer["at"], json!({ "feedforward": 1.0, "k": 1.0, "Ti": 2.0 }));
    assert_eq!((&answer["met"], &answer["variant"]), (&json!(true), &json!(2)));
    // All 16 of the first variant, and a round of the second.
    assert_eq!((&answer["points"], &answer["runs"]), (&json!(24), &json!(24)));
    assert_eq!(table.lines().count(), 25);
    let without = table.lines().filter(|line| line.split(',').nth(3) == Some("0"));
    assert_eq!(without.count(), 16);
    let overshoot = answer["results"]["overshoot"]["value"].as_f64().unwrap();
    assert!(overshoot > 0.0 && overshoot < 0.05, "{overshoot}");
    // A larger gain needs none: the answer depends on the ranges.
    let text = fs::read_to_string(&study).unwrap();
    let file = feedforward();
    let other = text
        .replace("../ses/feedforward.json", &file)
        .replace("[1, 2, 5, 10]", "[10, 40]")
        .replace("over = [\"k\", \"Ti\"]", "over = { k = [40], Ti = [2] }");
    fs::write(dir.join("other.toml"), &other).unwrap();
    let told = good(&dir, "study other.toml --out other");
    assert!(
        told.contains("holds first at feedforward = 0, k = 40, Ti = 2 (variant 1 of 2)"),
        "{told}"
    );
    // Nothing meets goals beyond reach; variants have ranges of their own.
    let none = other
        .replace("overshoot < 0.05", "overshoot < -1")
        .replace("set = { feedforward = 1 }", "set = { feedforward = 1 }\nover = { Ti = [2, 5] }");
    fs::write(dir.join("none.toml"), none).unwrap();
    let told = good(&dir, "study none.toml --out none");
    assert!(told.contains("holds at none of 3 points of 2 variants"), "{told}");
    let answer = &json(&read(&dir, "none/answers.json"))["control"];
    assert_eq!((&answer["met"], &answer["points"]), (&json!(false), &json!(3)));
}

/// Parameters that only one variant has are tried with it.
#[test]
fn variants_are_tried_with_their_own_settings() {
    let dir = folder("ses-trials");
    let study = |value: &str| {
        format!(
            "scenario = '{}'\n[vary]\nfeedforward = [0, 1]\n'unit.tfFeedforward.numerator' = [{value}]\n\
             [ask.q]\nmethod = 'first'\nkeep = 'overshoot < 0.05'\n\
             [[ask.q.variant]]\nset = {{ feedforward = 0 }}\n\
             [[ask.q.variant]]\nset = {{ feedforward = 1 }}\nover = ['unit.tfFeedforward.numerator']\n",
            feedforward()
        )
    };
    fs::write(dir.join("good.toml"), study("'[20, 1]'")).unwrap();
    let told = good(&dir, "study good.toml --out good");
    assert!(told.contains("(variant 2 of 2)"), "{told}");
    fs::write(dir.join("bad.toml"), study("'[1, 20, 1]'")).unwrap();
    let output = superdense(&dir, "study bad.toml --out bad");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("not a proper transfer function"), "{told}");
    let unset = study("'[20, 1]'").replace("feedforward = [0, 1]\n", "");
    fs::write(dir.join("unset.toml"), unset).unwrap();
    let output = superdense(&dir, "study unset.toml --out unset");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`feedforward` is no parameter of [vary]"), "{told}");
}

/// A chain of copies: as many units, and couplings between neighbours.
#[test]
fn multi_aspects_have_as_many_parts_as_they_are_told() {
    let structure = json!({
        "vars": { "n": { "value": 3, "condition": "n >= 0" } },
        "tree": { "name": "line", "aspects": [{
            "name": "lineDEC",
            "parts": [
                leaf("source", "constant", json!({ "value": "=10*n" })),
                { "name": "chain", "aspects": [{
                    "name": "chainMASP",
                    "numRep": "n",
                    "parts": [leaf("cell", "gain", json!({ "gain": "=index/numRep" }))],
                    "couplings": [
                        { "if": "numRep > 0", "couplings": ["self.u -> cell_1.u", "cell_{numRep}.y -> self.y"] },
                        { "for": "i in 1..numRep", "couplings": ["cell_{i}.y -> cell_{i + 1}.u"] },
                    ],
                }]},
                leaf("end", "gain", json!({ "gain": 1 })),
            ],
            "couplings": [
                { "if": "n > 0", "couplings": ["source.y -> chain.u", "chain.y -> end.u"] },
                { "if": "n == 0", "couplings": ["source.y -> end.u"] },
            ],
        }]},
        "scenario": { "stop": 1, "record": ["end.y"], "result": { "y": "final(end.y)" } },
    });
    let dir = written("copies", &structure);
    for (n, models, couplings, y) in [(0, 2, 1, 0.0), (1, 3, 2, 10.0), (3, 5, 4, 30.0 * 2.0 / 9.0)]
    {
        let flat = fpes(&dir, "s.json", &format!("--set n={n}"));
        assert_eq!(counts(&flat), (models, couplings), "{flat}");
        good(&dir, &format!("run s.json --set n={n} --plot none --force --out run"));
        let found = json(&read(&dir, "run/summary.json"))["results"]["y"].as_f64().unwrap();
        assert!((found - y).abs() < 1e-12, "{n}: {found}");
    }
    refused(
        &dir,
        "--set n=-1",
        "SESvar `n`: its condition `n >= 0` does not hold for -1",
        "set another value",
    );
    refused(&dir, "--set n=1.5", "root".replace("root", "numRep is 1.5").as_str(), "whole number");
    refused(&dir, "--set n=1000000", "numRep is 1000000", "whole number from 0 to");
}

#[test]
fn rules_and_conditions_are_checked() {
    let dir = folder("ses-shipped");
    fs::copy(feedforward(), dir.join("s.json")).unwrap();
    refused(&dir, "--set feedforward=2", "SESvar `feedforward`: it cannot be 2", "set one of 0, 1");
    refused(&dir, "--set feedforward=yes", "SESvar `feedforward`", "--set feedforward=1");
    refused(&dir, "--set mysim=euler", "SESvar `mysim`: it cannot be 'euler'", "set one of 'rk45'");
    let output = superdense(&dir, "ses prune s.json --set feedfoward=1 --out out");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("did you mean `feedforward`?"), "{told}");
    let kinds = |rules: [&str; 2]| {
        let kind = |(name, rule): (&str, &str)| json!({ "name": name, "rule": rule, "mb": "constant", "attributes": { "value": 1 } });
        let kinds: Vec<Json> = ["small", "large"].into_iter().zip(rules).map(kind).collect();
        let part = json!({
            "name": "source", "specializations": [{ "name": "sourceSPEC", "kinds": kinds }]
        });
        let mut structure =
            tree(json!([part]), json!([]), json!({ "v": { "value": 1 }, "w": { "value": 2 } }));
        structure["conditions"] = json!(["v < w"]);
        structure
    };
    let dir = written("rules", &kinds(["v < 2", "v > 2"]));
    assert_eq!(counts(&fpes(&dir, "s.json", "--set v=1")), (1, 0));
    let remedy = "exactly one is true";
    let none =
        "root/source/sourceSPEC: none of the rules is true: `small` (v < 2), `large` (v > 2)";
    refused(&dir, "--set v=2 --set w=3", none, remedy);
    refused(&dir, "--set v=5", "the condition `v < w` does not hold for v = 5, w = 2", "--set");
    let dir = written("two-rules", &kinds(["v < 2", "v < 3"]));
    refused(
        &dir,
        "",
        "root/source/sourceSPEC: 2 rules are true: `small` (v < 2), `large` (v < 3)",
        remedy,
    );
    let dir = written("bad-rule", &kinds(["v <", "u > 2"]));
    refused(&dir, "", "root/source/sourceSPEC: `v <`", "");
}

#[test]
fn couplings_name_what_is_there() {
    let source = || leaf("source", "constant", json!({ "value": 1 }));
    let optional = json!({ "name": "gain", "specializations": [{ "name": "gainSPEC", "kinds": [
        { "name": "on", "rule": "v == 1", "mb": "gain", "attributes": { "gain": 2 } },
        { "name": "NONE", "rule": "v == 0" },
    ]}]});
    let vars = || json!({ "v": { "value": 0 } });
    let dir =
        written("none", &tree(json!([source(), optional]), json!(["source.y -> gain.u"]), vars()));
    refused(&dir, "", "`source.y -> gain.u` is coupled, and `gain` is NONE", "under an `if`");
    assert_eq!(counts(&fpes(&dir, "s.json", "--set v=1")), (2, 1));
    let bad = |name: &str, couplings: Json, message: &str, remedy: &str| {
        let inner = json!({ "name": "box", "aspects": [{
            "name": "boxDEC", "parts": [leaf("inner", "gain", json!({ "gain": 1 }))],
            "couplings": ["self.u -> inner.u"],
        }]});
        let facts = json!({ "name": "facts", "attributes": { "a": 1 } });
        let dir = written(name, &tree(json!([source(), inner, facts]), couplings, vars()));
        refused(&dir, "", message, remedy);
    };
    bad(
        "unknown",
        json!(["sourc.y -> box.u"]),
        "there is no part `sourc`",
        "did you mean `source`?",
    );
    bad(
        "nowhere",
        json!(["source.y -> box.v"]),
        "box: its port `v` leads nowhere",
        "couple it with `self`",
    );
    bad(
        "nothing",
        json!(["source.y -> box.u", "box.y -> source.u"]),
        "box: nothing leads to its port `y`",
        "",
    );
    bad("arrow", json!(["source.y"]), "`source.y` is no coupling", "part.port -> part.port");
    bad(
        "facts",
        json!(["source.y -> facts.u"]),
        "facts: `source.y -> facts.u` is coupled",
        "write its `mb`",
    );
    bad("function", json!("f(v)"), "there is no function `f`", "define it under `functions`");
    bad("range", json!([{ "for": "i in v", "couplings": [] }]), "`i in v` is no range", "1..=n");
    bad("brace", json!(["source.y -> box_{v/2 + 0.1}.u"]), "{v/2 + 0.1} is 0.1", "whole number");
}

#[test]
fn files_are_merged_by_name() {
    let main = json!({
        "merge": ["part.json"],
        "tree": { "name": "root", "aspects": [{
            "name": "rootDEC",
            "parts": [leaf("source", "constant", json!({ "value": 3 })), { "name": "plant" }],
            "couplings": ["source.y -> plant.u"],
        }]},
        "scenario": { "stop": 1, "result": { "y": "final(second.y)" } },
    });
    let part = json!({
        "vars": { "k": { "value": 2 } },
        "tree": { "name": "plant", "aspects": [{
            "name": "plantDEC",
            "parts": [leaf("first", "gain", json!({ "gain": "=k" })), leaf("second", "gain", json!({ "gain": "=k" }))],
            "couplings": ["self.u -> first.u", "first.y -> second.u"],
        }]},
    });
    let dir = written("merge", &main);
    refused(&dir, "", "part.json: there is no such file", "relative to the file that names them");
    fs::write(dir.join("part.json"), part.to_string()).unwrap();
    assert_eq!(counts(&fpes(&dir, "s.json", "")), (3, 2));
    good(&dir, "run s.json --set k=5 --plot none --out run");
    assert_eq!(json(&read(&dir, "run/summary.json"))["results"]["y"], 75.0);
    let mut other = part.clone();
    other["tree"]["name"] = json!("plants");
    fs::write(dir.join("part.json"), other.to_string()).unwrap();
    refused(&dir, "", "there is no leaf `plants`", "name a leaf like the root");
    other["merge"] = json!(["s.json"]);
    fs::write(dir.join("part.json"), other.to_string()).unwrap();
    refused(
        &dir,
        "",
        "these structures merge each other: s.json -> part.json -> s.json",
        "take one of them out",
    );
}

/// Whatever stands in a file, there is a mistake with a remedy, and no panic.
#[test]
fn broken_structures_are_refused() {
    let leaf = || leaf("a", "constant", json!({ "value": 1 }));
    let cases: [(&str, String, &str, &str); 12] = [
        ("syntax", "{\"tree\": {".into(), "s.json: this is no structure: EOF", "docs/ses.md"),
        (
            "key",
            json!({ "tree": { "nam": "x" } }).to_string(),
            "unknown field `nam`",
            "docs/ses.md",
        ),
        (
            "couplings",
            tree(json!([leaf()]), json!(7), json!({})).to_string(),
            "a list of couplings",
            "docs/ses.md",
        ),
        ("deep", "[".repeat(100_000), "this is no structure", "docs/ses.md"),
        (
            "name",
            tree(json!([leaf(), leaf()]), json!([]), json!({})).to_string(),
            "two of its nodes have the name `a`",
            "rename",
        ),
        (
            "no-parts",
            tree(json!([]), json!([]), json!({})).to_string(),
            "an aspect has no parts",
            "write one or more",
        ),
        ("no-model", tree(json!([{ "name": "a" }]), json!([]), json!({})).to_string(), "", ""),
        (
            "null",
            tree(
                json!([{ "name": "a", "mb": "gain", "attributes": { "gain": null } }]),
                json!([]),
                json!({}),
            )
            .to_string(),
            "root/a: null is no value",
            "take it out",
        ),
        (
            "no-value",
            tree(json!([leaf()]), json!([]), json!({ "v": {} })).to_string(),
            "SESvar `v`: it has no value",
            "--set v=",
        ),
        (
            "list-value",
            tree(json!([leaf()]), json!([]), json!({ "v": { "value": [1] } })).to_string(),
            "SESvar `v`: [1] is no value",
            "write a number",
        ),
        (
            "rule",
            tree(json!([{ "name": "a", "rule": "true" }]), json!([]), json!({})).to_string(),
            "root/a: a part has a `rule`",
            "under a specialization",
        ),
        (
            "text",
            tree(
                json!([{ "name": "a", "mb": "gain", "attributes": { "gain": "=x" } }]),
                json!([]),
                json!({}),
            )
            .to_string(),
            "root/a: `x`: unknown variable `x`",
            "there are no SESvars",
        ),
    ];
    for (name, text, message, remedy) in cases {
        let dir = folder(&format!("ses-broken-{name}"));
        fs::write(dir.join("s.json"), text).unwrap();
        if message.is_empty() {
            // A variant without basic models has a tree, and no scenario.
            good(&dir, "ses prune s.json --out out");
            let output = superdense(&dir, "ses build s.json --out out");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(told.contains("the variant has no basic model; give a leaf an `mb`"), "{told}");
            continue;
        }
        refused(&dir, "", message, remedy);
    }
    let mut both = tree(json!([leaf()]), json!([]), json!({ "v": { "value": 1 } }));
    both["scenario"]["parameters"] = json!({ "v": 1 });
    let dir = written("both", &both);
    refused(&dir, "", "s.json: `v` is a SESvar and a parameter of the scenario", "another name");
    let dir = folder("ses-broken-none");
    let output = superdense(&dir, "ses prune nothing.json --out out");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("nothing.json: there is no such file; check the name"), "{told}");
}

/// The example of the page runs, and has the results that stand there.
#[test]
fn the_example_of_the_page_runs() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ses.md")).unwrap();
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let dir = folder("ses-page");
    fs::write(dir.join("heater.json"), example).unwrap();
    let top = |sets: &str| {
        good(&dir, &format!("run heater.json {sets} --plot none --force --out run"));
        json(&read(&dir, "run/summary.json"))["results"]["warmest"].as_f64().unwrap()
    };
    let exact = |power: f64| power * (1.0 - (-2.0f64).exp());
    for (sets, power) in
        [("", 2.0), ("--set heaters=3", 6.0), ("--set heaters=3 --set spare=1", 7.0)]
    {
        let found = top(sets);
        assert!((found - exact(power)).abs() < 1e-5, "{sets}: {found}, not {}", exact(power));
    }
}
