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
    assert!(output.status.code() == Some(2) && said.contains("no run that has ended"), "{said}");
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
}
