//! `report` and `compare`.
use super::*;

#[test]
fn a_report_is_one_file_with_all_that_a_run_holds() {
    let dir = mixed("report");
    let text = fs::read_to_string(dir.join("mixed.toml")).unwrap();
    let evil = "</script><img src=x onerror=alert(1)>";
    let results = "\nfastest = { value = \"max(upper.v)\", unit = \"m/s\" }\n";
    let titled =
        format!("title = \"{evil}\"\n{}{results}", text.replacen("title", "description", 1));
    fs::write(dir.join("mixed.toml"), titled).unwrap();
    good(&dir, "run mixed.toml");
    let told = json(&good(&dir, "report out/mixed --json"));
    let file = dir.join(told["file"].as_str().unwrap());
    let html = fs::read_to_string(&file).unwrap();
    assert_eq!(told["bytes"], html.len());
    assert!(!html.contains("<img"), "a title became a tag");
    assert!(
        html.contains("default-src 'none'")
            && !html.replace("http://www.w3.org/2000/svg", "").contains("http://www")
    );
    for part in ["\"fastest\"", "m/s", "collision", "upper.v", "trace hash"] {
        assert!(html.contains(part), "{part}");
    }
    // A file that is there is not replaced unasked.
    let output = superdense(&dir, "report out/mixed");
    assert_eq!(output.status.code(), Some(2));
    good(&dir, "report out/mixed --force");
    let output = superdense(&dir, "report out");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("holds no run"), "{said}");
}

/// The data of the page.
fn page(dir: &Path, run: &str) -> Json {
    let told = json(&good(dir, &format!("report {run} --force --json")));
    let html = fs::read_to_string(dir.join(told["file"].as_str().unwrap())).unwrap();
    let (_, rest) = html.split_once("type=\"application/json\" id=\"data\">").unwrap();
    json(rest.split_once("</script>").unwrap().0)
}

/// The points of a curve.
fn points(curve: &Json) -> Vec<(f64, f64)> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let bytes = STANDARD.decode(curve["data"].as_str().unwrap()).unwrap();
    let all: Vec<f64> =
        bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let (x, y) = all.split_at(all.len() / 2);
    x.iter().copied().zip(y.iter().copied()).collect()
}

/// A table that was changed after the run is told of, in the terminal and on the page.
#[test]
fn changed_files_are_told() {
    let dir = mixed("report_changed");
    good(&dir, "run mixed.toml");
    let samples = read(&dir, "out/mixed/samples.csv");
    let (head, last) = samples.trim_end().rsplit_once('\n').unwrap();
    let cells = last.split(',').enumerate().map(|(k, c)| if k == 1 { "9" } else { c });
    let last = cells.collect::<Vec<_>>().join(",");
    std::fs::write(dir.join("out/mixed/samples.csv"), format!("{head}\n{last}\n")).unwrap();
    for command in ["report out/mixed", "plot out/mixed", "compare out/mixed out/mixed"] {
        let said = superdense(&dir, command);
        let said = String::from_utf8_lossy(&said.stderr);
        assert!(
            said.contains("samples.csv: was changed after the run wrote it"),
            "{command}: {said}"
        );
    }
    let remarks = page(&dir, "out/mixed")["remarks"].to_string();
    assert!(remarks.contains("was changed after the run wrote it"), "{remarks}");
}

/// The page draws curves itself: their values are those of the run, and each panel has ends of its own.
#[test]
fn curves_of_a_page_are_those_of_the_run() {
    let dir = folder("report_axes");
    let text = "stop = \"120 s\"\n[unit.tank]\nkind = \"equations\"\nstates = { level = 1000.0, w = 0 }\n\
                derivatives = { level = \"-level/10\", w = \"1\" }\noutputs = { level = \"level\", w = \"w\" }\n\
                [[plot]]\ny = [\"tank.level\"]\nlog = true\ny_range = [1.0, 100.0]\n\
                [[plot]]\ny = [\"tank.level\"]\ntime_unit = \"min\"\n\
                [[plot]]\ny = [\"tank.level\"]\nx_range = [2.0, 4.0]\n\
                [[plot]]\ny = [\"tank.w\"]\nx = \"tank.level\"\n";
    fs::write(dir.join("axes.toml"), text).unwrap();
    good(&dir, "run axes.toml");
    let panels = page(&dir, "out/axes")["panels"].as_array().unwrap().clone();
    let curve = |k: usize| points(&panels[k]["curves"][0]);
    let last = 1000.0 * (-12.0f64).exp();
    for k in [0, 2] {
        let all = curve(k);
        assert!(
            all[0] == (0.0, 1000.0) && (all.last().unwrap().1 - last).abs() < 1e-6,
            "{k}: {all:?}"
        );
    }
    assert_eq!(curve(1).last().unwrap().0, 2.0);
    let spans: Vec<&Json> = panels.iter().map(|p| &p["span"]).collect();
    assert_eq!(
        spans[..3],
        [
            &serde_json::json!([0.0, 120.0]),
            &serde_json::json!([0.0, 2.0]),
            &serde_json::json!([2.0, 4.0])
        ]
    );
    assert_eq!(panels[0]["y_range"], serde_json::json!([1.0, 100.0]));
    // In the order of time, not of the horizontal axis.
    let phase = curve(3);
    assert_eq!(
        (&panels[3]["timed"], &panels[3]["sorted"]),
        (&Json::from(false), &Json::from(false))
    );
    assert!(phase[0].0 == 1000.0 && phase.windows(2).all(|p| p[1].1 > p[0].1), "{phase:?}");
}

