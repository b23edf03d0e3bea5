//! One scenario over ranks of MPI. Without `mpich` the tests that need it say so and end.
use super::{assert_equal_results, command, folder, json, read};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Output, Stdio},
    time::{Duration, Instant},
};

/// Three areas of a grid, with tie lines that know each other's angles late.
const AREAS: &str = include_str!("areas.toml");

/// An MPI with the standard ABI.
fn mpi() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mpi");
    let given = std::env::var_os("SUPERDENSE_MPI").map(PathBuf::from);
    let has_both = |dir: &PathBuf| {
        dir.join("lib/libmpi_abi.so.1").is_file() && dir.join("bin/mpiexec").is_file()
    };
    let found = given.into_iter().chain([own]).find(has_both);
    if found.is_none() {
        println!("skipped: there is no MPI in target/mpi (tests/run installs it)");
    }
    found
}

/// A scenario of the library.
fn library(file: &str) -> String {
    super::library::library().join(file).display().to_string()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A folder of one test.
struct Bench {
    dir: PathBuf,
    mpi: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Option<Self> {
        let mpi = mpi()?;
        Some(Self { dir: folder(&format!("ranks-{name}")), mpi })
    }

    /// A scenario over so many ranks, with the options of `line`.
    fn over(&self, ranks: u32, line: &str) -> std::process::Command {
        let mut command = command(&self.dir, line);
        command.arg("--hosts").arg(format!("localhost:{ranks}")).arg("--mpi").arg(&self.mpi);
        command
    }

    fn good(&self, mut command: std::process::Command) -> String {
        let output = command.output().unwrap();
        let (text, err) = texts(&output);
        assert!(output.status.success(), "{command:?}: {}\n{text}{err}", output.status);
        text
    }

    /// The messages of a command that fails with this code.
    fn fails(&self, mut command: std::process::Command, code: i32) -> String {
        let output = command.output().unwrap();
        let (text, err) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{command:?}\n{text}{err}");
        err
    }

    /// Runs a scenario as usual, and over 1, 2 and 3 ranks, with some options more; all files are equal. The number of
    /// windows over three.
    fn equal(&self, file: &str, options: &str, more: &str) -> u64 {
        let mut windows = 0;
        let one = format!("run {file} --out one {options}");
        self.good(command(&self.dir, &one));
        for ranks in 1..=3 {
            let out = format!("ranks-{ranks}");
            let text =
                self.good(self.over(ranks, &format!("run {file} --out {out} {options} {more}")));
            let hash = json(&read(&self.dir, "one/summary.json"))["trace_hash"].clone();
            assert!(text.contains(hash.as_str().unwrap()), "{text}");
            assert_equal_results(&self.dir.join("one"), &self.dir.join(&out));
            let executor = &json(&read(&self.dir, &format!("{out}/performance.json")))["executor"];
            assert_eq!(executor["workers"], ranks);
            windows = executor["gvt_rounds"].as_u64().unwrap();
        }
        windows
    }
}

#[test]
fn tokens_over_ranks_give_equal_files() {
    let Some(bench) = Bench::new("phold") else { return };
    let file = library("phold.toml");
    assert!(bench.equal(&file, "--set entities=256 --set duration=0.1s", "") > 50);
}

#[test]
fn a_torus_of_queues_over_ranks_gives_equal_files() {
    let Some(bench) = Bench::new("s4b") else { return };
    let file = library("network/s4b.toml");
    let windows = bench.equal(&file, "--set duration=3s --set warm_up=1s", "--partition wiring");
    assert!(windows > 1000, "{windows}");
}

/// Continuous units: silent steps, located events, results from solutions.
#[test]
fn areas_of_a_grid_over_ranks_give_equal_files() {
    let Some(bench) = Bench::new("areas") else { return };
    fs::write(bench.dir.join("areas.toml"), AREAS).unwrap();
    assert!(bench.equal("areas.toml", "", "") > 100);
}

/// Peers join and leave: each rank goes through that for itself.
#[test]
fn a_structure_that_changes_gives_equal_files() {
    let Some(bench) = Bench::new("population") else { return };
    bench.equal(&library("network/population.toml"), "--set duration=40s", "");
}

/// A wire without a delay is named, with what to do about it; where no unit makes silent steps, ranks may go from cycle
/// to cycle.
#[test]
fn wires_without_delays_are_named() {
    let Some(bench) = Bench::new("undelayed") else { return };
    let areas = AREAS.replace(" via delay('20 ms')", "");
    fs::write(bench.dir.join("areas.toml"), areas).unwrap();
    let err = bench.fails(bench.over(2, "run areas.toml --out refused"), 2);
    assert!(err.contains("from `area[") && err.contains(".angle` to `area["), "{err}");
    assert!(err.contains("via delay") && err.contains("--without-windows"), "{err}");
    assert!(!bench.dir.join("refused").exists());
    let file = library("phold.toml");
    let options = "--set hop.lookahead=0s --set entities=64 --set duration=0.02s";
    let err = bench.fails(bench.over(2, &format!("run {file} --out refused {options}")), 2);
    assert!(err.contains("from `entity["), "{err}");
    assert!(bench.equal(&file, options, "--without-windows") > 10);
}

/// Processes of a command's ranks, by the folder of their results.
fn members(out: &str) -> Vec<(u32, i32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let words = String::from_utf8_lossy(&read("cmdline")).into_owned();
        if !words.contains(out) || !words.contains("member=") {
            continue;
        }
        let variables = String::from_utf8_lossy(&read("environ")).into_owned();
        let rank = variables.split('\0').find_map(|v| v.strip_prefix("PMI_RANK=")?.parse().ok());
        found.extend(rank.map(|rank| (rank, pid)));
    }
    found.sort_unstable();
    found
}

