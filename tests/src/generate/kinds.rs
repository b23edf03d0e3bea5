//! Campaigns of the other kinds: networks, couplings, executors.
use super::{
    campaign::{self, Options},
    compare,
    coupling::{self, Coupled},
    judges::{Opinion, compare_executors},
    network::{self, Network},
    random::Random,
    run::{End, Outcome, Runner},
    settings::Executor,
};
use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What a campaign of one of these kinds found.
#[derive(Debug, Default)]
pub struct Summary {
    /// Models made.
    pub models: u64,
    /// Runs.
    pub runs: u64,
    /// Models that were skipped or failed as they should.
    pub undecided: u64,
    /// Numbers of the models that are wrong, and what is.
    pub disagreements: Vec<(u64, String)>,
    /// Files of shrunk models.
    pub files: Vec<PathBuf>,
}

/// Says of a model what is wrong about it, and its shrunk text; nothing if all is right.
type Check = dyn Fn(&Options, &Runner, u64) -> Result<(), (String, String)> + Sync;

/// The check of a kind.
pub fn check(kind: &str) -> Option<Box<Check>> {
    match kind {
        "network" => Some(Box::new(network_model)),
        "coupling" => Some(Box::new(coupling_model)),
        "executor" => Some(Box::new(executor_model)),
        _ => None,
    }
}

/// Makes and judges the models of a campaign.
///
/// # Errors
/// When there is no place for files.
pub fn run(kind: &str, options: &Options, check: &Check) -> io::Result<Summary> {
    let runner = Runner::new()?;
    let next = AtomicU64::new(options.from);
    let end = options.from + options.models;
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    if let Err((why, text)) = check(options, &runner, number) {
                        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                        found.push((number, why, text));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    let mut summary = Summary { models: options.models, runs: runner.runs(), ..Summary::default() };
    for (at, (number, why, text)) in found.into_iter().enumerate() {
        if at < options.keep {
            fs::create_dir_all(&options.folder)?;
            let file = options.folder.join(format!("{kind}-{}-{number}.toml", options.seed));
            let head = format!(
                "# model      seed {}, number {number}\n# difference {why}\n",
                options.seed
            );
            fs::write(&file, head + &text)?;
            summary.files.push(file);
        }
        summary.disagreements.push((number, why));
    }
    Ok(summary)
}

/// Shrinks while something is wrong.
fn shrunk<T>(
    first: T,
    why: String,
    smaller: impl Fn(&T) -> Vec<T>,
    wrong: impl Fn(&T) -> Option<String>,
) -> (T, String) {
    let mut best = (first, why);
    let mut left = 200;
    loop {
        let mut found = None;
        for candidate in smaller(&best.0) {
            if left == 0 {
                return best;
            }
            left -= 1;
            if let Some(why) = wrong(&candidate) {
                found = Some((candidate, why));
                break;
            }
        }
        match found {
            Some(better) => best = better,
            None => return best,
        }
    }
}

fn network_mistake(network: &Network, runner: &Runner, executor: Executor) -> Option<String> {
    let run = runner.run(&network.text(), executor);
    if run.end != End::Reached {
        return Some(compare::summary(&run));
    }
    let right = network.values();
    let mut pairs = run.values.iter().zip(&right).enumerate();
    let (k, (seen, right)) = pairs.find(|(_, (a, b))| !compare::near(**a, **b, 1e-9))?;
    Some(format!("record {k} is {seen}, by the event loop {right}, under {executor:?}"))
}

const EXECUTORS: [Executor; 7] = [
    Executor::Sequential,
    Executor::TimeWarp(1),
    Executor::TimeWarp(2),
    Executor::TimeWarp(8),
    Executor::Conservative(2),
    Executor::Conservative(8),
    Executor::Auto,
];

fn network_model(options: &Options, runner: &Runner, number: u64) -> Result<(), (String, String)> {
    let mut random = Random::new(options.seed, number, "network");
    let network = network::network(&mut random);
    // Mostly plain runs: that workers change nothing has a kind of its own.
    let executor = if random.chance(80) { Executor::Sequential } else { random.pick(&EXECUTORS) };
    let wrong = |n: &Network| network_mistake(n, runner, executor);
    let Some(why) = wrong(&network) else { return Ok(()) };
    // What is refused is no smaller case of what went wrong.
    let still =
        |n: &Network| wrong(n).filter(|why| why.starts_with("record") || !why.contains("refused"));
    let (network, why) = shrunk(network, why, Network::smaller, still);
    Err((why, network.text()))
}

fn coupling_model(options: &Options, runner: &Runner, number: u64) -> Result<(), (String, String)> {
    let system = coupling::coupled(&mut Random::new(options.seed, number, "coupling"));
    let wrong = |c: &Coupled| c.mistake(runner).err();
    let Some(why) = wrong(&system) else { return Ok(()) };
    let (system, why) = shrunk(system, why, Coupled::smaller, wrong);
    Err((why, system.text(system.step)))
}

/// Tokens that hop between entities, with and without lookahead.
fn tokens(random: &mut Random) -> String {
    let n = 2 * random.within(1, 12);
    let half = n / 2;
    let hops = [(1, 1), (7, 2), (31, 3), (127, 4)];
    let mut wires = Vec::new();
    for (shift, port) in hops {
        wires.push(format!(
            "\"e[i].near{port} -> e[{half}*floor(i/{half}) + mod(i + {shift}, {half})].in for i in 0..{n}\""
        ));
        wires.push(format!(
            "\"e[i].far{port} -> e[{half}*(1 - floor(i/{half})) + mod(i + {shift} + 1, {half})].in for i in 0..{n}\""
        ));
    }
    format!(
        "stop = \"{} ms\"\nresolution = \"us\"\nsample = \"none\"\nseed = {}\nrecord = [\"sum(e[*].taken)\", \
         \"e[0].taken\"]\nconnections = [\n{}\n]\n[unit.e]\nkind = \"phold-entity\"\ncount = {n}\n\
         tokens = {}\nremote = {}\nlookahead = \"{} us\"\nmean = {}\nspread = {}\n",
        random.pick(&[20, 50]),
        random.within(1, 1000),
        wires.join(",\n"),
        random.within(1, 4),
        random.pick(&[0.0, 0.1, 0.5, 1.0]),
        random.pick(&[0, 1, 100, 1000]),
        random.pick(&[0.001, 0.01]),
        random.pick(&[0.0, 0.5, 1.0]),
    )
}

fn executor_mistake(text: &str, base: &Outcome, runner: &Runner) -> Option<String> {
    EXECUTORS[1..].iter().find_map(|&executor| {
        match compare_executors(text, base, executor, runner) {
            Opinion::Disagrees(finding) => {
                Some(format!("{}: {} against {}", finding.difference, finding.seen, finding.right))
            }
            _ => None,
        }
    })
}

fn executor_model(options: &Options, runner: &Runner, number: u64) -> Result<(), (String, String)> {
    let mut random = Random::new(options.seed, number, "executor");
    let text = match random.below(4) {
        0 => network::network(&mut random).text(),
        1 => tokens(&mut random),
        _ => campaign::case(options.seed, number).text(),
    };
    let base = runner.run(&text, Executor::Sequential);
    if matches!(base.end, End::Refused(_)) {
        return Ok(());
    }
    executor_mistake(&text, &base, runner).map_or(Ok(()), |why| Err((why, text)))
}
