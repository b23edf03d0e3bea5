//! `check` ends soon and in little memory, whatever a small file asks for.
use super::*;

/// A file and what is said of it; nothing where it is within the limits.
fn cases() -> Vec<(&'static str, String, &'static str)> {
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/regressions");
    let regression = Path::new(regressions).join("check_huge_template_count.toml");
    let huge = fs::read_to_string(regression).unwrap();
    let constants =
        |count: u64| format!("stop = 1\n[unit.a]\nkind = 'constant'\nvalue = 1\ncount = {count}\n");
    let states = |count: u64| {
        format!(
            "stop = 1\n[unit.a]\nkind = 'equations'\nstates = {{ 'x[1..={count}]' = 0 }}\n\
             derivatives = {{ 'x[i]' = '-x[i]' }}\n"
        )
    };
    let balls = |count: u64| {
        let states = states(1).replace("[1..=1]", "").replace("[i]", "");
        format!("{states}count = {count}\n")
    };
    let equal = |count: u64| {
        format!(
            "stop = 1\nconnections = ['a.y -> b.u for i in 0..{count}']\n[unit.a]\n\
             kind = 'constant'\nvalue = 1\n[unit.b]\nkind = 'gain'\ngain = 1\n"
        )
    };
    let sums =
        |count: u64| states(count).replace("'-x[i]'", &format!("'sum(x[j] for j in 1..={count})'"));
    let listed = "'a.y -> b.u', ".repeat(60_000);
    vec![
        ("template", huge.clone(), "units, more than 500 thousand"),
        ("template_of_few", huge.replace("1000000000", "400000"), "units, more than 500 thousand"),
        ("template_of_more", huge.replace("1000000000", "50000"), ""),
        ("constants", constants(1_000_000), "units, more than 500 thousand"),
        ("fewer_constants", constants(400_000), ""),
        ("states", states(1_000_000), "more than 50 thousand elements"),
        ("fewer_states", states(40_000), ""),
        ("balls", balls(100_000), "a continuous unit counts as 20"),
        ("fewer_balls", balls(20_000), ""),
        ("equal", equal(100_000_000), "at most a million members"),
        ("fewer_equal", equal(900_000), "connected twice"),
        ("listed", equal(1).replace("'a.y -> b.u for i in 0..1'", &listed), "connected twice"),
        ("sums", sums(2_000), "operations"),
        ("fewer_sums", sums(600), ""),
        ("records", constants(400_000) + "[unit.b]\nkind='constant'\nvalue=1\n", ""),
    ]
}

#[test]
fn small_files_take_little() {
    let dir = folder("budgets");
    for (name, text, says) in cases() {
        let text = match name {
            "records" => format!("record = ['a[*].y']\n{text}"),
            _ => text,
        };
        fs::write(dir.join(name).with_extension("toml"), text).unwrap();
        // Address space: 500 MB, the program, its stack.
        let limit = if cfg!(target_os = "linux") { "ulimit -v 750000; " } else { "" };
        let program = env!("CARGO_BIN_EXE_superdense");
        let script = format!("ulimit -t 20; {limit}exec {program} check {name}.toml");
        let output = Command::new("sh").current_dir(&dir).args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Lines of messages are wrapped.
        let said = said.split_whitespace().filter(|w| *w != "|").collect::<Vec<_>>().join(" ");
        let wanted = if says.is_empty() && name != "records" { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(wanted), "{name}: {said}");
        assert!(said.contains(says), "{name}: {said}");
        assert!(wanted == 0 || said.contains("help:"), "{name}: {said}");
    }
}

/// A unit of a network, with its eight connections and its part of plan and tables, takes as much memory among 65536 as
/// among 16384.
#[cfg(target_os = "linux")]
#[test]
fn memory_grows_with_units_alone() {
    let dir = folder("budgets-memory");
    let file = library::library().join("phold.toml");
    let peak = |entities: u32| {
        let sets = format!("--set entities={entities} --set duration=2ms --trajectory none");
        good(&dir, &format!("run {} --quiet --force --out out {sets}", file.display()));
        let told = json(&read(&dir, "out/performance.json"));
        told["peak_memory_bytes"].as_f64().expect("the system tells it")
    };
    let [few, some, many] = [4096, 16384, 65536].map(peak);
    let (first, then) = ((some - few) / 12_288.0, (many - some) / 49_152.0);
    // Tables double their room when they are full.
    assert!((0.7..1.5).contains(&(then / first)), "{first} and then {then} bytes for each unit");
    assert!((1.4e3..2.7e3).contains(&then), "{then} bytes for each unit");
}
