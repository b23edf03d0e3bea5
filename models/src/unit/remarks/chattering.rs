//! Relations that flip, and events that happen, again and again.
use crate::{
    signal::value::Value,
    solve::{core::Core, equations::Equations, ode::Kind},
    unit::{chatter::FLIPS, falling::HURRIED, wrapper::Unit},
};
use superdense_kernel::{Effects, Fact};

impl<E: Equations, C: Core<E>> Unit<E, C> {
    #[cold]
    pub(in crate::unit) fn row(&self, k: usize) -> String {
        let (relation, ticks) = (&self.readers.relations[k].text, self.scene.tick * HURRIED as f64);
        format!(
            "`{relation}` flipped {FLIPS} times in a row, at least every second time within {ticks:e} s: an event that came ever \
             faster needs a `rest`, and where events truly come that closely, take a finer `resolution`"
        )
    }

    /// Notes that relation `k`, which flips very often, may do so for no other reason than its inputs.
    #[cold]
    pub(in crate::unit) fn note_to_and_fro(&self, k: usize, fx: &mut Effects<Value>) {
        let (relation, dims) = (&self.readers.relations[k].text, &self.scene.dims);
        let inputs = dims.first_input()..dims.first_discrete();
        if !self.readers.read(k, |place| inputs.contains(&place)) {
            return;
        }
        let note = format!(
            "`{relation}` flipped {FLIPS} times in a row, each within a millionth of the time so far: if it is not meant to, \
             units send each other to and fro, within their `exchange_tolerance`; give the condition a margin (hysteresis), or \
             write both in one unit, with `switching = \"sliding\"`"
        );
        fx.report(Fact::Note(note.into()));
    }

    #[cold]
    pub(in crate::unit) fn endless_row(&self, k: usize) -> String {
        let why = self.chattering().map_or_else(String::new, |why| format!("; {why}"));
        format!("chattering: {}{why}", self.row(k))
    }

    #[cold]
    pub(in crate::unit) fn sent_back(&self, k: usize) -> String {
        let relation = &self.readers.relations[k].text;
        let why = self.chattering().unwrap_or_default();
        format!(
            "chattering: `{relation}` flipped {FLIPS} times in a row, and each of its sides leads back to the other \
             one: {why}"
        )
    }

    /// The relations that flip, and the events that happen, again and again up to the present; nothing if
    /// there are none.
    #[cold]
    pub(in crate::unit) fn chattering(&self) -> Option<String> {
        const REST: &str = "give them a `rest`, or thresholds that lie apart (a hysteresis)";
        let now = self.scene.frame.last;
        let late = |at: &Option<i64>| at.is_some_and(|at| now - at <= HURRIED);
        let quoted = |list: Vec<&str>| format!("`{}`", list.join("`, `"));
        let relations = self.readers.relations.iter().zip(&self.state.flipped);
        let chatter = relations.clone().filter(|(r, at)| r.stops && late(&at.last)).map(|(r, _)| r);
        let rounds = chatter.clone().any(|r| r.kind == Kind::Floor);
        let slides = relations.clone().any(|(r, _)| r.sliding.is_some());
        let events = self.scene.equations.events().iter().zip(&self.state.happened);
        let again: Vec<_> = events.filter(|(_, at)| late(at)).map(|(e, _)| e).collect();
        let mut parts = Vec::new();
        if chatter.clone().next().is_some() {
            const MODE: &str =
                "give the sliding motion along them a mode, or their thresholds a hysteresis";
            const SLIDE: &str = "switching = \"sliding\" lets it slide along zero, where that reads no input (write \
                                 both units as one); else give the sliding motion a mode";
            const ROUND: &str = "nothing slides along whole numbers (`floor`, `ceil`, `round`, `trunc`, `mod`): write \
                                 these jumps with `if` and switching = \"sliding\", or give the sliding motion a mode";
            let sides = quoted(chatter.map(|r| &*r.text).collect());
            let (what, help) = match (rounds, slides) {
                (true, _) => ("a `floor`, `mod`, ...", ROUND),
                (false, true) => ("an `if`, `abs`, ...", MODE),
                (false, false) => ("an `if`, `abs`, ...", SLIDE),
            };
            parts.push(format!("{what} makes {sides} flip to and fro; {help}"));
        }
        if !again.is_empty() {
            let rests = again.iter().filter_map(|e| e.rest.as_ref()).map(|rest| rest.within);
            let help = rests.reduce(f64::min).map_or(REST.into(), |within| {
                format!("their `rest` needs a `within` beyond {within} s, some ticks at least")
            });
            let names = again.iter().map(|e| &*e.name).collect();
            parts.push(format!("{} happen again and again: {help}", quoted(names)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
