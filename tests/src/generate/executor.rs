//! Random models of all sorts under every executor: the trace is the sequential one.
use super::{
    campaign::{self, Options},
    compare,
    coupling::{self, Coupled},
    judges::{Case, EXECUTORS, Opinion, compare_executors, same_run},
    kinds::{Mistake, shrunk},
    network::{self, Network},
    queues::Queues,
    random::Random,
    run::{End, Outcome, Runner},
    settings::Executor,
    shrink,
    web::{self, Web},
};

/// A model.
#[derive(Debug, Clone)]
enum Piece {
    Network(Network),
    Tokens(Tokens),
    Queues(Queues),
    Web(Web),
    Coupled(Coupled),
    Hybrid(Box<Case>),
}

/// Executors before and after a checkpoint, in turn.
const RESUMED: [[Executor; 2]; 4] = [
    [Executor::TimeWarp(2), Executor::Sequential],
    [Executor::Sequential, Executor::TimeWarp(8)],
    [Executor::Conservative(2), Executor::TimeWarp(2)],
    [Executor::TimeWarp(2), Executor::Conservative(8)],
];

/// Tokens that hop between two groups of entities, with and without lookahead.
#[derive(Debug, Clone, PartialEq)]
struct Tokens {
    stop: i64,
    seed: i64,
    /// Entities of one group.
    half: i64,
    tokens: i64,
    remote: f64,
    lookahead: i64,
    mean: f64,
    spread: f64,
}

impl Tokens {
    fn new(random: &mut Random) -> Self {
        let half = random.within(1, 12);
        Self {
            stop: random.pick(&[20, 50]),
            seed: random.within(1, 1000),
            half,
            tokens: random.within(1, 4),
            remote: random.pick(&[0.0, 0.1, 0.5, 1.0]),
            lookahead: random.pick(&[0, 1, 100, 1000]),
            mean: random.pick(&[0.001, 0.01]),
            spread: random.pick(&[0.0, 0.5, 1.0]),
        }
    }

    fn text(&self) -> String {
        let (half, n) = (self.half, 2 * self.half);
        let mut wires = Vec::new();
        for (shift, port) in [(1, 1), (7, 2), (31, 3), (127, 4)] {
            let hop = |group: &str, shift: i64| {
                format!("e[{half}*{group} + mod(i + {shift}, {half})].in for i in 0..{n}\"")
            };
            let here = format!("floor(i/{half})");
            wires.push(format!("\"e[i].near{port} -> {}", hop(&here, shift)));
            wires.push(format!("\"e[i].far{port} -> {}", hop(&format!("(1 - {here})"), shift + 1)));
        }
        format!(
            "stop = \"{} ms\"\nresolution = \"us\"\nsample = \"none\"\nseed = {}\n\
             record = [\"sum(e[*].taken)\", \"e[0].taken\"]\nconnections = [\n{}\n]\n\
             [unit.e]\nkind = \"phold-entity\"\ncount = {n}\ntokens = {}\nremote = {}\n\
             lookahead = \"{} us\"\nmean = {}\nspread = {}\n",
            self.stop,
            self.seed,
            wires.join(",\n"),
            self.tokens,
            self.remote,
            self.lookahead,
            self.mean,
            self.spread,
        )
    }

    fn smaller(&self) -> Vec<Self> {
        let edits: [fn(&mut Self); 8] = [
            |t| t.half /= 2,
            |t| t.half -= 1,
            |t| t.stop /= 2,
            |t| t.tokens = 1,
            |t| t.remote = 0.0,
            |t| t.lookahead = 0,
            |t| t.spread = 0.0,
            |t| t.seed = 1,
        ];
        let list = edits.into_iter().map(|edit| {
            let mut other = self.clone();
            edit(&mut other);
            other
        });
        list.filter(|t| *t != *self && t.half > 0 && t.stop > 0).collect()
    }
}

impl Piece {
    fn text(&self) -> String {
        match self {
            Self::Network(network) => network.text(),
            Self::Tokens(tokens) => tokens.text(),
            Self::Queues(queues) => queues.text(),
            Self::Web(web) => web.text(),
            Self::Coupled(coupled) => coupled.text(coupled.step),
            Self::Hybrid(case) => case.text(),
        }
    }

    fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Network(network) => network.smaller().into_iter().map(Self::Network).collect(),
            Self::Tokens(tokens) => tokens.smaller().into_iter().map(Self::Tokens).collect(),
            Self::Queues(queues) => queues.smaller().into_iter().map(Self::Queues).collect(),
            Self::Web(web) => web.smaller().into_iter().map(Self::Web).collect(),
            Self::Coupled(coupled) => coupled.smaller().into_iter().map(Self::Coupled).collect(),
            Self::Hybrid(case) => {
                shrink::smaller(case).into_iter().map(|c| Self::Hybrid(Box::new(c))).collect()
            }
        }
    }

    /// The difference that another executor makes, if any.
    fn mistake(&self, runner: &Runner) -> Option<String> {
        let text = self.text();
        let base = runner.run(&text, Executor::Sequential);
        if matches!(base.end, End::Refused(_)) {
            return None;
        }
        EXECUTORS
            .iter()
            .find_map(|&executor| under(&text, &base, executor, runner))
            .or_else(|| resumed(&text, &base, runner))
    }
}

/// The difference that a checkpoint at one of the events makes, and another executor from there on.
fn resumed(text: &str, base: &Outcome, runner: &Runner) -> Option<String> {
    let at = base.events.get(base.events.len() / 2)?.tick;
    let before_the_end = match base.end {
        End::Reached => true,
        End::Failed(tick, _) => at < tick,
        _ => false,
    };
    let pair = before_the_end.then(|| RESUMED[(base.hash % RESUMED.len() as u64) as usize])?;
    let other = runner.resumed(text, at, pair);
    let Opinion::Disagrees(f) = same_run(base, &other, &format!("{pair:?}, resumed at {at}"))
    else {
        return None;
    };
    Some(format!("{}: {} against {}", f.difference, f.seen, f.right))
}

fn under(text: &str, base: &Outcome, executor: Executor, runner: &Runner) -> Option<String> {
    if base.is_broken() {
        return Some(format!("{} under one thread", compare::summary(base)));
    }
    match compare_executors(text, base, executor, runner) {
        Opinion::Disagrees(f) => Some(format!("{}: {} against {}", f.difference, f.seen, f.right)),
        _ => None,
    }
}

/// The models of a number: a hybrid one under each method that is asked for.
fn pieces(options: &Options, number: u64) -> Vec<Piece> {
    let mut random = Random::new(options.seed, number, "executor");
    match random.below(9) {
        0 => vec![Piece::Network(network::network(&mut random))],
        1 => vec![Piece::Tokens(Tokens::new(&mut random))],
        2 | 3 => vec![Piece::Web(web::web(&mut random))],
        8 => vec![Piece::Queues(Queues::new(&mut random))],
        4 => vec![Piece::Coupled(coupling::coupled(options.seed, number))],
        _ => {
            let case = campaign::case(options.seed, number);
            let cases = campaign::under_methods(options, &case);
            cases.into_iter().map(|c| Piece::Hybrid(Box::new(c))).collect()
        }
    }
}

/// Checks the model of a number.
pub(super) fn check(options: &Options, runner: &Runner, number: u64) -> Result<(), Mistake> {
    for piece in pieces(options, number) {
        if let Some(why) = piece.mistake(runner) {
            let (piece, why) = shrunk(options, piece, why, Piece::smaller, |p| p.mistake(runner));
            return Err((why, piece.text()));
        }
    }
    Ok(())
}
