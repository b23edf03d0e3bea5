//! `routes`: a static routing table.
use crate::{
    kinds::{
        Located, Param, ParamError, ParamType, Params, Ports, ValueType,
        params::{Entries, Reader, with},
        ports::event,
    },
    signal::value::{Packet, Value, each_in_order, refused},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use superdense_kernel::{
    Atomic, Bag, Component, Effects, Outbox,
    port::{InPort, OutPort},
    time::Duration,
};

/// Sends each packet to the output of its destination. Input 0: packets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Routes {
    outputs: u16,
    table: BTreeMap<u32, u16>,
    /// Address of the first output; those after it go to the outputs after it.
    first: Option<u32>,
    default: Option<u16>,
    waiting: Vec<(u16, Packet)>,
}

impl Routes {
    const IN: InPort<Packet, Self> = InPort::new(0);

    fn route(&self, to: u32) -> Option<u16> {
        let row = || to.checked_sub(self.first?).filter(|&k| k < u32::from(self.outputs));
        let found = self.table.get(&to).copied();
        found.or_else(|| row().map(|k| k as u16)).or(self.default)
    }
}

impl Atomic<Value> for Routes {
    fn inputs(&self) -> u16 {
        1
    }
    fn outputs(&self) -> u16 {
        self.outputs
    }
    fn time_advance(&self) -> Duration {
        if self.waiting.is_empty() { Duration::INFINITE } else { Duration::ZERO }
    }
    fn output(&self, out: &mut Outbox<'_, Value>) {
        for &(port, packet) in &self.waiting {
            out.send(OutPort::<_>::new(port), packet);
        }
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.waiting.clear();
    }
    fn external(&mut self, _: Duration, bag: &Bag<'_, Value>, fx: &mut Effects<Value>) {
        let other = each_in_order(bag, Self::IN, Packet::key, |&packet| {
            let to = packet.destination;
            match self.route(to) {
                Some(port) => self.waiting.push((port, packet)),
                None => fx.fail(format!(
                    "no route to address {to} for packet {} of source {}: add a route or a \
                     `default` output",
                    packet.id, packet.source
                )),
            }
        });
        refused::<Packet>(other, || "in".into(), fx);
        // Stable: by output, and then in order.
        self.waiting.sort_by_key(|(port, _)| *port);
    }
}

/// One entry of the table: destinations and an output.
fn entry(
    p: &Located<Param>,
    outputs: i64,
    table: &mut BTreeMap<u32, u16>,
    errors: &mut Vec<ParamError>,
) {
    let Some(e) = Entries::new(p, &["to", "out"], errors) else { return };
    let wrong = |p: Option<&Located<Param>>, what: String, help: &str| {
        ParamError::at(p.map_or(e.span.clone(), |p| p.span.clone()), what).help(help)
    };
    let out = match e.get("out").map(|p| &p.value) {
        Some(&Param::Int(k)) if (1..=outputs).contains(&k) => (k - 1) as u16,
        _ => {
            let what = format!("a route to nowhere: `out` is no number from 1 to {outputs}");
            return errors.push(wrong(e.get("out"), what, "name one of the outputs"));
        }
    };
    let one = |p: &Located<Param>| match p.value {
        Param::Int(k) => u32::try_from(k).ok(),
        _ => None,
    };
    let addresses: Option<Vec<u32>> = match e.get("to") {
        Some(Located { value: Param::List(list), .. }) => list.iter().map(one).collect(),
        Some(p) => one(p).map(|a| vec![a]),
        None => None,
    };
    let Some(addresses) = addresses else {
        let what = "`to` is no address or list of addresses".to_owned();
        return errors.push(wrong(e.get("to"), what, "give integers of zero or more"));
    };
    for address in addresses {
        if table.insert(address, out).is_some() {
            let what = format!("a second route to address {address}");
            errors.push(wrong(e.get("to"), what, "remove one of the two"));
        }
    }
}

/// Most outputs of a table.
const MOST: i64 = 60_000;

fn read(params: &Params) -> Result<Routes, Vec<ParamError>> {
    let mut r = Reader::new(params);
    let outputs = r.int("outputs", 1, MOST);
    let first = r.given("first").then(|| r.int("first", 0, u32::MAX.into()) as u32);
    let default = r.given("default").then(|| r.int("default", 1, outputs) as u16 - 1);
    let (mut table, mut errors) = (BTreeMap::new(), Vec::new());
    match params.get("routes").map(|p| &p.value) {
        Some(Param::List(list)) => {
            list.iter().for_each(|p| entry(p, outputs, &mut table, &mut errors));
        }
        None if first.is_some() || default.is_some() => {}
        _ => r.check(false, "routes", "`routes` is no list", "write [{ to = 7, out = 1 }]"),
    }
    r.extend(errors);
    let outputs = outputs as u16;
    r.finish(Routes { outputs, table, first, default, waiting: Vec::new() })
}