#[test]
fn a_run_that_failed_has_a_report_of_what_it_wrote() {
    let dir = folder("report_failed");
    let text = "stop = \"10 s\"\n[unit.b]\nkind = \"equations\"\nstates = { x = 1 }\n\
                derivatives = { x = \"x^2\" }\noutputs = { x = \"x\" }\n";
    fs::write(dir.join("fail.toml"), text).unwrap();
    assert_eq!(superdense(&dir, "run fail.toml").status.code(), Some(3));
    let data = page(&dir, "out/fail");
    assert_eq!(data["remarks"][0][0], "Not at its end");
    let all = points(&data["panels"][0]["curves"][0]);
    assert!(all.len() > 10 && all.last().unwrap().0 <= 1.0, "{all:?}");
}

#[test]
fn runs_part_where_they_differ() {
    let dir = folder("compare");
    let ball = |name: &str, at: &str| {
        let text = format!(
            "stop = \"4 s\"\n[unit.ball]\nkind = \"equations\"\nstates = {{ x = 10.0, v = 0 }}\n\
             derivatives = {{ x = \"v\", v = \"-9.81\" }}\noutputs = {{ height = \"x\" }}\n\
             [[unit.ball.event]]\nname = \"kick\"\nat = [\"{at}\"]\nreset = {{ v = \"v + 1\" }}\n\
             [result]\nlow = \"min(ball.height)\"\n"
        );
        fs::write(dir.join(format!("{name}.toml")), text).unwrap();
        good(&dir, &format!("run {name}.toml"));
    };
    ball("a", "1 s");
    ball("b", "1 s");
    ball("c", "1.01 s");
    let told = json(&good(&dir, "compare out/a out/b --json"));
    assert_eq!((&told["equal"], &told["exit_code"]), (&Json::from(true), &Json::from(0)));
    // One run, of which less is recorded.
    good(&dir, "run a.toml --out out/less --set record=[]");
    let told = json(&good(&dir, "compare out/a out/less --json"));
    assert_eq!((&told["equal"], &told["parts"]), (&Json::from(true), &Json::Null));
    let output = superdense(&dir, "compare out/a out/c --json");
    assert_eq!(output.status.code(), Some(1));
    let told = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(told["parts"]["time"], "1");
    assert_eq!((&told["events"]["shifted"], &told["events"]["missed"]), (&1.into(), &0.into()));
    // The kick of 1 m/s comes 0.01 s later, and moves the end by so much.
    let shift =
        told["results"][0]["b"].as_f64().unwrap() - told["results"][0]["a"].as_f64().unwrap();
    assert!((shift + 0.01).abs() < 1e-9, "{shift}");
    let deviation = told["signals"][0]["deviation"].as_f64().unwrap();
    assert!((deviation.abs() - 0.01).abs() < 1e-9, "{deviation}");
    let output = superdense(&dir, "compare out/a out/c --window 5ms");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 missed, 1 extra"), "{said}");
    // It falls from the beginning, and is kicked much later.
    good(&dir, "run c.toml --out out/d --set unit.ball.states.x=11");
    let output = superdense(&dir, "compare out/a out/d --json");
    let told = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(
        (&told["parts"]["time"], &told["parts"]["place"]),
        (&"0".into(), &"the sample of ball.height".into())
    );
}

/// Ticks of a microsecond and a nanosecond are one time in seconds, and events that both runs have are matched.
#[test]
fn runs_of_two_resolutions_are_compared_in_seconds() {
    let dir = folder("compare-ticks");
    let text = "stop = '10 s'\nsample = '0.5 s'\nrecord = ['k.y']\nconnections = ['s.y -> k.u', 'k.y -> g.u']\n\
                [unit.s]\nkind = 'schedule'\ntimes = [1, 2, 3]\nvalues = [1, 2, 3]\n[unit.k]\nkind = 'hold'\n\
                [unit.g]\nkind = 'equations'\ninputs = { u = 0 }\nstates = { x = 0 }\nderivatives = { x = '0' }\n\
                [[unit.g.event]]\nname = 'moved'\nwhen = 'u > 0.5'\nreset = { x = 'x + 1' }\n";
    fs::write(dir.join("a.toml"), text).unwrap();
    good(&dir, "run a.toml --out out/a");
    good(&dir, "run a.toml --out out/b --set resolution=us");
    good(&dir, "run a.toml --out out/c --set resolution=us --set unit.s.times=[1,2.25,3]");
    let parts = |other: &str| {
        let output = superdense(&dir, &format!("compare out/a out/{other} --json"));
        json(&String::from_utf8_lossy(&output.stdout))["parts"].clone()
    };
    assert_eq!(parts("b"), Json::Null);
    assert_eq!(parts("c")["time"], "2");
}
