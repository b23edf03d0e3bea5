//! Campaigns of the other kinds: networks, couplings, block diagrams, executors.
use super::{
    campaign::{Options, each_number},
    compare,
    coupling::{self, Coupled},
    diagram::{self, Diagram},
    executor,
    judges::EXECUTORS,
    network::{self, Network},
    random::Random,
    run::{End, Runner},
    settings::{Executor, Method},
};
use std::{
    fs, io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// What a campaign of one of these kinds found.
#[derive(Debug, Default)]
pub struct Summary {
    /// Models made.
    pub models: u64,
    /// Runs.
    pub runs: u64,
    /// Models that took long, if they are asked for, as keys.
    pub slow: Vec<String>,
    /// Numbers of the models that are wrong, and what is.
    pub disagreements: Vec<(u64, String)>,
    /// Files of shrunk models.
    pub files: Vec<PathBuf>,
}

/// The mistake found in a model, and its shrunk text.
pub type Mistake = (String, String);

/// Says of a model what is wrong about it; nothing if all is right.
type Check = dyn Fn(&Options, &Runner, u64) -> Result<(), Mistake> + Sync;

/// The check of a kind.
pub fn check(kind: &str) -> Option<Box<Check>> {
    match kind {
        "network" => Some(Box::new(network_model)),
        "coupling" => Some(Box::new(coupling_model)),
        "diagram" => Some(Box::new(diagram_model)),
        "executor" => Some(Box::new(executor::check)),
        _ => None,
    }
}

/// Why a kind cannot be run with these options.
pub fn refusal(kind: &str, options: &Options) -> Option<String> {
    if options.judge.is_some() || options.all_judges {
        return Some(format!("--judge and --all-judges: the kind {kind} has a check of its own"));
    }
    match kind {
        "network" | "diagram" if options.method.is_some() || options.all_methods => {
            Some(format!("--method and --all-methods: a {kind} has no method to choose"))
        }
        "coupling" => {
            let other = options.method.filter(|m| !coupling::METHODS.contains(m))?;
            let list: Vec<_> = coupling::METHODS.iter().map(|m| m.name()).collect();
            let (other, list) = (other.name(), list.join(", "));
            Some(format!("--method {other}: the orders of couplings show under {list} only"))
        }
        _ => None,
    }
}

/// Makes and judges the models of a campaign.
///
/// # Errors
/// When there is no place for files.
pub fn run(kind: &str, options: &Options, check: &Check) -> io::Result<Summary> {
    let runner = Runner::new()?;
    let found = Mutex::new(Vec::new());
    let (models, slow) =
        each_number(options, kind, &|number| match check(options, &runner, number) {
            Ok(()) => true,
            Err((why, text)) => {
                found.lock().unwrap_or_else(PoisonError::into_inner).push((number, why, text));
                !options.stops_at(&Options::key(kind, number))
            }
        });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    let mut summary = Summary { models, slow, runs: runner.runs(), ..Summary::default() };
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

/// Judgements that making one model smaller may cost.
const BUDGET: usize = 400;

/// Shrinks while something is wrong, if shrunk models are asked for.
pub(super) fn shrunk<T>(
    options: &Options,
    first: T,
    why: String,
    smaller: impl Fn(&T) -> Vec<T>,
    wrong: impl Fn(&T) -> Option<String>,
) -> (T, String) {
    let mut best = (first, why);
    let mut left = if options.keep > 0 { BUDGET } else { 0 };
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

fn network_model(options: &Options, runner: &Runner, number: u64) -> Result<(), Mistake> {
    let mut random = Random::new(options.seed, number, "network");
    let network = network::network(&mut random);
    // Mostly plain runs: that workers change nothing has a kind of its own.
    let plain = random.chance(80);
    let executor = if plain { Executor::Sequential } else { random.pick(&EXECUTORS) };
    let wrong = |n: &Network| network_mistake(n, runner, executor);
    let Some(why) = wrong(&network) else { return Ok(()) };
    // What is refused is no smaller case of what went wrong.
    let still =
        |n: &Network| wrong(n).filter(|why| why.starts_with("record") || !why.contains("refused"));
    let (network, why) = shrunk(options, network, why, Network::smaller, still);
    Err((why, network.text()))
}

fn diagram_model(options: &Options, runner: &Runner, number: u64) -> Result<(), Mistake> {
    let system = diagram::diagram(options.seed, number);
    let wrong = |d: &Diagram| d.mistake(runner);
    let Some(why) = wrong(&system) else { return Ok(()) };
    let (system, why) = shrunk(options, system, why, Diagram::smaller, wrong);
    Err((why, system.text()))
}

fn coupling_model(options: &Options, runner: &Runner, number: u64) -> Result<(), Mistake> {
    let methods = match options.method {
        _ if options.all_methods => coupling::METHODS.to_vec(),
        Some(method) => vec![method],
        None => vec![Method::Rk45],
    };
    for method in methods {
        let system = Coupled { method, ..coupling::coupled(options.seed, number) };
        let wrong = |c: &Coupled| c.mistake(runner).err();
        if let Some(why) = wrong(&system) {
            let (system, why) = shrunk(options, system, why, Coupled::smaller, wrong);
            return Err((why, system.text(system.step)));
        }
    }
    Ok(())
}