unit_kind! {
    /// `routes`: a static routing table. Input `in` (packets); outputs `out1`, `out2`, …
    /// (packets), one micro-step later. A packet without a route stops the run with an error.
    ///
    /// ```toml
    /// [unit.router]
    /// kind = "routes"
    /// outputs = 2
    /// routes = [{ to = [1, 2, 3], out = 1 }, { to = 9, out = 2 }]
    /// first = 20           # optional: 20 by output 1, 21 by output 2
    /// default = 2          # optional
    /// ```
    RoutesKind = "routes", "a static routing table for packets",
    params: [
        with("outputs", ParamType::Int, "1", "number of outputs"),
        with("first", ParamType::Int, "", "address of output 1, followed by those of the others"),
        with("routes", ParamType::Raw, "", "list of { to = address or list, out = output }"),
        with("default", ParamType::Int, "", "output of all other destinations"),
    ],
    ports: |params| {
        let outputs = Reader::new(params).int("outputs", 1, MOST);
        let outputs = (1..=outputs).map(|k| event(&format!("out{k}"), ValueType::Packet));
        Ok(Ports { inputs: vec![event("in", ValueType::Packet)], outputs: outputs.collect() })
    },
    build: |params, _| read(params).map(Component::atomic),
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn packets_take_their_routes_and_a_missing_route_is_an_error() {
        let text = "connections=['a.out -> r.in', 'b.out -> r.in']\n\
             [unit.a]\nkind='packet-source'\npattern='periodic'\nperiod=1\naddress=1\nto=5\nlimit=2\n\
             [unit.b]\nkind='packet-source'\npattern='periodic'\nperiod=2\nstart=2\naddress=2\nto=6\n\
             [unit.r]\nkind='routes'\noutputs=2\nroutes=[{to=[5,7], out=2}]\n";
        let mut bench = Bench::start(std::path::Path::new("."), text);
        let why = bench.go(5.0).unwrap_err().to_string();
        assert!(why.contains("no route to address 6 for packet 1 of source 2"), "{why}");
        assert_eq!(bench.events("r.out2"), ["0@2 packet 1/1 to 5", "1@1 packet 1/2 to 5"]);
    }

    #[test]
    fn addresses_in_a_row_need_no_table() {
        let bench = Bench::run(
            "connections=['a.out -> r.in', 'b.out -> r.in']\n\
             [unit.a]\nkind='packet-source'\npattern='periodic'\nperiod=9\nto=8\n\
             [unit.b]\nkind='packet-source'\npattern='periodic'\nperiod=9\nto=9\n\
             [unit.r]\nkind='routes'\noutputs=3\nfirst=7\nroutes=[{to=9, out=1}]",
            1.0,
        );
        assert_eq!(bench.events("r.out2"), ["0@2 packet 0/1 to 8"]);
        assert_eq!(bench.events("r.out1"), ["0@2 packet 0/1 to 9"]);
    }

    #[test]
    fn a_default_is_enough() {
        let bench = Bench::run(
            "connections=['a.out -> r.in']\n\
             [unit.a]\nkind='packet-source'\npattern='periodic'\nperiod=9\nto=8\n\
             [unit.r]\nkind='routes'\noutputs=3\ndefault=3",
            1.0,
        );
        assert_eq!(bench.events("r.out3"), ["0@2 packet 0/1 to 8"]);
    }

    #[test]
    fn bad_tables() {
        let found = mistakes(
            "[unit.r]\nkind='routes'\noutputs=2\n\
             routes=[{to=5, out=3}, {to=-1, out=1}, {to=[1,1], out=1}, {too=1, out=1}]",
        );
        assert_eq!(
            found,
            [
                "a route to nowhere: `out` is no number from 1 to 2; name one of the outputs",
                "`to` is no address or list of addresses; give integers of zero or more",
                "a second route to address 1; remove one of the two",
                "unknown key `too`; the keys are to, out",
                "`to` is no address or list of addresses; give integers of zero or more",
            ]
        );
    }
}
