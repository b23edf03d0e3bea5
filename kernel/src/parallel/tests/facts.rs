//! Facts, for observers that want nothing else.
use super::*;

/// Reports what it does by itself, and not what it does on a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Speaks(Node);

impl Atomic<i64> for Speaks {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        1
    }
    fn time_advance(&self) -> Duration {
        self.0.time_advance()
    }
    fn output(&self, out: &mut Outbox<'_, i64>) {
        self.0.output(out);
    }
    fn internal(&mut self, fx: &mut Effects<i64>) {
        self.0.internal(fx);
        fx.report(Fact::Note(format!("{}", self.0.sum).into()));
    }
    fn external(&mut self, elapsed: Duration, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.0.external(elapsed, bag, fx);
    }
    fn confluent(&mut self, bag: &Bag<'_, i64>, fx: &mut Effects<i64>) {
        self.0.internal(fx);
        self.0.external(Duration::ZERO, bag, fx);
    }
}

#[derive(Debug, Default)]
struct Facts(Vec<String>);

impl Observer<i64> for Facts {
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        self.0.push(format!("{tag} {site:?} {fact:?}"));
        ControlFlow::Continue(())
    }
}

fn told(settings: Option<&Settings>) -> Vec<String> {
    let mut top = Coupled::new();
    let node = |i: i64| Speaks(Node::new(3 + i % 3, Habit::Add));
    let children: Vec<_> = (0..5).map(|i| top.add(("node", i as usize), node(i)).any()).collect();
    ring(&mut top, &children);
    let mut sim = Simulation::new(top, Default::default()).expect("a legal model");
    let facts = Arc::new(Mutex::new(Facts::default()));
    sim.observe(Arc::clone(&facts));
    let ended = match settings {
        None => sim.run_through(END),
        Some(settings) => sim.run_through_parallel(END, settings).map(|e| e.0),
    };
    ended.expect("no error");
    std::mem::take(&mut facts.lock().expect("no panic").0)
}

/// A transition that is made again, with a message that came late, reports anew: facts of the first time are undone.
#[test]
fn of_undone_transitions_there_are_none() {
    let expected = told(None);
    assert!(expected.len() > 20, "{}", expected.len());
    for seed in 0..120u64 {
        let cancellation =
            if seed % 2 == 1 { Cancellation::Lazy } else { Cancellation::Aggressive };
        let settings = Settings {
            workers: 2 + (seed % 3) as u32,
            cancellation,
            save_every: [1, 7][seed as usize / 2 % 2],
            schedule: Schedule::Virtual(seed),
            in_step: true,
            ..Settings::default()
        };
        let found = told(Some(&settings));
        let differs = found.iter().zip(&expected).find(|(a, b)| a != b);
        assert!(found == expected, "{settings:?}: {differs:?}");
    }
}
