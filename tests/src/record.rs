//! Recording the committed trace through an observer.
use std::sync::{Arc, Mutex};
use superdense_kernel::{
    Coupled, Fact, ModelKey, Options, Simulation,
    error::RunError,
    message::Message,
    time::Tag,
    trace::{Observer, Site, Transition, Verdict},
};

/// One transition.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<M = i64> {
    /// Tick.
    pub t: i64,
    /// Micro-step.
    pub n: u32,
    /// Path.
    pub model: String,
    /// `INT`, `EXT` or `CONF`.
    pub kind: &'static str,
    /// Port and value, in canonical order.
    pub inputs: Vec<(u16, M)>,
    /// Port and value, in order of emission.
    pub outputs: Vec<(u16, M)>,
    /// The next internal event.
    pub next: Option<(i64, u32)>,
}

impl<M: Clone> Record<M> {
    /// The tag.
    pub fn tag(&self) -> (i64, u32) {
        (self.t, self.n)
    }
    /// Input values without ports.
    pub fn heard(&self) -> Vec<M> {
        self.inputs.iter().map(|m| m.1.clone()).collect()
    }
    /// Output values without ports.
    pub fn sent(&self) -> Vec<M> {
        self.outputs.iter().map(|m| m.1.clone()).collect()
    }
}

/// Everything that observers are told.
#[derive(Debug, Clone)]
pub struct Tape<M = i64> {
    /// Transitions in order.
    pub records: Vec<Record<M>>,
    /// Tags of cycles in order.
    pub cycles: Vec<(i64, u32)>,
    /// Facts: path, tag, fact.
    pub facts: Vec<(String, Tag, Fact)>,
    /// Changes of structure.
    pub changes: Vec<(Tag, String)>,
    /// The reason to stop.
    pub stopped: Option<String>,
}

impl<M> Default for Tape<M> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            cycles: Vec::new(),
            facts: Vec::new(),
            changes: Vec::new(),
            stopped: None,
        }
    }
}

impl<M: Message> Observer<M> for Tape<M> {
    fn wants_transitions(&self, _: ModelKey) -> bool {
        true
    }
    fn transition(&mut self, site: &Site<'_>, tr: &Transition<'_, M>) -> Verdict {
        let bag = tr.bag.iter().flat_map(|b| b.iter());
        self.records.push(Record {
            t: tr.tag.ticks,
            n: tr.tag.micro,
            model: site.path(),
            kind: tr.kind.name(),
            inputs: bag.map(|(port, v)| (port, v.clone())).collect(),
            outputs: tr.outputs.iter().map(|s| (s.port, s.value.clone())).collect(),
            next: (tr.next != Tag::NEVER).then_some((tr.next.ticks, tr.next.micro)),
        });
        Verdict::Continue(())
    }
    fn fact(&mut self, site: &Site<'_>, tag: Tag, fact: &Fact) -> Verdict {
        self.facts.push((site.path(), tag, fact.clone()));
        Verdict::Continue(())
    }
    fn structure(&mut self, tag: Tag, change: &str) -> Verdict {
        self.changes.push((tag, change.to_owned()));
        Verdict::Continue(())
    }
    fn cycle(&mut self, tag: Tag) -> Verdict {
        self.cycles.push((tag.ticks, tag.micro));
        Verdict::Continue(())
    }
    fn stop(&mut self, _: Tag, reason: &str) {
        self.stopped = Some(reason.to_owned());
    }
}

/// A simulation with its tape.
#[derive(Debug)]
pub struct Run<M: Message = i64> {
    /// The simulation.
    pub sim: Simulation<M>,
    tape: Arc<Mutex<Tape<M>>>,
}

impl<M: Message> Run<M> {
    /// Builds a recorded simulation.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with(top: Coupled<M>, options: Options) -> Result<Self, RunError> {
        let mut sim = Simulation::new(top, options)?;
        let tape = Arc::new(Mutex::new(Tape::default()));
        sim.observe(Arc::clone(&tape));
        Ok(Self { sim, tape })
    }

    /// Builds a recorded simulation of a model that is known to be right.
    ///
    /// # Panics
    /// When it is not.
    pub fn new(top: Coupled<M>) -> Self {
        Self::with(top, Options::default()).expect("a model that can be built")
    }

    /// Builds and runs through tick `end`.
    ///
    /// # Panics
    /// On any error.
    pub fn through(top: Coupled<M>, end: i64) -> Self {
        let mut run = Self::new(top);
        run.sim.run_through(end).expect("a run without error");
        run
    }

    /// The records so far.
    ///
    /// # Panics
    /// When another observer panicked.
    pub fn tape(&self) -> Tape<M> {
        self.tape.lock().expect("a tape").clone()
    }

    /// The records of one model.
    pub fn of(&self, model: &str) -> Vec<Record<M>> {
        self.tape().records.into_iter().filter(|r| r.model == model).collect()
    }

    /// Tag, kind, inputs and outputs (without ports) of the records of one model.
    pub fn brief(&self, model: &str) -> Vec<Brief<M>> {
        self.of(model).iter().map(|r| (r.tag(), r.kind, r.heard(), r.sent())).collect()
    }

    /// Tags and input values of what one model received.
    pub fn received(&self, model: &str) -> Vec<((i64, u32), Vec<M>)> {
        let heard = |r: &Record<M>| (!r.inputs.is_empty()).then(|| (r.tag(), r.heard()));
        self.of(model).iter().filter_map(heard).collect()
    }

    /// Tags and output values of what one model sent.
    pub fn sent(&self, model: &str) -> Vec<((i64, u32), Vec<M>)> {
        let sent = |r: &Record<M>| (!r.outputs.is_empty()).then(|| (r.tag(), r.sent()));
        self.of(model).iter().filter_map(sent).collect()
    }
}

/// Tag, kind, inputs, outputs.
pub type Brief<M> = ((i64, u32), &'static str, Vec<M>, Vec<M>);