/// Starts a run, and waits until its files grow; its ranks.
fn begun(bench: &Bench, out: &str, mut command: std::process::Command) -> (Child, Vec<(u32, i32)>) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let samples = bench.dir.join(out).join("samples.csv");
    while !fs::read_to_string(&samples).is_ok_and(|text| text.lines().count() > 1) {
        assert!(Instant::now() < until, "the run does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    (child, members(out))
}

fn signal(pid: i32, name: &str) {
    let done = std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

/// A killed rank is named within two seconds, the files up to there can be read, and nobody is left.
#[test]
fn a_killed_rank_is_named() {
    let Some(bench) = Bench::new("killed") else { return };
    for (rank, out) in [(1, "killed-one"), (0, "killed-first")] {
        let file = library("phold.toml");
        let sizes = "--set entities=256 --set duration=500s --sample 0.05s";
        let line = format!("run {file} --out {out} {sizes}");
        let (child, ranks) = begun(&bench, out, bench.over(3, &line));
        assert_eq!(ranks.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1, 2]);
        let killed = Instant::now();
        signal(ranks[rank].1, "-KILL");
        let output = child.wait_with_output().unwrap();
        let took = killed.elapsed();
        let (text, err) = texts(&output);
        assert_eq!(output.status.code(), Some(3), "{text}{err}");
        let named = format!("error: rank {rank} on localhost was killed by signal 9");
        assert!(err.contains(&named) && !text.contains("TERMINATION"), "{text}{err}");
        assert!(took < Duration::from_secs(2), "{took:?}");
        let samples = read(&bench.dir.join(out), "samples.csv");
        assert!(samples.lines().count() > 1 && samples.ends_with('\n'), "{samples}");
        if rank > 0 {
            let summary = json(&read(&bench.dir.join(out), "summary.json"));
            assert_eq!(summary["ended"], "fault");
        }
        let until = Instant::now() + Duration::from_secs(5);
        while !members(out).is_empty() {
            assert!(Instant::now() < until, "somebody is left: {:?}", members(out));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where the command itself is ended, its ranks do not go on without it, and the run can be resumed.
#[test]
fn ranks_end_with_the_command() {
    let Some(bench) = Bench::new("ended") else { return };
    for (signals, out) in [(&["-TERM", "-TERM"][..], "ended-twice"), (&["-KILL"], "ended-killed")] {
        let file = library("phold.toml");
        let sizes = "--set entities=256 --set duration=500s --sample 0.05s";
        let line = format!("run {file} --out {out} {sizes}");
        let (mut child, ranks) = begun(&bench, out, bench.over(2, &line));
        assert_eq!(ranks.len(), 2);
        let pid = child.id().cast_signed();
        signals.iter().for_each(|name| signal(pid, name));
        child.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(15);
        while !members(out).is_empty() {
            assert!(Instant::now() < until, "somebody is left: {:?}", members(out));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(bench.dir.join(out).join("checkpoint").is_file(), "{signals:?}");
    }
}

/// Ctrl-C stops all ranks; the run goes on from its checkpoint in one process, or over other ranks, as if nothing had
/// happened.
#[test]
fn an_interrupted_run_goes_on() {
    let Some(bench) = Bench::new("interrupted") else { return };
    let file = library("phold.toml");
    let options = "--set entities=256 --set duration=6s";
    bench.good(command(&bench.dir, &format!("run {file} --out one {options}")));
    let mut command = bench.over(2, &format!("run {file} --out two {options}"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !bench.dir.join("two/samples.csv").is_file() {
        assert!(Instant::now() < until, "the run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(child.id().cast_signed(), "-INT");
    let output = child.wait_with_output().unwrap();
    let (text, err) = texts(&output);
    assert_eq!(output.status.code(), Some(130), "{text}{err}");
    assert!(text.contains("interrupted at") && text.contains("resume"), "{text}{err}");
    let copy = bench.dir.join("three");
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(bench.dir.join("two")).unwrap().flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    bench.good(super::command(&bench.dir, "resume two"));
    bench.good(bench.over(3, "resume three"));
    for out in ["two", "three"] {
        assert_equal_results(&bench.dir.join("one"), &bench.dir.join(out));
    }
}

/// Without MPI, or with a library of another ABI, the remedy is named.
#[test]
fn a_missing_library_is_told() {
    let dir = folder("ranks-missing");
    fs::write(dir.join("areas.toml"), AREAS).unwrap();
    let fails = |folder: &str| {
        fs::create_dir_all(dir.join(folder)).unwrap();
        let mut command = command(&dir, "run areas.toml --hosts localhost:2 --mpi");
        let output = command.arg(folder).output().unwrap();
        let (text, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{text}{err}");
        assert!(err.contains("pip install mpich"), "{err}");
        err
    };
    assert!(fails("empty").contains("there is no libmpi_abi.so.1"));
    fs::create_dir_all(dir.join("broken/lib")).unwrap();
    fs::write(dir.join("broken/lib/libmpi_abi.so.1"), "no library").unwrap();
    assert!(fails("broken").contains("cannot be loaded"));
    let other = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6"];
    if let Some(other) = other.into_iter().find(|file| Path::new(file).is_file()) {
        fs::create_dir_all(dir.join("other/lib")).unwrap();
        std::os::unix::fs::symlink(other, dir.join("other/lib/libmpi_abi.so.1")).unwrap();
        assert!(fails("other").contains("it has no function MPI_"));
    }
}

/// Whatever ranks cannot do is refused before any is started.
#[test]
fn what_does_not_go_over_ranks_is_refused() {
    let dir = folder("ranks-refused");
    fs::write(dir.join("areas.toml"), AREAS).unwrap();
    for (options, named) in [
        ("--hosts localhost:x", "names no hosts"),
        ("--hosts localhost:2 --verify", "--verify does not go with --hosts"),
        ("--hosts localhost:2 --executor auto", "--executor does not go with --hosts"),
        ("--partition wiring", "--hosts"),
        ("--mpi here", "--hosts"),
    ] {
        let output = command(&dir, &format!("run areas.toml {options}")).output().unwrap();
        let (text, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {text}{err}");
        assert!(err.contains(named), "{options}: {err}");
    }
}

/// Two hosts on one machine: network namespaces, joined by a cable.
struct Cable {
    names: [String; 2],
    /// Reaches them, as `ssh` does hosts.
    reach: PathBuf,
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

/// Whether `ip` did something.
fn ip(line: &str) -> bool {
    let mut ip = std::process::Command::new("ip");
    let status = ip.args(line.split_whitespace()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

const ADDRESSES: [&str; 2] = ["10.97.0.1", "10.97.0.2"];

impl Cable {
    fn lay(bench: &Bench) -> Option<Self> {
        let names = ["a", "b"].map(|end| format!("ranks-{}-{end}", std::process::id()));
        let [a, b] = &names;
        let reach = bench.dir.join("reach");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -x ] && shift\nto={b}\n[ \"$1\" = {} ] && to={a}\nshift\n\
             exec ip netns exec $to sh -c \"$*\"\n",
            ADDRESSES[0]
        );
        fs::write(&reach, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&reach, mode).unwrap();
        // An end that is not there cannot be taken away, either.
        let cable = Self { names: names.clone(), reach };
        let laid = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!("link add va netns {a} type veth peer name vb netns {b}"))
            && [(a, "va", ADDRESSES[0]), (b, "vb", ADDRESSES[1])].iter().all(|(name, end, at)| {
                ip(&format!("-n {name} addr add {at}/24 dev {end}"))
                    && ip(&format!("-n {name} link set {end} up"))
                    && ip(&format!("-n {name} link set lo up"))
            });
        if !laid {
            println!("skipped: network namespaces need root and `ip`");
        }
        laid.then_some(cable)
    }

    /// A command on the first host, for ranks on both.
    fn over(&self, bench: &Bench, line: &str) -> std::process::Command {
        let mut command = std::process::Command::new("ip");
        let program = env!("CARGO_BIN_EXE_superdense");
        command.current_dir(&bench.dir).args(["netns", "exec", &self.names[0], program]);
        command.args(line.split_whitespace()).arg("--hosts").arg(ADDRESSES.join(","));
        command.arg("--mpi").arg(&bench.mpi);
        command.env("HYDRA_LAUNCHER", "ssh").env("HYDRA_LAUNCHER_EXEC", &self.reach);
        command
    }
}

/// Over a network, files are equal, and a rank that is killed is named with its host.
#[test]
fn ranks_on_two_hosts_give_equal_files() {
    let Some(bench) = Bench::new("hosts") else { return };
    let Some(cable) = Cable::lay(&bench) else { return };
    fs::write(bench.dir.join("areas.toml"), AREAS).unwrap();
    bench.good(command(&bench.dir, "run areas.toml --out one"));
    bench.good(cable.over(&bench, "run areas.toml --out two"));
    assert_equal_results(&bench.dir.join("one"), &bench.dir.join("two"));
    for (name, file, sizes) in [
        ("s4b", "network/s4b.toml", "--set duration=1s --set warm_up=0.2s"),
        ("phold", "phold.toml", "--set entities=64 --set duration=0.02s"),
    ] {
        let (file, [one, two]) = (library(file), ["one", "two"].map(|n| format!("{name}-{n}")));
        bench.good(command(&bench.dir, &format!("run {file} --out {one} {sizes}")));
        bench.good(cable.over(&bench, &format!("run {file} --out {two} {sizes}")));
        assert_equal_results(&bench.dir.join(one), &bench.dir.join(two));
    }
    let file = library("phold.toml");
    let line = format!(
        "run {file} --out hosts-killed --set entities=256 --set duration=500s --sample 0.05s"
    );
    let (child, ranks) = begun(&bench, "hosts-killed", cable.over(&bench, &line));
    let killed = Instant::now();
    signal(ranks[1].1, "-KILL");
    let output = child.wait_with_output().unwrap();
    let (took, (text, err)) = (killed.elapsed(), texts(&output));
    assert_eq!(output.status.code(), Some(3), "{text}{err}");
    assert!(err.contains("rank 1 on 10.97.0.2 was killed by signal 9"), "{text}{err}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}
