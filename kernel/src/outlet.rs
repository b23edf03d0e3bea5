//! Outputs on their way to whoever runs a simulation.
use crate::{
    core::Core,
    error::RunError,
    key::ModelKey,
    message::{Message, Payload},
    network::{Network, To},
    port::OutPort,
    simulation::Simulation,
    time::Tag,
    trace::{Observer, Site, Transition, Verdict},
    translation::Translation,
};
use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

/// All that left an output port, or several of one model: tags and values, in the order of the cycles, and of one cycle in
/// path order of the senders. Every executor gives the same. What a saved state brings back is sent again.
///
/// ```
/// use superdense_kernel::{Atomic, Coupled, Outbox, Simulation, port::OutPort, time::{Duration, Tag}};
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Clock;
/// impl Clock { const TICK: OutPort<u32, Self> = OutPort::new(0); }
/// impl Atomic<u32> for Clock {
///     fn outputs(&self) -> u16 { 1 }
///     fn time_advance(&self) -> Duration { Duration::from_ticks(10) }
///     fn output(&self, out: &mut Outbox<'_, u32>) { out.send(Self::TICK, 1) }
/// }
/// let mut top = Coupled::new();
/// top.add("clock", Clock);
/// let mut sim = Simulation::new(top, Default::default())?;
/// let ticks = sim.listen("clock", Clock::TICK)?;
/// sim.run_through(20)?;
/// assert_eq!(ticks.take(), [(Tag::new(10, 0), 1), (Tag::new(20, 0), 1)]);
/// # Ok::<(), superdense_kernel::error::RunError>(())
/// ```
pub struct Outlet<M: Message, T> {
    tap: Arc<Mutex<Tap<M>>>,
    carries: PhantomData<fn() -> T>,
}

impl<M: Message, T: Payload<M> + Clone> Outlet<M, T> {
    /// All that left since the last call.
    pub fn take(&self) -> Vec<(Tag, T)> {
        self.take_by_port().into_iter().map(|(tag, _, value)| (tag, value)).collect()
    }

    /// All that left since the last call, each with the place of its port among those that are listened to.
    pub fn take_by_port(&self) -> Vec<(Tag, usize, T)> {
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = std::mem::take(&mut tap.heard);
        let value =
            |(tag, place, value): &(Tag, usize, M)| Some((*tag, *place, T::unwrap(value)?.clone()));
        heard.iter().filter_map(value).collect()
    }
}

impl<M: Message, T> std::fmt::Debug for Outlet<M, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outlet")
    }
}

/// One way to an outlet: an output port, the place of the port where it leaves, and the translation of what it sends.
type Way<M> = (u16, usize, Option<Translation<M>>);

/// Places of ports among those that are listened to.
type Places = BTreeMap<u16, usize>;

/// The outlet's place in a simulation.
pub(crate) struct Tap<M: Message> {
    model: ModelKey,
    places: Places,
    /// By sender.
    ways: HashMap<ModelKey, Vec<Way<M>>>,
    heard: Vec<(Tag, usize, M)>,
}

impl<M: Message> Tap<M> {
    /// Finds the ways again after a change of structure.
    fn trace(&mut self, core: &Core<M>) {
        self.ways.clear();
        if self.model != core.blueprint.root {
            let ways = self.places.iter().map(|(&port, &place)| (port, place, None));
            self.ways.insert(self.model, ways.collect());
            return;
        }
        for (m, &key) in (0..).zip(&core.keys) {
            let mut ways = Vec::new();
            for (port, to) in core.network.wired(m) {
                let found = &mut |place, z: Option<&Translation<M>>| {
                    ways.push((port, place, z.cloned()));
                };
                leave(&core.network, to, &self.places, None, found);
            }
            if !ways.is_empty() {
                self.ways.insert(key, ways);
            }
        }
    }
}

/// Calls `found` for each way that leads from a target to one of these output ports of the root.
fn leave<M: Message>(
    network: &Network<M>,
    to: To,
    places: &Places,
    z: Option<&Translation<M>>,
    found: &mut impl FnMut(usize, Option<&Translation<M>>),
) {
    match to {
        To::Model(_) => {}
        To::Net(net) => {
            let outside = network.receivers_of(net).iter().filter(|r| r.model == network.models);
            outside.filter_map(|r| places.get(&r.port)).for_each(|place| found(*place, z));
        }
        To::Routes(list) => {
            for route in network.routes_of(list) {
                let z = network.translations.get(route.z as usize);
                leave(network, route.to.decode(), places, z, found);
            }
        }
    }
}

