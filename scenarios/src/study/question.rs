//! Questions on the way to their answer: rounds, replicates, and what is missing.
use super::{
    ask::{Ask, Keep, Kind},
    first::Search,
    store::{Status, Stored},
};
use superdense_study::{
    Boundary, Judged, Method, Point, Verdict, boundary, interval, replicate::LEVEL,
};

/// A method with what it is told.
#[derive(Debug)]
enum Asking<'a> {
    Boundary { search: Boundary },
    First { search: Search<'a> },
    Design { points: Option<&'a [Point]> },
}

/// A question that is being answered.
#[derive(Debug)]
pub struct Question<'a> {
    /// As it is written.
    pub ask: &'a Ask,
    asking: Asking<'a>,
    /// Points of the round that is not yet told, and how many replicates each has to have.
    round: Vec<(Point, u32)>,
    /// Points of earlier rounds, with their replicates.
    settled: Vec<(Point, u32)>,
}

/// The next wish of a question.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// More replicates of points of the round: the number of the point in the question, and which.
    Runs(Vec<(usize, std::ops::Range<u32>)>),
    /// Nothing: it is answered.
    Nothing,
}

impl<'a> Question<'a> {
    /// A question that has not begun.
    pub fn new(ask: &'a Ask, ranges: &[superdense_study::Range]) -> Self {
        let asking = match &ask.kind {
            Kind::Boundary { over, .. } => {
                Asking::Boundary { search: Boundary::new(ranges[*over].clone()) }
            }
            Kind::First { variants, .. } => {
                Asking::First { search: Search { variants, asked: 0, found: None } }
            }
            Kind::Design { points, .. } => Asking::Design { points: Some(points) },
        };
        Self { ask, asking, round: Vec::new(), settled: Vec::new() }
    }

    /// Numbers of the parameters that its points give values to.
    pub fn over(&self) -> &'a [usize] {
        self.ask.kind.over()
    }

    /// Numbers of the parameters of a point.
    pub fn over_of(&self, at: usize) -> &'a [usize] {
        self.variants().map_or(self.over(), |search| search.over(at))
    }

    /// The point of a number.
    pub fn point(&self, at: usize) -> &[f64] {
        let earlier = self.settled.len();
        if at < earlier { &self.settled[at].0 } else { &self.round[at - earlier].0 }
    }

    /// All points, with how many replicates they got.
    pub fn points(&self) -> impl Iterator<Item = (&[f64], u32)> {
        self.settled.iter().chain(&self.round).map(|(p, n)| (p.as_slice(), *n))
    }

    /// The search, where the method is one.
    pub fn search(&self) -> Option<&Boundary> {
        match &self.asking {
            Asking::Boundary { search } => Some(search),
            _ => None,
        }
    }

    /// The variants and how far they are, where the method has them.
    pub(super) fn variants(&self) -> Option<&Search<'a>> {
        match &self.asking {
            Asking::First { search } => Some(search),
            _ => None,
        }
    }

    /// The condition, where the method has one.
    pub fn keep(&self) -> Option<&'a Keep> {
        self.ask.kind.keep()
    }

    /// Goes on, once everything that was asked for is there; `runs` gives the replicates of the point of
    /// a number.
    pub fn next<'r>(&mut self, runs: &mut dyn FnMut(usize, u32) -> Vec<&'r Stored>) -> Next {
        let rule = self.ask.replication;
        loop {
            let earlier = self.settled.len();
            let mut wanted = Vec::new();
            for at in 0..self.round.len() {
                let have = self.round[at].1;
                let more = rule.next(have);
                if more > have && (have == 0 || !self.enough(&runs(earlier + at, have))) {
                    wanted.push((earlier + at, have..more));
                    self.round[at].1 = more;
                }
            }
            if !wanted.is_empty() {
                return Next::Runs(wanted);
            }
            if !self.round.is_empty() {
                self.tell(runs);
            }
            let points = self.ask_again();
            if points.is_empty() {
                return Next::Nothing;
            }
            self.round = points.into_iter().map(|p| (p, 0)).collect();
        }
    }

    fn ask_again(&mut self) -> Vec<Point> {
        match &mut self.asking {
            Asking::Boundary { search } => search.ask(),
            Asking::First { search } => search.ask(),
            Asking::Design { points } => points.take().map(<[Point]>::to_vec).unwrap_or_default(),
        }
    }

    fn tell<'r>(&mut self, runs: &mut dyn FnMut(usize, u32) -> Vec<&'r Stored>) {
        let earlier = self.settled.len();
        if let Some(keep) = self.keep() {
            let judged = |(at, (_, have)): (usize, &(Point, u32))| {
                runs(earlier + at, *have).into_iter().map(|run| judge(keep, run)).collect()
            };
            let told: Vec<Vec<Option<Judged>>> =
                self.round.iter().enumerate().map(judged).collect();
            match &mut self.asking {
                Asking::Boundary { search } => search.tell(&told),
                Asking::First { search } => {
                    let met = |runs: &Vec<Option<Judged>>| {
                        let done: Vec<Judged> = runs.iter().copied().flatten().collect();
                        boundary::verdict(&done) == Some(Verdict::Holds)
                    };
                    search.found = told.iter().position(met).map(|at| earlier + at);
                }
                Asking::Design { .. } => {}
            }
        }
        self.settled.append(&mut self.round);
    }

    /// Whether a point needs no more replicates.
    pub(super) fn enough(&self, runs: &[&Stored]) -> bool {
        if let Some(keep) = self.keep() {
            let judged: Vec<Judged> = runs.iter().filter_map(|run| judge(keep, run)).collect();
            return boundary::verdict(&judged).is_none_or(|v| v != Verdict::Unsure);
        }
        self.ask.until.iter().all(|&(result, width)| {
            let values = values(runs, result);
            // A result that no run has cannot become more exact.
            values.is_empty() || width.reached(&interval::mean(&values, LEVEL))
        })
    }
}

/// The values of a result in those runs where it is there.
pub fn values(runs: &[&Stored], result: usize) -> Vec<f64> {
    let value = |run: &&Stored| run.results.get(result).copied().flatten();
    runs.iter().filter_map(value).collect()
}

fn judge(keep: &Keep, run: &Stored) -> Option<Judged> {
    (run.status == Status::Done).then(|| keep.judge(&run.results))
}
