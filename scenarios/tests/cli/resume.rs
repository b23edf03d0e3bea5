//! A run that is killed or interrupted and goes on gives the files of a run that was not.
//!
//! `SUPERDENSE_KILLS` sets how many kills; without it there are twenty.
use super::*;
use std::{
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

/// Simulated seconds of a run that takes some seconds.
const UNTIL: &str = "1500";

/// Pseudo-random numbers for the moments of kills; the seed is printed on failure by the test's
/// own messages.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn spawn(dir: &Path, line: &str) -> std::process::Child {
    command(dir, line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn assert_readable(out: &Path) {
    for name in ["events.csv", "samples.csv", "trajectory.csv"] {
        let text = read(out, name);
        let columns = text.lines().next().unwrap().split(',').count();
        let complete = &text[..text.rfind('\n').map_or(0, |i| i + 1)];
        assert!(complete.lines().all(|l| l.split(',').count() == columns), "{name}");
    }
}

#[test]
fn kills_leave_no_trace() {
    let dir = mixed("kills");
    let started = Instant::now();
    good(&dir, &format!("run mixed.toml --quiet --until {UNTIL} --out whole"));
    let whole = started.elapsed().as_millis() as u64;
    let seed = std::process::id().into();
    let mut moments = Moments(seed);
    let wanted = std::env::var("SUPERDENSE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let (mut kills, mut rounds) = (0, 0);
    while kills < wanted {
        rounds += 1;
        assert!(rounds < 2 * wanted, "too few kills hit a running program");
        let out = dir.join("parts");
        let _ = fs::remove_dir_all(&out);
        let first = format!("run mixed.toml --until {UNTIL} --out parts --checkpoint-every 0.1");
        let mut child = spawn(&dir, &first);
        while !out.join("checkpoint").exists() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        let mut done = false;
        while !done && kills < wanted {
            sleep(Duration::from_millis(moments.next(whole / 3)));
            done = child.try_wait().unwrap().is_some();
            if !done {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                assert_readable(&out);
                child = spawn(&dir, "resume parts");
            }
        }
        let status = child.wait().unwrap();
        assert!(status.success(), "seed {seed}, after {kills} kills: {status}");
        assert_equal_results(&dir.join("whole"), &out);
    }
}

/// Two programs do not write into one directory, and the one that was there first goes on unharmed.
#[cfg(unix)]
#[test]
fn a_directory_has_one_run() {
    let dir = mixed("held");
    good(&dir, &format!("run mixed.toml --quiet --until {UNTIL} --out whole"));
    let first = format!("run mixed.toml --until {UNTIL} --out parts --checkpoint-every 0.1");
    let mut child = spawn(&dir, &first);
    while !dir.join("parts/checkpoint").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended without a checkpoint");
        sleep(Duration::from_millis(1));
    }
    for line in
        ["run mixed.toml --quiet --until 1 --force --out parts", "resume parts", "plot parts"]
    {
        let refused = superdense(&dir, line);
        if child.try_wait().unwrap().is_some() {
            break;
        }
        let err = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(err.contains("another run is writing its results here"), "{line}: {err}");
    }
    assert!(child.wait().unwrap().success());
    assert_equal_results(&dir.join("whole"), &dir.join("parts"));
}

/// Starts a long run, sends it a signal by its number after a while, and returns the exit code.
#[cfg(unix)]
fn interrupt(dir: &Path, line: &str) -> Output {
    let mut child = command(dir, line);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(400));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_results_and_a_checkpoint() {
    let dir = mixed("interrupt");
    good(&dir, &format!("run mixed.toml --quiet --until {UNTIL} --out whole"));
    let line = format!("run mixed.toml --json --until {UNTIL} --out parts");
    let output = interrupt(&dir, &line);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let told = json(&text);
    assert_eq!((&told["status"], &told["exit_code"]), (&Json::from("interrupted"), &130.into()));
    let parts = dir.join("parts");
    assert!(parts.join("checkpoint").exists() && !parts.join("summary.json").exists());
    assert!(read(&parts, "samples.csv").lines().count() > 1);

    // Another scenario, or shortened results, are refused, and nothing is touched.
    let before = read(&parts, "samples.csv");
    fs::write(dir.join("mixed.toml"), MIXED.replace("rate = 8", "rate = 7")).unwrap();
    let refused = superdense(&dir, "resume parts");
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("not the one of the checkpoint"), "{err}");
    assert_eq!(read(&parts, "samples.csv"), before);
    fs::write(dir.join("mixed.toml"), MIXED).unwrap();
    let mut damaged = fs::read(parts.join("checkpoint")).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(parts.join("damaged"), damaged).unwrap();
    let refused = superdense(&dir, "resume parts/damaged");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("checksum"));
    fs::remove_file(parts.join("damaged")).unwrap();

    // So is any changed byte of a table.
    for name in ["events.csv", "samples.csv", "trajectory.csv"] {
        let whole = fs::read(parts.join(name)).unwrap();
        for at in [0, whole.len() / 3, whole.len() - 2] {
            let mut changed = whole.clone();
            changed[at] = if changed[at] == b'7' { b'8' } else { b'7' };
            fs::write(parts.join(name), &changed).unwrap();
            let refused = superdense(&dir, "resume parts");
            let err = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(2), "{name}, byte {at}: {err}");
            assert!(err.contains(name) && err.contains("changed"), "{err}");
            assert!(fs::read(parts.join(name)).unwrap() == changed, "{name} is touched");
        }
        fs::write(parts.join(name), whole).unwrap();
    }

    // The directory may have been moved.
    fs::rename(&parts, dir.join("moved")).unwrap();
    good(&dir, "resume moved/checkpoint");
    assert_equal_results(&dir.join("whole"), &dir.join("moved"));
    assert!(!dir.join("moved/checkpoint").exists());
    good(&dir, "resume moved");
}

/// A verification that is interrupted in one of its runs goes on as one.
#[cfg(unix)]
#[test]
fn a_verification_is_resumed_too() {
    let dir = mixed("verification");
    let line = |out: &str| format!("run mixed.toml --json --verify --until 600 --out {out}");
    good(&dir, &line("whole"));
    let output = interrupt(&dir, &line("parts"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert_eq!(json(&text)["status"], "interrupted", "{text}");
    let parts = dir.join("parts");
    assert!(parts.join("verifying.json").is_file());
    fs::rename(&parts, dir.join("moved")).unwrap();
    let told = json(&good(&dir, "resume moved --json"));
    assert!(told["verify"]["worst_event_bar"].is_number(), "{told}");
    for name in ["event_bars.csv", "sample_bars.csv", "verify.json"] {
        assert_eq!(read(&dir.join("whole"), name), read(&dir.join("moved"), name), "{name}");
    }
    assert_equal_results(&dir.join("whole"), &dir.join("moved"));
    assert!(!dir.join("moved/verifying.json").exists());
}