impl<M: Message> Observer<M> for Tap<M> {
    fn wants_transitions(&self, model: ModelKey) -> bool {
        self.ways.contains_key(&model)
    }
    fn transition(&mut self, site: &Site<'_>, transition: &Transition<'_, M>) -> Verdict {
        for (port, place, z) in self.ways.get(&site.key()).into_iter().flatten() {
            let sent = transition.outputs.iter().filter(|sent| sent.port == *port);
            let values = sent.filter_map(|sent| match z {
                None => Some(sent.value.clone()),
                Some(z) => (z.apply)(&sent.value),
            });
            self.heard.extend(values.map(|value| (transition.tag, *place, value)));
        }
        Verdict::Continue(())
    }
    fn wants_cycles(&self) -> bool {
        false
    }
}

impl<M: Message> Simulation<M> {
    /// Listens from now on to an output port: of the root, whose path is empty, or of an atomic model.
    ///
    /// # Errors
    /// When there is no such model or port, or the port is another model's.
    pub fn listen<T: Payload<M>, A: 'static>(
        &mut self,
        path: &str,
        port: OutPort<T, A>,
    ) -> Result<Outlet<M, T>, RunError> {
        self.listen_to_all(path, &[port])
    }

    /// Listens from now on to several output ports of one model; see [`listen`](Self::listen).
    ///
    /// # Errors
    /// As there.
    pub fn listen_to_all<T: Payload<M>, A: 'static>(
        &mut self,
        path: &str,
        ports: &[OutPort<T, A>],
    ) -> Result<Outlet<M, T>, RunError> {
        let (model, (_, outputs)) = self.owner::<A>(path)?;
        if let Some(port) = ports.iter().map(|port| port.index()).find(|port| *port >= outputs) {
            return Err(RunError::UnknownOutput { path: path.to_owned(), port });
        }
        let places = ports.iter().zip(0..).map(|(port, place)| (port.index(), place)).collect();
        let (ways, heard) = (HashMap::new(), Vec::new());
        let tap = Arc::new(Mutex::new(Tap { model, places, ways, heard }));
        let found = Arc::clone(&tap);
        let find = move |core: &Core<M>| {
            found.lock().unwrap_or_else(PoisonError::into_inner).trace(core);
        };
        self.core.outlets.push(Box::new(find));
        self.observe(Arc::clone(&tap));
        Ok(Outlet { tap, carries: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Atomic, Bag, Component, Coupled, Effects, Outbox,
        parallel::{Method, Settings},
        port::{Any, InPort},
        structure::{Change, PortOf},
        time::Duration,
    };
    use serde::{Deserialize, Serialize};

    /// Sends its count at each event, adds what it hears, and lets another one begin after its third event.
    #[derive(Clone, Serialize, Deserialize)]
    struct Counter {
        period: i64,
        left: i64,
        count: u32,
        begins: bool,
    }

    impl Counter {
        const ADD: InPort<u32, Self> = InPort::new(0);
        const COUNT: OutPort<u32, Self> = OutPort::new(0);
        fn new(period: i64, begins: bool) -> Self {
            Self { period, left: period, count: 0, begins }
        }
    }

    impl Atomic<u32> for Counter {
        fn inputs(&self) -> u16 {
            1
        }
        fn outputs(&self) -> u16 {
            1
        }
        fn time_advance(&self) -> Duration {
            Duration::from_ticks(self.left)
        }
        fn output(&self, out: &mut Outbox<'_, u32>) {
            out.send(Self::COUNT, self.count + 1);
        }
        fn internal(&mut self, fx: &mut Effects<u32>) {
            self.count += 1;
            self.left = self.period;
            if self.begins && self.count == 3 {
                let component = Component::atomic(Self::new(5, false));
                fx.change(Change::Add { parent: String::new(), name: "late".into(), component });
                let (from, to) = (PortOf::child("late", 0), PortOf::own(0));
                let parent = String::new();
                fx.change(Change::Couple { parent, from, to, translation: None });
            }
        }
        fn external(&mut self, e: Duration, bag: &Bag<'_, u32>, _: &mut Effects<u32>) {
            self.left -= e.ticks();
            self.count += bag.on(Self::ADD).sum::<u32>();
        }
    }

    /// Two models send to the root's output, one of them also a hundredfold; the root's input reaches the other.
    fn simulation() -> (Simulation<u32>, InPort<u32>, OutPort<u32>) {
        let mut top = Coupled::new();
        let (add, counts) = (top.add_input::<u32>("add"), top.add_output::<u32>("counts"));
        let a = top.add("a", Counter::new(10, true));
        let b = top.add("b", Counter::new(15, false));
        top.couple(add.inside(), b.input(Counter::ADD));
        top.couple(a.output(Counter::COUNT), counts.inside());
        top.couple(b.output(Counter::COUNT), counts.inside());
        top.couple_with(b.output(Counter::COUNT), counts.inside(), "*100", |x: &u32| {
            (*x < 60).then_some(x * 100)
        });
        (Simulation::new(top, Default::default()).expect("a model"), add, counts)
    }

    /// Inputs and outputs of the root are those of the models behind its ports, under each executor.
    #[test]
    fn the_root_is_heard_and_spoken_to_under_each_executor() {
        let tags = |list: &[(i64, u32)]| -> Vec<(Tag, u32)> {
            list.iter().map(|&(at, x)| (Tag::new(at, 0), x)).collect()
        };
        let settings = [Method::TimeWarp, Method::Conservative]
            .map(|method| Some(Settings { workers: 2, method, ..Settings::default() }));
        for settings in [None].into_iter().chain(settings) {
            let (mut sim, add, counts) = simulation();
            let all = sim.listen("", counts).expect("a port");
            let own = sim.listen("b", Counter::COUNT).expect("a port");
            let placed = sim.listen_to_all("", &[counts]).expect("a port");
            sim.inject("", add, 20, 50).expect("a port");
            sim.inject("b", Counter::ADD, 35, 7).expect("a port");
            match settings {
                None => sim.run_through(46).map(drop).expect("no error"),
                Some(s) => sim.run_through_parallel(46, &s).map(drop).expect("no error"),
            }
            let b = [(15, 1), (30, 52), (45, 60)];
            assert_eq!(own.take(), tags(&b));
            let late = [(35, 1), (40, 4), (40, 2), (45, 60), (45, 3)];
            let before = [(10, 1), (15, 1), (15, 100), (20, 2), (30, 3), (30, 52), (30, 5200)];
            assert_eq!(all.take(), tags(&[&before[..], &late].concat()));
            assert_eq!(all.take(), []);
            let wanted = tags(&[&before[..], &late].concat()).into_iter();
            let wanted: Vec<_> = wanted.map(|(tag, count)| (tag, 0, count)).collect();
            assert_eq!(placed.take_by_port(), wanted);
        }
    }

    /// Ports of other models, and ports that are not there.
    #[test]
    fn ports_of_other_models_are_refused() {
        struct Other;
        let (mut sim, add, counts) = simulation();
        let errors = [
            sim.inject("b", InPort::<u32, Other>::new(0), 5, 1).map(drop),
            sim.inject("", Counter::ADD, 5, 1).map(drop),
            sim.listen("b", OutPort::<u32, Other>::new(0)).map(drop),
            sim.listen("", Counter::COUNT).map(drop),
            sim.inject("c", add, 5, 1).map(drop),
            sim.inject("", InPort::<u32>::new(1), 5, 1).map(drop),
            sim.inject("b", InPort::<u32, Any>::new(1), 5, 1).map(drop),
            sim.listen("b", OutPort::<u32>::new(1)).map(drop),
            sim.listen("c", counts).map(drop),
        ];
        let told = errors.map(|e| e.expect_err("refused").to_string());
        let other = |path, model| {
            format!("'{path}' is no {model}; take the port from the model that is there")
        };
        let names = ["Other", "Counter"].map(|name| {
            let module = "superdense_kernel::outlet::tests::";
            let function = if name == "Other" { "ports_of_other_models_are_refused::" } else { "" };
            format!("{module}{function}{name}")
        });
        assert_eq!(told[0], other("b", &names[0]));
        assert_eq!(told[1], other("", &names[1]));
        assert_eq!((&told[2], &told[3]), (&told[0], &told[1]));
        assert_eq!(
            told[4],
            "there is no model 'c'; a path has the names from the top, with / between them"
        );
        assert_eq!(told[5], "'' has no input port 1");
        assert_eq!(told[6], "'b' has no input port 1");
        assert_eq!(told[7], "'b' has no output port 1");
        assert_eq!(told[8], told[4]);
    }

    /// Inputs of the root that wait for their cycles are in saved states and checkpoints.
    #[test]
    fn waiting_inputs_of_the_root_are_saved() {
        let end = |sim: &mut Simulation<u32>| {
            sim.run_through(46).expect("no error");
            sim.trace_hash()
        };
        let (mut sim, add, _) = simulation();
        sim.inject("", add, 20, 50).expect("a port");
        let (saved, bytes) = (sim.save().expect("a state"), sim.checkpoint().expect("a state"));
        let hash = end(&mut sim);
        sim.restore(&saved).expect("its own");
        assert_eq!(end(&mut sim), hash);
        let (mut other, ..) = simulation();
        other.resume(&bytes).expect("the same model");
        assert_eq!(end(&mut other), hash);
        assert_ne!(end(&mut simulation().0), hash);
    }
}
