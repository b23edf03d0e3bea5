//! A problem under `auto` and under every fixed method.
use super::{
    Problem, Row,
    job::{Job, Outcome},
};
use crate::gates::MEASURED;
use std::{
    io::Read,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Methods that a user can name.
const METHODS: [&str; 10] =
    ["closed", "rk45", "rk23", "taylor", "rodas", "qss1", "qss2", "qss3", "liqss2", "mliqss2"];
/// Runs that bring a method to the error of `auto`.
const TRIES: usize = 5;
/// Errors below this many tolerances are not told apart.
const FLOOR: f64 = 1e-3;
/// How far two tight runs may be from each other, in tolerances.
const CONFIRMED: f64 = 0.1;
/// Methods whose instructions are counted.
const COUNTED: usize = 3;

/// A method at the error of `auto`.
struct Rival {
    job: Job,
    error: f64,
    seconds: f64,
}

fn own() -> Result<Command, String> {
    Ok(Command::new(std::env::current_exe().map_err(|e| e.to_string())?))
}

/// A job in a child process, which is ended when it takes longer than `limit`.
fn run(job: &Job, limit: Duration) -> Result<Outcome, String> {
    let text = serde_json::to_string(job).map_err(|e| e.to_string())?;
    let mut child = own()?
        .args(["--child", &text])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            let mut text = String::new();
            let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
            if status.success() {
                out.as_mut().map(|o| o.read_to_string(&mut text));
                return serde_json::from_str(text.trim()).map_err(|e| e.to_string());
            }
            err.as_mut().map(|o| o.read_to_string(&mut text));
            return Err(text.trim().to_owned());
        }
        if begun.elapsed() > limit {
            drop(child.kill());
            drop(child.wait());
            return Err(format!("takes more than {} s", limit.as_secs_f64()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Instructions of a job, by callgrind.
fn count(job: &Job) -> Result<u64, String> {
    let text = serde_json::to_string(&Job { counted: true, ..job.clone() });
    let out = std::env::temp_dir().join(format!(
        "auto-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().map_err(|e| e.to_string())?)
        .args(["--child", &text.map_err(|e| e.to_string())?])
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    drop(std::fs::remove_file(&out));
    let log = String::from_utf8_lossy(&output.stderr);
    let collected = log.lines().find_map(|l| l.split("Collected : ").nth(1)?.trim().parse().ok());
    collected.filter(|&n| n > 0).ok_or_else(|| format!("callgrind counted nothing: {log}"))
}

/// The largest difference, in tolerances.
fn error(found: &Outcome, reference: &[f64]) -> f64 {
    let (relative, absolute) = found.tolerances;
    let off = |(x, r): (&f64, &f64)| (x - r).abs() / (relative * r.abs()).max(absolute);
    let worst = found.samples.iter().zip(reference).map(off).fold(0.0, f64::max);
    let whole =
        found.samples.len() == reference.len() && found.samples.iter().all(|x| x.is_finite());
    if whole { worst } else { f64::INFINITY }
}

/// Outputs of a tight run that another one confirms.
fn reference(problem: &Problem, relative: f64) -> Result<Vec<f64>, String> {
    let tight = |method: &str, tolerance: f64| {
        let scale = (tolerance / relative).min(1e-2);
        let job = Job { file: problem.file.clone(), method: method.into(), scale, counted: false };
        run(&job, Duration::from_secs(90)).ok()
    };
    let tries = [
        ("closed", 1e-13),
        ("taylor", 1e-13),
        ("rk45", 1e-12),
        ("rodas", relative * 1e-4),
        ("rodas", relative * 1e-3),
    ];
    let mut found: Vec<Outcome> = Vec::new();
    let mut least = f64::INFINITY;
    for (method, tolerance) in tries {
        let Some(next) = tight(method, tolerance) else { continue };
        for earlier in &found {
            let off = error(&next, &earlier.samples);
            if off <= CONFIRMED {
                return Ok(earlier.samples.clone());
            }
            least = least.min(off);
        }
        found.push(next);
    }
    Err(format!("tight runs differ by {least} tolerances"))
}

/// A method at tolerances that make its error as large as `wanted`, if it can be done.
fn rival(
    auto: &Job,
    method: &str,
    wanted: f64,
    reference: &[f64],
    limit: Duration,
) -> Option<Rival> {
    let wanted = wanted.max(FLOOR);
    let mut scale = 1.0;
    let mut best: Option<Rival> = None;
    for _ in 0..TRIES {
        let job = Job { method: method.into(), scale, ..auto.clone() };
        let Ok(found) = run(&job, limit) else { break };
        let error = error(&found, reference);
        let seconds = found.seconds;
        if error <= 2.0 * wanted && best.as_ref().is_none_or(|b| seconds < b.seconds) {
            best = Some(Rival { job, error, seconds });
        }
        if error <= 2.0 * wanted && error >= 0.5 * wanted {
            break;
        }
        // Errors of quantised methods go with the quanta, those of the others nearly with the tolerances.
        let factor = (wanted / error.max(FLOOR / 2.0)).clamp(1e-3, 1e2);
        let next = (scale * factor).clamp(1e-6, 1e4);
        if (next / scale).ln().abs() < 0.1 || next * found.tolerances.0 > 0.1 {
            break;
        }
        scale = next;
    }
    best
}

/// The row of a problem.
///
/// # Errors
/// When `auto` fails, or where no reference is found.
pub fn compare(problem: &Problem) -> Result<Row, String> {
    let said = |why: String| format!("{}: {why}", problem.name);
    let auto =
        Job { file: problem.file.clone(), method: "auto".into(), scale: 1.0, counted: false };
    let found = run(&auto, Duration::from_secs(60)).map_err(said)?;
    let reference = reference(problem, found.tolerances.0).map_err(said)?;
    let wanted = error(&found, &reference);
    let limit = Duration::from_secs_f64(1.0 + 20.0 * found.seconds);
    let rival = |method: &&str| rival(&auto, method, wanted, &reference, limit);
    let mut rivals: Vec<Rival> = METHODS.iter().filter_map(rival).collect();
    rivals.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    rivals.truncate(COUNTED);
    let mut counted = Vec::new();
    for rival in &rivals {
        counted.push((count(&rival.job).map_err(said)?, rival));
    }
    let best = counted.iter().min_by_key(|c| c.0);
    let (instructions, best) = best.ok_or_else(|| said("no method comes to its error".into()))?;
    let auto_instructions = count(&auto).map_err(said)?;
    Ok(Row::new(
        problem.name.clone(),
        (found.chosen.join(" "), auto_instructions, wanted),
        (best.job.method.clone(), *instructions, best.error),
    ))
}
