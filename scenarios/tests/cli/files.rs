//! The files that a run writes.
use super::*;

/// The page about the files of a run.
const FILES: &str = include_str!("../../../docs/files.md");

#[test]
fn a_run_writes_what_the_guide_says() {
    let dir = mixed("files");
    let text = good(&dir, "run mixed.toml --plot png");
    let out = dir.join("out/mixed");

    let events = read(&out, "events.csv");
    let rows: Vec<Vec<&str>> = events.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows[0], ["time", "micro", "unit", "event", "kind"]);
    assert!(rows.iter().all(|r| r.len() == 5));
    let kinds: Vec<_> = rows[1..].iter().map(|r| (r[2], r[3], r[4])).collect();
    assert!(kinds.contains(&("upper", "push", "time")));
    assert!(kinds.contains(&("upper", "ceiling", "private")), "{events}");
    assert!(kinds.contains(&("collision", "collision", "shared")));
    assert_eq!(kinds.iter().filter(|k| k.1 == "push").count(), 5);
    assert!(rows[1..].windows(2).all(|w| seconds(w[0][0]) <= seconds(w[1][0])));
    // Time events are exact.
    assert!(rows.iter().any(|r| r[0] == "1.5" && r[3] == "push"), "{events}");

    let samples = read(&out, "samples.csv");
    let header = "time,upper.x,upper.v,lower.v,server.length,sink.mean,sum(cell[*].y),\
                  mean(cell[*].y),count(cell[*].y)";
    assert_eq!(samples.lines().next(), Some(header));
    assert_eq!(samples.lines().count(), 502);
    let first: Vec<_> = samples.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(first[..4], ["0", "-0.7", "3.5", "3"]);
    assert_eq!(first[5], "", "absent until the sink has measured something");
    assert!(samples.lines().nth(3).unwrap().starts_with("0.02,"));
    assert!(samples.ends_with('\n') && samples.lines().last().unwrap().starts_with("5,"));
    for row in samples.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>()) {
        assert!((seconds(row[6]) - 3.0 * seconds(row[7])).abs() < 1e-12);
        assert!(["0", "1", "2", "3"].contains(&row[8]));
    }

    let units = read(&out, "units.csv");
    assert!(units.starts_with("unit,exchanges,"), "{units}");
    let headers = ["events.csv", "units.csv", "trajectory.csv"].map(|f| read(&out, f));
    for column in headers.iter().flat_map(|text| text.lines().next().unwrap().split(',')) {
        assert!(FILES.contains(&format!("`{column}`")), "docs/files.md lacks {column}");
    }
    assert!(units.lines().any(|r| r.starts_with("upper,")), "{units}");

    let trajectory = read(&out, "trajectory.csv");
    assert_eq!(trajectory.lines().next(), Some("tick,micro,signal,value,derivatives"));
    let first = "0,0,upper.x,-0.7,3.5 ";
    assert!(trajectory.lines().any(|l| l.starts_with(first)), "{first}");
    assert!(!trajectory.contains("cell"), "members of aggregates are not recorded");

    let summary = json(&read(&out, "summary.json"));
    for key in [
        "cycles",
        "internal",
        "external",
        "confluent",
        "messages",
        "events",
        "exchanges",
        "exchanged_bytes",
        "steps",
        "rejected_steps",
        "seed",
        "end_time",
    ] {
        assert!(summary[key].is_number(), "{key} in {summary}");
    }
    assert_eq!(summary["scenario"], "mixed");
    for key in summary.as_object().unwrap().keys() {
        assert!(FILES.contains(&format!("`{key}`")), "docs/files.md lacks {key}");
    }
    for file in fs::read_dir(&out).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(FILES.contains(&format!("`{name}`")), "docs/files.md lacks {name}");
    }
    assert_eq!(summary["resolution"], "1 ps");
    assert_eq!(summary["end_time"], 5);
    assert_eq!(summary["events"], rows.len() - 1);
    let hash = summary["trace_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok());
    assert!(text.contains(hash) && text.contains("collision") && text.contains("out/mixed"));

    let performance = json(&read(&out, "performance.json"));
    assert!(performance["wall_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(performance["executor"]["name"], "sequential");
    assert!(performance["seconds_per_kind"]["equations"].as_f64().unwrap() > 0.0);
    assert!(fs::read(out.join("plot.png")).unwrap().starts_with(b"\x89PNG"));
    let svg = read(&out, "plot.svg");
    for label in ["Velocities", "velocity / (m/s)", "upper.v", "shared event", "time / s"] {
        assert!(svg.contains(label), "{label}");
    }
    assert!(!out.join("checkpoint").exists());
}

fn seconds(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

/// Nobody hears of the states, and nothing happens: runs differ by where they begin, and by where they end.
#[test]
fn the_trace_hash_knows_the_states() {
    let dir = folder("states");
    let hash = |start: &str, rate: &str, options: &str| {
        let text = format!(
            "stop = 1\n[unit.x]\nkind = 'equations'\nstates = {{ a = {start} }}\n\
             derivatives = {{ a = '{rate}*a' }}\noutputs = {{ y = 'a' }}\n"
        );
        fs::write(dir.join("states.toml"), text).unwrap();
        let text = good(&dir, &format!("run states.toml --json --force {options}"));
        json(&text)["summary"]["trace_hash"].clone()
    };
    let plain = hash("1", "-1", "");
    assert_eq!(hash("1", "-1", "--sample none"), plain);
    for other in [hash("1.5", "-1", ""), hash("1", "-1.5", ""), hash("1", "-1", "--until 0.5")] {
        assert_ne!(other, plain);
    }
}

#[test]
fn what_is_written_does_not_change_the_trace() {
    let dir = mixed("trace");
    let hash = |options: &str| {
        let text = good(&dir, &format!("run mixed.toml --json --force --until 2 {options}"));
        json(&text)["summary"]["trace_hash"].clone()
    };
    let plain = hash("");
    for options in [
        "--sample none",
        "--sample 0.3",
        "--sample 1ms",
        "--set record=['upper.x']",
        "--event-list heap",
        "--event-list priority-queue",
        "--checkpoint-every 0",
        "--executor sequential",
    ] {
        assert_eq!(hash(options), plain, "{options}");
    }
    assert_ne!(hash("--seed 2"), plain);
    assert_ne!(hash("--set m1=0.21"), plain);
}

#[test]
fn without_a_trajectory_samples_make_the_plot() {
    let dir = mixed("no-trajectory");
    let told = json(&good(&dir, "run mixed.toml --json --until 1 --trajectory none"));
    assert_eq!(told["status"], "done");
    let out = dir.join("out/mixed");
    assert!(!out.join("trajectory.csv").exists() && out.join("plot.svg").exists());
}

/// With the feature: rows read back by another program's library are those of the text.
#[cfg(feature = "parquet")]
#[test]
fn parquet_parts_hold_what_the_text_holds() {
    let dir = mixed("parquet");
    good(&dir, "run mixed.toml --quiet --until 1 --out text");
    good(&dir, "run mixed.toml --quiet --until 1 --out parts --trajectory parquet");
    let hash = |out: &str| json(&read(&dir.join(out), "summary.json"))["trace_hash"].clone();
    assert_eq!(hash("text"), hash("parts"));
    assert!(!dir.join("parts/trajectory.csv").exists());
    let text = read(&dir.join("text"), "trajectory.csv");
    let script = "import pyarrow.parquet as p, sys\n\
        for r in p.read_table(sys.argv[1]).to_pylist():\n  \
          v = r['value'] if r['text'] is None else r['text']\n  \
          print(r['tick'], r['micro'], r['signal'], v, *r['derivatives'])";
    let part = dir.join("parts/trajectory-00000.parquet");
    let python = || Command::new("python3").args(["-c", script]).arg(&part).output().unwrap();
    let mut read = python();
    if !read.status.success() {
        let pip = ["-m", "pip", "install", "--quiet", "--break-system-packages", "pyarrow"];
        let _ = Command::new("python3").args(pip).status();
        read = python();
    }
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let rows = String::from_utf8_lossy(&read.stdout).into_owned();
    assert_eq!(rows.lines().count(), text.lines().count() - 1);
    for (row, line) in rows.lines().zip(text.lines().skip(1)) {
        let (a, b): (Vec<_>, Vec<_>) =
            (row.split(' ').collect(), line.split([',', ' ']).filter(|f| !f.is_empty()).collect());
        assert_eq!(a.len(), b.len(), "{row} | {line}");
        for (x, y) in a.iter().zip(&b) {
            let equal = x == y || x.parse::<f64>().ok() == y.parse::<f64>().ok();
            assert!(equal, "{row} | {line}");
        }
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_needs_its_feature() {
    let dir = mixed("parquet-refused");
    let refused = superdense(&dir, "run mixed.toml --trajectory parquet");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--features parquet"));
}

#[test]
fn the_last_sample_is_at_the_end() {
    let dir = mixed("samples");
    for (options, times) in [
        ("--sample none", "0 1"),
        ("--sample 0.4", "0 0.4 0.8 1"),
        ("--sample 500ms", "0 0.5 1"),
        ("--sample 2", "0 1"),
    ] {
        good(&dir, &format!("run mixed.toml --quiet --force --until 1 {options}"));
        let samples = read(&dir.join("out/mixed"), "samples.csv");
        let found: Vec<_> = samples.lines().skip(1).map(|l| l.split(',').next().unwrap()).collect();
        assert_eq!(found.join(" "), times, "{options}");
    }
}

#[test]
fn results_do_not_depend_on_what_is_written() {
    let dir = mixed("written");
    let results = |options: &str| {
        good(&dir, &format!("run mixed.toml --quiet --force --until 3 {options}"));
        let summary = json(&read(&dir.join("out/mixed"), "summary.json"));
        (summary["trace_hash"].clone(), summary["results"].clone())
    };
    let all = results("");
    assert_eq!(all.1.as_object().map(|r| r.len()), Some(12));
    for options in ["--sample none", "--trajectory none --plot none", "--sample 1ms"] {
        assert_eq!(results(options), all, "{options}");
    }
}

#[test]
fn plotting_again_gives_the_same_picture() {
    let dir = mixed("plot");
    good(&dir, "run mixed.toml --out results --until 2 --plot png");
    let results = dir.join("results");
    let before = (read(&results, "plot.svg"), fs::read(results.join("plot.png")).unwrap());
    fs::remove_file(results.join("plot.svg")).unwrap();
    let told = json(&good(&dir, "plot results --json"));
    assert_eq!((&told["status"], &told["panels"]), (&Json::from("done"), &Json::from(2)));
    assert_eq!((read(&results, "plot.svg"), fs::read(results.join("plot.png")).unwrap()), before);
}

#[test]
fn every_command_speaks_json() {
    let dir = mixed("json");
    let run = json(&good(&dir, "run mixed.toml --json --until 3"));
    assert_eq!(run["status"], "done");
    assert_eq!(run["summary"], json(&read(&dir.join("out/mixed"), "summary.json")));
    assert_eq!(run["events"].as_array().unwrap().len(), run["summary"]["events"]);
    assert!(run["files"].as_array().unwrap().contains(&Json::from("samples.csv")));

    let check = json(&good(&dir, "check mixed.toml --json --seed 7"));
    assert_eq!((&check["status"], &check["seed"]), (&Json::from("ok"), &Json::from(7)));
    assert_eq!(check["units"], 8);

    let kinds = json(&good(&dir, "list --json"))["kinds"].clone();
    let equations = kinds.as_array().unwrap().iter().find(|k| k["name"] == "equations").unwrap();
    assert!(equations["parameters"].as_array().unwrap().iter().any(|p| p["name"] == "states"));

    let gain = kinds.as_array().unwrap().iter().find(|k| k["name"] == "gain").unwrap();
    let port = |name: &str| serde_json::json!([{ "name": name, "kind": "signal", "type": "real", "optional": false }]);
    assert_eq!((&gain["inputs"], &gain["outputs"]), (&port("u"), &port("y")));
    assert!(equations["inputs"].is_null(), "its ports are parameters");
    let text = good(&dir, "list");
    for line in [
        "  inputs: in (event: packet); outputs: count, delay, low, high, loss, loss_low, loss_high",
        "  inputs and outputs as the parameters say",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
    }

    let schema = json(&good(&dir, "schema"));
    // Files that others include have no `stop`.
    assert_eq!(schema["properties"]["stop"]["$ref"], "#/$defs/duration");
    assert_eq!(schema["required"], serde_json::json!([]));
    let gain = schema["$defs"]["kind_gain"]["description"].as_str().unwrap();
    assert!(gain.ends_with("inputs: u; outputs: y"), "{gain}");

    let new = json(&good(&dir, "new first --json"));
    assert_eq!(new["file"], "first.toml");
    assert_eq!(read(&dir, "first.toml").lines().next(), Some("#:schema ./superdense.schema.json"));
    assert_eq!(json(&read(&dir, "superdense.schema.json")), schema);
    let first = json(&good(&dir, "run first.toml --json"));
    assert_eq!(first["summary"]["scenario"], "first");
    assert!(first["summary"]["events"].as_u64().unwrap() > 5);

    let ended = json(&good(&dir, "resume out/first --json"));
    assert_eq!(ended["status"], "done");
}

/// Each kind has an example, which is TOML and of that kind.
#[test]
fn list_tells_all_about_a_kind() {
    let dir = folder("list");
    let kinds = json(&good(&dir, "list --json"))["kinds"].clone();
    for kind in kinds.as_array().unwrap() {
        let name = kind["name"].as_str().unwrap();
        let text = good(&dir, &format!("list {name}"));
        let example: Vec<_> = text.lines().filter_map(|l| l.strip_prefix("    ")).collect();
        let example = example.join("\n");
        let table: toml::Table = example.parse().unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let units = table["unit"].as_table().unwrap();
        assert!(units.values().any(|u| u["kind"].as_str() == Some(name)), "{text}");
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
        assert_eq!(json(&good(&dir, &format!("list {name} --json"))), *kind);
    }
    let output = superdense(&dir, "list samler");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("did you mean `sampler`?"), "{said}");
}

#[test]
fn ties_are_reported() {
    let dir = mixed("ties");
    let told = json(&good(&dir, "run mixed.toml --json --until 1 --ties 7"));
    assert!(!dir.join("out/mixed/permuted").exists());
    assert_eq!(told["ties"], serde_json::json!({ "seed": 7, "units": [] }));
}

/// Nobody hears what depends on the order here: it shows in what is recorded.
#[test]
fn ties_of_what_nobody_hears() {
    let dir = folder("silent_ties");
    let text = "stop = 2\nsample = 1\nrecord = ['sum.n', 'apart.n', 'bare.y']\n\
                connections = ['one.y -> sum.in', 'two.y -> sum.in', 'one.y -> apart.in']\n\
                [unit.one]\nkind = 'clock'\nperiod = 1\nvalue = 1\n\
                [unit.two]\nkind = 'clock'\nperiod = 1\nvalue = 2\n\
                [unit.bare]\nkind = 'constant'\nvalue = 1\n\
                [template.digits]\ninputs = { in = 'u.in' }\noutputs = { n = 'u.n' }\n\
                [template.digits.unit.u]\nkind = 'equations'\ndiscrete = { n = 0 }\n\
                event_inputs = ['in']\noutputs = { n = 'n' }\n\
                [[template.digits.unit.u.on]]\ninput = 'in'\nreset = { n = '10*n + value' }\n\
                [unit.sum]\ntemplate = 'digits'\n[unit.apart]\ntemplate = 'digits'\n";
    fs::write(dir.join("digits.toml"), text).unwrap();
    // Some seeds leave so few messages in their order.
    let units = |seed: u32| {
        let line = format!("run digits.toml --json --force --ties {seed}");
        json(&good(&dir, &line))["ties"]["units"].to_string()
    };
    let found: Vec<String> = (0..8).map(units).collect();
    assert!(found.iter().any(|units| units == "[\"sum/u\"]"), "{found:?}");
    assert!(found.iter().all(|units| ["[]", "[\"sum/u\"]"].contains(&&**units)), "{found:?}");
}

/// A value that grows beyond bounds passes more whole numbers than there are ticks; the run ends and tells why.
#[test]
fn whole_numbers_between_ticks_end_a_run() {
    let dir = folder("whole_numbers");
    let text = "stop = \"3 s\"\nresolution = \"us\"\n[unit.u]\nkind = \"equations\"\nstates = { x = 1 }\n\
                derivatives = { x = \"40*x\" }\noutputs = { x = \"x\" }\ndiscrete = { n = 0 }\n\
                [[unit.u.event]]\nname = \"e\"\nwhen = \"floor(x) < 0\"\nreset = { n = \"n + 1\" }\n";
    fs::write(dir.join("grows.toml"), text).unwrap();
    for method in ["rk45", "rodas"] {
        let output =
            superdense(&dir, &format!("run grows.toml --force --set unit.u.method={method}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(
            said.contains("`x` passes whole numbers") && said.contains("`resolution`"),
            "{said}"
        );
    }
}

/// Options that name a file do not replace one that their owner may want to keep.
#[test]
fn files_of_others_stay() {
    let dir = folder("files-of-others");
    fs::write(dir.join("a.toml"), "stop = '1 s'\n[unit.c]\nkind = 'constant'\nvalue = 1\n")
        .unwrap();
    fs::write(dir.join("b.toml"), "kept").unwrap();
    for line in ["check a.toml --dot b.toml", "run a.toml --timeline b.toml"] {
        let run = superdense(&dir, line);
        let told = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{line}: {told}");
        assert!(told.contains("b.toml is there already"), "{told}");
        assert_eq!(read(&dir, "b.toml"), "kept");
    }
    fs::write(dir.join("c.dot"), "digraph {}").unwrap();
    good(&dir, "check a.toml --dot c.dot");
    assert!(read(&dir, "c.dot").len() > 20);
}
